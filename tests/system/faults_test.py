#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Nodes that are killed, stall or lose the command that started them: the text is the one of a single process, or an
error says what is missing, and no process is left over. During prefill: long_prompts_test.py; links that break:
links_test.cc."""
import contextlib
import os
import pathlib
import resource
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fixture import ASTER, SYSTEM, Case, aster  # noqa: E402
from processes import DEADLINE_S, children_of, has_ended, let_go, read_piece, start_held, wait_for  # noqa: E402


@contextlib.contextmanager
def slowed(pid):
    """Lets the process run for a fifth of the time."""
    over = threading.Event()

    def pause_and_resume():
        with contextlib.suppress(ProcessLookupError):
            while not over.wait(0.005):
                os.kill(pid, signal.SIGSTOP)
                over.wait(0.02)
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=pause_and_resume)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Faulty(Case):
    """Runs on nodes that fail, and do not end before their answers are read."""

    def start(self, command, nodes, **keywords):
        run = start_held((ASTER, *command, "--local-nodes", nodes), **keywords)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def expect_no_process(self, pids):
        wait_for(lambda: all(has_ended(pid) for pid in pids), "the end of all nodes")


class Answers(Faulty):
    OPTIONS = ("-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-q", "-n", 1500, "--ignore-eos")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.command = ("run", cls.tiny, *cls.OPTIONS)
        cls.alone = aster(*cls.command).stdout

    def inject_fault(self, nodes, victims, how, again=None, options=()):
        """The whole output of a run of which some nodes failed when it had begun to write."""
        run = self.start((*self.command, *options), nodes)
        begun = read_piece(run)
        started = children_of(run.pid)
        self.assertEqual(len(started), nodes)
        for victim in victims:
            os.kill(started[victim], how)
        if again is not None:
            let_go(run)
            time.sleep(1)
            for victim in victims:
                os.kill(started[victim], again)
        rest, complaint = run.communicate(timeout=DEADLINE_S)
        self.expect_no_process(started)
        return run.returncode, begun + rest, complaint.decode()

    def expect_the_same(self, *how, **keywords):
        status, text, complaint = self.inject_fault(*how, **keywords)
        self.assertEqual((status, text), (0, self.alone), complaint)

    def test_a_killed_node(self):
        for victim, options in ((0, ()), (1, ("--draft", "ngram")), (2, ())):
            self.expect_the_same(3, [victim], signal.SIGKILL, options=options)

    def test_a_terminated_node(self):
        self.expect_the_same(2, [0], signal.SIGTERM)

    def test_a_stalled_node(self):
        self.expect_the_same(2, [1], signal.SIGSTOP)

    def test_a_node_that_stalls_for_a_moment(self):
        self.expect_the_same(2, [0], signal.SIGSTOP, again=signal.SIGCONT)

    def test_two_of_three(self):
        self.expect_the_same(3, [0, 2], signal.SIGKILL)

    def test_a_node_of_a_group(self):
        """The leading one, and another one."""
        for victim, how in ((0, signal.SIGKILL), (1, signal.SIGKILL), (1, signal.SIGSTOP)):
            self.expect_the_same(2, [victim], how, options=("--split", "group"))

    def test_a_node_of_a_group_that_slows_down(self):
        for victim in (0, 1):
            run = self.start((*self.command, "--split", "group"), 2)
            begun = read_piece(run)
            started = children_of(run.pid)
            with slowed(started[victim]):
                rest, complaint = run.communicate(timeout=DEADLINE_S)
            self.assertEqual((run.returncode, begun + rest), (0, self.alone), complaint)
            self.expect_no_process(started)

    def test_a_node_of_a_group_that_decodes(self):
        for victim in (0, 1):
            self.expect_the_same(3, [victim], signal.SIGKILL,
                                 options=("--split", "node-1=0:1,node-3=2:out", "--decode", "node-2+node-1"))

    def test_no_node_is_left(self):
        status, text, complaint = self.inject_fault(2, [0, 1], signal.SIGKILL)
        self.assertEqual(status, SYSTEM)
        self.assertTrue(self.alone.startswith(text.rstrip(b"\n")[:1]))
        self.assertIn("layers", complaint)

    def test_a_node_that_dies_while_it_starts(self):
        run = self.start(self.command, 2)
        wait_for(lambda: len(children_of(run.pid)) == 2 or run.poll() is not None, "two nodes")
        os.kill(children_of(run.pid)[1], signal.SIGKILL)
        text, complaint = run.communicate(timeout=DEADLINE_S)
        # Before the route is ready no other node replaces it; afterwards the other one does.
        if run.returncode == 0:
            self.assertEqual(text, self.alone)
        else:
            self.assertEqual((run.returncode, text), (SYSTEM, b""))
            self.assertRegex(complaint, b"node-2 did not start|layers 2 to 3 and the head are missing: node node-2")

    def test_nodes_end_with_the_command_that_started_them(self):
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            run = self.start(self.command, 2)
            read_piece(run)
            started = children_of(run.pid)
            self.assertEqual(len(started), 2)
            run.send_signal(how)
            run.wait(timeout=DEADLINE_S)
            self.expect_no_process(started)

    def test_a_stopped_node_ends_too(self):
        run = self.start(self.command, 2)
        read_piece(run)
        started = children_of(run.pid)
        os.kill(started[0], signal.SIGSTOP)
        run.kill()
        run.wait(timeout=DEADLINE_S)
        self.expect_no_process(started)

    def test_a_full_disk_costs_the_trace_and_nothing_else(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

        trace = self.folder / "trace.json"
        run = self.start((*self.command, "--trace", trace), 2, preexec_fn=small_files)
        text, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertEqual((run.returncode, text), (SYSTEM, self.alone), complaint)
        self.assertIn(b"--trace", complaint)
        self.assertFalse(trace.exists())
        self.assertEqual([path.name for path in self.folder.iterdir() if "trace" in path.name], [])


if __name__ == "__main__":
    unittest.main()
