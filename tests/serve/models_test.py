# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster serve with several models, with TLS, on nodes, and killed and restarted."""
import concurrent.futures
import http.client
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from server import ASTER, COMET, DEADLINE_S, NOVA, Server, metrics_of
from slices import write_slices

HELLO = [{"role": "user", "content": "Hello"}]


def ask(server, model=None, **more):
    body = {"messages": HELLO, "max_tokens": 8, "temperature": 0, **more}
    if model:
        body["model"] = model
    return server.post("/v1/chat/completions", body)


def text_of(answer):
    return answer["choices"][0]["message"]["content"]


class SeveralModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, COMET, "--alias", "gpt", "--alias", "small=comet", "--kv-memory", "256MiB")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def complete(self, model, prompt, **more):
        return self.server.post("/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 12,
                                                    "temperature": 0, **more})["choices"][0]["text"]

    def test_they_are_listed(self):
        names = [model["id"] for model in self.server.get("/v1/models")["data"]]
        self.assertEqual(names, ["nova", "gpt", "comet", "small"])
        self.assertEqual(self.server.get("/v1/models/comet")["id"], "comet")

    def test_requests_choose(self):
        for model in ("nova", "comet"):
            alone = Server(NOVA if model == "nova" else COMET)
            try:
                expected = alone.post("/v1/completions", {"prompt": "The sea", "max_tokens": 12, "temperature": 0})
            finally:
                alone.stop()
            self.assertEqual(self.complete(model, "The sea"), expected["choices"][0]["text"])
        self.assertEqual(self.complete("small", "The sea"), self.complete("comet", "The sea"))
        first = self.server.post("/v1/completions", {"prompt": "The sea", "max_tokens": 12, "temperature": 0})
        self.assertEqual(first["choices"][0]["text"], self.complete("nova", "The sea"))
        refused = self.server.post("/v1/chat/completions", {"model": "sun", "messages": HELLO}, expected=404)
        self.assertEqual(refused["error"]["param"], "model")
        self.assertIn("nova, comet", refused["error"]["message"])

    def test_both_at_once(self):
        def one(i):
            return self.complete(("nova", "comet")[i % 2], f"Number {i // 2}", seed=i)
        alone = [one(i) for i in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(one, range(8))), alone)

    def test_figures_are_by_model(self):
        self.complete("comet", "x")
        values = metrics_of(self.server)
        self.assertGreater(values['aster_answers_total{model="comet"}'], 0)
        self.assertIn('aster_queued{model="nova"}', values)
        status = self.server.get("/v1/status")
        self.assertEqual([model["id"] for model in status["models"]], ["nova", "comet"])


