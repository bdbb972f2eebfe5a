# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster serve among clients that are broken, slow, gone or many: other clients are not affected."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import sys
import tempfile
import time
import unittest

from server import DEADLINE_S, NOVA, ROOT, Server, events_of, metrics_of

sys.path.insert(0, str(ROOT / "tests/system"))
from processes import wait_for  # noqa: E402

HELLO = {"messages": [{"role": "user", "content": "Tell me a long story about the sea."}]}
# More than a hundred thousand tokens, until the context is full.
ENDLESS = {**HELLO, "ignore_eos": True, "temperature": 1, "n": 16}
# With this context, even one of its answers takes minutes.
LONG = ("--ctx", 100_000)


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, "--temp", 0, "--max-body", "1MiB")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def raw(self, data, timeout=DEADLINE_S):
        """The reply to these bytes, until the server closes or a whole reply has come."""
        with socket.create_connection((self.server.host, self.server.port), timeout=timeout) as connection:
            connection.sendall(data)
            received = b""
            while True:
                try:
                    more = connection.recv(65536)
                except ConnectionResetError:
                    return received
                if not more:
                    return received
                received += more
                if b"\r\n\r\n" in received and b"Connection: close" not in received:
                    return received

    def status_of(self, data):
        reply = self.raw(data)
        self.assertTrue(reply.startswith(b"HTTP/1.1 "), reply)
        return int(reply.split(b" ")[1])

    def post(self, body, path=b"/v1/chat/completions"):
        return (b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: " + str(len(body)).encode() +
                b"\r\n\r\n" + body)

    def is_fine(self):
        self.assertEqual(self.server.get("/health"), {"status": "ok"})
        answer = self.server.post("/v1/chat/completions", {**HELLO, "max_tokens": 2})
        self.assertTrue(answer["choices"])

    def until_idle(self):
        """Returns when no request runs or waits any more."""
        wait_for(lambda: not any(self.server.get("/v1/status")["models"][0]["now"].values()), "the end of all requests")

    def sampled(self):
        return self.server.get("/v1/status")["models"][0]["sampled_tokens"]

    def check_cancelled(self, before):
        """ENDLESS ends, and has not been computed to its end."""
        self.until_idle()
        self.assertLess(self.sampled() - before, 100_000)

    def test_no_http(self):
        for data, status in ((b"\x16\x03\x01\x02\x00\x01\x00\n", 400), (b"hello\r\n\r\n", 400),
                             (b"GET / HTTP/3.0\r\n\r\n", 505), (b"GET /" + b"x" * 100000, 431),
                             (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
                             (b"POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", 400),
                             (b"POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                             (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413)):
            self.assertEqual(self.status_of(data), status, data[:40])
        self.is_fine()

    def test_no_json(self):
        for body in (b"", b"{", b"[]", b"\"x\"", b"\xff\xfe", b"{\"messages\": \"\xc3\"}", b"[" * 100000,
                     b"{\"a\":" * 500 + b"1" + b"}" * 500,
                     b"{\"messages\": [{\"role\": \"user\", \"content\": \"\\ud800\"}]}",
                     b"{\"messages\": [1e999]}", b"\0" * 100):
            self.assertEqual(self.status_of(self.post(body)), 400, body[:40])
        self.is_fine()

    def test_what_would_take_hours_is_refused(self):
        names = ",".join(f"\"{i}\":0" for i in range(50000)).encode()
        self.assertEqual(self.status_of(self.post(b"{\"logit_bias\":{" + names + b"}}")), 400)
        deep = "{\"a\":" + "[" * 100000 + "]" * 100000 + "}"
        tool = {"type": "function", "function": {"name": "f", "description": "zqarguments0z"}}
        call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": deep}}
        self.server.request("POST", "/v1/chat/completions", {"tools": [tool], "max_tokens": 1, "messages": [
            *HELLO["messages"], {"role": "assistant", "content": "", "tool_calls": [call]}]})
        # Thirty rules, each twice the next, and all of them optional; and after a letter.
        rules = "".join(f"a{i} ::= a{i + 1} a{i + 1}\n" for i in range(30)) + "a30 ::= \"\"\n"
        for root in ("a0 \"x\"", "\"y\" a0 \"x\""):
            body = {"prompt": "x", "grammar": f"root ::= {root}\n{rules}", "max_tokens": 4, "n": 2}
            answer = self.server.post("/v1/completions", body, expected=400)
            self.assertIn("too many ways", answer["error"]["message"])
        answer = self.server.post("/v1/completions", {"prompt": "x", "grammar": "root ::= \"a\"" + "{4096}" * 2000},
                                  expected=400)
        self.assertEqual(answer["error"]["param"], "grammar")
        self.is_fine()

    def test_errors_have_the_form_of_the_path(self):
        for path, mark in ((b"/v1/messages", b"\"type\":\"error\""), (b"/v1/chat/completions", b"\"param\"")):
            reply = self.raw(b"POST " + path + b" HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
            self.assertIn(b" 413 ", reply)
            self.assertIn(mark, reply)

    def test_unknown_paths_do_not_fill_the_metrics(self):
        for i in range(20):
            self.assertEqual(self.server.request("DELETE", f"/v1/models/\"{i}")[0], 405)
            self.assertEqual(self.server.request("GET", f"/nothing/{i}")[0], 404)
        # A request is counted once its reply has been sent.
        name = "aster_http_requests_total{path=\"/v1/models/\",status=\"405\"}"
        wait_for(lambda: metrics_of(self.server).get(name) == 20, "20 counted requests")
        paths = [name for name in metrics_of(self.server) if name.startswith("aster_http_requests_total{")]
        self.assertLess(len(paths), 30)

    def test_a_body_that_is_too_large(self):
        self.assertEqual(self.status_of(self.post(b" " * (2 << 20))), 413)
        self.is_fine()

    def test_chunks_and_waiting_clients(self):
        body = json.dumps({**HELLO, "max_tokens": 2}).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7))
        self.assertEqual(self.status_of(head + chunks + b"0\r\n\r\n"), 200)
        waits = (b"POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " +
                 str(len(body)).encode() + b"\r\n\r\n")
        self.assertTrue(self.raw(waits).startswith(b"HTTP/1.1 100 Continue"))

    def test_one_connection_for_many_requests(self):
        connection = self.server.connect()
        for _ in range(3):
            connection.request("POST", "/v1/chat/completions", json.dumps({**HELLO, "max_tokens": 2}))
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            response.read()
            connection.request("POST", "/v1/chat/completions", json.dumps({**HELLO, "max_tokens": 2, "stream": True}))
            response = connection.getresponse()
            self.assertEqual(events_of(response.read().decode())[-1][1], "[DONE]")
        connection.close()

    def test_slow_writers_delay_no_other_client(self):
        slow = [socket.create_connection((self.server.host, self.server.port)) for _ in range(100)]
        for connection in slow:
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-")
        self.is_fine()
        for connection in slow:
            connection.close()

    def test_a_disconnected_client_is_cancelled(self):
        for streams in (True, False):
            with self.subTest(streams=streams):
                before = self.sampled()
                connection = socket.create_connection((self.server.host, self.server.port))
                connection.sendall(self.post(json.dumps({**ENDLESS, "stream": streams}).encode()))
                if streams:
                    connection.recv(200)
                else:
                    self.server.until_running()
                # The connection is reset without a close.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
                self.check_cancelled(before)

    def test_a_client_that_only_closes_its_side_is_gone(self):
        before, sampled = self.server.get("/v1/status")["since_start"]["abandoned"], self.sampled()
        connection = socket.create_connection((self.server.host, self.server.port))
        connection.sendall(self.post(json.dumps({**ENDLESS, "stream": True}).encode()))
        self.assertTrue(connection.recv(200))  # it is being answered
        connection.shutdown(socket.SHUT_WR)
        self.check_cancelled(sampled)
        connection.close()
        self.assertGreater(self.server.get("/v1/status")["since_start"]["abandoned"], before)

    def test_a_slow_reader_delays_no_other_client(self):
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((self.server.host, self.server.port))
        slow.sendall(self.post(json.dumps({**HELLO, "stream": True, "ignore_eos": True, "max_tokens": 300}).encode()))
        self.is_fine()
        self.until_idle()  # its answer was computed, and waits for it
        received = b""
        while b"[DONE]" not in received:
            received += slow.recv(4096)
        slow.close()

    def test_web_pages_of_others_may_not_ask(self):
        evil = {"Origin": "https://evil.example"}
        self.assertEqual(self.server.request("POST", "/v1/chat/completions", HELLO, evil)[0], 403)
        self.assertEqual(self.server.request("GET", "/v1/models", headers={"Origin": "null"})[0], 403)
        self.assertEqual(self.server.request("GET", "/v1/models", headers={"Origin": "http://localhost.evil"})[0], 403)
        self.assertEqual(self.server.request("GET", "/v1/models", headers={"Origin": "http://localhost:3000"})[0], 200)

    def test_a_client_says_how_long_it_waits(self):
        status, _, _ = self.server.request("POST", "/v1/chat/completions", ENDLESS, {"X-Request-Timeout": "0.2"})
        self.assertEqual(status, 504)
        for wrong in ("soon", "0", "-1", "1e99", "1s"):
            self.server.post("/v1/chat/completions", HELLO, 400, {"X-Request-Timeout": wrong})
        self.is_fine()

    def test_what_could_not_be_read_is_counted(self):
        before = metrics_of(self.server)
        self.status_of(b"nonsense\r\n\r\n")
        self.status_of(b"GET / HTTP/1.1\r\n" + b"a: " + b"x" * 40000 + b"\r\n\r\n")
        after = metrics_of(self.server)
        for status in (400, 431):
            name = f'aster_http_requests_total{{path="other",status="{status}"}}'
            self.assertEqual(after[name], before.get(name, 0) + 1)


class Many(unittest.TestCase):
    def test_many_at_once_are_answered_as_alone(self):
        server = Server(NOVA, "--parallel", 16)
        try:
            bodies = [{"messages": [{"role": "user", "content": f"Count from {i} on. " * (1 + i % 7)}],
                       "max_tokens": 8 + i % 24, "seed": i, "temperature": 1.2} for i in range(64)]

            def streamed(body):
                events = server.stream("/v1/chat/completions", body)
                return "".join(choice["delta"].get("content") or "" for _, chunk in events[:-1]
                               for choice in chunk["choices"])

            with concurrent.futures.ThreadPoolExecutor(64) as pool:
                together = list(pool.map(streamed, bodies))
            for i in range(0, 64, 9):
                alone = server.post("/v1/chat/completions", bodies[i])
                self.assertEqual(alone["choices"][0]["message"]["content"], together[i], i)
        finally:
            server.stop()

    def test_more_than_the_queue_get_429(self):
        server = Server(NOVA, "--parallel", 1, "--queue", 2, *LONG)
        try:
            body = {**HELLO, "max_tokens": 20}

            def ask(_):
                status, headers, _ = server.request("POST", "/v1/chat/completions", body)
                return status, headers.get("Retry-After")

            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                with contextlib.closing(server.connect()) as connection:
                    connection.request("POST", "/v1/chat/completions", json.dumps({**ENDLESS, "n": 2}))
                    wait_for(lambda: server.get("/v1/status")["now"]["queued"] == 1, "a queued answer")
                    # There is room for one of them.
                    asked = [pool.submit(ask, number) for number in range(12)]
                    wait_for(lambda: sum(one.done() for one in asked) == 11, "eleven refusals")
                answers = [one.result() for one in asked]
            self.assertEqual(sorted(status for status, _ in answers), [200] + [429] * 11)
            self.assertTrue(all(after for status, after in answers if status == 429))
        finally:
            server.stop()

    def test_an_accepted_request_keeps_its_place(self):
        server = Server(NOVA, "--parallel", 1, "--queue", 1)
        try:
            # First the prompt's probabilities are computed, then two answers, for which the queue has no room.
            body = {"prompt": "The sea", "echo": True, "logprobs": 1, "max_tokens": 2}
            self.assertEqual(len(server.post("/v1/completions", {**body, "n": 2})["choices"]), 2)
            server.post("/v1/completions", {**body, "n": 3}, expected=400)
        finally:
            server.stop()

    def test_one_key_does_not_keep_others_out(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            for key in ("one", "two"):
                print(hashlib.sha256(key.encode()).hexdigest(), file=keys, flush=True)
            server = Server(NOVA, "--parallel", 1, "--queue", 4, "--keys", keys.name, *LONG)
            first, second = ({"Authorization": f"Bearer {key}"} for key in ("one", "two"))

            def await_queued(count, is_over=lambda: False):
                end = time.monotonic() + DEADLINE_S
                while server.get("/v1/status", headers=first)["now"]["queued"] < count and not is_over():
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)

            try:
                small = {**HELLO, "max_tokens": 1}
                with contextlib.closing(server.connect()) as connection:
                    connection.request("POST", "/v1/chat/completions", json.dumps({**ENDLESS, "n": 5, "user": "a"}),
                                       first)
                    await_queued(4)
                    server.post("/v1/chat/completions", {**small, "user": "b"}, 429, first)
                    with concurrent.futures.ThreadPoolExecutor(1) as pool:
                        other = pool.submit(server.post, "/v1/chat/completions", small, 200, second)
                        await_queued(5, other.done)
                        connection.close()
                        other.result()
            finally:
                server.stop()

    def test_a_deadline_holds_in_the_queue(self):
        server = Server(NOVA, "--parallel", 1, "--deadline", 2)
        try:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                statuses = list(pool.map(lambda _: server.request("POST", "/v1/chat/completions", ENDLESS)[0],
                                         range(3)))
            self.assertEqual(set(statuses), {504})
        finally:
            server.stop()

    def test_more_answers_than_there_is_ever_room_for(self):
        server = Server(NOVA, "--parallel", 2, "--queue", 4)
        try:
            answer = server.post("/v1/chat/completions", {**HELLO, "n": 6, "max_tokens": 2})
            self.assertEqual(len(answer["choices"]), 6)
            server.post("/v1/chat/completions", {**HELLO, "n": 7, "max_tokens": 2}, expected=400)
        finally:
            server.stop()

    def test_what_is_being_answered_is_finished(self):
        server = Server(NOVA)
        connection = server.connect()
        connection.request("POST", "/v1/chat/completions",
                           json.dumps({**HELLO, "stream": True, "ignore_eos": True, "max_tokens": 40}))
        response = connection.getresponse()
        response.read(10)
        server.process.send_signal(signal.SIGTERM)
        rest = response.read().decode()
        self.assertIn("[DONE]", rest)
        connection.close()
        server.stop()

    def test_without_descriptors_clients_wait_and_nothing_spins(self):
        server = Server(NOVA)
        try:
            pid = server.process.pid

            def used():
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

            taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
            free = next(i for i in range(len(taken) + 1) if i not in taken)
            soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, hard))
            with socket.create_connection((server.host, server.port), timeout=DEADLINE_S) as waits:
                waits.sendall(b"GET /health HTTP/1.1\r\n\r\n")
                before = used()
                time.sleep(2)
                self.assertLess(used() - before, 0.2)
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
                self.assertIn(b" 200 ", waits.recv(4096))
        finally:
            server.stop()

    def test_an_impatient_end_is_an_end(self):
        server = Server(NOVA)
        connection = server.connect()
        connection.request("POST", "/v1/chat/completions", json.dumps(ENDLESS))
        server.until_running()
        for _ in range(5):
            server.process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        self.assertIn(server.process.wait(timeout=DEADLINE_S), (0, -signal.SIGINT))
        connection.close()
        server.stop(expected=None)

    def test_a_request_may_not_take_for_ever(self):
        server = Server(NOVA, "--deadline", 1)
        try:
            for headers in ({}, {"X-Request-Timeout": "600"}):
                status, _, _ = server.request("POST", "/v1/chat/completions", ENDLESS, headers)
                self.assertEqual(status, 504)
        finally:
            server.stop()

    def test_kept_conversations_are_evicted(self):
        """One after the other and at the same time: more of them than the memory holds."""
        server = Server(NOVA, "--kv-memory", "3MiB", "--temp", 0)
        try:
            def ask(i):
                prompt = {"prompt": [(7 * i + 3 * j) % 250 for j in range(500)], "max_tokens": 4}
                return server.post("/v1/completions", prompt)["choices"][0]["text"]
            alone = [ask(i) for i in range(6)]
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                self.assertEqual(list(pool.map(ask, range(6))), alone)
            for _ in range(2):
                long = server.post("/v1/chat/completions", {**HELLO, "max_tokens": 700, "ignore_eos": True})
                self.assertEqual(long["usage"]["completion_tokens"], 700)
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
