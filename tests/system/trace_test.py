#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Traces agree with the counters, and no node does two things at once."""
import collections
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fixture import INPUT, USAGE, Case, aster  # noqa: E402

PROMPT = 1500  # tokens
ANSWER = 40


def spans_of(events, process):
    """(begin, end, name, arguments) by thread, of events that must not overlap; in microseconds."""
    threads = collections.defaultdict(list)
    for event in events:
        if event["pid"] == process and event["ph"] == "X":
            threads[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"], event["args"]))
    return {thread: sorted(spans, key=lambda span: span[:2]) for thread, spans in threads.items()}


def sums_of_overlapping(events, process, name):
    return sum(event["ts"] * (1 if event["ph"] == "e" else -1) for event in events
               if event["pid"] == process and event["name"] == name and event["ph"] in "be")


def microseconds(text):
    value, unit = text.split()
    return float(value) * {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}[unit]


class Traces(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ids = cls.folder / "ids"
        cls.ids.write_text(" ".join(str(5 + i * 7 % 200) for i in range(PROMPT)))

    def trace_of(self, command, *options):
        path = self.folder / "trace.json"
        run = aster(command, self.tiny, *options, "--trace", path)
        events = json.loads(path.read_text())
        names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["ph"] == "M"}
        nodes = {name.partition(" ")[0]: pid for (pid, tid), name in names.items() if tid == 0}
        return run, events, nodes

    def check(self, events):
        for event in events:
            self.assertGreaterEqual(event.get("ts", 0), 0)
            self.assertGreaterEqual(event.get("dur", 0), 0)
        for process in {event["pid"] for event in events}:
            everything = sorted(span for spans in spans_of(events, process).values() for span in
                                (span[:2] for span in spans)) if process > 1 else []
            for before, after in zip(everything, everything[1:]):
                # A node computes one frame at a time, and while it does there is no bubble.
                self.assertLessEqual(before[1], after[0] + 1e-3)
        begun = collections.Counter((event["pid"], event["id"], event["name"])
                                    for event in events if event["ph"] == "b")
        ended = collections.Counter((event["pid"], event["id"], event["name"])
                                    for event in events if event["ph"] == "e")
        self.assertEqual(begun, ended)

    def test_a_run(self):
        for split in ("0:1,2:out", "node-2=0:0,node-1=1:2,node-2=3:out"):
            run, events, nodes = self.trace_of("run", "--ids", self.ids, "-n", ANSWER, "--temp", 0, "--ignore-eos",
                                               "--local-nodes", 2, "--split", split)
            self.check(events)
            told = re.findall(r"(node-\d), layers? .*?: (\d+) frames, computing ([^,]+), waiting ([^,]+),",
                              run.stderr.decode())
            self.assertEqual(len(told), split.count(",") + 1)
            for node in ("node-1", "node-2"):
                stages = [told_of for told_of in told if told_of[0] == node]
                computed = [span for spans in spans_of(events, nodes[node]).values() for span in spans
                            if span[2] in ("prompt", "answer")]
                self.assertEqual(len(computed), sum(int(frames) for _, frames, _, _ in stages))
                spent = sum(end - begin for begin, end, _, _ in computed)
                # Counters have three digits.
                self.assertAlmostEqual(spent / sum(microseconds(took) for _, _, took, _ in stages), 1, delta=0.01)
                waited = sums_of_overlapping(events, nodes[node], "waiting")
                told_us = sum(microseconds(took) for _, _, _, took in stages)
                self.assertAlmostEqual(waited, told_us, delta=0.01 * told_us + 1)
                tokens = collections.Counter()
                for _, _, name, arguments in computed:
                    tokens[name] += arguments["tokens"]
                self.assertEqual(tokens["prompt"], PROMPT * len(stages))
                self.assertEqual(tokens["answer"], (ANSWER - 1) * len(stages))

    def test_bubbles_of_one_sequence(self):
        # Of two nodes that compute one sequence, one waits for the other.
        _, events, nodes = self.trace_of("run", "-p", "a", "-n", ANSWER, "--temp", 0, "--ignore-eos",
                                         "--local-nodes", 2)
        for node in ("node-1", "node-2"):
            idle = [span for spans in spans_of(events, nodes[node]).values() for span in spans if span[2] == "bubble"]
            self.assertGreaterEqual(len(idle), ANSWER - 3)

    def test_other_commands(self):
        for command, options in (("bench", ("--threads", 1, "--prompt", 600, "--gen", 8, "--reps", 1)),
                                 ("verify", ("--tokens", 300)),
                                 ("perplexity", ("--ids", self.ids, "--ctx", 400, "--chunks", 1))):
            _, events, nodes = self.trace_of(command, *options, "--local-nodes", 2)
            self.check(events)
            self.assertIn("node-2", nodes)
            self.assertTrue(any(event["name"] == "prompt" and event["ph"] == "X" for event in events), command)

    def test_where_it_cannot_be_written(self):
        options = ("-p", "a", "-n", 1, "--local-nodes", 2)
        aster("run", self.tiny, *options, "--trace", self.folder / "no" / "trace.json", check=INPUT)
        aster("run", self.tiny, *options, "--trace", self.folder, check=INPUT)
        aster("run", self.tiny, "-p", "a", "--trace", self.folder / "trace.json", check=USAGE)


if __name__ == "__main__":
    unittest.main()
