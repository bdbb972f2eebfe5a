#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The PyTorch models: gradients, batches, resumed training, and that the program computes the same from an export.

Ends with status 77 where python3-torch is not installed.
"""

import argparse
import os
import subprocess
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

import batches  # noqa: E402
import chat  # noqa: E402
import export  # noqa: E402
import gguf  # noqa: E402
import models  # noqa: E402
import prepare  # noqa: E402
import train  # noqa: E402
import vocab  # noqa: E402
from dense import Dense  # noqa: E402

torch.set_num_threads(1)
SHAPE = {"embedding": 64, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 32, "feed_forward": 96,
         "rope_base": 10000.0, "context": 8192, "tied": True}
TRAINING = {"tokens": 6 * 8192, "batch": 8192, "micro": 4096, "rate": 3e-3, "final_rate": 1e-4, "warmup": 2,
            "decay": 0.1, "shares": {512: 1.0}}


def network(arch, tied=True):
    torch.manual_seed(3)
    made = Dense(arch, 300, **{**SHAPE, "tied": tied})
    with torch.no_grad():
        for name, value in made.tensors.items():
            if value.ndim == 1:
                value += 0.2 * torch.randn(value.shape)
            elif name in ("token_embd", "output"):
                value *= 20
    return made


class Gradients(unittest.TestCase):
    def plain_loss(self, made, ids, weights):
        """The same loss with PyTorch's own derivatives, with the full square of attention."""
        def norm(x, weight):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + made.epsilon) * weight

        def attend(queries, keys, values):
            scores = queries @ keys.unsqueeze(1).transpose(-1, -2) / made.head_dim ** 0.5
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            return torch.softmax(scores.masked_fill(later, float("-inf")), -1) @ values.unsqueeze(1)

        saved = made._norm, torch.autograd.Function.__dict__.get("apply")
        import dense
        attention, made._norm = dense._CausalAttention.apply, lambda name, x, _=None: norm(x, made.tensors[name])
        dense._CausalAttention.apply = attend
        try:
            hidden = made.hidden(ids[:, :-1])
        finally:
            dense._CausalAttention.apply, made._norm = attention, saved[0]
        losses = torch.nn.functional.cross_entropy((hidden @ made._head().t()).flatten(0, 1), ids[:, 1:].flatten(),
                                                   reduction="none")
        return (losses * weights[:, 1:].flatten()).sum()

    def test_they_are_what_autograd_derives(self):
        for arch, tied in (("qwen3", True), ("llama", False)):
            made = network(arch, tied)
            ids, weights = torch.randint(300, (2, 290)), torch.rand(2, 290)
            ours = made.loss(ids, weights)
            ours.backward()
            gradients = {name: value.grad.clone() for name, value in made.tensors.items()}
            made.zero_grad()
            plain = self.plain_loss(made, ids, weights)
            plain.backward()
            self.assertAlmostEqual(ours.item() / plain.item(), 1, places=5)
            for name, value in made.tensors.items():
                difference = (gradients[name] - value.grad).norm() / value.grad.norm()
                self.assertLess(difference.item(), 1e-4, name)

    def test_a_token_does_not_see_later_ones(self):
        made = network("qwen3")
        ids = torch.randint(300, (1, 200))
        changed = ids.clone()
        changed[0, 150:] = 7
        self.assertTrue(torch.equal(made.logits(ids)[0, :150], made.logits(changed)[0, :150]))

    def test_with_a_cache(self):
        for arch in ("qwen3", "llama"):
            made, cache = network(arch), []
            ids = torch.randint(300, (200,))
            whole = made.logits(ids.unsqueeze(0))[0]
            for begin, end in ((0, 150), (150, 151), (151, 200)):
                last = made.step(ids[begin:end], cache)
                self.assertLess((last - whole[end - 1]).abs().max().item(), 1e-4)


class Batches(unittest.TestCase):
    def test_windows_hold_whole_documents_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "some.npz")
            lengths = np.array([5, 400, 100, 300, 700, 2000, 9000, 60, 8000], np.int32)
            tokens = np.repeat(np.arange(len(lengths), dtype=np.uint16), lengths)
            np.savez(path, tokens=tokens, weights=np.full(len(tokens), 10, np.uint8), lengths=lengths)
            documents = batches.Documents(path, 1)
            held = sorted(document for windows in documents.windows.values() for window in windows
                          for document in window)
            self.assertEqual(held, [0, 1, 2, 3, 4, 5, 7, 8])  # 6 is longer than any window
            for length, windows in documents.windows.items():
                for index, window in enumerate(windows):
                    ids, weights = documents.window(length, index)
                    self.assertEqual(int(weights.sum()), sum(int(lengths[document]) for document in window))
                    self.assertEqual(sorted(set(ids[weights > 0])), sorted(window))

    def test_an_epoch_shows_every_window(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "some.npz")
            np.savez(path, tokens=np.repeat(np.arange(48, dtype=np.uint16), 500), weights=np.full(24000, 10, np.uint8),
                     lengths=np.full(48, 500, np.int32))
            documents = batches.Documents(path, 1)
            for epoch in range(3):
                shown = [documents.batch(512, 48 * epoch + first, 8192)[0][:, 0] for first in (0, 16, 32)]
                self.assertEqual(sorted(np.concatenate(shown)), list(range(48)))


