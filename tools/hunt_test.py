#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The failures that tools/hunt finds among tests of ctest."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "hunt"
TESTS = """
add_test(good "sh" "-c" "true")
add_test(bad "sh" "-c" "echo $WHY; exit 3")
set_tests_properties(bad PROPERTIES ENVIRONMENT "WHY=because")
add_test(slow "sleep" "60")
set_tests_properties(slow PROPERTIES TIMEOUT 1)
add_test(skipped "sh" "-c" "exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
"""


class Hunt(unittest.TestCase):
    def hunt(self, *arguments):
        with tempfile.TemporaryDirectory() as build:
            (pathlib.Path(build) / "CTestTestfile.cmake").write_text(TESTS)
            return subprocess.run([sys.executable, TOOL, build, *arguments], capture_output=True, text=True)

    def test_what_fails_is_kept_and_told(self):
        run = self.hunt("bad|good|skipped", "0.002", "3")
        self.assertEqual(run.returncode, 1, run.stderr)
        output = pathlib.Path(re.search(r"^bad: exit status 3: (.+)$", run.stdout, re.MULTILINE)[1])
        self.assertEqual(output.read_text(), "because\n")
        self.assertRegex(run.stdout, r"runs of 3 tests, \d+ failed\n  bad: \d+ times: ")
        self.assertNotRegex(run.stdout, "good|skipped")
        for each in output.parent.iterdir():
            self.assertTrue(each.name.startswith("bad."), each)
            each.unlink()
        output.parent.rmdir()

    def test_what_takes_too_long_is_ended(self):
        run = self.hunt("slow", "0.001", "1")
        output = pathlib.Path(re.search(r"^slow: took too long: (.+)$", run.stdout, re.MULTILINE)[1])
        output.unlink()
        output.parent.rmdir()

    def test_nothing_is_left_where_all_is_well(self):
        self.assertEqual(self.hunt("good|skipped", "0.001").returncode, 0)
        self.assertIn("no test that is built", self.hunt("nothing").stderr)


if __name__ == "__main__":
    unittest.main()
