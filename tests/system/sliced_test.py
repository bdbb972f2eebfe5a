#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Models whose files have some of the layers each, on machines with one of them each."""
import json
import unittest

from cluster_case import PROMPT, ClusterCase
from changed_model import ChangedModel
from fixture import INPUT


class Sliced(ClusterCase):
    def sliced(self, *options):
        """A model of DeepSeek V4, and files as large ones are published: layers 0-2 and the embedding, and the rest."""
        model = self.folder / f"whole{''.join(options)}.gguf"
        halves = model.with_stem(model.stem + "-low"), model.with_stem(model.stem + "-high")
        self.machine("desk").aster("synth", model, "--preset", "flash-shape-tiny", "--type", "Q8_0", "--vocab", 512,
                                   *options)
        for half, is_low in zip(halves, (True, False)):
            ChangedModel(model).keep(lambda name, is_low=is_low: is_low == name.startswith(
                ("blk.0.", "blk.1.", "blk.2.", "token_embd"))).write(half)
        return model, *halves

    @staticmethod
    def kept_weights(machine):
        return list((machine.folder / "cache").rglob("*.weights"))

    def test_each_half_on_a_machine_of_its_own(self):
        model, low, high = self.sliced("--no-next")  # the block would add the embedding to the head, too
        desk, lap = self.two(low, high)
        alone = desk.aster("run", model, *PROMPT, "-n", 40)
        split = ("--cluster", "--split", "desk=0:2,lap=3:out")
        for machine, files in ((desk, (low, high)), (desk, (high, low)), (desk, (low, high.stem)),
                               (lap, (low.stem, high)), (lap, (low.stem, high.stem)), (desk, (model,))):
            self.assertEqual(machine.aster("run", *files, *PROMPT, "-n", 40, *split), alone, files)
        # Each computes with its own file: nothing was fetched.
        self.assertEqual(self.kept_weights(desk) + self.kept_weights(lap), [])
        self.assertTrue(json.loads(desk.aster("verify", low, high, "--cluster", "--tokens", 40, "--json"))["equal"])
        for complaint, files in (("has layers 3-5, output_norm.weight", (low,)), (f"have {high.stem} (layers", (low,)),
                                 ("has layers 0-2, token_embd.weight", (high.stem,)),
                                 (f"there is {high.stem} (layers 3-5 of 6), {low.stem} (layers 0-2 of 6)", ("nobody",)),
                                 ("not all of", (low, high.stem, "--split", "here"))):
            self.assertIn(complaint, desk.aster("run", *files, *PROMPT, "--cluster", check=INPUT))

    def test_halves_that_are_cut_elsewhere_are_fetched_from_each_other(self):
        model, low, high = self.sliced()
        desk, lap = self.two(low, high)
        drafting = ("--cluster", "--split", "desk=0:2,lap=3:out", "--draft", "mtp", "--json")
        told = json.loads(desk.aster("run", low, high, *PROMPT, "-n", 40, *drafting))
        self.assertEqual(told["ids"], json.loads(desk.aster("run", model, *PROMPT, "-n", 40, "--json"))["ids"])
        self.assertGreater(told["draft"]["drafted"], 0)
        shed = self.invited(desk, "shed")
        shed.start_node("--join", desk.address)
        self.await_members(desk, 3)
        alone = desk.aster("run", model, *PROMPT, "-n", 40)
        for split in ("desk=0:1,lap=2:out", "lap=0:out", "shed=0:3,desk=4:out", "auto"):
            text = shed.aster("run", low.stem, high.stem, *PROMPT, "-n", 40, "--cluster", "--split", split)
            self.assertEqual(text, alone, split)
        # The tensors of its own file are not stored a second time.
        self.assertLess(sum(path.stat().st_blocks * 512 for path in self.kept_weights(lap)), low.stat().st_size + 65536)
        # A half that is known to belong to the model is still known when the other one is missing.
        desk.stop_node()
        self.await_members(lap, 2)
        text = lap.aster("run", low, high.stem, *PROMPT, "-n", 40, "--cluster", "--split", "shed=0:3,lap=4:out")
        self.assertEqual(text, alone)

    def test_a_half_of_another_model_is_not_computed_with(self):
        model, low, high = self.sliced()
        _, _, other = self.sliced("--seed", "9")
        desk, _ = self.two(low, other)
        split = ("--cluster", "--split", "desk=0:2,lap=3:out")
        error = desk.aster("run", low.stem, high, *PROMPT, *split, check=INPUT)
        wanted = f"it has {other.stem} (layers 3-5 of 6), and no part of another node completes it to this model"
        self.assertIn(wanted, error)
        # A front end with both halves sends them to the node.
        self.assertEqual(desk.aster("run", low, high, *PROMPT, *split), desk.aster("run", model, *PROMPT))
        # The halves are also refused if a key or a tensor shows that they belong to two models.
        changed = ChangedModel(high)
        changed.set("deepseek4.rope.freq_base", "f32", 20000.0).write(high)
        error = desk.aster("run", low.stem, high, *PROMPT, *split, check=INPUT)
        self.assertIn("are not of one model: the key deepseek4.rope.freq_base is", error)


if __name__ == "__main__":
    unittest.main()
