# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The manual page has every option of the program, and no others; the unit starts what there is."""
import re
import shutil
import subprocess
import tempfile
import pathlib
import unittest

from server import ASTER, ROOT

PAGE = ROOT / "packaging/aster-serve.1"
UNIT = ROOT / "packaging/aster-serve.service"


def options_of_program():
    text = subprocess.run([ASTER, "serve", "--help"], capture_output=True, check=True).stdout.decode()
    found = set()
    for line in text.splitlines():
        # "  -n,--tokens N  The most tokens …"
        names = re.match(r"\s{1,6}((?:-\w,)?--[\w-]+(?:,\s*--?[\w-]+)*)", line)
        if names:
            found.update(name for name in names[1].replace(" ", "").split(",") if name.startswith("--"))
    return found


class Packaging(unittest.TestCase):
    def test_the_page_has_all_options(self):
        page = re.sub(r"\\f[BIR]", " ", PAGE.read_text().replace("\\-", "-"))
        told = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", page))
        self.assertGreater(len(options_of_program()), 40)
        # Those of all commands stand elsewhere.
        self.assertEqual(told - options_of_program() - {"--config", "--log-level"}, set(), "in the page alone")
        self.assertEqual(options_of_program() - told, set(), "in the program alone")

    @unittest.skipUnless(shutil.which("man"), "there is no man here")
    def test_the_page_can_be_read(self):
        run = subprocess.run(["man", "--warnings", "-l", PAGE], capture_output=True,
                             env={"MANWIDTH": "100", "LANG": "C", "PATH": "/usr/bin:/bin"})
        self.assertEqual(run.returncode, 0)
        self.assertEqual(run.stderr.decode(), "")
        self.assertIn("--kv-memory", run.stdout.decode())

    def test_the_unit_starts_the_program(self):
        text = UNIT.read_text()
        start = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1].split()
        self.assertEqual(start[0], "aster")
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "serve.toml")
            config.write_text("[serve]\nport = 0\n")
            arguments = [str(config) if word == "/etc/asterism/serve.toml" else word for word in start[1:]]
            self.assertIn(str(config), arguments)
            run = subprocess.run([ASTER, *arguments, "--print-config"], capture_output=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(b"port=0\n", run.stdout)
            grace = int(re.search(rb"^# grace=(\d+)$", run.stdout, re.MULTILINE)[1])
        # It has the time that it gives to what is being answered.
        self.assertGreater(int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[1]), grace)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd here")
    def test_the_unit_is_one(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, UNIT.name)
            unit.write_text(UNIT.read_text().replace("ExecStart=aster", f"ExecStart={ASTER}"))
            run = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True)
            self.assertNotIn(UNIT.name, run.stderr.decode())


if __name__ == "__main__":
    unittest.main()
