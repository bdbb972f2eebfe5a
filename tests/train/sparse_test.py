#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The DeepSeek-V4-shaped network: it sees only earlier tokens, learns, and equals an independent implementation.

Ends with status 77 where python3-torch is not installed.
"""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "train"))
REFERENCE = os.path.join(os.environ.get("ASTER_SHARED_DIR", os.path.join(ROOT, "..", "shared")), "reference",
                         "deepseek-v4-tools")

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}; tools/setup --train installs it")
    sys.exit(77)

import chat  # noqa: E402
import export  # noqa: E402
import gguf  # noqa: E402
import models  # noqa: E402
from sparse import Sparse  # noqa: E402
from vocab.byte_level import ByteLevel  # noqa: E402

torch.set_num_threads(1)
SHAPE = {"vocab_size": 60, "embedding": 32, "ratios": [0, 4, 128], "heads": 2, "head_dim": 32, "rope_dim": 16,
         "q_rank": 16, "output_groups": 2, "output_rank": 16, "window": 20, "indexer_heads": 2, "indexer_dim": 32,
         "indexer_top": 12, "experts": 4, "used": 2, "feed_forward": 32, "hash_layers": 1, "context": 1024}


def network(**changes):
    torch.manual_seed(5)
    made = Sparse(**{**SHAPE, **changes})
    with torch.no_grad():
        for value in made.tensors.values():
            value += 0.3 * torch.randn(value.shape) / value.shape[-1] ** 0.5
    return made.eval()


class Network(unittest.TestCase):
    def test_a_token_does_not_see_later_ones(self):
        made = network()
        ids = torch.randint(60, (1, 300))
        changed = ids.clone()
        changed[0, 270:] = 7
        self.assertLess((made.logits(ids) - made.logits(changed))[0, :270].abs().max().item(), 1e-5)
        self.assertLess((made.next_logits(ids) - made.next_logits(changed))[0, :269].abs().max().item(), 1e-5)
        self.assertGreater((made.next_logits(ids) - made.next_logits(changed))[0, 269].abs().max().item(), 1e-3)

    def test_a_token_sees_far_beyond_the_window(self):
        made = network()
        ids = torch.randint(60, (1, 300))
        changed = ids.clone()
        changed[0, :8] = 7
        self.assertGreater((made.logits(ids) - made.logits(changed))[0, 290].abs().max().item(), 1e-5)

    def test_the_indexer_chooses_so_many_rows(self):
        made = network()
        ids = torch.randint(60, (1, 300))
        chosen = made.logits(ids)
        made.select = False
        every = made.logits(ids)
        # With up to 12 rows there is nothing to choose.
        self.assertLess((chosen - every)[0, :51].abs().max().item(), 1e-5)
        self.assertGreater((chosen - every)[0, 60:].abs().max().item(), 1e-4)

    def test_every_parameter_learns(self):
        made = network().train()
        made.loss(torch.randint(60, (2, 300)), torch.ones(2, 300)).backward()
        for name, value in made.tensors.items():
            self.assertGreater(value.grad.abs().sum().item(), 0, name)

    def test_training_lowers_the_loss_and_balances_experts(self):
        made = network().train()
        optimizer = torch.optim.AdamW(made.parameters(), lr=3e-3)
        ids = torch.randint(60, (2, 129)).repeat(1, 2)
        losses = []
        for _ in range(12):
            losses.append(made.loss(ids, torch.ones(ids.shape)))
            losses[-1].backward()
            optimizer.step()
            optimizer.zero_grad()
            made.balance()
        self.assertLess(losses[-1].item(), 0.9 * losses[0].item())
        self.assertGreater(made.bias_1.abs().sum().item(), 0)


@unittest.skipUnless(os.path.isdir(REFERENCE), "the independent implementation is not here")
class Reference(unittest.TestCase):
    def make(self, **changes):
        """Our network and the other implementation, with the same random weights, and their input."""
        sys.path.insert(0, REFERENCE)
        import gen
        import ref
        c = {**gen.BASE, **changes}
        is_mtp = bool(c.get("n_mtp"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            gen.make(path, c, seed=3)
            saved = np.load(path + ".npz")
            other = ref.Ref(path, kv16=False, clamp="ds4")
        values = {name: saved[name] for name in saved.files if name != "__cfg__"}
        for part in ("fn", "scale", "base"):
            values[f"blk.{c['n_layer']}.nextn.hc_head_{part}.weight"] = values[f"output_hc_{part}.weight"]
        made = Sparse(c["n_vocab"], c["n_embd"], c["ratios"], c["n_head"], c["hd"], c["rot"], c["q_rank"],
                      c["o_groups"], c["o_rank"], c["swa"], c["ih"], c["ihd"], c["itopk"], c["ne"], c["neu"],
                      c["ff"], c["nhash"], c["rscale"], c["clamp"], yarn_context=c["yorig"], context=1024, mtp=is_mtp)
        made.load_file_tensors(values)
        return made.eval(), other, np.random.default_rng(4).integers(c["n_vocab"], size=280)

    def expect_equal(self, got, wanted, tolerance=1e-4):
        errors = np.sqrt(np.square(got[0].numpy() - wanted).mean(1)) / wanted.std()
        self.assertLess(np.median(errors), tolerance)
        # If two experts or rows rank nearly alike, float32 may choose another one than float64.
        self.assertLess(np.quantile(errors, 0.9), 20 * tolerance)

    def compare(self, **changes):
        made, other, ids = self.make(**changes)
        other.c["n_layer"] = made.layers
        self.expect_equal(made.logits(torch.from_numpy(ids).unsqueeze(0)), other.forward(ids))

    def test_the_token_after_the_next(self):
        import importlib
        made, other, ids = self.make(n_mtp=1)
        rms = importlib.import_module("ref").rms
        prefix = f"blk.{made.layers}.nextn."
        _, streams = other.forward(ids, ret_h=True)
        embedded = rms(other.w["token_embd.weight"][ids[1:]], other.w[prefix + "enorm.weight"])
        hidden = rms(streams[:-1], other.w[prefix + "hnorm.weight"])
        joined = np.concatenate([np.repeat(embedded[:, None], made.streams, 1), hidden], -1)
        x = other.layer(joined @ other.w[prefix + "eh_proj.weight"].T, made.layers, ids[1:], 0, {}, 0)
        wanted = other.head(x, prefix + "shared_head_norm.weight")
        # One more layer, after all others, with rows that are rounded already.
        self.expect_equal(made.next_logits(torch.from_numpy(ids).unsqueeze(0)), wanted, tolerance=5e-4)

    def test_the_shape_of_flash(self):
        self.compare()

    def test_the_shape_of_pro(self):
        self.compare(ratios=[128, 128, 4, 128, 4, 128], rscale=2.5)


@unittest.skipUnless(os.environ.get("ASTER"), "ASTER does not name the program")
class Export(unittest.TestCase):
    def test_the_program_computes_the_same(self):
        """The shape of the model that we train, with random weights and a few words."""
        shape = models.MODELS["quasar"].shape
        model = models.Model("test", "deepseek4", "for a test", chat.NOVA, ("byte-level", 300), "even", shape, {},
                             "Q8_0")
        words = ByteLevel.train(["the river the river"], 300, chat.NOVA.control, chat.NOVA.visible)
        torch.manual_seed(6)
        made = Sparse(len(words.tokens), **shape).eval()
        with torch.no_grad():
            for value in made.tensors.values():
                value += 0.3 * torch.randn(value.shape) / value.shape[-1] ** 0.5
        ids = torch.randint(len(words.tokens), (1, 290))
        wanted = made.logits(ids)[0].numpy()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            with open(path + ".ids", "w", encoding="utf-8") as file:
                file.write(" ".join(map(str, ids[0].tolist())))
            for kind, limit in ((gguf.F32, 1e-3), (gguf.F16, 1e-2), (gguf.Q8_0, 0.2)):
                export.write(model, words, made, path, kind)
                subprocess.run([os.environ["ASTER"], "logits", path, "--ids", path + ".ids", "--out", path + ".f32"],
                               check=True, capture_output=True, timeout=120)
                got = np.fromfile(path + ".f32", np.float32).reshape(wanted.shape)
                errors = np.sqrt(np.square(got - wanted).mean(1)) / wanted.std()
                self.assertLess(np.median(errors), limit, kind)


if __name__ == "__main__":
    unittest.main()
