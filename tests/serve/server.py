# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A server under test, and requests to it as programs make them."""
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASTER = os.environ.get("ASTER", str(ROOT / "build/release/bin/aster"))
NOVA = ROOT / "models/nova.gguf"
COMET = ROOT / "models/comet.gguf"
# For short operations: only a hang takes this long, however busy the machine is.
DEADLINE_S = 300


class Server:
    def __init__(self, *arguments, environment=None):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [ASTER, "serve", *map(str, arguments), "--port", "0"], stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline().decode()
        found = re.search(r"(https?)://([^:]+):(\d+)", line)
        if not found:
            raise AssertionError(f"no address in {line!r}: {self.stderr()}")
        self.scheme, self.host, self.port = found[1], found[2], int(found[3])

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def connect(self, timeout=DEADLINE_S):
        if self.scheme == "https":
            # The tests' certificates are not signed by an authority.
            context = ssl._create_unverified_context()
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None):
        """Status, headers and the body's bytes."""
        connection = self.connect()
        try:
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def post(self, path, body, expected=200, headers=None):
        status, _, answer = self.request("POST", path, body, headers)
        if status != expected:
            raise AssertionError(f"{path}: {status}, not {expected}: {answer.decode(errors='replace')}")
        return json.loads(answer)

    def get(self, path, expected=200, headers=None):
        status, _, answer = self.request("GET", path, headers=headers)
        if status != expected:
            raise AssertionError(f"{path}: {status}, not {expected}")
        return json.loads(answer)

    def stream(self, path, body, headers=None):
        """The events of a stream: (name or None, JSON or text)."""
        status, _, answer = self.request("POST", path, {**body, "stream": True}, headers)
        if status != 200:
            raise AssertionError(f"{path}: {status}: {answer.decode(errors='replace')}")
        return events_of(answer.decode())

    def until_running(self, deadline_s=DEADLINE_S):
        """Returns when an answer is being computed."""
        end = time.monotonic() + deadline_s
        while self.get("/v1/status")["now"]["running"] == 0:
            if time.monotonic() > end:
                raise AssertionError(f"nothing runs after {deadline_s} s")
            time.sleep(0.02)

    def stop(self, expected=0):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=DEADLINE_S)
        self.process.stdout.close()
        errors = self.stderr()
        self.errors.close()
        if expected is not None and status != expected:
            raise AssertionError(f"the server ended with {status}: {errors}")
        return errors


def metrics_of(server):
    values = {}
    for line in server.request("GET", "/metrics")[2].decode().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            values[name] = float(value)
    return values


def events_of(text):
    events = []
    for block in text.split("\n\n"):
        name, data = None, []
        for line in block.split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data.append(line[6:])
        if data:
            whole = "\n".join(data)
            events.append((name, whole if whole == "[DONE]" else json.loads(whole)))
    return events
