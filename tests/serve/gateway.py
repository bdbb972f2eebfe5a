# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""HAProxy in front of servers, as `aster gateway config` sets it up."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from server import ASTER, DEADLINE_S, ROOT, Server

sys.path.insert(0, str(ROOT / "tests/system"))
from processes import port_to_keep  # noqa: E402

# Debian's is in a folder that may be missing in users' paths.
HAPROXY = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
COLUMN = {"status": 17, "total": 7}  # in the socket's statistics of a server


def config_of(*options):
    return subprocess.run([ASTER, "gateway", "config", *map(str, options)], capture_output=True, check=True,
                          text=True).stdout


class Gateway(Server):
    """A gateway in front of servers with these names; requests to it are made as to one of them."""

    def __init__(self, servers, *options, edit=lambda text: text, scheme="http"):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)
        self.socket = self.folder / "socket"
        self.scheme, self.host, self.port = scheme, "127.0.0.1", port_to_keep()
        self.servers = servers
        where = [f"--server={name}={'https://localhost' if server.scheme == 'https' else server.host}:{server.port}"
                 for name, server in servers.items()]
        text = config_of(*where, "--listen", f"{self.host}:{self.port}", "--socket", self.socket, "--user", "",
                         *options)
        (self.folder / "gateway.cfg").write_text(edit(text))
        self.errors = open(self.folder / "log", "w+b")
        self.process = subprocess.Popen([HAPROXY, "-db", "-f", self.folder / "gateway.cfg"], stdout=self.errors,
                                        stderr=self.errors)
        self.await_start()

    def await_start(self, deadline_s=DEADLINE_S):
        """Waits until it listens. Its servers count as ready until a check has failed."""
        end = time.monotonic() + deadline_s
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.request("GET", "/live")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"the gateway has not started: {self.stderr()}")

    def command(self, text):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.socket))
            connection.sendall(text.encode() + b"\n")
            return b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()

    def column(self, backend, which):
        """The column, for each server of a backend."""
        rows = [line.split(",") for line in self.command("show stat").splitlines()]
        return {row[1]: row[COLUMN[which]] for row in rows if row[0] == backend and row[1] in self.servers}

    def await_status(self, name, status, deadline_s=DEADLINE_S):
        end = time.monotonic() + deadline_s
        while not self.column("answers", "status")[name].startswith(status):
            if time.monotonic() > end:
                raise AssertionError(f"{name} is {self.column('answers', 'status')[name]}, not {status}")
            time.sleep(0.05)

    def asked(self, path, body, headers=None):
        """The reply, and the name of the server that made it."""
        status, told, answer = self.request("POST", path, body, headers)
        if status != 200:
            raise AssertionError(f"{path}: {status}: {answer.decode(errors='replace')}")
        return answer, told["X-Asterism-Server"]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.errors.close()
        self.holder.cleanup()
