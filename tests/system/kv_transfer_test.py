#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Prefill/decode disaggregation between processes: the text is the one of a single process, whichever node decodes, and
whichever is killed or stopped meanwhile."""
import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from faults_test import Faulty  # noqa: E402
from fixture import INPUT, USAGE, aster  # noqa: E402
from processes import DEADLINE_S, children_of, cpu_seconds_of, read_piece, wait_for  # noqa: E402

PREFILL = "node-1=0:3,node-2=4:out"


class KvTransfer(Faulty):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.folder / "slow.gguf"
        aster("synth", cls.model, "--layers", 8, "--embedding", 512, "--ff", 2048, "--type", "Q4_K", "--context", 16384)
        cls.words = cls.folder / "words"
        cls.words.write_text("the rain in spain falls mainly in the plain " * 300)
        # Several frames, but quick to compute, if nothing is disturbed meanwhile.
        cls.few_words = cls.folder / "few-words"
        cls.few_words.write_text("the rain in spain falls mainly in the plain " * 70)
        cls.command, cls.short = cls.asked(cls.words, 150), cls.asked(cls.few_words, 40)
        cls.alone, cls.short_alone = aster(*cls.command).stdout, aster(*cls.short).stdout

    @classmethod
    def asked(cls, words, count):
        return ("run", cls.model, "--prompt-file", words, "--raw", "--temp", 0.7, "--seed", 5, "-n", count,
                "--ignore-eos", "-q")

    def expect_the_same(self, *options):
        done = aster(*self.short, *options, check=None)
        self.assertEqual((done.returncode, done.stdout), (0, self.short_alone), done.stderr.decode())

    def test_any_node_decodes(self):
        for options in (("--local-nodes", 2, "--decode", "node-2"),
                        ("--local-nodes", 2, "--prefill", PREFILL, "--decode", "node-1"),
                        ("--local-nodes", 2, "--prefill", PREFILL, "--decode", "front"),
                        ("--local-nodes", 3, "--prefill", PREFILL, "--decode", "node-3"),
                        ("--local-nodes", 2, "--prefill", "node-1", "--decode", "node-2"),
                        ("--local-nodes", 1, "--prefill", "node-1:0-3,front:4-out", "--decode", "front"),
                        ("--local-nodes", 1, "--prefill", "front=0:1, node-1=2:3,front=4:out", "--decode", "node-1"),
                        ("--local-nodes", 1, "--prefill", "node-1", "--decode", " front"),
                        ("--local-nodes", 1, "--prefill", "node-1", "--decode", "here=0:3,front=4:out")):
            self.expect_the_same(*options)

    def test_a_trace_shows_both_paths(self):
        trace = self.folder / "trace.json"
        self.expect_the_same("--local-nodes", 2, "--prefill", PREFILL, "--decode", "node-2", "--trace", trace)
        self.assertIn("layers 0 to 7 and the head", trace.read_text())

    def test_names_of_no_node(self):
        done = aster(*self.short, "--local-nodes", 2, "--decode", "laptop", check=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b'--decode: no node is called "laptop"; there are: node-1, node-2; here (or front) is this',
                      done.stderr)
        for name in ("storefront", "somewhere", "frontal"):
            done = aster(*self.short, "--local-nodes", 2, "--prefill", f"{name}=0:3,node-2=4:out", check=INPUT)
            self.assertIn(f'--prefill: no node is called "{name}"; there are: node-1, node-2'.encode(), done.stderr)
        aster(*self.short, "--decode", "node-2", check=USAGE)

    def test_a_session_is_continued_on_other_nodes(self):
        home = {"XDG_DATA_HOME": str(self.folder / "data")}
        three = ("--local-nodes", 3, "--prefill", PREFILL, "--decode", "node-3")
        asked = ("-p", "and then it", "--raw", "--temp", 0, "-n", 30, "--ignore-eos", "-q")
        for number, options in enumerate(((), ("--local-nodes", 3), three)):
            name = f"trip-{number}"
            aster("session", "save", name, self.model, "--prompt-file", self.few_words, *options, environment=home)
            texts = [aster("run", self.model, "--session", name, *asked, *elsewhere, environment=home).stdout
                     for elsewhere in ((), ("--local-nodes", 2), three)]
            self.assertEqual(texts, [texts[0]] * 3)

    def test_a_session_of_rows_in_fewer_bits_keeps_its_text_alone(self):
        home = {"XDG_DATA_HOME": str(self.folder / "data")}
        two = ("--local-nodes", 2, "--prefill", PREFILL, "--decode", "node-2", "--kv-wire", "q8")
        words = ("--prompt-file", self.few_words)
        said = aster("session", "save", "small", self.model, *words, *two, environment=home).stdout
        self.assertIn(b", 0 of them with their KV rows. (", said)
        asked = ("-p", "and then it", "--raw", "--temp", 0, "-n", 5, "--ignore-eos", "-q")
        exact = aster("run", self.model, "--session", "small", *asked, environment=home)
        aster("session", "save", "exact", self.model, *words, environment=home)
        self.assertEqual(aster("run", self.model, "--session", "exact", *asked, environment=home).stdout, exact.stdout)
        # Exact rows cannot be used on a route with inexact ones: the text is computed again.
        aster("run", self.model, "--session", "exact", *asked, *two, environment=home)

    def inject_fault(self, victim, how, in_prefill):
        run = self.start((*self.command, "--prefill", PREFILL, "--decode", "node-3"), 3)
        begun = b""
        if in_prefill:
            wait_for(lambda: run.poll() is not None or
                     (len(children_of(run.pid)) == 3 and min(map(cpu_seconds_of, children_of(run.pid)[:2])) > 0.4),
                     "nodes in prefill")
        else:
            begun = read_piece(run)
        started = children_of(run.pid)
        self.assertEqual(len(started), 3)
        os.kill(started[victim], how)
        text, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertEqual((run.returncode, begun + text), (0, self.alone), complaint)
        self.expect_no_process(started)

    def test_a_node_that_is_killed_in_prefill(self):
        for victim in range(3):
            self.inject_fault(victim, signal.SIGKILL, in_prefill=True)

    def test_a_node_that_is_killed_in_decode(self):
        for victim in range(3):
            self.inject_fault(victim, signal.SIGKILL, in_prefill=False)

    def test_a_node_that_is_stopped_in_prefill(self):
        self.inject_fault(2, signal.SIGSTOP, in_prefill=True)


if __name__ == "__main__":
    unittest.main()
