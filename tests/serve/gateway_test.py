# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Several servers behind HAProxy as `aster gateway config` sets it up: conversations stay with their servers, servers
that end lose no requests, and limits hold."""
import concurrent.futures
import http.client
import itertools
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from gateway import HAPROXY, Gateway, config_of
from server import ASTER, NOVA, ROOT, Server

NAMES = ("one", "two", "three", "four")
ADDRESSES = ("--server", "a=127.0.0.1:8001", "--server", "b=127.0.0.1:8002")
# Operators' requests to a single server.
OF_OPERATORS = {"/metrics", "/slots", "/v1/sessions", "/v1/sessions/", "/v1/cluster/invite", "/v1/cluster/drain",
                "/v1/cluster/revoke", "/api/pull", "/api/push", "/api/create", "/api/copy", "/api/delete"}


def start(*options, count=4, **more):
    return {name: Server(NOVA, "--kv-memory", "64MiB", "--threads", 1, *options, **more) for name in NAMES[:count]}


def stop(servers):
    for server in servers.values():
        server.stop(expected=None)


def refused(*options):
    done = subprocess.run([ASTER, "gateway", "config", *map(str, options)], capture_output=True, text=True)
    return done.returncode, done.stderr


class Command(unittest.TestCase):
    def test_what_is_wrong_is_said(self):
        for options, why in (((), "no servers"),
                             (("--server", "a\nb=127.0.0.1:1"), "a b=127.0.0.1:1: a server's name has"),
                             (("--server", "a=b\nc:1"), "is no name of a host"),
                             (("--server", "a=127.0.0.1:99999"), "is not HOST:PORT"),
                             (("--server", "a=127.0.0.1:1", "--server", "a=127.0.0.1:2"), "two servers are called a"),
                             ((*ADDRESSES, "--tls-cert", "a\nb"), "--tls-cert"),
                             ((*ADDRESSES, "--servers", "/nonexistent"), "/nonexistent")):
            status, told = refused(*options)
            self.assertEqual(status, 3, told)
            self.assertIn(why, told)
            self.assertEqual(told.count("\n"), 1, told)

    def test_servers_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            servers, config = pathlib.Path(folder, "servers"), pathlib.Path(folder, "gateway.cfg")
            servers.write_text("# two\n\na=10.0.0.1:8080\n  b=http://10.0.0.2:8080/  # the other\n")
            self.assertEqual(config_of("--servers", servers, "--to", config), "")
            self.assertRegex(config.read_text(), r"server a 10.0.0.1:8080 check\n +server b 10.0.0.2:8080 check\n")
            servers.write_text("a=10.0.0.1:8080\nb 10.0.0.2:8080\n")
            status, told = refused("--servers", servers)
            self.assertEqual(status, 3)
            self.assertIn(f"{servers}:2", told)

    def test_every_path_of_the_server_is_thought_of(self):
        source = (ROOT / "src/serve/service.cc").read_text()
        served = set(re.findall(r'\{"(?:GET|POST|DELETE)", "([^"]+)"', source))
        self.assertGreater(len(served), 30)
        acls = re.findall(r"^ +acl (?:of_|is_)\w+ (?:path|path_beg) (.*)$", config_of(*ADDRESSES), re.MULTILINE)
        known = set(itertools.chain(*(acl.split() for acl in acls)))
        covered = {path for path in served if path in known or path.startswith("/v1/responses/")}
        self.assertEqual(served - covered, OF_OPERATORS)


@unittest.skipUnless(HAPROXY, "there is no haproxy here")
class Configurations(unittest.TestCase):
    def test_haproxy_takes_them(self):
        with tempfile.TemporaryDirectory() as folder:
            pem = make_certificate(pathlib.Path(folder, "it's my certificate.pem"))
            for number, options in enumerate((
                    ADDRESSES, ("--server", "a=[::1]:8001"), (*ADDRESSES, "--listen", "[::]:8443", "--tls-cert", pem),
                    (*ADDRESSES, "--limit-rate", 60), (*ADDRESSES, "--limit-at-once", 4, "--limit-rate", 7),
                    ("--server", "a=https://localhost:8001"), ("--server", "a=https://[::1]:8001", "--cert-name", "me",
                                                               "--ca", pem),
                    (*ADDRESSES, "--read", "4MiB", "--max-body", "1GiB", "--max-load", 101, "--timeout", 86400),
                    (*ADDRESSES, "--socket", ""), (*ADDRESSES, "--server", "far=no-such-host.invalid:80"))):
                config = pathlib.Path(folder, f"{number}.cfg")
                config.write_text(config_of("--user", "", *options))
                done = subprocess.run([HAPROXY, "-c", "-f", config], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{options}: {done.stderr}")
                self.assertEqual("[WARNING]" in done.stderr, "far=no-such-host.invalid:80" in options, done.stderr)


def make_certificate(path):
    """Makes a self-signed certificate for this machine, in a file with its key."""
    key = path.with_suffix(".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                    "-out", path], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


class Conversation:
    """The turns of a conversation, as a client of OpenAI's API sends them."""

    def __init__(self, number):
        # The instructions are unique, and as long as usual ones.
        rules = " ".join(f"Rule {rule} of assistant {number}: answer {rule * number % 7} shortly." for rule in range(8))
        self.messages = [{"role": "system", "content": rules}, {"role": "user", "content": f"Question {number}?"}]

    def ask(self, gateway):
        answer, server = gateway.asked("/v1/chat/completions", {"messages": self.messages, "max_tokens": 8,
                                                                "temperature": 0})
        told = json.loads(answer)
        self.messages += [{"role": "assistant", "content": told["choices"][0]["message"]["content"]},
                          {"role": "user", "content": "And then?"}]
        usage = told["usage"]
        return server, usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


