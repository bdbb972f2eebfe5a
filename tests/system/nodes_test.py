#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Several processes as one machine: whatever happens to them, the text is the one that a single process writes."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fixture import ASTER, INPUT, SYSTEM, USAGE, Case, aster  # noqa: E402

DEADLINE_S = 90
LAYERS = 4  # of the synthetic model


def children_of(pid):
    """The processes that a process has started and that have not ended."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            if entry.name.isdigit() and int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
        except (OSError, IndexError):
            continue
    return sorted(found)


class Nodes(Case):
    def text(self, *options):
        return aster("run", self.tiny, "-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-q", *options).stdout

    def test_every_split_writes_the_same(self):
        alone = self.text("-n", 60)
        for last in range(LAYERS - 1):
            split = f"0:{last},{last + 1}:out"
            self.assertEqual(self.text("-n", 60, "--local-nodes", 2, "--split", split), alone)
        self.assertEqual(self.text("-n", 60, "--local-nodes", 2, "--split", "node-2=0:0,node-1=1:out"), alone)
        self.assertEqual(self.text("-n", 60, "--local-nodes", 1), alone)

    def test_splits_that_make_no_sense(self):
        for split in ("0:1", "1:out", "0:9,10:out", "0:out,0:out", "x", "node-7=0:out", "0:1,1:out"):
            run = aster("run", self.tiny, "-p", "a", "--local-nodes", 2, "--split", split, check=INPUT)
            self.assertIn(b"--split", run.stderr)
        aster("run", self.tiny, "-p", "a", "--split", "0:out", check=USAGE)

    def test_verify_computes_on_nodes_too(self):
        report = json.loads(aster("verify", self.tiny, "--local-nodes", 3, "--tokens", 150, "--json").stdout)
        self.assertTrue(report["equal"])
        on_nodes = [way for way in report["ways"] if "node-3" in way["name"]]
        self.assertGreaterEqual(len(on_nodes), 3)
        self.assertEqual(len({way["hash"] for way in report["ways"]}), 1)

    def test_inexact_rows_are_close_but_not_the_same(self):
        exact = aster("verify", self.tiny, "--local-nodes", 2, "--tokens", 100, "--json")
        self.assertTrue(json.loads(exact.stdout)["equal"])
        for rows in ("bf16", "q8"):
            run = aster("verify", self.tiny, "--local-nodes", 2, "--tokens", 100, "--json", "--wire", rows, check=1)
            self.assertFalse(json.loads(run.stdout)["equal"])

    def test_bench_measures_nodes(self):
        run = aster("bench", self.tiny, "--local-nodes", 2, "--threads", 1, "--prompt", 64, "--gen", 8,
                    "--depth", "0,128", "--batch", "1,2", "--reps", 1, "--json")
        report = json.loads(run.stdout)
        self.assertEqual(len(report["results"]), 2 * 3)
        self.assertIn("node-2", report["split"])


class Faults(Case):
    OPTIONS = ("-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-q", "-n", 1500, "--ignore-eos")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.alone = aster("run", cls.tiny, *cls.OPTIONS).stdout

    def start(self, nodes):
        command = [ASTER, "run", self.tiny, *self.OPTIONS, "--local-nodes", nodes]
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                bufsize=0)

    def disturb(self, nodes, victims, how):
        """The whole output of a run some of whose nodes met with an accident when it had begun to write."""
        run = self.start(nodes)
        self.addCleanup(run.kill)
        begun = run.stdout.read(1)
        started = children_of(run.pid)
        self.assertEqual(len(started), nodes)
        for victim in victims:
            os.kill(started[victim], how)
        rest, complaint = run.communicate(timeout=DEADLINE_S)
        return run.returncode, begun + rest, complaint.decode()

    def test_a_killed_node(self):
        for victim in (0, 1, 2):
            status, text, complaint = self.disturb(3, [victim], signal.SIGKILL)
            self.assertEqual((status, text), (0, self.alone), complaint)

    def test_a_node_that_stands_still(self):
        status, text, complaint = self.disturb(2, [1], signal.SIGSTOP)
        self.assertEqual((status, text), (0, self.alone), complaint)

    def test_two_of_three(self):
        status, text, complaint = self.disturb(3, [0, 2], signal.SIGKILL)
        self.assertEqual((status, text), (0, self.alone), complaint)

    def test_nobody_is_left(self):
        status, text, complaint = self.disturb(2, [0, 1], signal.SIGKILL)
        self.assertEqual(status, SYSTEM)
        self.assertTrue(self.alone.startswith(text.rstrip(b"\n")[:1]))
        self.assertIn("layers", complaint)

    def test_nodes_end_with_whoever_started_them(self):
        for how in (signal.SIGKILL, signal.SIGTERM):
            run = self.start(2)
            run.stdout.read(1)
            started = children_of(run.pid)
            self.assertEqual(len(started), 2)
            run.send_signal(how)
            run.wait(timeout=DEADLINE_S)
            run.stdout.close()
            run.stderr.close()
            end = time.monotonic() + DEADLINE_S
            while any(pathlib.Path(f"/proc/{pid}/stat").exists() and
                      pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z" for pid in started):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
