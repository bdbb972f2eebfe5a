# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster pull, list and rm with a test hub that redirects, breaks, lies and refuses."""
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

from changed_model import ChangedModel
from fixture import ASTER, INPUT, OK, SYSTEM, USAGE, Case, aster
from hub import Hub


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
        self.hub.put_repository({name.replace("__", "-"): content for name, content in contents.items()})

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

    def test_a_file_without_a_strong_tag_goes_on_while_its_date_is_the_same(self):
        url, date = f"{self.hub.address}/m.gguf", "Mon, 02 Nov 2026 10:00:00 GMT"
        interrupted = [{"breaks_after": 7000}] + [{"status": 503, "headers": {"Retry-After": "0"}}] * 6
        for now, begin in ((date, "bytes=7000-"), ("Tue, 03 Nov 2026 10:00:00 GMT", None)):
            self.put("/m.gguf", self.content if begin else b"?" * len(self.content))
            self.hub.dates["/m.gguf"] = date
            self.hub.plan = {"/m.gguf": list(interrupted)}
            self.run_aster("pull", url, check=SYSTEM)
            self.put("/m.gguf")
            self.hub.dates["/m.gguf"] = now
            self.run_aster("pull", url)
            self.assertEqual(self.hub.seen[-1][1].get("Range"), begin)
            self.assertEqual((self.folder / "m.gguf").read_bytes(), self.content)
            self.run_aster("rm", "m")
        resumed = [headers for _, headers in self.hub.seen if "If-Range" in headers]
        self.assertEqual({headers["If-Range"] for headers in resumed}, {date})

    def files(self):
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []

    def test_servers_that_refuse_are_named_with_what_to_do(self):
        self.put("/m.gguf")
        for status, words in ((401, b"HF_TOKEN"), (403, b"HF_TOKEN"), (404, b"no such file"), (410, b"no such file"),
                              (400, b"status 400")):
            self.hub.plan = {"/m.gguf": [{"status": status}]}
            run = self.run_aster("pull", f"{self.hub.address}/m.gguf", check=None)
            self.assertNotEqual(run.returncode, OK)
            self.assertIn(words, run.stderr)
            self.assertEqual(self.files(), [])
        self.hub.plan = {"/m.gguf": [{"status": 429, "headers": {"Retry-After": "1"}}, {"status": 416}]}
        self.run_aster("pull", f"{self.hub.address}/m.gguf")
        self.assertEqual((self.folder / "m.gguf").read_bytes(), self.content)

    def test_a_file_is_taken_only_as_it_was_promised(self):
        self.put_repository(m=self.content)
        self.put("/org/m/resolve/main/m.gguf", self.content[:-1] + bytes([self.content[-1] ^ 1]))
        self.assertIn(b"SHA-256", self.run_aster("pull", "hf:org/m", check=INPUT).stderr)
        self.assertEqual(self.files(), [])
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
        # The error leaves neither a file, nor the folder that was made for it.
        self.assertFalse([name for name in self.files() if name.startswith("page")])
        folder = pathlib.Path(self.home.name) / "mine"
        self.run_aster("pull", f"{self.hub.address}/page.gguf", "--to", folder, check=INPUT)
        self.assertFalse(folder.exists())

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

    def run_at_a_terminal(self, answer):
        """`aster run` of a model of the hub by a user who answers its question."""
        main, other = pty.openpty()
        run = subprocess.Popen([ASTER, "run", "hf:org/m", "-p", "hello", "-n", "3", "--temp", "0"], stdin=other,
                               stderr=other, stdout=subprocess.PIPE, env={**os.environ, **self.environment})
        os.close(other)
        seen = b""
        while b"[Y/n]" not in seen:
            seen += os.read(main, 1000)
        os.write(main, answer)
        try:
            while piece := os.read(main, 1000):
                seen += piece
        except OSError:
            pass  # the other side is closed
        os.close(main)
        with run.stdout:
            text = run.stdout.read()
        return run.wait(timeout=120), text, seen

    def test_run_offers_to_pull(self):
        self.put_repository(m=self.content)
        status, _, seen = self.run_at_a_terminal(b"n\n")
        self.assertEqual(status, INPUT)
        self.assertIn(b"aster pull hf:org/m", seen)
        self.assertFalse(self.folder.exists())
        status, text, _ = self.run_at_a_terminal(b"\n")
        self.assertEqual((status, text.strip() != b""), (OK, True))
        self.assertEqual((self.folder / "m.gguf").read_bytes(), self.content)
        # Now it is here.
        again = self.run_aster("run", "hf:org/m", "-p", "hello", "-n", 3, "--temp", 0)
        self.assertEqual(again.stdout, text)

    def test_a_model_that_was_not_pulled_says_how(self):
        for name in ("hf:org/m", f"{self.hub.address}/m.gguf"):
            run = self.run_aster("run", name, "-p", "hello", check=INPUT)
            self.assertIn(f"aster pull {name}".encode(), run.stderr)
        self.assertIn(b"aster pull", self.run_aster("run", "llama3", "-p", "hello", check=INPUT).stderr)


if __name__ == "__main__":
    unittest.main()
