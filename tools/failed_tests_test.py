#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The output of tools/failed-tests for a log of ctest."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "failed-tests"
LINE = "-" * 58


def section(number, name, output, verdict):
    return (f"{number}/9 Testing: {name}\n{number}/9 Test: {name}\nCommand: \"x\"\nDirectory: /\nOutput:\n{LINE}\n"
            f"{output}<end of output>\nTest time =   0.10 sec\n{LINE}\nTest {verdict}.\n{LINE}\n\n")


class FailedTests(unittest.TestCase):
    def shown(self, sections, failed, *limits):
        with tempfile.TemporaryDirectory() as holder:
            folder = pathlib.Path(holder) / "some" / "Testing" / "Temporary"
            folder.mkdir(parents=True)
            (folder / "LastTest.log").write_text(f"Start testing\n{LINE}\n" + "".join(sections))
            (folder / "LastTestsFailed.log").write_text("".join(f"{i}:{name}\n" for i, name in enumerate(failed)))
            return subprocess.run([sys.executable, TOOL, folder.parents[1], *map(str, limits)], check=True,
                                  capture_output=True, text=True).stdout

    def test_the_end_of_each(self):
        sections = [section(1, "cli/a", "".join(f"line {i}\n" for i in range(100)), "Failed"),
                    section(2, "cli/b", "fine\n", "Passed"), section(3, "cli/c", "wrong\n", "Failed")]
        text = self.shown(sections, ["cli/a", "cli/c"], 3)
        self.assertEqual(text, "---- some: cli/a\n… (97 lines before)\nline 97\nline 98\nline 99\n"
                               "---- some: cli/c\nwrong\n")

    def test_what_passed_is_left_out(self):
        output = ("[ RUN      ] A.Good\nsome words\n[       OK ] A.Good (1 ms)\n[ RUN      ] A.Bad\nx.cc:3: Failure\n"
                  "[  FAILED  ] A.Bad (1 ms)\n" +
                  "".join(f"[ RUN      ] B.{i}\n[       OK ] B.{i} (0 ms)\n" for i in range(50)) +
                  "[ RUN      ] C.Ends\nAddressSanitizer: no end\n")
        text = self.shown([section(1, "a/1_of_4", output, "Failed")], ["a/1_of_4"])
        self.assertEqual(text, "---- some: a/1_of_4\n[ RUN      ] A.Bad\nx.cc:3: Failure\n[  FAILED  ] A.Bad (1 ms)\n"
                               "[ RUN      ] C.Ends\nAddressSanitizer: no end\n")

    def test_many_are_counted_and_long_lines_cut(self):
        sections = [section(i, f"t/{i}", "x" * 5000 + "\n", "Failed") for i in range(1, 9)]
        text = self.shown(sections, [f"t/{i}" for i in range(1, 9)], 60, 2)
        self.assertEqual(text.count("----"), 2)
        self.assertTrue(text.endswith("… and 6 more\n"))
        self.assertLess(len(text), 1000)

    def test_without_a_log(self):
        self.assertIn("kept nothing", self.shown([], ["cli/gone"]))


if __name__ == "__main__":
    unittest.main()
