# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Saved sessions over HTTP: listed, shown, loaded and deleted, and who may do that."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from server import ASTER, COMET, NOVA, Server

RULES = "You are the keeper of a lighthouse. "


class Sessions(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.environment = {"XDG_DATA_HOME": self.home.name, "ASTER_API_KEY": "", "ASTER_ADMIN_KEY": ""}
        prompt = pathlib.Path(self.home.name) / "rules.txt"
        prompt.write_text(RULES * 30)
        for name in ("rules", "my rules & more"):
            self.aster("session", "save", name, NOVA, "--prompt-file", prompt)

    def aster(self, *arguments):
        return subprocess.run([ASTER, *map(str, arguments)], env={**os.environ, **self.environment}, check=True,
                              capture_output=True).stdout

    def serve(self, *arguments, **environment):
        server = Server(NOVA, "--name", "one", *arguments, environment={**self.environment, **environment})
        self.addCleanup(server.stop)
        return server

    def names(self):
        return [one["name"] for one in json.loads(self.aster("session", "list", "--json"))]

    def test_listed_shown_and_deleted(self):
        server = self.serve()
        told = server.get("/v1/sessions")
        self.assertEqual(told["object"], "list")
        expected = json.loads(self.aster("session", "list", "--json"))
        for session in expected:
            del session["path"], session["model_path"]
            session["served_as"] = "one"
        self.assertEqual(told["data"], expected)
        shown = server.get("/v1/sessions/my%20rules%20%26%20more")
        self.assertEqual((shown["name"], shown["system"], shown["messages"]), ("my rules & more", RULES * 30, []))
        self.assertEqual(shown["kv_tokens"], shown["tokens"])
        status, _, answer = server.request("DELETE", "/v1/sessions/rules")
        self.assertEqual(status, 200, answer)
        self.assertEqual((json.loads(answer)["name"], json.loads(answer)["deleted"]), ("rules", True))
        self.assertEqual(self.names(), ["my rules & more"])
        # Pages that both had are still there.
        self.assertEqual(server.get("/v1/sessions")["data"][0]["kv_tokens"], shown["tokens"])

    def answer(self, server):
        """Answers with the session's system message and a question: the text, and the cached part of the prompt."""
        told = server.post("/v1/chat/completions", {
            "messages": [{"role": "system", "content": RULES * 30}, {"role": "user", "content": "Hello"}],
            "temperature": 0, "max_tokens": 8})
        return told["choices"][0]["message"]["content"], told["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_what_is_loaded_is_not_computed_again(self):
        text, cached = self.answer(self.serve())
        self.assertEqual(cached, 0)
        for nodes in ((), ("--local-nodes", "2")):
            with self.subTest(nodes=nodes):
                server = self.serve(*nodes)
                told = server.post("/v1/sessions/my%20rules%20%26%20more/load", None)
                self.assertGreater(told["loaded_tokens"], 100)
                self.assertEqual(told, {"name": "my rules & more", "model": "one", "tokens": told["loaded_tokens"],
                                        "loaded_tokens": told["loaded_tokens"], "why_not_all": None})
                self.assertEqual(self.answer(server), (text, told["tokens"]))
                # Again: it is already there.
                self.assertEqual(server.post("/v1/sessions/rules/load", None)["loaded_tokens"], told["tokens"])

    def test_what_cannot_be_loaded_is_computed(self):
        text, _ = self.answer(self.serve())
        pages = sorted((pathlib.Path(self.home.name) / "asterism/sessions/pages").glob("*.rows"))
        whole = {page: page.read_bytes() for page in pages}
        server = self.serve()
        tokens = server.get("/v1/sessions/rules")["tokens"]
        self.assertGreater(len(pages), 2)
        for page in pages:
            page.write_bytes(whole[page][:-1] + bytes([whole[page][-1] ^ 1]))
        told = server.post("/v1/sessions/rules/load", None)
        self.assertEqual((told["tokens"], told["loaded_tokens"]), (tokens, 0))
        self.assertIn("checksum", told["why_not_all"])
        self.assertEqual(self.answer(server), (text, 0))
        # Rows of another number format, and another model.
        for page in pages:
            page.write_bytes(whole[page])
        told = self.serve("--kv-type", "bf16").post("/v1/sessions/rules/load", None)
        self.assertEqual(told["loaded_tokens"], 0)
        self.assertIn("the session's KV rows are", told["why_not_all"])
        other = Server(COMET, environment=self.environment)
        self.addCleanup(other.stop)
        status, _, answer = other.request("POST", "/v1/sessions/rules/load")
        self.assertEqual(status, 400, answer)
        self.assertIn("does not serve this session's model", json.loads(answer)["error"]["message"])

    def test_what_is_wrong_is_named(self):
        server = self.serve()
        secret = pathlib.Path(self.home.name) / "secret.session"
        secret.write_text("{}")
        for method, end in (("GET", ""), ("DELETE", ""), ("POST", "/load")):
            for name, expected, text in (("none", 404, "there is no such session"), ("", 400, "cannot have that name"),
                                         (str(secret).replace("/", "%2F"), 400, "no slash"),
                                         ("..%2Frules", 400, "no slash"), ("..", 400, "cannot have that name")):
                status, _, answer = server.request(method, f"/v1/sessions/{name}{end}")
                self.assertEqual(status, expected, answer)
                self.assertIn(text, json.loads(answer)["error"]["message"])
        status, headers, _ = server.request("POST", "/v1/sessions", {})
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        status, _, answer = server.request("POST", "/v1/sessions/rules")
        self.assertEqual((status, json.loads(answer)["error"]["message"]),
                         (404, "nothing can be sent to /v1/sessions/rules"))
        self.assertTrue(secret.exists())

    def test_who_may(self):
        def refused(server, status, **headers):
            for method, path in (("GET", "/v1/sessions"), ("GET", "/v1/sessions/rules"),
                                 ("POST", "/v1/sessions/rules/load"), ("DELETE", "/v1/sessions/rules")):
                got, _, answer = server.request(method, path, headers=headers)
                self.assertEqual(got, status, answer)
            return json.loads(answer)["error"]["message"]
        alone = self.serve("--cors", "*")
        self.assertIn("only the server's own", refused(alone, 403, Origin="http://page.example"))
        shared = self.serve(ASTER_API_KEY="key")
        refused(shared, 401)
        self.assertIn("--admin-keys", refused(shared, 403, Authorization="Bearer key"))
        led = self.serve(ASTER_API_KEY="key", ASTER_ADMIN_KEY="chief")
        self.assertIn("administrator", refused(led, 401, Authorization="Bearer key"))
        self.assertEqual(len(led.get("/v1/sessions", headers={"Authorization": "Bearer chief"})["data"]), 2)
        self.assertEqual(self.names(), ["my rules & more", "rules"])

    def test_nothing_is_saved_yet(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(self.serve(XDG_DATA_HOME=empty).get("/v1/sessions"), {"object": "list", "data": []})


if __name__ == "__main__":
    unittest.main()