class Files(unittest.TestCase):
    def refused(self, *arguments):
        run = subprocess.run([ASTER, "serve", "--port", "0", *map(str, arguments)], capture_output=True,
                             timeout=DEADLINE_S)
        self.assertNotEqual(run.returncode, 0)
        return run.stderr.decode()

    def test_two_of_one_name(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "nova.gguf"
            shutil.copy(COMET, other)
            self.assertIn("--name", self.refused(NOVA, other))
            server = Server(NOVA, other, "--name", "a", "--name", "b")
            try:
                self.assertEqual([model["id"] for model in server.get("/v1/models")["data"]], ["a", "b"])
            finally:
                server.stop()

    def test_the_same_file_twice_is_one_model(self):
        server = Server(NOVA, NOVA)
        try:
            self.assertEqual(len(server.get("/v1/models")["data"]), 1)
        finally:
            server.stop()

    def test_parts_of_one_model_are_joined(self):
        with tempfile.TemporaryDirectory() as holder:
            first, second = pathlib.Path(holder) / "first.gguf", pathlib.Path(holder) / "second.gguf"

            def is_low(name):
                return not name.startswith("blk.") or int(name.split(".")[1]) < 2

            write_slices(NOVA, [(first, is_low), (second, lambda name: not is_low(name))])
            server = Server(first, COMET, second)
            try:
                self.assertEqual([model["id"] for model in server.get("/v1/models")["data"]], ["first", "comet"])
                joined = text_of(ask(server, "first"))
            finally:
                server.stop()
            whole = Server(NOVA)
            try:
                self.assertEqual(joined, text_of(ask(whole)))
            finally:
                whole.stop()
            self.assertIn("first.gguf: neither a whole model", self.refused(first, COMET))

    def test_what_is_no_model(self):
        self.assertIn("README.md", self.refused(NOVA, NOVA.parent / "README.md"))


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl here")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificate = pathlib.Path(cls.folder.name) / "cert.pem"
        cls.key = pathlib.Path(cls.folder.name) / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", cls.key, "-out", cls.certificate, "-days", "2", "-subj", "/CN=localhost"],
                       check=True, capture_output=True)
        cls.server = Server(NOVA, "--tls-cert", cls.certificate, "--tls-key", cls.key, "--temp", 0)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def test_answers(self):
        self.assertEqual(self.server.scheme, "https")
        self.assertEqual(self.server.get("/health"), {"status": "ok"})
        self.assertTrue(ask(self.server)["choices"])
        events = self.server.stream("/v1/chat/completions", {"messages": HELLO, "max_tokens": 20})
        self.assertEqual(events[-1][1], "[DONE]")

    def test_large_requests_on_one_connection(self):
        connection = self.server.connect()
        for size in (10, 300_000, 20, 2_000_000, 10):
            body = json.dumps({"messages": HELLO, "max_tokens": 2, "ignored": "x" * size})
            connection.request("POST", "/v1/chat/completions", body)
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            response.read()
        connection.close()

    @unittest.skipUnless(shutil.which("curl"), "there is no curl here")
    def test_curl(self):
        run = subprocess.run(["curl", "-sSk", f"https://{self.server.host}:{self.server.port}/v1/models"],
                             capture_output=True, timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["data"][0]["id"], "nova")

    def test_silent_and_malformed_clients_are_closed(self):
        silent = [socket.create_connection((self.server.host, self.server.port)) for _ in range(50)]
        plain = socket.create_connection((self.server.host, self.server.port), timeout=DEADLINE_S)
        plain.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        received = b""
        try:
            while more := plain.recv(1000):
                received += more
        except ConnectionResetError:
            pass
        self.assertNotIn(b"HTTP/1.1 200", received)
        plain.close()
        self.assertEqual(self.server.get("/health"), {"status": "ok"})
        for connection in silent:
            connection.settimeout(DEADLINE_S)
            self.assertEqual(connection.recv(1), b"")  # its time was over
            connection.close()

    def test_what_does_not_belong_together(self):
        for arguments in ((self.certificate,), (self.key, self.key), ("/nowhere", self.key)):
            flags = [part for pair in zip(("--tls-cert", "--tls-key"), map(str, arguments)) for part in pair]
            run = subprocess.run([ASTER, "serve", str(NOVA), "--port", "0", *flags], capture_output=True,
                                 timeout=DEADLINE_S)
            self.assertNotEqual(run.returncode, 0, arguments)


class Nodes(unittest.TestCase):
    def test_hops_can_be_watched(self):
        server = Server(NOVA, "--local-nodes", 2)
        try:
            ask(server)
            values = metrics_of(server)
            for name in ("frames", "sent_bytes", "compute_seconds", "queue_seconds", "send_seconds", "idle_seconds"):
                hops = [value for key, value in values.items() if key.startswith(f"aster_hop_{name}_total{{")]
                self.assertEqual(len(hops), 2, name)
            self.assertTrue(any(key.startswith("aster_hop_frames_total{") and value > 0
                                for key, value in values.items()))
            self.assertGreater(sum(value for key, value in values.items() if "send_seconds" in key), 0)
            hops = server.get("/v1/status")["models"][0]["hops"]
            self.assertEqual(len(hops), 2)
            for hop in hops:
                self.assertLessEqual({"node", "layers", "queue_ns", "compute_ns", "send_ns", "idle_ns", "sent_bytes"},
                                     hop.keys())
        finally:
            server.stop()


