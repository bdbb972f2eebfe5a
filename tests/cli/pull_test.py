# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster pull, list and rm against a hub of our own that redirects, breaks, lies and refuses."""
import hashlib
import http.server
import json
import pathlib
import socket
import struct
import tempfile
import threading
import unittest

from changed_model import ChangedModel
from fixture import INPUT, OK, SYSTEM, USAGE, Case, aster


class Hub(http.server.ThreadingHTTPServer):
    """Serves `files` by path; `plan` is what goes wrong with the next requests of a path."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.plan, self.seen = {}, {}, []
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # connections that this server broke itself


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        path = self.path.split("?")[0]
        self.server.seen.append((path, dict(self.headers)))
        faults = self.server.plan.get(path, [])
        fault = faults.pop(0) if faults else {}
        if "redirect" in fault:
            return self.reply(302, b"", {"Location": fault["redirect"]})
        if "status" in fault:
            return self.reply(fault["status"], b"a page for people", fault.get("headers", {}))
        if path not in self.server.files:
            return self.reply(404, b"nothing here")
        self.send(self.server.files[path], fault)

    def send(self, content, fault):
        headers = {"ETag": f'"{hashlib.md5(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        begin, status = 0, 200
        if "Range" in self.headers and not fault.get("no_ranges"):
            begin, status = int(self.headers["Range"][6:-1]), 206
            if begin >= len(content):
                return self.reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        body = content[begin:]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + fault.get("lies_by", 0)))
        self.end_headers()
        self.wfile.write(body[:fault.get("breaks_after", len(body))])
        if "breaks_after" in fault or "lies_by" in fault:
            # As a cable that is pulled: no goodbye.
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    def reply(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class PullTest(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.content = cls.tiny.read_bytes()

    def setUp(self):
        self.hub = Hub()
        self.home = tempfile.TemporaryDirectory()
        self.environment = {"ASTER_HUB": self.hub.address, "XDG_DATA_HOME": self.home.name, "HF_TOKEN": "",
                            "no_proxy": "*"}
        self.folder = pathlib.Path(self.home.name) / "asterism/models"

    def tearDown(self):
        self.hub.shutdown()
        self.hub.server_close()
        self.home.cleanup()

    def run_aster(self, *arguments, check=OK, **environment):
        return aster(*arguments, check=check, environment={**self.environment, **environment})

    def put(self, path, content=None):
        self.hub.files[path] = self.content if content is None else content

    def put_repository(self, **contents):
        entries = []
        for name, content in contents.items():
            name = name.replace("__", "-") + ".gguf"
            self.put(f"/org/m/resolve/main/{name}", content)
            entries.append({"type": "file", "path": name, "size": len(content),
                            "lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)}})
        self.put("/api/models/org/m/tree/main", json.dumps(entries).encode())

    def split_in_two(self):
        folder = pathlib.Path(self.home.name) / "split"
        folder.mkdir()
        names = [name for name, *_ in ChangedModel(self.tiny).tensors]
        parts = []
        for number in range(2):
            part = ChangedModel(self.tiny).set("split.no", "u16", number).set("split.count", "u16", 2)
            part.set("split.tensors.count", "i32", len(names))
            half = names[:len(names) // 2] if number == 0 else names[len(names) // 2:]
            part.keep(half.__contains__)
            parts.append(folder / f"s-{number + 1:05}-of-00002.gguf")
            part.write(parts[-1])
        return parts

    def test_a_model_of_a_hub_is_pulled_listed_run_and_removed(self):
        self.put_repository(m__Q4_K_M=self.content, m__Q8_0=b"not this one")
        pulled = json.loads(self.run_aster("pull", "hf:org/m", "--json").stdout)
        self.assertEqual(pulled["paths"], [str(self.folder / "m-Q4_K_M.gguf")])
        self.assertEqual(pathlib.Path(pulled["paths"][0]).read_bytes(), self.content)
        self.assertFalse(pulled["was_here"])
        self.assertTrue(json.loads(self.run_aster("pull", "hf:org/m:q4_k_m", "--json").stdout)["was_here"])
        (model,) = json.loads(self.run_aster("list", "--json").stdout)["models"]
        self.assertEqual((model["name"], model["source"], model["partial"]), ("m-Q4_K_M", "hf:org/m", False))
        self.assertIn(b"m-Q4_K_M", self.run_aster("list").stdout)
        for name in ("m-Q4_K_M", "m-q4_k_m.gguf", "hf:org/m"):
            self.assertIn(b"llama", self.run_aster("inspect", name).stdout)
        self.run_aster("rm", "m-Q4_K_M")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn(b"m-Q4_K_M", self.run_aster("rm", "m-Q4_K_M", check=INPUT).stderr)

    def test_a_split_model_comes_over_a_link_that_breaks_ten_times(self):
        parts = self.split_in_two()
        for part in parts:
            self.put(f"/files/{part.name}", part.read_bytes())
        breaks = [{"breaks_after": 5000} for _ in range(10)]
        self.hub.plan = {f"/files/{parts[0].name}": breaks[:4], f"/files/{parts[-1].name}": breaks[4:]}
        run = self.run_aster("pull", f"{self.hub.address}/files/{parts[-1].name}")
        self.assertEqual([(self.folder / part.name).read_bytes() for part in parts],
                         [part.read_bytes() for part in parts])
        self.assertEqual(run.stderr.count(b"going on at"), 10)

    def test_a_pull_that_was_killed_goes_on_where_it_ended(self):
        self.put("/m.gguf")
        self.hub.plan = {"/m.gguf": [{"breaks_after": 7000}] +
                         [{"status": 503, "headers": {"Retry-After": "0"}}] * 6}
        failed = self.run_aster("pull", f"{self.hub.address}/m.gguf", check=SYSTEM)
        self.assertIn(b"run the command again", failed.stderr)
        (listed,) = json.loads(self.run_aster("list", "--json").stdout)["models"]
        self.assertTrue(listed["partial"])
        self.run_aster("pull", f"{self.hub.address}/m.gguf")
        self.assertEqual(self.hub.seen[-1][1]["Range"], "bytes=7000-")
        self.assertEqual((self.folder / "m.gguf").read_bytes(), self.content)

    def test_servers_that_refuse_are_named_with_what_to_do(self):
        self.put("/m.gguf")
        for status, words in ((401, b"HF_TOKEN"), (403, b"HF_TOKEN"), (404, b"no such file"), (410, b"no such file"),
                              (400, b"status 400")):
            self.hub.plan = {"/m.gguf": [{"status": status}]}
            run = self.run_aster("pull", f"{self.hub.address}/m.gguf", check=None)
            self.assertNotEqual(run.returncode, OK)
            self.assertIn(words, run.stderr)
        self.hub.plan = {"/m.gguf": [{"status": 429, "headers": {"Retry-After": "1"}}, {"status": 416}]}
        self.run_aster("pull", f"{self.hub.address}/m.gguf")
        self.assertEqual((self.folder / "m.gguf").read_bytes(), self.content)

    def test_a_file_is_taken_only_as_it_was_promised(self):
        self.put_repository(m=self.content)
        self.put("/org/m/resolve/main/m.gguf", self.content[:-1] + bytes([self.content[-1] ^ 1]))
        self.assertIn(b"SHA-256", self.run_aster("pull", "hf:org/m", check=INPUT).stderr)
        self.put("/org/m/resolve/main/m.gguf", self.content + b"and more")
        self.assertIn(b"try again", self.run_aster("pull", "hf:org/m", check=INPUT).stderr)
        self.put("/org/m/resolve/main/m.gguf")
        self.hub.plan = {"/org/m/resolve/main/m.gguf": [{"lies_by": -10}]}
        self.run_aster("pull", "hf:org/m", check=INPUT)
        self.assertFalse((self.folder / "m.gguf").exists())
        self.run_aster("pull", "hf:org/m")
        self.put("/page.gguf", b"<html>not a model</html>")
        refused = self.run_aster("pull", f"{self.hub.address}/page.gguf", check=INPUT)
        self.assertIn(b"web page, not a model", refused.stderr)

    def test_the_token_stays_with_its_host_and_out_of_sight(self):
        self.put_repository(m=self.content)
        other = Hub()
        other.files["/store/m"] = self.content
        # Another name for this machine is another host.
        elsewhere = f"http://localhost:{other.server_port}/store/m"
        self.hub.plan = {"/org/m/resolve/main/m.gguf": [{"redirect": elsewhere}]}
        run = self.run_aster("pull", "hf:org/m", HF_TOKEN="hf_secret")
        self.assertEqual({headers.get("Authorization") for _, headers in self.hub.seen}, {"Bearer hf_secret"})
        self.assertEqual([headers.get("Authorization") for _, headers in other.seen], [None])
        self.assertNotIn(b"hf_secret", run.stdout + run.stderr)
        other.shutdown()
        other.server_close()
        token = pathlib.Path(self.home.name) / "token"
        token.write_text("from_a_file\n")
        self.run_aster("rm", "m")
        self.run_aster("pull", "hf:org/m", "--token-file", token)
        self.assertEqual(self.hub.seen[-1][1]["Authorization"], "Bearer from_a_file")
        token.write_text("two words")
        self.assertIn(b"token", self.run_aster("pull", "hf:org/m", "--token-file", token, check=INPUT).stderr)

    def test_redirects_in_a_circle_and_to_other_protocols_end(self):
        self.put("/m.gguf")
        for target in ("/m.gguf", "file:///etc/passwd"):
            self.hub.plan = {"/m.gguf": [{"redirect": target}] * 100}
            run = self.run_aster("pull", f"{self.hub.address}/m.gguf", check=None)
            self.assertNotEqual(run.returncode, OK)
        self.assertFalse((self.folder / "m.gguf").exists())

    def test_what_is_no_source_is_refused_with_the_forms(self):
        for source in ("llama3", "hf:org", "hf:org/m:../../x.gguf", "ftp://host/m.gguf"):
            self.assertIn(b"hf:ORG/REPO", self.run_aster("pull", source, check=INPUT).stderr)
        self.assertIn(b"comes with aster", self.run_aster("pull", "nova", check=INPUT).stderr)
        self.assertIn(b"file's own address", self.run_aster("pull", f"{self.hub.address}/dir/", check=INPUT).stderr)
        self.run_aster("pull", check=USAGE)

    def test_a_folder_of_ones_own(self):
        self.put("/m.gguf")
        folder = pathlib.Path(self.home.name) / "mine"
        self.run_aster("pull", f"{self.hub.address}/m.gguf", "--to", folder)
        self.assertEqual((folder / "m.gguf").read_bytes(), self.content)
        self.assertFalse(self.folder.exists())

    def test_a_model_that_was_not_pulled_says_how(self):
        for name in ("hf:org/m", f"{self.hub.address}/m.gguf"):
            run = self.run_aster("run", name, "-p", "hello", check=INPUT)
            self.assertIn(f"aster pull {name}".encode(), run.stderr)
        self.assertIn(b"aster pull", self.run_aster("run", "llama3", "-p", "hello", check=INPUT).stderr)


if __name__ == "__main__":
    unittest.main()