class Tiny(unittest.TestCase):
    """A tiny model, trained for a few steps on a few documents."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = os.path.join(cls.folder.name, "data")
        os.mkdir(cls.data)
        cls.model = models.Model("tiny", "qwen3", "for a test", chat.NOVA, ("byte-level", 700), "even", SHAPE, TRAINING,
                                 "Q8_0")
        models.MODELS["tiny"] = cls.model
        prepare._VOCAB_DOCUMENTS = 300
        words = prepare.train_vocab(cls.model)
        words.save(os.path.join(cls.data, "vocab.json"))
        for split in ("train", "held-out"):
            task = ("tiny", split, os.path.join(cls.data, "vocab.json"), 0, 700)
            tokens, weights, lengths = prepare.encode_documents(task)
            np.savez(os.path.join(cls.data, split + ".npz"), tokens=tokens, weights=weights, lengths=lengths)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_to(self, out, step):
        """Trains until `step` steps are done, from the checkpoint if there is one."""
        options = argparse.Namespace(model="tiny", data=self.data, out=os.path.join(self.folder.name, out), tokens=None,
                                     precision="f32", stop_at="", pause_file="")
        os.makedirs(options.out, exist_ok=True)
        run = train.Run(options)
        run.resume()
        losses = []
        while run.step < step:
            losses.append(run.make_step())
        run.save()
        return run, losses

    def test_a_resumed_run_ends_as_one_that_was_not_interrupted(self):
        whole, losses = self.run_to("whole", 4)
        self.run_to("parts", 2)
        parts, later = self.run_to("parts", 4)
        self.assertEqual(losses[2:], later)
        self.assertLess(losses[-1], losses[0])
        for name, value in whole.network.tensors.items():
            self.assertTrue(torch.equal(value, parts.network.tensors[name]), name)

    def test_the_rate_rises_stays_and_falls(self):
        run, _ = self.run_to("rate", 0)
        run.steps = 1000
        rates = []
        for run.step in (0, 1, 500, 749, 875, 1000):
            rates.append(run.rate())
        self.assertEqual(rates[1:4], [3e-3] * 3)
        self.assertLess(rates[0], 3e-3)
        self.assertAlmostEqual(rates[4], (3e-3 + 1e-4) / 2)
        self.assertAlmostEqual(rates[5], 1e-4)

    @unittest.skipUnless(os.environ.get("ASTER"), "ASTER does not name the program")
    def test_the_program_computes_the_same(self):
        words = vocab.load(os.path.join(self.data, "vocab.json"))
        document = prepare.corpus_of(self.model, "train").document(4)
        ids = words.encode("".join(text for text, _ in chat.NOVA.segments(document)))
        for arch, tied in (("qwen3", True), ("llama", False)):
            torch.manual_seed(4)
            made = Dense(arch, len(words.tokens), **{**SHAPE, "tied": tied})
            model = models.Model("tiny", arch, "for a test", chat.NOVA, ("byte-level", 700), "even", SHAPE,
                                 TRAINING, "Q8_0")
            path = os.path.join(self.folder.name, arch)
            for kind, limit in ((gguf.F32, 2e-3), (gguf.F16, 5e-3), (gguf.Q8_0, 8e-2)):
                export.write(model, words, made, path + ".gguf", kind)
                with open(path + ".ids", "w", encoding="utf-8") as file:
                    file.write(" ".join(map(str, ids)))
                subprocess.run([os.environ["ASTER"], "logits", path + ".gguf", "--ids", path + ".ids",
                                "--out", path + ".f32"],
                               check=True, capture_output=True, timeout=60)
                got = np.fromfile(path + ".f32", np.float32).reshape(len(ids), -1)
                wanted = made.logits(torch.tensor([ids]))[0].numpy()
                error = np.sqrt(np.square(got - wanted).mean()) / wanted.std()
                self.assertLess(error, limit, (arch, kind))


if __name__ == "__main__":
    unittest.main()
