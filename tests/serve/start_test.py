# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How aster serve starts: its messages and errors, the memory that it needs, its log, and how waiting looks."""
import http.client
import json
import subprocess
import sys
import tempfile
import unittest

from server import ASTER, COMET, DEADLINE_S, NOVA, ROOT, Server, metrics_of

sys.path.insert(0, str(ROOT / "tests/system"))
from processes import port_to_keep  # noqa: E402

HELLO = [{"role": "user", "content": "Tell me a long story about the sea."}]


class Refused(unittest.TestCase):
    def refused(self, *arguments):
        run = subprocess.run([ASTER, "serve", *map(str, arguments), "--port", "0"], capture_output=True,
                             timeout=DEADLINE_S)
        self.assertNotEqual(run.returncode, 0)
        return run.stderr.decode()

    def test_what_could_never_be_of_use(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assertIn("--trace-dir", self.refused(NOVA, "--trace-dir", f"{file.name}/x"))
        self.assertIn("--trace-dir", self.refused(NOVA, "--trace-dir", "/proc/self"))
        self.assertIn("--max-body", self.refused(NOVA, "--max-body", 0))
        for origin in ("notanorigin", "https://", "https://a.example/path", "a b://c"):
            self.assertIn("--cors", self.refused(NOVA, "--cors", origin))
        self.assertIn("--kv-memory", self.refused(NOVA, "--kv-memory", "1KiB"))
        message = self.refused(NOVA, COMET, "--alias", "comet=nova")
        self.assertIn("comet is called so already", message)
        self.assertIn("called so already", self.refused(NOVA, COMET, "--alias", "x", "--alias", "x=comet"))


class Memory(unittest.TestCase):
    def test_what_never_fits_is_said_before_it_is_asked(self):
        server = Server(NOVA, "--kv-memory", "1MiB", "--ctx", 1_000_000)
        try:
            limit = server.get("/v1/models")["data"][0]["context_length"]
            values = metrics_of(server)
            self.assertEqual(values['aster_kv_tokens_limit{model="nova"}'], limit)
            self.assertEqual(values['aster_kv_bytes_limit{model="nova"}'], 1 << 20)
            long = {"prompt": "word " * (limit + 1), "max_tokens": 2}
            refused = server.post("/v1/completions", long, expected=400)
            self.assertEqual(refused["error"]["code"], "context_length_exceeded")
            # Up to this length it is answered.
            answer = server.post("/v1/completions", {"prompt": "word", "max_tokens": limit, "ignore_eos": True})
            usage = answer["usage"]
            self.assertLessEqual(usage["total_tokens"], limit)
            self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        finally:
            notes = server.stop()
        self.assertIn("--ctx 1000000 is above the model's context", notes)
        self.assertIn(f"the KV cache (--kv-memory) has room for {limit} tokens", notes)

    def test_figures_of_memory_and_rates(self):
        server = Server(NOVA)
        try:
            before = metrics_of(server)
            server.post("/v1/completions", {"prompt": "The sea is wide. " * 20, "max_tokens": 8, "ignore_eos": True})
            values = metrics_of(server)
            used = ("aster_kv_bytes", "aster_kv_cached_bytes")
            self.assertEqual([before[f'{name}{{model="nova"}}'] for name in used], [0, 0])
            self.assertGreater(sum(values[f'{name}{{model="nova"}}'] for name in used), 0)
            for name in ("prompt", "answer"):
                self.assertEqual(values[f'aster_{name}_tokens_per_second_count{{model="nova"}}'], 1)
                self.assertGreater(values[f'aster_{name}_tokens_per_second_sum{{model="nova"}}'], 0)
            model = server.get("/v1/status")["models"][0]
            self.assertGreater(model["kv"]["bytes_limit"], 0)
            self.assertGreater(model["kv"]["bytes"] + model["kv"]["cached_bytes"], 0)
            self.assertTrue(model["answer_tokens_per_second"])
        finally:
            server.stop()

    def test_kv_transfers_are_counted(self):
        server = Server(NOVA, "--local-nodes", 2, "--split", "0:1,2:out", "--decode", "node-2=0:out")
        try:
            server.post("/v1/completions", {"prompt": "The sea is wide. " * 60, "max_tokens": 4, "ignore_eos": True})
            values = metrics_of(server)
            self.assertGreater(values['aster_kv_transfers_total{model="nova"}'], 0)
            self.assertGreater(values['aster_kv_transfer_bytes_total{model="nova"}'], 0)
            self.assertGreater(values['aster_kv_transfer_exposed_seconds_total{model="nova"}'], 0)
            transfers = server.get("/v1/status")["models"][0]["kv_transfers"]
            self.assertEqual(transfers["prompts"], values['aster_kv_transfers_total{model="nova"}'])
            self.assertGreater(values['aster_kv_tokens_limit{model="nova"}'], 0)
        finally:
            server.stop()


class Logs(unittest.TestCase):
    def test_prompts_are_logged_where_that_is_wanted(self):
        server = Server(NOVA, "--log-level", "info", "--log-prompts")
        try:
            server.post("/v1/completions", {"prompt": "A heliotrope", "max_tokens": 1})
            server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "armadillo"}],
                                                 "max_tokens": 1})
            server.post("/v1/completions", {"prompt": [1, 2, 3, 4], "max_tokens": 1})
        finally:
            errors = server.stop()
        self.assertIn("heliotrope", errors)
        self.assertIn("armadillo", errors)
        self.assertNotIn('text=""', errors)


class Waiting(unittest.TestCase):
    def test_a_server_that_loads_is_not_ready(self):
        port = port_to_keep()
        process = subprocess.Popen([ASTER, "serve", NOVA, COMET, "--port", str(port)], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        seen = set()
        try:
            while 200 not in seen:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
                try:
                    connection.request("GET", "/ready")
                    response = connection.getresponse()
                except ConnectionRefusedError:
                    self.assertIsNone(process.poll())
                    continue
                finally:
                    connection.close()
                seen.add(response.status)
            self.assertLessEqual(seen, {200, 503})
        finally:
            process.terminate()
            self.assertEqual(process.wait(timeout=DEADLINE_S), 0)
            process.stdout.close()

    def first_lines(self, server, path, body):
        """The first lines of a stream, once there are some."""
        connection = http.client.HTTPConnection(server.host, server.port, timeout=DEADLINE_S)
        connection.request("POST", path, json.dumps({**body, "stream": True}))
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        line = response.read(1) if path.startswith("/api/") else response.readline()
        connection.close()
        return line

    def test_a_waiting_client_is_told_so(self):
        server = Server(NOVA, "--parallel", 1)
        try:
            busy = http.client.HTTPConnection(server.host, server.port, timeout=DEADLINE_S)
            busy.request("POST", "/v1/completions", json.dumps({
                "prompt": "The sea", "n": 16, "max_tokens": 8000, "ignore_eos": True, "temperature": 1}))
            while metrics_of(server)['aster_running{model="nova"}'] == 0:
                pass
            for path, body in (("/v1/chat/completions", {"messages": HELLO}),
                               ("/v1/messages", {"messages": HELLO, "max_tokens": 4}),
                               ("/v1/responses", {"input": "Hello"})):
                self.assertEqual(self.first_lines(server, path, body), b": still at work\n")
            self.assertEqual(self.first_lines(server, "/api/chat", {"messages": HELLO}), b" ")
            busy.close()
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
