#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Several processes as one machine: the text, and every figure, is the one of a single process."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fixture import INPUT, USAGE, Case, aster  # noqa: E402

LAYERS = 4  # of the synthetic model


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

    def test_a_link_of_ones_own_making(self):
        alone = self.text("-n", 30)
        for link in ("1ms", "0.2ms,10Gbit", "2ms,100Mbit"):
            self.assertEqual(self.text("-n", 30, "--local-nodes", 2, "--link", link), alone)
        for link in ("x", "1", "1ms,5", "1ms,Gbit", "1ms,0Gbit", ",1Gbit"):
            run = aster("run", self.tiny, "-p", "a", "--local-nodes", 2, "--link", link, check=INPUT)
            self.assertIn(b"--link", run.stderr)
        aster("run", self.tiny, "-p", "a", "--link", "1ms", check=USAGE)

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

    def test_perplexity_is_the_same_number(self):
        words = self.folder / "words"
        words.write_text("the rain in spain falls mainly in the plain " * 200)

        def measure(*options):
            report = json.loads(aster("perplexity", self.tiny, "--file", words, "--ctx", 251, "--chunks", 3, "--json",
                                      *options).stdout)
            report.pop("seconds")
            return report

        alone = measure()
        self.assertGreater(alone["scored"], 3 * 120)
        self.assertEqual(measure("--local-nodes", 1), alone)
        self.assertEqual(measure("--local-nodes", 2), alone)
        self.assertEqual(measure("--local-nodes", 3, "--split", "node-3=0:0,node-1=1:2,node-2=3:out"), alone)
        self.assertNotEqual(measure("--local-nodes", 2, "--wire", "q8")["perplexity"], alone["perplexity"])
        refused = aster("perplexity", self.tiny, "--against", self.tiny, "--local-nodes", 2, check=USAGE)
        self.assertIn(b"--against", refused.stderr)


if __name__ == "__main__":
    unittest.main()
