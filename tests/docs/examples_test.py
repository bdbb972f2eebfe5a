#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Runs every ```sh block of README.md and docs/ as a reader would, each file in a folder of its own.

A command that ends with `#=> TEXT` is one line, and must print TEXT. Blocks of other kinds (plain ``` fences) are not
run: installation, output, pictures.
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
PROMISE = re.compile(r"^(.*\S)\s+#=> (.*\S)$")
LINK = re.compile(r"\[[^\]]+\]\(([^)#:\s]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors_of(text):
    """The names of a page's headings in links."""
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)]


def with_promises_kept(block):
    """The block with each expectation's output in a file of its own, and the expectation for each file."""
    lines, promises = [], {}
    for line in block.splitlines():
        match = PROMISE.match(line)
        if match:
            name = f"printed-{len(promises)}"
            promises[name] = match
            line = f"{{ {match[1]}\n}} > {name}"
        lines.append(line)
    return "\n".join(lines), promises


class Examples(unittest.TestCase):
    def run_block(self, block, folder):
        """Runs a block and compares its output with the expectations; returns their number."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        environment.update(PATH=f"{ASTER.parent}:{os.environ['PATH']}", HOME=folder)
        script, promises = with_promises_kept(block)
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment,
                             capture_output=True, errors="replace", timeout=300)
        self.assertEqual(run.returncode, 0, run.stderr)
        for name, promise in promises.items():
            self.assertIn(promise[2], pathlib.Path(folder, name).read_text(errors="replace"), promise[0])
        return len(promises)

    def test_every_shell_block_runs_and_prints_what_it_says(self):
        blocks, promises = 0, 0
        for page in pages():
            with tempfile.TemporaryDirectory() as folder:
                for block in SHELL_BLOCK.findall(page.read_text()):
                    with self.subTest(page=page.name, block=block):
                        promises += self.run_block(block, folder)
                        blocks += 1
        self.assertGreater(blocks, 0, "the documentation shows no example")
        self.assertGreater(promises, 0, "no example says what it prints")

    def test_the_table_of_models_is_that_of_the_program(self):
        show = [ASTER, "inspect", "--architectures"]
        table = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        self.assertIn(table, (ROOT / "docs/models.md").read_text(), "put what aster prints there")
        refusal = subprocess.run([ASTER, "synth", os.devnull, "--arch", "none"], capture_output=True, text=True)
        known = re.search(r"\"none\" is not supported; (.*) are", refusal.stderr)[1].split(", ")
        self.assertEqual(re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE), known)

    def test_every_test_that_a_table_names_exists(self):
        section = (ROOT / "docs/cluster.md").read_text().partition("## What broke once")[2].partition("\n## ")[0]
        named = re.findall(r"`((?:[A-Z]\w*\.)?(?:[A-Z]\w*|test_\w+))`", section)
        self.assertGreater(len(named), 20)
        sources = "\n".join(path.read_text() for folder in ("src", "tests") for ending in ("cc", "py")
                            for path in (ROOT / folder).rglob(f"*_test.{ending}"))
        tests = re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", sources, re.MULTILINE)
        there = {name for suite, test in tests for name in (suite, f"{suite}.{test}")}
        there.update(re.findall(r"def (test_\w+)\(", sources))
        for name in named:
            self.assertIn(name, there)

    def test_every_link_leads_somewhere(self):
        for page in pages():
            for target, anchor in LINK.findall(page.read_text()):
                with self.subTest(page=page.name, target=target, anchor=anchor):
                    path = page.parent / target if target else page
                    self.assertTrue(path.exists())
                    if anchor:
                        self.assertIn(anchor, anchors_of(path.read_text()))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