@unittest.skipUnless(HAPROXY, "there is no haproxy here")
class BehindGateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = start("--store-responses", 100)
        # A request that has not quite ended must not send the next one elsewhere.
        cls.gateway = Gateway(cls.servers, "--max-body", "256KiB", "--max-load", 400)

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        stop(cls.servers)

    def servers_of(self, path, bodies):
        return {self.gateway.asked(path, body)[1] for body in bodies}

    def test_a_conversation_stays_with_its_server(self):
        used = set()
        for number in range(12):
            conversation = Conversation(number)
            turns = {conversation.ask(self.gateway)[0] for _ in range(3)}
            self.assertEqual(len(turns), 1, f"conversation {number}")
            used |= turns
        self.assertGreater(len(used), 1, "all conversations are on one server")

    def test_in_every_form(self):
        text, part = "Where is the river?", {"type": "text", "text": "Where is the river?"}
        marked = {**part, "cache_control": {"type": "ephemeral"}}
        answer = {"role": "assistant", "content": "There."}
        more = {"role": "user", "content": "Where?"}
        few = {"max_tokens": 4}
        first, = self.servers_of("/v1/messages", [
            {**few, "messages": [{"role": "user", "content": text}]},
            {**few, "messages": [{"role": "user", "content": [marked]}, answer, more], "system": "Be short."},
            {**few, "messages": [{"role": "user", "content": [part]}, answer, {"role": "user", "content": [marked]}]}])
        self.assertEqual(self.servers_of("/api/chat", [
            {"messages": [{"role": "user", "content": text}, answer, more], "options": {"num_predict": 4}}]), {first})
        self.assertEqual(self.servers_of("/v1/responses", [
            {"input": text, "max_output_tokens": 4},
            {"input": [{"role": "user", "content": text}, answer, more], "max_output_tokens": 4}]), {first})
        prompt = "Once upon a time there was a river. " * 20
        self.assertEqual(len(self.servers_of("/v1/completions", [{**few, "prompt": prompt},
                                                                 {**few, "prompt": prompt + "It was"}])), 1)
        # A hint of the client overrides its text.
        hints = [{**few, "prompt_cache_key": "mine", "messages": [{"role": "user", "content": f"{number}?"}]}
                 for number in range(8)]
        self.assertEqual(len(self.servers_of("/v1/chat/completions", hints)), 1)

    def test_a_body_beyond_what_is_read(self):
        # Refused for its length in tokens, by the same server each time.
        long = {"messages": [{"role": "system", "content": "You are a crab. " * 12000},
                             {"role": "user", "content": "Hello"}]}
        names = {self.gateway.request("POST", "/v1/chat/completions", long)[1]["X-Asterism-Server"] for _ in range(3)}
        self.assertEqual(len(names), 1)
        status, _, answer = self.gateway.request("POST", "/v1/messages", {"system": "x" * (300 << 10)})
        self.assertEqual(status, 413)
        self.assertEqual(json.loads(answer)["error"]["message"], "the body is longer than 262144 bytes")

    def test_stored_responses_are_found(self):
        for number in range(6):
            for how in ({}, {"background": True}):
                answer, server = self.gateway.asked("/v1/responses", {"input": f"Question {number}?", **how,
                                                                      "max_output_tokens": 4})
                made = json.loads(answer)["id"]
                _, told, _ = self.gateway.request("GET", f"/v1/responses/{made}")
                self.assertEqual(told["X-Asterism-Server"], server)
            reply, where = self.gateway.asked("/v1/responses", {
                "input": "And then?", "previous_response_id": self.streamed(number), "max_output_tokens": 4})
            self.assertEqual(json.loads(reply)["status"], "incomplete")
            self.assertIn(where, NAMES)

    def streamed(self, number):
        events = self.gateway.stream("/v1/responses", {"input": f"Stream {number}", "max_output_tokens": 4})
        return events[-1][1]["response"]["id"]

    def test_more_is_cached_than_in_turns(self):
        shares = {}
        for name, edit in (("affinity", lambda text: text), ("in turns", in_turns)):
            gateway = Gateway(self.servers, "--max-load", 400, edit=edit)
            try:
                # Texts that no server has seen.
                base = 100 if name == "affinity" else 200
                conversations = [Conversation(base + number) for number in range(9)]
                prompt = cached = 0
                for _ in range(4):
                    for conversation in conversations:
                        _, tokens, known = conversation.ask(gateway)
                        prompt, cached = prompt + tokens, cached + known
                shares[name] = cached / prompt
            finally:
                gateway.stop()
        print(f"prompt tokens from the KV cache: {shares}")
        # Three turns of four are cached except for their new tokens, and with round robin none of four servers has
        # them.
        self.assertGreater(shares["affinity"], 0.6)
        self.assertLess(shares["in turns"], shares["affinity"] / 2)

    def test_the_page_is_one_server_s(self):
        status, told, page = self.gateway.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn(b"<html", page)
        cookie = told["Set-Cookie"]
        self.assertRegex(cookie, r"^aster-server=\w+; path=/; HttpOnly; SameSite=Strict")
        mine = {"Cookie": cookie.split(";")[0]}
        for number in range(5):
            for path, body in (("/v1/status", None), ("/page.js", None), ("/v1/models", None),
                               ("/v1/chat/completions", {"max_tokens": 2, "messages": [
                                   {"role": "user", "content": f"{number}"}]})):
                _, told, _ = self.gateway.request("POST" if body else "GET", path, body, mine)
                self.assertEqual(f"aster-server={told['X-Asterism-Server']}", mine["Cookie"], path)
        # Programs also keep cookies, and have more than one conversation.
        self.assertIsNone(self.gateway.request("GET", "/v1/models")[1]["Set-Cookie"])

    def test_operators_ask_servers(self):
        for path in sorted(OF_OPERATORS) + ["/v1/cluster/", "/nothing", "//metrics", "/v1/../metrics"]:
            for method in ("GET", "POST"):
                status, told, answer = self.gateway.request(method, path, {} if method == "POST" else None)
                self.assertEqual((status, told["X-Asterism-Server"]), (404, None), path)
                self.assertIn("not served by the gateway", json.dumps(json.loads(answer)))
        self.assertEqual(self.gateway.get("/live"), {"status": "ok"})
        self.assertEqual(self.gateway.get("/ready"), {"status": "ready"})
        self.assertEqual(len(self.gateway.get("/v1/models")["data"]), 1)


