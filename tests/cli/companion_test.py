#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""DeepSeek V4 with its MTP block in a file of its own, as both families of published files have it: mtp.0.*, and
blk.N.nextn.* after the model's last layer."""
import json
import unittest

from changed_model import ChangedModel
from fixture import INPUT, ROOT, UNSUPPORTED, Case, aster

STORY = ("-p", "Tell me a story.", "-n", 40, "--json")


def block_as_published(tensors, layers):
    """The block's tensors of a model that has it inside, named and cut as in a file of their own."""
    inside = f"blk.{layers}."
    for name, dims, kind, content in tensors:
        if not name.startswith(inside):
            continue
        own = name.removeprefix(inside).removeprefix("nextn.")
        if own == "eh_proj.weight":
            # Each row has the token's factors, then those of the streams.
            columns, rows = dims
            half = len(content) // rows // 2
            halves = [content[at:at + half] for at in range(0, 2 * half * rows, half)]
            yield "mtp.0.e_proj.weight", (columns // 2, rows), kind, b"".join(halves[0::2])
            yield "mtp.0.h_proj.weight", (columns // 2, rows), kind, b"".join(halves[1::2])
        else:
            yield "mtp.0." + own.replace("shared_head_norm", "norm"), dims, kind, content


ARCH = "deepseek4."


class Companion(Case):
    """A trained model with its block inside, and the same model without, whose keys do not mention a block."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.inside = ROOT / "models/quasar.gguf"
        whole = ChangedModel(cls.inside)
        cls.layers = whole.number(ARCH + "block_count") - 1
        cls.prefix = f"blk.{cls.layers}."
        cls.main = cls.folder / "main.gguf"
        whole.keep(lambda name: not name.startswith(cls.prefix)).drop_keys(ARCH + "nextn_predict_layers")
        whole.set(ARCH + "block_count", "u32", cls.layers).write(cls.main)
        cls.plain = cls.answer(cls.main, "--temp", 0)["ids"]

    @staticmethod
    def answer(*arguments):
        return json.loads(aster("run", *arguments, *STORY).stdout)

    def check_drafts(self, ids, *arguments):
        """Answers with these tokens, and drafts well. The number of draft tokens depends on timing, so answers are
        repeated until there are enough of them: those of a block that was read wrongly are hardly ever accepted."""
        drafted = accepted = 0
        for _ in range(20):
            answer = self.answer(*arguments)
            self.assertEqual(answer["ids"], ids, arguments)
            drafted += answer["draft"]["drafted"]
            accepted += answer["draft"]["accepted"]
            if drafted >= 20:
                break
        self.assertGreater(4 * accepted, drafted)

    def check(self, *files, options=()):
        """The model with these files answers like the model alone, and drafts well."""
        for order in (files, files[::-1]):
            self.check_drafts(self.plain, *order, "--temp", 0, "--draft", "mtp", "--draft-max", 1, *options)

    def apart(self):
        """The block alone, named as in published files, with all keys of the model."""
        block = ChangedModel(self.inside)
        block.tensors = list(block_as_published(block.tensors, self.layers))
        return block

    def companion(self):
        """One layer more than the model has, with copies of the model's embedding and head; the block's own head has
        the name of the model's."""

        def is_kept(name):
            return name.startswith((self.prefix, "token_embd", "output")) and not name.startswith("output_hc_")

        companion = ChangedModel(self.inside).keep(is_kept)
        companion.rename(lambda name: name.replace(self.prefix + "nextn.hc_head_", "output_hc_"))
        self.assertIn("output_hc_fn.weight", [name for name, *_ in companion.tensors])
        width = companion.number(ARCH + "hyper_connection.count") * companion.number(ARCH + "embedding_length")
        return companion.set(ARCH + "embedding_length_out", "u32", width)

    def test_a_model_without_it_says_so(self):
        run = aster("run", self.main, *STORY, "--draft", "mtp", check=INPUT)
        self.assertIn(b"no MTP block", run.stderr)

    def test_it_drafts_as_the_block_within_the_model(self):
        block = self.apart().write(self.folder / "block.gguf")
        for options in (("--temp", 0), ("--temp", 0.8, "--seed", 3)):
            inside = self.answer("quasar", *options, "--draft", "mtp")
            self.check_drafts(inside["ids"], self.main, block, *options, "--draft", "mtp", "--draft-max", 1)

    def test_nodes_have_it_too(self):
        for block in (self.apart(), self.companion()):
            path = block.write(self.folder / "for-nodes.gguf")
            self.check(self.main, path, options=("--local-nodes", 2, "--split", "0:1,2:out"))

    def test_with_the_keys_of_the_published_one(self):
        block = self.apart().drop_keys(ARCH).drop_keys("tokenizer.")
        block.set("general.architecture", "string", "deepseek4_mtp_support")
        block.set(ARCH + "expert_count", "u64", ChangedModel(self.inside).number(ARCH + "expert_count"))
        for key in ("mtp_layer_count", "nextn_predict_layers"):
            block.set(ARCH + key, "u32", 1)
        self.check(self.main, block.write(self.folder / "published.gguf"))

    def test_with_another_context_than_the_model(self):
        block = self.apart().set(ARCH + "context_length", "u32", 77)
        self.check(self.main, block.write(self.folder / "short.gguf"))

    def test_a_companion(self):
        self.check(self.main, self.companion().write(self.folder / "companion.gguf"))

    def test_a_companion_of_a_model_that_counts_the_block(self):
        counting = ChangedModel(self.inside).keep(lambda name: not name.startswith(self.prefix))
        files = counting.write(self.folder / "counting.gguf"), self.companion().write(self.folder / "beside.gguf")
        self.check(*files)

    def test_a_companion_whose_copies_are_not_the_models(self):
        other = self.companion().fill("output_norm.weight", b"\0\0\x80\x3f")
        self.check(self.main, other.write(self.folder / "other-norm.gguf"))

    def test_of_another_model_they_are_refused(self):
        block = self.apart().set(ARCH + "expert_count", "u32", 99)
        run = aster("run", self.main, block.write(self.folder / "experts.gguf"), *STORY, check=INPUT)
        self.assertIn(b"deepseek4.expert_count is 99 in it", run.stderr)

    def test_inside_and_apart_at_once(self):
        block = self.apart().write(self.folder / "twice.gguf")
        run = aster("run", self.inside, block, *STORY, check=UNSUPPORTED)
        self.assertIn(b"is there twice", run.stderr)

    def test_a_companion_alone_is_no_model(self):
        companion = self.companion().write(self.folder / "alone.gguf")
        self.assertIn(b"blk.0.", aster("run", companion, *STORY, check=UNSUPPORTED).stderr)


class PlainRows(Case):
    def test_nodes_keep_them_as_one_machine_does(self):
        model, ids = self.folder / "rounded.gguf", self.folder / "ids"
        aster("synth", model, "--preset", "flash-shape-tiny", "--type", "F32", "--vocab", 512)
        ids.write_text(" ".join(str(i * i % 512) for i in range(200)))

        def logits(*options):
            out = self.folder / "logits"
            aster("logits", model, "--ids", ids, "--out", out, *options)
            return out.read_bytes()

        plain = logits("--kv-plain")
        self.assertNotEqual(plain, logits())
        for nodes in (("--local-nodes", 2), ("--local-nodes", 2, "--prefill", "node-1", "--decode", "node-2")):
            self.assertEqual(plain, logits("--kv-plain", *nodes), nodes)


if __name__ == "__main__":
    unittest.main()
