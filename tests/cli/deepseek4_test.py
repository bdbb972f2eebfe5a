#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""DeepSeek V4: long texts are the same in every way, so are other names and slices, and broken files are refused."""
import json
import unittest

from changed_model import ChangedModel
from fixture import INPUT, UNSUPPORTED, Case, aster

SHAPE = ("--preset", "flash-shape-tiny", "--type", "Q8_0", "--vocab", 512)
ARCH = "deepseek4."
IDS = " ".join(str(7 * i % 300) for i in range(20))
INFINITE, NO_NUMBER = b"\0\0\x80\x7f", b"\0\0\xc0\x7f"


class DeepSeek4(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model, cls.ids = cls.folder / "model.gguf", cls.folder / "ids"
        aster("synth", cls.model, *SHAPE)
        cls.ids.write_text(IDS, encoding="utf-8")
        cls.wanted = cls.logits(cls.model)

    @classmethod
    def logits(cls, *files_and_options):
        out = cls.folder / "logits"
        aster("logits", *files_and_options, "--ids", cls.ids, "--out", out)
        return out.read_bytes()

    def check_refused(self, said, *files):
        run = aster("logits", *files, "--ids", self.ids, "--out", self.folder / "none", check=None)
        self.assertIn(run.returncode, (INPUT, UNSUPPORTED))
        self.assertIn(said, run.stderr.decode())
        self.assertFalse((self.folder / "none").exists())

    def changed(self):
        return ChangedModel(self.model)


class EveryWay(DeepSeek4):
    """More tokens than any window has, and than the index chooses from; two and a half pages."""

    def check(self, model, tokens, *options):
        run = aster("verify", model, "--tokens", tokens, *options, "--json", timeout=600)
        report = json.loads(run.stdout)
        self.assertTrue(report["equal"])
        self.assertEqual(report["tokens"], tokens)
        return {way["name"] for way in report["ways"]}

    def test_a_long_text_is_the_same(self):
        ways = self.check(self.model, 640)
        for way in ("in chunks of 1", "after a rewind", "after a KV transfer", "cut at layer 3", "from the disk",
                    "saved and loaded", "sharing a prefix"):
            self.assertIn(way, ways)

    def test_a_long_text_on_nodes(self):
        self.ids.write_text(" ".join(str(7 * i * i % 300) for i in range(640)), encoding="utf-8")
        wanted = self.logits(self.model)
        self.assertEqual(len(wanted), 640 * 512 * 4)
        for options in (("--split", "0:2,3:out"), ("--prefill", "0:out", "--decode", "here"), ("--chunk", 37)):
            nodes = () if "--chunk" in options else ("--local-nodes", 2)
            self.assertEqual(self.logits(self.model, *nodes, *options), wanted, options)

    def test_nodes_that_are_killed_change_nothing(self):
        ways = self.check("quasar", 60, "--local-nodes", 2, "--draft", "mtp")
        self.assertTrue(any("killed" in way for way in ways), ways)


class Names(DeepSeek4):
    """Names that other programs write for the same keys and tensors."""

    def check_same(self, changed):
        self.assertEqual(self.logits(changed.write(self.folder / "renamed.gguf")), self.wanted)

    def test_rows_of_latents(self):
        for name in ("attn_kv_latent.weight", "attn_kv_a_mqa.weight"):
            self.check_same(self.changed().rename(lambda old, new=name: old.replace("attn_kv.weight", new)))

    def test_compressors(self):
        self.check_same(self.changed().rename(lambda old: old.replace("attn_compressor_", "attn_compress_")))
        self.check_same(self.changed().rename(lambda old: old.replace("indexer_compressor_", "indexer.compress_")))

    def test_the_merging_head(self):
        self.check_same(self.changed().rename(
            lambda old: old.replace("output_hc_", "hc_head_") if old.startswith("output_hc_") else old))

    def test_signed_ratios_and_one_more(self):
        self.check_same(self.changed().set(ARCH + "attention.compress_ratios", "i32[]", [0, 0, 4, 128, 4, 128, 0, 0]))


class Slices(DeepSeek4):
    """Files that hold some layers each."""

    @staticmethod
    def is_low(name):
        return name.startswith(("blk.0.", "blk.1.", "blk.2.", "token_embd"))

    def test_in_any_order(self):
        low = self.changed().keep(self.is_low).write(self.folder / "low.gguf")
        high = self.changed().keep(lambda name: not self.is_low(name)).write(self.folder / "high.gguf")
        self.assertEqual(self.logits(low, high), self.wanted)
        self.assertEqual(self.logits(high, low), self.wanted)

    def test_of_two_models_they_are_not_mixed(self):
        other = self.folder / "other.gguf"
        aster("synth", other, *SHAPE, "--seed", 9)
        low = self.changed().keep(self.is_low).write(self.folder / "low.gguf")
        high = ChangedModel(other).keep(lambda name: name.startswith("token_embd") or not self.is_low(name))
        high = high.write(self.folder / "high-of-other.gguf")
        for files in ((low, high), (high, low)):
            self.check_refused("token_embd.weight differs in its content", *files)
            aster("quantize", *files, self.folder / "mixed.gguf", "--type", "Q4_0", check=INPUT)
            self.assertFalse((self.folder / "mixed.gguf").exists())


class Broken(DeepSeek4):
    def check_key(self, key, kind, value):
        self.check_refused(key, self.changed().set(ARCH + key, kind, value).write(self.folder / "broken.gguf"))

    def test_bases_that_turn_nothing(self):
        for key in ("rope.freq_base", "attention.compress_rope_freq_base"):
            for base in (1.0, 0.5, float("inf")):
                self.check_key(key, "f32", base)

    def test_numbers_that_change_nothing_here_and_something_elsewhere(self):
        for key, kind, value in (("embedding_length_out", "u32", 77), ("rope.scaling.attn_factor", "f32", 2.0),
                                 ("rope.scaling.yarn_ext_factor", "f32", 3.0),
                                 ("rope.scaling.yarn_beta_fast", "f32", 0.5), ("rope.scaling.factor", "f32", 1e-30),
                                 ("attention.layer_norm_rms_epsilon", "f32", 1e38),
                                 ("hyper_connection.epsilon", "f32", 2.0), ("attention.sliding_window", "u32", 1)):
            self.check_key(key, kind, value)

    def test_weights_that_are_no_numbers(self):
        for name, content in (("blk.1.attn_sinks.weight", INFINITE), ("blk.4.hc_ffn_base.weight", NO_NUMBER)):
            broken = self.changed().fill(name, content).write(self.folder / "broken.gguf")
            self.check_refused(name, broken)

    def test_a_head_that_was_lost(self):
        broken = self.changed().keep(lambda name: name != "output.weight").write(self.folder / "broken.gguf")
        self.check_refused("tensor output.weight [256, 512] is missing", broken)

    def test_none_of_it_is_written(self):
        path = self.folder / "unwritten.gguf"
        for options in (("--rope-base", 1), ("--index-top", 0), ("--expert-limit", "nan"), ("--tied",)):
            run = aster("synth", path, *SHAPE, *options, check=None)
            self.assertIn(run.returncode, (INPUT, UNSUPPORTED), options)
            self.assertFalse(path.exists(), options)
        run = aster("synth", path, "--preset", "tiny", "--rope-base", 1, check=INPUT)
        self.assertIn(b"freq_base", run.stderr)


if __name__ == "__main__":
    unittest.main()