def in_turns(text):
    """The configuration without affinity."""
    text = re.sub(r"^ +(hash-type|hash-balance-factor) .*\n", "", text, flags=re.MULTILINE)
    return text.replace("balance hash var(txn.key)", "balance roundrobin")


@unittest.skipUnless(HAPROXY, "there is no haproxy here")
class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = start(count=1)
        cls.gateway = Gateway(cls.servers, "--limit-rate", 6, "--limit-at-once", 2)

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        stop(cls.servers)

    def ask(self, path, headers, **fields):
        return self.gateway.request("POST", path, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2,
                                                   **fields}, headers)

    def test_a_key_has_so_many_a_minute(self):
        statuses = [self.ask("/v1/chat/completions", {"Authorization": "Bearer one"})[0] for _ in range(8)]
        self.assertEqual(statuses, [200] * 6 + [429] * 2)
        # The same key in the other header; another key is not affected, and GET requests are free.
        for path, read in (("/v1/messages", lambda told: (told["type"], told["error"]["type"])),
                           ("/v1/chat/completions", lambda told: ("error", told["error"]["type"]))):
            status, told, answer = self.ask(path, {"x-api-key": "one"})
            self.assertEqual((status, told["Retry-After"]), (429, "10"))
            self.assertEqual(read(json.loads(answer)), ("error", "rate_limit_error"))
        status, _, answer = self.ask("/api/chat", {"Authorization": "Bearer one"})
        self.assertEqual((status, json.loads(answer)["error"]), (429, "more than 6 requests a minute with this key"))
        self.assertEqual(self.gateway.request("GET", "/v1/models", headers={"x-api-key": "one"})[0], 200)
        self.assertEqual(self.ask("/v1/messages", {"x-api-key": "two"})[0], 200)
        self.assertEqual(self.ask("/v1/messages", {})[0], 200)

    def test_a_key_has_so_many_at_once(self):
        mine = {"Authorization": "Bearer three"}
        running = []
        try:
            for _ in range(2):
                connection = self.gateway.connect()
                connection.request("POST", "/v1/completions", json.dumps({
                    "prompt": "x", "max_tokens": 8000, "stream": True, "ignore_eos": True}),
                    {"Content-Type": "application/json", **mine})
                response = connection.getresponse()
                self.assertEqual(response.status, 200)
                running.append((connection, response))
            status, told, answer = self.ask("/v1/chat/completions", mine)
            self.assertEqual((status, told["Retry-After"]), (429, "1"))
            self.assertIn("2 requests at once", json.loads(answer)["error"]["message"])
        finally:
            for connection, response in running:
                response.close()
                connection.close()


