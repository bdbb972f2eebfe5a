# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""/api/pull from a test hub: progress in Ollama's form, files on the disk, who may pull, and clients that
disconnect."""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from server import ASTER, NOVA, ROOT, Server

sys.path.insert(0, str(ROOT / "tests/cli"))

from hub import Hub  # noqa: E402

FILE = "/org/m/resolve/main/m-Q4_K_M.gguf"


class Pull(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        model = pathlib.Path(self.home.name) / "tiny.gguf"
        subprocess.run([ASTER, "synth", model, "--type", "Q4_K"], check=True, capture_output=True)
        self.content = model.read_bytes()
        self.hub = Hub()
        self.addCleanup(self.hub.server_close)
        self.addCleanup(self.hub.shutdown)
        self.hub.put_repository({"m-Q4_K_M": self.content})
        self.pulled = pathlib.Path(self.home.name) / "asterism/models/m-Q4_K_M.gguf"
        self.environment = {"ASTER_HUB": self.hub.address, "XDG_DATA_HOME": self.home.name, "HF_TOKEN": "",
                            "no_proxy": "*"}

    def serve(self, *arguments, **environment):
        server = Server(*(arguments or (NOVA,)), environment={**self.environment, **environment})
        self.addCleanup(server.stop)
        return server

    def lines(self, server, **body):
        status, headers, answer = server.request("POST", "/api/pull", body)
        self.assertEqual(status, 200, answer)
        self.assertEqual(headers["Content-Type"], "application/x-ndjson")
        return [json.loads(line) for line in answer.decode().splitlines() if line.strip()]

    def test_progress_and_what_comes_of_it(self):
        server = self.serve()
        lines = self.lines(server, model="hf.co/org/m")
        self.assertEqual(lines[0], {"status": "pulling manifest"})
        self.assertEqual(lines[-1], {"status": "success"})
        self.assertIn("aster serve m-Q4_K_M", lines[-2]["status"])
        parts = [line for line in lines if "digest" in line]
        self.assertEqual({part["digest"] for part in parts}, {"sha256:" + hashlib.sha256(self.content).hexdigest()})
        self.assertEqual((parts[-1]["completed"], parts[-1]["total"]), (len(self.content), len(self.content)))
        self.assertEqual(self.pulled.read_bytes(), self.content)
        # Pulled again, by its source and by its name, in one document, as older clients ask: nothing is downloaded.
        seen = [path for path, _ in self.hub.seen].count(FILE)
        for name in ("hf:org/m", "m-Q4_K_M", "huggingface.co/org/m:Q4_K_M"):
            told = server.post("/api/pull", {"name": name, "stream": False})
            self.assertEqual(told["status"], "success")
            self.assertIn("aster serve m-Q4_K_M", told["message"])
        self.assertEqual([path for path, _ in self.hub.seen].count(FILE), seen)
        # A served model needs no pull. And the advice works.
        self.assertEqual(self.lines(server, model="Nova:latest")[-1], {"status": "success"})
        other = self.serve("m-Q4_K_M")
        self.assertEqual(other.get("/api/tags")["models"][0]["name"], "m-Q4_K_M:latest")

    def test_what_is_wrong_is_said_as_ollama_says_it(self):
        server = self.serve()
        error = self.lines(server, model="llama3")[-1]["error"]
        self.assertIn("not a model to pull", error)
        self.assertIn("hf:ORG/REPO", error)
        for body, status in (({"model": "llama3"}, 400), ({"model": "hf:org/none"}, 404), ({}, 400),
                             ({"model": 7}, 400)):
            self.assertTrue(server.post("/api/pull", {**body, "stream": False}, status)["error"])
        self.hub.plan = {FILE: [{"status": 401}]}
        self.assertIn("HF_TOKEN", self.lines(server, model="hf:org/m")[-1]["error"])
        # A broken link is a note, and the pull continues.
        self.hub.plan = {FILE: [{"breaks_after": 5000}]}
        lines = self.lines(server, model="hf:org/m")
        self.assertTrue(any("going on at" in line["status"] for line in lines))
        self.assertEqual(lines[-1], {"status": "success"})

    def test_who_may(self):
        body = {"model": "hf:org/m", "stream": False}
        keyed = self.serve(ASTER_API_KEY="one")
        self.assertIn("ASTER_ADMIN_KEY", keyed.post("/api/pull", body, 403, {"Authorization": "Bearer one"})["error"])
        managed = self.serve(NOVA, ASTER_API_KEY="one", ASTER_ADMIN_KEY="two")
        managed.post("/api/pull", body, 401, {"Authorization": "Bearer one"})
        # The page of another server may not pull either, if no key is needed.
        free = self.serve()
        free.post("/api/pull", body, 403, {"Origin": "http://localhost:1"})
        self.assertFalse(self.pulled.exists())
        managed.post("/api/pull", body, 200, {"Authorization": "Bearer two"})
        self.assertEqual(self.pulled.read_bytes(), self.content)

    def test_a_client_that_goes_ends_its_pull(self):
        server = self.serve()
        holds = threading.Event()
        self.addCleanup(holds.set)
        self.hub.plan = {FILE: [{"holds": holds}]}
        connection = server.connect()
        connection.request("POST", "/api/pull", json.dumps({"model": "hf:org/m"}))
        response = connection.getresponse()
        while b"digest" not in response.readline():
            pass
        response.close()
        connection.close()
        # Pulls are done one after the other: another one waits while the hub still holds the first.
        self.hub.files["/other.gguf"] = self.content
        other = server.post("/api/pull", {"model": self.hub.address + "/other.gguf", "stream": False})
        self.assertEqual(other["status"], "success")
        self.assertFalse(self.pulled.exists())
        # The received bytes are kept.
        server.post("/api/pull", {"model": "hf:org/m", "stream": False})
        self.assertIn("Range", self.hub.seen[-1][1])
        self.assertEqual(self.pulled.read_bytes(), self.content)

    def test_a_server_that_ends_ends_its_pulls(self):
        server = Server(NOVA, environment=self.environment)
        holds = threading.Event()
        self.addCleanup(holds.set)
        self.hub.plan = {FILE: [{"holds": holds}]}
        connection = server.connect()
        connection.request("POST", "/api/pull", json.dumps({"model": "hf:org/m"}))
        response = connection.getresponse()
        while b"digest" not in response.readline():
            pass
        server.stop()
        self.assertFalse(self.pulled.exists())
        connection.close()


if __name__ == "__main__":
    unittest.main()
