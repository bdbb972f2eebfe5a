#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Drafters of blocks: what each row sees, the loss, what training counts, and the files.

Ends with status 77 where python3-torch is not installed.
"""

import argparse
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "train"))

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}; tools/setup --train installs it")
    sys.exit(77)

import chat  # noqa: E402
import drafter  # noqa: E402
import drafter_export  # noqa: E402
import export  # noqa: E402
import gguf  # noqa: E402
import gguf_reader  # noqa: E402
import models  # noqa: E402
import networks  # noqa: E402
import prepare  # noqa: E402
from blocks import BlockDrafter  # noqa: E402

torch.set_num_threads(1)
VOCAB, MASK, BLOCK, RANK = 60, 9, 4, 6
SHAPE = {"embedding": 32, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 16, "feed_forward": 40,
         "rope_base": 10000.0, "context": 600}


def drafter_for_test():
    torch.manual_seed(3)
    made = BlockDrafter(torch.randn(VOCAB, 32), MASK, [1, 3], BLOCK, RANK, **SHAPE)
    with torch.no_grad():
        for value in made.tensors.values():
            if value.ndim == 1:
                value += 0.2 * torch.randn(value.shape)
    return made


def plain_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def plain_rope(x, position):
    """[heads, head_dim]"""
    angles = position * SHAPE["rope_base"] ** (-torch.arange(0, 16, 2, dtype=torch.float64) / 16)
    turn = torch.polar(torch.ones_like(angles), angles)
    turned = torch.complex(x[:, :8].double(), x[:, 8:].double()) * turn
    return torch.cat([turned.real, turned.imag], -1).float()


def plain_states(made, rows, newest, anchor):
    """The states of one block by their definition, one row at a time."""
    t = made.tensors
    context = plain_norm(rows[:anchor] @ t["fc"].t(), t["enc_output_norm"])
    x = made.table[[newest] + [MASK] * (BLOCK - 1)]
    for layer in range(SHAPE["layers"]):
        def of(name):
            return t[f"blk_{layer}_{name}"]
        inputs = plain_norm(x, of("attn_norm"))
        seen = torch.cat([context, inputs])
        keys = torch.stack([plain_rope(plain_norm((of("attn_k") @ row).view(2, 16), of("attn_k_norm")), position)
                            for position, row in enumerate(seen)])
        values = (seen @ of("attn_v").t()).view(-1, 2, 16)
        mixed = []
        for i, row in enumerate(inputs):
            queries = plain_rope(plain_norm((of("attn_q") @ row).view(4, 16), of("attn_q_norm")), anchor + i)
            mixed.append(torch.cat([torch.softmax(keys[:, head // 2] @ queries[head] / 4, 0) @ values[:, head // 2]
                                    for head in range(4)]))
        x = x + torch.stack(mixed) @ of("attn_output").t()
        inputs = plain_norm(x, of("ffn_norm"))
        gate, up = inputs @ of("ffn_gate").t(), inputs @ of("ffn_up").t()
        x = x + (torch.nn.functional.silu(gate) * up) @ of("ffn_down").t()
    return plain_norm(x, t["output_norm"])


class Rows(unittest.TestCase):
    def setUp(self):
        self.made = drafter_for_test()
        self.rows = torch.randn(2, 40, 64)
        self.anchors = torch.tensor([[5, 30, 6], [0, 36, 12]])
        self.newest = torch.randint(VOCAB, (2, 3))
        with torch.no_grad():
            self.states = self.made.states(self.rows, self.newest, self.anchors)

    def test_they_are_as_defined(self):
        for batch in range(2):
            for i, anchor in enumerate(self.anchors[batch].tolist()):
                wanted = plain_states(self.made, self.rows[batch], self.newest[batch, i].item(), anchor)
                self.assertLess((self.states[batch, i] - wanted).abs().max().item(), 1e-4)

    @torch.no_grad()
    def test_they_do_not_depend_on_other_blocks(self):
        newest = self.newest.clone()
        newest[:, 1] = (newest[:, 1] + 1) % VOCAB
        changed = self.made.states(self.rows, newest, self.anchors)
        self.assertLess((changed - self.states)[:, ::2].abs().max().item(), 1e-6)
        self.assertTrue(((changed - self.states)[:, 1].abs().amax(-1) > 1e-3).all())

    @torch.no_grad()
    def test_they_see_the_context_before_their_block_only(self):
        rows = self.rows.clone()
        rows[:, 6:] = 1
        changed = self.made.states(rows, self.newest, self.anchors)
        is_same = (changed - self.states).abs().amax((-1, -2)) < 1e-6
        self.assertEqual(is_same.tolist(), [[True, False, True], [True, False, False]])

    @torch.no_grad()
    def test_drafts_are_what_the_loss_chooses_behind_them(self):
        drafts, chances = self.made.draft(self.rows, self.newest, self.anchors)
        before = torch.cat([self.newest.unsqueeze(-1), drafts[..., :-1]], -1).flatten()
        wanted = torch.softmax(torch.randn(len(before), VOCAB), -1)
        _, choices, sureness = self.made.loss(self.states.flatten(0, 2), before, wanted, torch.ones(len(before)))
        self.assertEqual(choices.tolist(), drafts.flatten().tolist())
        self.assertLess((torch.sigmoid(sureness) - chances.flatten()).abs().max().item(), 1e-5)


class Loss(unittest.TestCase):
    def test_gradients_are_what_autograd_derives(self):
        made = drafter_for_test()
        before, weights = torch.randint(VOCAB, (50,)), torch.rand(50)
        states = torch.randn(50, 32, requires_grad=True)
        wanted = torch.softmax(torch.randn(50, VOCAB), -1)
        ours, _, _ = made.loss(states, before, wanted, weights)
        names = ["markov_w1", "markov_w2"]
        learning = [states] + [made.tensors[name] for name in names]
        gradients = torch.autograd.grad(ours, learning)
        logits = states @ made.table.t() + made.tensors["markov_w1"][before] @ made.tensors["markov_w2"].t()
        plain = -((torch.log_softmax(logits, -1) * wanted).sum(-1) * weights).sum()
        self.assertAlmostEqual(ours.item() / plain.item(), 1, places=5)
        for got, right in zip(gradients, torch.autograd.grad(plain, learning)):
            self.assertLess(((got - right).norm() / right.norm()).item(), 1e-5)

    def test_the_confidence_changes_nothing_else(self):
        made = drafter_for_test()
        states = torch.randn(5, 32, requires_grad=True)
        _, _, sureness = made.loss(states, torch.arange(5), torch.full((5, VOCAB), 1 / VOCAB), torch.ones(5))
        sureness.sum().backward()
        self.assertIsNone(states.grad)
        has_gradient = {name for name, value in made.tensors.items() if value.grad is not None and value.grad.any()}
        self.assertEqual(has_gradient, {"conf_proj", "conf_proj_bias"})

    def test_what_counts(self):
        """Tokens 1 to 8, then a separator; the model would have written another one for 4."""
        ids = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3]])
        logits = torch.zeros(1, 12, 10).scatter_(2, ids.roll(-1, 1).unsqueeze(-1), 5.0)
        logits[0, 2, 9] = 9.0
        blocks = drafter.Blocks(ids, torch.ones(1, 12), logits, torch.tensor([[0, 6]]), 4, separator=0)
        self.assertEqual(blocks.before.tolist(), [[[1, 2, 3, 4], [7, 8, 0, 1]]])
        self.assertEqual(blocks.chosen.tolist(), [[[2, 3, 9, 5], [8, 0, 1, 2]]])
        self.assertEqual(blocks.is_text.tolist(), [[[1, 1, 1, 1], [1, 1, 0, 0]]])
        decay = np.exp(-0.25 * np.arange(4))
        np.testing.assert_allclose(blocks.weights[0], [decay * [1, 1, 1, 0.2], decay * [1, 1, 0, 0]], rtol=1e-6)


class Files(unittest.TestCase):
    """A tiny model with a random drafter, which is trained for two steps."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.target = cls.path("tiny.gguf")
        shape = {**SHAPE, "layers": 3, "tied": True}
        model = models.Model("tiny", "qwen3", "for a test", chat.NOVA, ("byte-level", 400), "even", shape, {}, "Q8_0")
        models.MODELS["tiny"] = model
        models.DRAFTERS["tiny"] = {
            "shape": {"taps": [1, 3], "layers": 2, "feed_forward": 40, "block": BLOCK, "pair_rank": RANK},
            "mask": "\u00ff",
            "training": {"tokens": 2 * 1024, "batch": 1024, "micro": 1024, "rate": 3e-3, "final_rate": 1e-4,
                         "warmup": 2, "decay": 0.1, "shares": {512: 1.0}, "anchors": {512: 10}}}
        prepare._VOCAB_DOCUMENTS = 100
        words = prepare.train_vocab(model)
        export.write(model, words, networks.build(model, 400), cls.target, gguf.Q8_0)
        prepare.vocab_of_file(model, cls.target).save(cls.path("vocab.json"))
        for split in ("train", "held-out"):
            tokens, weights, lengths = prepare.encode_documents(("tiny", split, cls.path("vocab.json"), 0, 50))
            np.savez(cls.path(split + ".npz"), tokens=tokens, weights=weights, lengths=lengths)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def test_reader_and_writer_agree(self):
        values = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
        metadata = {"some.list": [1, -2], "some.text": "\u00ff", "some.flag": True, "some.words": ["a", "bc"]}
        tensors = [("a", values, gguf.F32), ("b", values, gguf.F16), ("c", values, gguf.Q8_0),
                   ("d", values[0], gguf.F32)]
        gguf.write(self.path("some.gguf"), metadata, tensors)
        read, got = gguf_reader.read(self.path("some.gguf"))
        self.assertEqual(read, metadata)
        np.testing.assert_array_equal(got["a"], values)
        np.testing.assert_array_equal(got["d"], values[0])
        np.testing.assert_allclose(got["b"], values, rtol=1e-3)
        np.testing.assert_allclose(got["c"], values, atol=0.02)

    def test_a_drafter_is_trained_and_exported(self):
        options = argparse.Namespace(model="tiny", data=self.folder.name, out=self.folder.name, tokens=None,
                                     precision="f32", stop_at="", pause_file="", target=self.target)
        run = drafter.DrafterRun(options)
        before = run.held_out_loss()  # of the same text
        for _ in range(run.steps):
            run.make_step()
        self.assertLess(run.held_out_loss(), before)
        are_right, chances = run.measure(2)
        self.assertEqual(are_right.shape, chances.shape)
        self.assertEqual(are_right.shape[1], BLOCK)
        self.assertTrue((are_right[:, 1:] <= are_right[:, :-1]).all())

        drafter_export.write("tiny", run.network, gguf_reader.read(self.target)[0], self.path("drafter.gguf"))
        metadata, tensors = gguf_reader.read(self.path("drafter.gguf"))
        self.assertEqual({name: list(value.shape)[::-1] for name, value in tensors.items()}, self.dims())
        np.testing.assert_array_equal(tensors["fc.weight"], run.network.tensors["fc"].detach())
        wanted = {"general.architecture": "dflash", "dflash.block_count": 2, "dflash.block_size": BLOCK,
                  "dflash.sample_from_anchor": True, "dflash.target_layers": [1, 3], "dflash.embedding_length": 32,
                  "dflash.attention.head_count_kv": 2, "dflash.attention.key_length": 16,
                  "dflash.rope.freq_base": 10000.0, "tokenizer.ggml.mask_token_id": 255}
        self.assertEqual({key: metadata[key] for key in wanted}, wanted)
        self.assertEqual(metadata["tokenizer.ggml.tokens"], run.words.tokens)

    @staticmethod
    def dims():
        layer = {"attn_norm": [32], "attn_q": [32, 64], "attn_k": [32, 32], "attn_v": [32, 32], "attn_q_norm": [16],
                 "attn_k_norm": [16], "attn_output": [64, 32], "ffn_norm": [32], "ffn_gate": [32, 40],
                 "ffn_up": [32, 40], "ffn_down": [40, 32]}
        return {"fc.weight": [64, 32], "enc.output_norm.weight": [32], "output_norm.weight": [32],
                "markov_w1.weight": [RANK, 400], "markov_w2.weight": [RANK, 400],
                "conf_proj.weight": [32 + RANK, 1], "conf_proj.bias": [1],
                **{f"blk.{i}.{name}.weight": dims for i in range(2) for name, dims in layer.items()}}


if __name__ == "__main__":
    unittest.main()