class Load:
    """Short requests of every kind, many at a time."""

    def __init__(self, gateway, total):
        self.gateway, self.total = gateway, total
        self.numbers = iter(range(total))
        self.lock = threading.Lock()
        self.done, self.failed, self.cut, self.closed = 0, [], [], []

    def one(self, number):
        streams = number % 2 == 0
        body = {"messages": [{"role": "user", "content": f"Number {number}?"}], "max_tokens": 4, "stream": streams}
        connection = self.gateway.connect()
        name = None
        try:
            connection.request("POST", f"/v1/chat/completions?number={number}", json.dumps(body),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            name = response.headers["X-Asterism-Server"] if streams and response.status == 200 else None
            text = response.read()
            if response.status != 200 or (streams and b"[DONE]" not in text):
                raise OSError(f"{response.status} of {response.headers['X-Asterism-Server']}: {text[-300:]}")
        except http.client.RemoteDisconnected as error:
            self.closed.append((number, repr(error)))
        except (OSError, http.client.HTTPException) as error:
            (self.cut if name else self.failed).append((name, number, repr(error)))
        finally:
            connection.close()

    def work(self):
        while True:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                return
            self.one(number)
            with self.lock:
                self.done += 1

    def run(self, events):
        """`events`: functions by the number of requests before them."""
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            workers = [pool.submit(self.work) for _ in range(12)]
            for count, event in events:
                while self.done < count:
                    concurrent.futures.wait(workers, timeout=0.01)
                event()
            for worker in workers:
                worker.result()


@unittest.skipUnless(HAPROXY, "there is no haproxy here")
class Ends(unittest.TestCase):
    def setUp(self):
        # Streams end by themselves, however busy the machine is.
        self.servers = start("--grace", 300)
        self.addCleanup(stop, self.servers)
        self.gateway = Gateway(self.servers)
        self.addCleanup(self.gateway.stop)

    def begin_stream(self, name):
        """Begins a long stream of that server."""
        for number in itertools.count():
            connection = self.gateway.connect()
            connection.request("POST", "/v1/completions", json.dumps({
                "prompt": f"Story {number}", "max_tokens": 2000, "stream": True, "ignore_eos": True}),
                {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.headers["X-Asterism-Server"] == name:
                return connection, response
            connection.close()

    def test_no_request_is_lost(self):
        load = Load(self.gateway, 700)
        stream = []

        def drain():
            stream.append(self.begin_stream("one"))
            self.servers["one"].process.send_signal(signal.SIGTERM)

        load.run([(150, drain), (350, self.servers["two"].process.kill)])
        self.assertEqual(load.failed, [])
        # Only a killed server's streams that had begun may be cut; a drained server ends its streams.
        self.assertLessEqual({name for name, _, _ in load.cut}, {"two"}, load.cut)
        # A client that has not received the beginning yet only sees its connection close; the gateway's log names the
        # server.
        for number, error in load.closed:
            lines = [line for line in self.gateway.stderr().splitlines() if f"?number={number} " in line]
            self.assertTrue(lines and all(" answers/two " in line for line in lines), (number, error, lines))
        (connection, response), = stream
        self.assertIn(b"[DONE]", response.read())
        connection.close()
        self.assertEqual(self.servers["one"].process.wait(timeout=300), 0)
        used = {name: int(count) for name, count in self.gateway.column("answers", "total").items()}
        self.assertTrue(all(used.values()), used)

    def test_a_server_that_is_not_ready_gets_nothing(self):
        self.gateway.command("set server answers/three state drain")
        self.servers["four"].process.kill()
        self.gateway.await_status("four", "DOWN")
        self.assertEqual({self.gateway.asked("/v1/completions", {"prompt": f"{number}", "max_tokens": 1})[1]
                          for number in range(16)}, {"one", "two"})
        for name in ("one", "two", "three"):
            self.servers[name].process.kill()
            self.gateway.await_status(name, "DOWN")
        for path, kind in (("/v1/messages", "error"), ("/v1/chat/completions", None)):
            status, told, answer = self.gateway.request("POST", path, {})
            self.assertEqual((status, told["Retry-After"]), (503, "5"))
            self.assertEqual(json.loads(answer).get("type"), kind)
            self.assertIn("no server is ready", json.loads(answer)["error"]["message"])
        self.assertEqual(self.gateway.request("GET", "/ready")[0], 503)
        self.assertEqual(self.gateway.request("GET", "/live")[0], 200)


@unittest.skipUnless(HAPROXY, "there is no haproxy here")
class Protected(unittest.TestCase):
    def test_tls_on_both_sides(self):
        with tempfile.TemporaryDirectory() as folder:
            pem = make_certificate(pathlib.Path(folder, "server.pem"))
            servers = start("--tls-cert", pem, "--tls-key", pem, count=2)
            try:
                gateway = Gateway(servers, "--ca", pem, "--tls-cert", pem, scheme="https")
                try:
                    self.assertIn(Conversation(1).ask(gateway)[0], servers)
                    self.assertIn("; Secure", gateway.request("GET", "/")[1]["Set-Cookie"])
                finally:
                    gateway.stop()
                # A certificate of another authority is refused.
                gateway = Gateway(servers, "--ca", make_certificate(pathlib.Path(folder, "other.pem")))
                try:
                    for name in servers:
                        gateway.await_status(name, "DOWN")
                    self.assertEqual(gateway.request("GET", "/ready")[0], 503)
                finally:
                    gateway.stop()
            finally:
                stop(servers)


if __name__ == "__main__":
    unittest.main()
