# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Shared by the tests of the program: running it as a script does, exit statuses, a small model."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASTER = os.environ.get("ASTER", str(ROOT / "build/release/bin/aster"))

# Nodes find each other only if a test enables it, and not those of a concurrent test.
os.environ["ASTER_DISCOVERY"] = "off"

OK, NO, USAGE, INPUT, UNSUPPORTED, SYSTEM = range(6)


def aster(*arguments, stdin=b"", check=OK, environment=None, cwd=None, timeout=300):
    run = subprocess.run([ASTER, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout,
                         env={**os.environ, **(environment or {})}, cwd=cwd)
    if check is not None and run.returncode != check:
        raise AssertionError(f"aster {arguments}: exit status {run.returncode}, not {check}\n{run.stderr.decode()}")
    return run


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        cls.tiny = cls.folder / "tiny.gguf"
        aster("synth", cls.tiny, "--type", "Q4_K")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()
