#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""DeepSeek V4.1: long texts are the same in every way, nodes begin where they can, and broken files are refused."""
import json
import unittest

from changed_model import ChangedModel
from fixture import INPUT, UNSUPPORTED, Case, aster

# Layers 2 and 4 make rows for later layers.
SHAPE = ("--preset", "flash41-shape-tiny", "--type", "Q8_0")
ARCH = "deepseek41."
NODES = ("--local-nodes", 2)


class DeepSeek41(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model, cls.ids = cls.folder / "model.gguf", cls.folder / "ids"
        aster("synth", cls.model, *SHAPE)
        cls.ids.write_text(" ".join(str(7 * i * i % 300) for i in range(640)), encoding="utf-8")
        cls.wanted = cls.logits(cls.model)

    @classmethod
    def logits(cls, *files_and_options):
        out = cls.folder / "logits"
        aster("logits", *files_and_options, "--ids", cls.ids, "--out", out)
        return out.read_bytes()

    def check_refused(self, said, *files_and_options):
        run = aster("logits", *files_and_options, "--ids", self.ids, "--out", self.folder / "none", check=None)
        self.assertIn(run.returncode, (INPUT, UNSUPPORTED))
        self.assertIn(said, run.stderr.decode())
        self.assertFalse((self.folder / "none").exists())

    def changed(self):
        return ChangedModel(self.model)


class EveryWay(DeepSeek41):
    """More tokens than any window has, than the index chooses from, and than its blocks hold."""

    def test_a_long_text_is_the_same(self):
        report = json.loads(aster("verify", self.model, "--tokens", 640, "--json", timeout=600).stdout)
        self.assertTrue(report["equal"])
        ways = {way["name"] for way in report["ways"]}
        for way in ("in chunks of 1", "after a rewind", "after a KV transfer", "cut at layer 1 and 6",
                    "from the disk", "saved and loaded", "sharing a prefix"):
            self.assertIn(way, ways)

    def test_a_long_text_on_nodes(self):
        for options in (("--split", "0:3,4:out"), ("--split", "0:0,1:out"), ("--split", "0:5,6:out"),
                        ("--prefill", "0:out", "--decode", "here"), ("--split", "auto")):
            self.assertEqual(self.logits(self.model, *NODES, *options), self.wanted, options)

    def test_a_node_cannot_begin_behind_rows_that_it_needs(self):
        self.check_refused("can begin with 0, 1, 2, 4, 6 only", self.model, *NODES, "--split", "0:4,5:out")

    def test_what_it_is(self):
        told = json.loads(aster("inspect", self.model, "--json").stdout)
        self.assertTrue(told["supported"], told["obstacles"])
        self.assertEqual(told["shape"]["makes_rows"], [0, 0, 1, 0, 1, 0, 0])
        self.assertEqual(told["shape"]["chooses_rows"], [0, 0, 1, 0, 1, 0, 1])
        self.assertEqual(told["shape"]["ngrams"]["layers"], [1, 4])
        self.assertIn("n-grams of up to 3 tokens in 2 layers", aster("inspect", self.model).stdout.decode())


class Files(DeepSeek41):
    @staticmethod
    def is_low(name):
        return name.startswith(("blk.0.", "blk.1.", "blk.2.", "blk.3.", "token_embd"))

    def test_two_of_some_layers_each(self):
        low = self.changed().keep(self.is_low).write(self.folder / "low.gguf")
        high = self.changed().keep(lambda name: not self.is_low(name)).write(self.folder / "high.gguf")
        self.assertEqual(self.logits(low, high), self.wanted)
        self.check_refused("give all files of the model", high)

    def test_what_is_for_pictures_is_left_alone(self):
        bias = self.changed().rename(lambda old: old.replace("blk.5.exp_probs_b.bias", "blk.5.exp_probs_b_vl.bias"))
        self.check_refused("blk.5.exp_probs_b.bias", bias.write(self.folder / "renamed.gguf"))
        both = self.changed().copy("blk.5.exp_probs_b.bias", "blk.5.exp_probs_b_vl.bias")
        self.assertEqual(self.logits(both.write(self.folder / "both.gguf")), self.wanted)

    def test_without_what_a_layer_needs(self):
        for name in ("blk.2.attn_compressor_gate.weight", "blk.4.indexer.attn_k.weight", "blk.6.indexer.proj.weight",
                     "blk.1.engram_embd.weight", "blk.4.engram_wkv.weight"):
            broken = self.changed().keep(lambda other, lost=name: other != lost).write(self.folder / "broken.gguf")
            self.check_refused(name, broken)

    def test_without_rows_or_a_choice(self):
        for lost in ("blk.4.attn_compressor_", "blk.2.indexer.attn_q_b"):
            broken = self.changed().keep(lambda name, lost=lost: not name.startswith(lost))
            self.check_refused("no layer up to it makes them and chooses among them",
                               broken.write(self.folder / "broken.gguf"))

    def test_hashes_that_fall_beyond_the_table(self):
        for key, value in (("engram.primes", [61, 67, 71, 73, 79, 83, 89, 0]), ("engram.offsets", [2**40] * 8),
                           ("engram.multipliers", [1, 2, 3])):
            self.check_refused(key, self.changed().set(ARCH + key, "u64[]", value).write(self.folder / "broken.gguf"))
        longer = self.changed().set(ARCH + "engram.primes", "u64[]", [9973] * 8).write(self.folder / "broken.gguf")
        self.check_refused("blk.1.engram_embd.weight", longer)

    def test_none_of_it_is_written(self):
        path = self.folder / "unwritten.gguf"
        for options in (("--layers", 5), ("--ratios", "0,4"), ("--index-top", 400)):
            run = aster("synth", path, *SHAPE, *options, check=None)
            self.assertIn(run.returncode, (INPUT, UNSUPPORTED), options)
            self.assertFalse(path.exists(), options)


if __name__ == "__main__":
    unittest.main(verbosity=2)