class Traces(unittest.TestCase):
    def test_each_request_has_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(NOVA, "--trace-dir", f"{folder}/traces")
            try:
                body = {"messages": HELLO, "max_tokens": 5, "ignore_eos": True}
                for name in ("mine", "../../evil"):
                    code, _, _ = server.request("POST", "/v1/chat/completions", body, {"X-Request-Id": name})
                    self.assertEqual(code, 200)
            finally:
                server.stop()
            files = sorted(pathlib.Path(folder, "traces").glob("*.json"))
            self.assertEqual(len(files), 2)
            self.assertEqual(sorted(path.name for path in pathlib.Path(folder).iterdir()), ["traces"])
            trace = json.loads(next(path for path in files if "mine" in path.name).read_text())
            self.assertEqual(trace["otherData"]["answer_tokens"], 5)
            tokens = [event for event in trace["traceEvents"] if event["name"] == "token"]
            self.assertEqual(len(tokens), 5)
            self.assertNotIn("Hello", json.dumps(trace))


class Restart(unittest.TestCase):
    PAGE = 128  # positions of a page file

    def turn(self, server, messages):
        """One more turn: the question, the answer, and the counts."""
        answer = server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 24, "temperature": 0})
        usage = answer["usage"]
        return (messages + [answer["choices"][0]["message"]], usage["prompt_tokens"],
                usage["prompt_tokens_details"]["cached_tokens"])

    def test_a_conversation_goes_on(self):
        """A next turn computes its own tokens; after a restart also those of the last page, and no more."""
        story = " ".join(f"On day {i} Lily had {i * 7 % 10} goats." for i in range(60))
        follow = [{"role": "user", "content": "And of the one before?"}]
        with tempfile.TemporaryDirectory() as folder:
            plain = Server(NOVA)
            server = Server(NOVA, "--kv-cache", folder)
            try:
                begun, first, _ = self.turn(server, [{"role": "user", "content": story + " How many on the last day?"}])
                whole, second, cached = self.turn(server, begun + follow)
                expected = self.turn(plain, begun + follow)[0]
                self.assertEqual(whole, expected)
                self.assertGreaterEqual(cached, first - 4)
            finally:
                server.stop()
                plain.stop()
            for options, least in (((), 0), (("--kv-cache", folder), (first - 4) // self.PAGE * self.PAGE)):
                server = Server(NOVA, *options)
                try:
                    again, asked, cached = self.turn(server, begun + follow)
                    self.assertEqual((again, asked), (expected, second))
                    self.assertGreaterEqual(cached, least)
                    self.assertTrue(options or cached == 0)
                    # Now everything is in memory.
                    _, _, cached = self.turn(server, again + follow)
                    self.assertGreaterEqual(cached, second - 4)
                finally:
                    server.stop()
            self.assertGreater(first, 4 * self.PAGE)

    def test_killed_under_load_and_started_again(self):
        """The second process finds the first one's pages on the disk, and answers the same."""
        story = " ".join(f"The {i}th day was longer than the one before it." for i in range(60))
        body = {"prompt": story, "max_tokens": 8, "temperature": 0}
        with tempfile.TemporaryDirectory() as folder:
            server = Server(NOVA, "--kv-cache", folder)
            expected = server.post("/v1/completions", body)
            # Pages are written after the answers: waits for those of more than half of the prompt.
            wanted = expected["usage"]["prompt_tokens"] // self.PAGE // 2 + 1
            end = time.monotonic() + DEADLINE_S
            while len([*pathlib.Path(folder).rglob("[!.]*.rows")]) < wanted:
                self.assertLess(time.monotonic(), end, [*pathlib.Path(folder).rglob("*")])
                time.sleep(0.1)

            def in_flight(i):
                try:
                    server.request("POST", "/v1/completions", {"prompt": f"{i} " + story, "max_tokens": 4000,
                                                               "ignore_eos": True})
                except (OSError, http.client.HTTPException) as error:
                    return type(error).__name__
                return None

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                asked = [pool.submit(in_flight, i) for i in range(8)]
                server.until_running()
                server.process.send_signal(signal.SIGKILL)
                self.assertTrue(any(one.result() for one in asked))
            server.stop(expected=-signal.SIGKILL)
            server = Server(NOVA, "--kv-cache", folder)
            try:
                again = server.post("/v1/completions", body)
                self.assertEqual(again["choices"][0]["text"], expected["choices"][0]["text"])
                cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
                self.assertGreater(cached, again["usage"]["prompt_tokens"] // 2)
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main()
