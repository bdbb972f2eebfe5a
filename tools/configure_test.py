#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The configuration that ./demo makes on a bare machine builds with ./test once the tests' libraries are installed."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARIES = ("GTest", "benchmark")


def targets(build, *, without):
    disabled = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}={'ON' if without else 'OFF'}" for name in LIBRARIES]
    configured = subprocess.run(["cmake", "-S", ROOT, "-B", build, "--preset", "release", *disabled],
                                capture_output=True, text=True, timeout=600, cwd=ROOT)
    if configured.returncode:
        raise AssertionError(configured.stdout + configured.stderr)
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, timeout=60,
                            check=True)
    return {line.split(":")[0] for line in listed.stdout.splitlines()}


class Configure(unittest.TestCase):
    def test_libraries_that_are_installed_later_are_found(self):
        with tempfile.TemporaryDirectory() as build:
            before = targets(build, without=True)
            self.assertIn("aster", before)
            self.assertFalse({"release_checks", "bench", "base_test"} & before)
            after = targets(build, without=False)
            self.assertTrue({"aster", "release_checks", "bench", "base_test"} <= after)


if __name__ == "__main__":
    unittest.main()
