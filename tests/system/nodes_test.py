#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Several processes as one machine: the text, and every figure, equals that of a single process."""
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

    def test_groups_write_the_same(self):
        alone = self.text("-n", 60)
        for split in ("group", "node-2+node-1=0:out", "2*node-1+3*node-2=0:out", "node-1+node-2=0:1,node-3=2:out"):
            nodes = 3 if "node-3" in split else 2
            self.assertEqual(self.text("-n", 60, "--local-nodes", nodes, "--split", split), alone)
        # The model has two key-value heads.
        run = aster("run", self.tiny, "-p", "a", "--local-nodes", 3, "--split", "group", check=INPUT)
        self.assertIn(b"2 key-value heads", run.stderr)
        run = aster("run", self.tiny, "-p", "a", "--local-nodes", 2, "--decode", "node-1+node-2", "--kv-wire", "q8",
                    check=None)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(b"leave --kv-wire out", run.stderr)

    def test_a_pipeline_prefills_and_a_group_decodes(self):
        ask = ("run", self.tiny, "-p", "the rain in " * 40, "--raw", "--temp", 0.8, "--seed", 3, "-q", "-n", 60)
        alone = aster(*ask).stdout
        for prefill, decode in (("0:1,2:out", "node-1+node-2"), ("0:1,2:out", "2*node-2+node-1"),
                                ("node-1", "node-2+node-1"), ("group", "node-2"),
                                ("node-1+node-2=0:out", "node-2+node-1")):
            nodes = ("--local-nodes", 2, "--split", prefill, "--decode", decode)
            self.assertEqual(aster(*ask, *nodes).stdout, alone, nodes)
        told = json.loads(aster(*ask, "--json", "--local-nodes", 2, "--split", "0:1,2:out", "--decode",
                                "node-1+node-2").stdout)
        self.assertGreater(told["kv_transfer"]["bytes"], 0)
        self.assertEqual(told["handed_over"], told["kv_transfer"])

    def test_sessions_of_groups(self):
        """A session that a group has saved continues on one machine, and back; so do pages on disk."""
        group = ("--local-nodes", 2, "--split", "group")
        words = self.folder / "words-of-a-group"
        words.write_text("the rain in spain " * 40)
        more = ("--raw", "-p", "stays mainly", "--temp", 0, "-n", 24, "-q", "--json")
        aster("session", "save", self.folder / "alone.session", self.tiny, "--prompt-file", words, "--raw")
        aster("session", "save", self.folder / "group.session", self.tiny, "--prompt-file", words, "--raw", *group)
        told = []
        for name in ("alone", "group"):
            for nodes in ((), group, ("--local-nodes", 2, "--split", "2*node-2+node-1=0:out")):
                run = json.loads(aster("run", self.tiny, "--session", self.folder / f"{name}.session", *more,
                                       *nodes).stdout)
                told.append(run["text"])
                self.assertGreater(run["tokens"]["cached"], 256, (name, nodes))
        self.assertEqual(len(set(told)), 1, told)

    def test_pages_of_groups_on_disk(self):
        kept = ("--kv-cache", self.folder / "pages-of-groups")
        ask = ("run", self.tiny, "-p", "the rain in spain " * 40, "--raw", "--temp", 0, "-n", 24, "-q", "--json", *kept)
        ways = (("--local-nodes", 2, "--split", "group"), ("--local-nodes", 2, "--split", "node-2+node-1=0:out"), (),
                ("--local-nodes", 2, "--split", "0:1,2:out"))
        told = [json.loads(aster(*ask, *way).stdout) for way in ways]
        self.assertEqual(len({run["text"] for run in told}), 1)
        self.assertEqual(told[0]["tokens"]["cached"], 0)
        for run in told[1:]:
            self.assertGreater(run["tokens"]["cached"], 256)

    def test_groups_compute_experts(self):
        for name, options in (("experts", ("--arch", "qwen3moe", "--layers", 2)), ("oss", ("--preset", "gpt-oss-tiny")),
                              ("flash", ("--preset", "flash-shape-tiny"))):
            model = self.folder / f"{name}.gguf"
            aster("synth", model, "--vocab", 512, *options)
            ask = ("run", model, "-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-q", "-n", 24)
            alone = aster(*ask).stdout
            for split in ("group", "node-2+3*node-1=0:out", "group/experts", "2*node-2+node-1/experts*2=0:out"):
                self.assertEqual(aster(*ask, "--local-nodes", 2, "--split", split).stdout, alone, (name, split))
        run = aster(*ask, "--local-nodes", 3, "--split", "group", check=INPUT)
        self.assertIn(b"2 groups of heads", run.stderr)

    def test_json_says_what_each_node_did(self):
        ask = ("run", self.tiny, "-p", "the rain in", "--raw", "--temp", 0, "-n", 8, "--json")
        hops = json.loads(aster(*ask, "--local-nodes", 2, "--split", "0:1,2:out").stdout)["hops"]
        self.assertEqual([(hop["node"], hop["layers"]) for hop in hops],
                         [("node-1", "layers 0 to 1"), ("node-2", "layers 2 to 3 and the head")])
        for hop in hops:
            self.assertGreaterEqual(hop["frames"], 8)
            self.assertGreater(hop["compute_s"], 0)
        self.assertNotIn("hops", json.loads(aster(*ask).stdout))

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
        names = [way["name"] for way in report["ways"]]
        for split in ("node-1+node-2=0:out", "2*node-1+node-2=0:out", "node-1+node-2=0:1,node-3=2:out",
                      "node-1=0:1,node-2=2:out decode node-1+node-2=0:out",
                      "node-1+node-2=0:out decode node-2=0:out"):
            self.assertTrue(any(name.startswith(split) for name in names), split)
        self.assertTrue(any(line.startswith("a group is left out: node-1+node-2+node-3=0:out: part 2")
                            for line in report["left_out"]), report["left_out"])
        for phase in ("in prefill", "in KV transfer", "in decode",
                      "in KV sync"):
            self.assertTrue(any("is killed " + phase in name for name in names), phase)
        for topology in ("by nodes, loaded by one machine", "by one machine, loaded by nodes",
                         "by nodes, loaded by other nodes", "by a group, loaded by one machine",
                         "by one machine, loaded by a group"):
            self.assertIn("saved " + topology, names)

    def test_verify_cuts_between_every_two_layers(self):
        model = self.folder / "six.gguf"
        aster("synth", model, "--layers", 6, "--type", "Q4_K", "--vocab", 512)
        report = json.loads(aster("verify", model, "--local-nodes", 2, "--tokens", 40, "--json").stdout)
        names = " ".join(way["name"] for way in report["ways"])
        for last in range(5):
            self.assertIn(f"node-1=0:{last},node-2={last + 1}:out in chunks", names)
        self.assertNotIn("left_out", report)

    def test_verify_says_where_it_does_not_cut(self):
        model = self.folder / "many.gguf"
        aster("synth", model, "--layers", 17, "--embedding", 64, "--ff", 128, "--vocab", 512)
        report = json.loads(aster("verify", model, "--local-nodes", 2, "--tokens", 40, "--json").stdout)
        self.assertTrue(report["equal"])
        self.assertEqual(report["left_out"], ["not every split is computed: of 16 places between layers, 5 are cut"])

    def test_verify_runs_the_plan_that_is_asked_for(self):
        plan = ("--split", "node-2=0:0,node-1=1:out", "--decode", "here")
        report = json.loads(aster("verify", self.tiny, "--local-nodes", 2, "--tokens", 40, "--json", *plan).stdout)
        self.assertTrue(report["equal"])
        names = [way["name"] for way in report["ways"]]
        asked = [name for name in names if name.startswith("node-2=0:0,node-1=1:out decode here=0:out ")]
        self.assertEqual(len(asked), 5, names)
        self.assertTrue(any(name.endswith("in turns, with draft tokens") for name in asked), names)
        self.assertTrue(any("is killed" in name for name in names))
        self.assertEqual([line for line in report["left_out"] if not line.startswith("a group is left out: ")], [])
        for options, name in ((("--split", "garbage"), b"--split"), (("--decode", "nobody"), b"--decode")):
            run = aster("verify", self.tiny, "--local-nodes", 2, "--tokens", 40, *options, check=INPUT)
            self.assertIn(name, run.stderr)

    def test_verify_says_what_it_leaves_out(self):
        for options, why in ((("--local-nodes", 2, "--tokens", 20), "32 tokens"),
                             (("--local-nodes", 1, "--tokens", 40), "two nodes")):
            run = aster("verify", self.tiny, *options, "--json")
            left_out = json.loads(run.stdout)["left_out"]
            self.assertEqual(len(left_out), 2)
            for line in left_out:
                self.assertIn(why, line)
                self.assertIn(line.encode(), run.stderr)

    def test_inexact_rows_are_close_but_not_the_same(self):
        run = aster("verify", self.tiny, "--local-nodes", 2, "--tokens", 40, "--json", "--wire", "bf16", check=1)
        self.assertFalse(json.loads(run.stdout)["equal"])
        run = aster("verify", self.tiny, "--local-nodes", 2, "--tokens", 40, "--wire", "q8", check=1)
        self.assertRegex(run.stdout, rb"node-1=0:1,node-2=2:out in chunks of 40  differs\n")
        self.assertIn(b"NOT equal", run.stdout)

    def test_kv_rows_are_transferred_in_fewer_bits_on_request(self):
        words = self.folder / "many-words"
        words.write_text("the rain in spain falls mainly in the plain " * 40)
        ask = ("run", self.tiny, "--prompt-file", words, "--raw", "--temp", 0, "-n", 8, "--json")
        nodes = ("--local-nodes", 2, "--split", "node-1", "--decode", "node-2")
        exact = json.loads(aster(*ask, *nodes).stdout)
        self.assertNotIn("inexact", exact)
        run = aster(*ask, *nodes, "--kv-wire", "q8")
        self.assertEqual(json.loads(run.stdout)["inexact"], "--kv-wire q8")
        self.assertIn(b"results may differ from one machine's: --kv-wire q8", run.stderr)
        both = json.loads(aster(*ask, *nodes, "--kv-wire", "q8", "--wire", "bf16").stdout)
        self.assertEqual(both["inexact"], "--wire bf16, --kv-wire q8")
        # Rows of 8 bits are sent unchanged.
        run = aster(*ask, *nodes, "--kv-wire", "q8", "--kv-type", "q8")
        self.assertNotIn("inexact", json.loads(run.stdout))
        self.assertEqual(json.loads(run.stdout)["ids"], json.loads(aster(*ask, "--kv-type", "q8").stdout)["ids"])
        integers = aster(*ask, *nodes, "--kv-type", "q8i")
        self.assertEqual(json.loads(integers.stdout)["ids"], json.loads(aster(*ask, "--kv-type", "q8i").stdout)["ids"])
        refused = aster("verify", self.tiny, "--local-nodes", 2, "--kv-wire", "q8", check=INPUT)
        self.assertIn(b"verify compares bits", refused.stderr)
        aster(*ask, "--kv-wire", "q8", check=USAGE)

    def test_logits_show_what_rows_in_fewer_bits_do(self):
        ids = self.folder / "ids"
        ids.write_text(" ".join(str(i * 37 % 250) for i in range(400)))
        rows = {}
        for way in ((), ("exact",), ("q8",)):
            out = self.folder / "logits"
            nodes = ("--local-nodes", 2, "--split", "node-1", "--decode", "node-2", "--kv-wire", *way) if way else ()
            aster("logits", self.tiny, "--ids", ids, "--out", out, *nodes)
            rows[way] = out.read_bytes()
        half = len(rows[()]) // 2
        self.assertEqual(rows[("exact",)], rows[()])
        self.assertEqual(rows[("q8",)][:half], rows[()][:half])
        self.assertNotEqual(rows[("q8",)][half:], rows[()][half:])

    def test_bench_measures_nodes(self):
        run = aster("bench", self.tiny, "--local-nodes", 2, "--threads", 1, "--prompt", 64, "--gen", 8,
                    "--depth", "0,128", "--batch", "1,2", "--reps", 1, "--json")
        report = json.loads(run.stdout)
        self.assertEqual(len(report["results"]), 2 * 3)
        self.assertIn("node-2", report["split"])
        self.assertNotIn("inexact", report)
        run = aster("bench", self.tiny, "--local-nodes", 2, "--threads", 1, "--prompt", 64, "--gen", 8, "--depth", 0,
                    "--batch", 1, "--reps", 1, "--json", "--kv-wire", "q8")
        self.assertEqual(json.loads(run.stdout)["inexact"], "--kv-wire q8")

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
