#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Nodes that are killed or lose the command that started them during a long prefill, in the release build: with
sanitizers it takes minutes."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from faults_test import Faulty  # noqa: E402
from fixture import aster  # noqa: E402
from processes import DEADLINE_S, children_of, cpu_seconds_of, wait_for  # noqa: E402


class LongPrompts(Faulty):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.folder / "slow.gguf"
        aster("synth", cls.model, "--layers", 8, "--embedding", 512, "--ff", 2048, "--type", "Q4_K", "--context", 16384)
        words = cls.folder / "words"
        words.write_text("the rain in spain falls mainly in the plain " * 400)
        cls.command = ("run", cls.model, "--prompt-file", words, "--raw", "--temp", 0, "-n", 8, "--ignore-eos", "-q")

    def start_prefill(self, nodes):
        """The run and its nodes, all of which have begun to compute."""
        run = self.start(self.command, nodes)
        wait_for(lambda: run.poll() is not None or
                 (len(children_of(run.pid)) == nodes and min(map(cpu_seconds_of, children_of(run.pid))) > 0.4),
                 "nodes that compute")
        started = children_of(run.pid)
        self.assertEqual(len(started), nodes)
        return run, started

    def test_a_killed_node(self):
        alone = aster(*self.command).stdout
        for victim in (0, 1):
            run, started = self.start_prefill(2)
            os.kill(started[victim], signal.SIGKILL)
            text, complaint = run.communicate(timeout=DEADLINE_S)
            self.assertEqual((run.returncode, text), (0, alone), complaint)
            self.expect_no_process(started)

    def test_nodes_end_with_the_command_that_started_them(self):
        for how in (signal.SIGKILL, signal.SIGINT):
            run, started = self.start_prefill(2)
            run.send_signal(how)
            text, _ = run.communicate(timeout=DEADLINE_S)
            self.assertEqual((run.returncode, text), (-how, b""))
            self.expect_no_process(started)


if __name__ == "__main__":
    unittest.main()
