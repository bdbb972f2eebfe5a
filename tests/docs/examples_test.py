#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Runs every ```sh block of README.md and docs/ as a reader would, each file in a folder of its own.

Blocks of other kinds (plain ``` fences) are not run: installation, output, pictures.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASTER = pathlib.Path(os.environ.get("ASTER", ROOT / "build/release/bin/aster"))
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Examples(unittest.TestCase):
    def test_every_shell_block_runs(self):
        count = 0
        for page in pages():
            blocks = SHELL_BLOCK.findall(page.read_text())
            with tempfile.TemporaryDirectory() as folder:
                environment = dict(os.environ, PATH=f"{ASTER.parent}:{os.environ['PATH']}", HOME=folder)
                for block in blocks:
                    with self.subTest(page=page.name, block=block):
                        run = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment,
                                             capture_output=True, errors="replace", timeout=120)
                        self.assertEqual(run.returncode, 0, run.stderr)
                        count += 1
        self.assertGreater(count, 0, "the documentation shows no example")

    def test_every_link_leads_somewhere(self):
        for page in pages():
            for target in LINK.findall(page.read_text()):
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
