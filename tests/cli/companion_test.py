#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""DeepSeek V4 with its guessing block in a file of its own, named as the published ones are: mtp.0.*."""
import json
import pathlib
import struct
import sys
import unittest

from fixture import INPUT, ROOT, Case, aster

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from slices import ALIGNMENT, Reader, write_slices  # noqa: E402

STORY = ("-p", "Tell me a story.", "-n", 40, "--json")


def block_as_published(tensors, layers):
    """Of a model with the block inside: the block's tensors, named and cut as in a file of their own."""
    inside = f"blk.{layers}."
    for name, dims, kind, content in tensors:
        if not name.startswith(inside):
            continue
        own = name.removeprefix(inside).removeprefix("nextn.")
        if own == "eh_proj.weight":
            # Each row has what the token's numbers are multiplied with, then what those of the streams are.
            columns, rows = dims
            half = len(content) // rows // 2
            halves = [content[at:at + half] for at in range(0, 2 * half * rows, half)]
            yield "mtp.0.e_proj.weight", (columns // 2, rows), kind, b"".join(halves[0::2])
            yield "mtp.0.h_proj.weight", (columns // 2, rows), kind, b"".join(halves[1::2])
        else:
            yield "mtp.0." + own.replace("shared_head_norm", "norm"), dims, kind, content


def write_model(path, reader, tensors):
    infos, contents, count = b"", b"", 0
    for name, dims, kind, content in tensors:
        infos += struct.pack("<Q", len(name)) + name.encode()
        infos += struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(contents))
        contents += content + bytes(-len(content) % ALIGNMENT)
        count += 1
    head = struct.pack("<4sIQQ", b"GGUF", 3, count, reader.key_count) + reader.keys + infos
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + contents)


class Companion(Case):
    """The block of a trained model, cut out of its file, and the same model without."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.main, cls.block = cls.folder / "main.gguf", cls.folder / "block.gguf"
        whole = ROOT / "models/quasar.gguf"
        reader = Reader(whole)
        inside = next(name.split("nextn.")[0] for name, *_ in reader.infos if "nextn." in name)
        write_slices(whole, [(cls.main, lambda name: not name.startswith(inside))])
        write_model(cls.block, reader, block_as_published(reader.tensors(), int(inside.split(".")[1])))

    def answer(self, *arguments):
        return json.loads(aster("run", *arguments, *STORY).stdout)

    # How many are made is a matter of time; a block that was read wrongly is hardly ever right.
    def check_guesses(self, draft):
        self.assertGreater(draft["accepted"], 0)
        self.assertGreater(2 * draft["accepted"], draft["drafted"])

    def test_it_guesses_as_the_same_block_inside(self):
        for options in (("--temp", 0), ("--temp", 0.8, "--seed", 3)):
            inside = self.answer("quasar", *options, "--draft", "mtp")
            apart = self.answer(self.main, self.block, *options, "--draft", "mtp", "--draft-max", 1)
            self.assertEqual(apart["ids"], inside["ids"])
            self.check_guesses(apart["draft"])

    def test_nodes_have_it_too(self):
        plain = self.answer("quasar", "--temp", 0)
        apart = self.answer(self.main, self.block, "--temp", 0, "--draft", "mtp", "--local-nodes", 2, "--split",
                            "0:1,2:out", "--draft-max", 1)
        self.assertEqual(apart["ids"], plain["ids"])
        self.check_guesses(apart["draft"])

    def test_beside_a_model_whose_keys_know_nothing_of_it(self):
        shape = ("--preset", "flash-shape-tiny", "--type", "Q8_0", "--vocab", 512)
        inside, main, block = (self.folder / f"small-{name}.gguf" for name in ("inside", "main", "block"))
        aster("synth", inside, *shape)
        aster("synth", main, *shape, "--no-next")
        write_model(block, Reader(main), block_as_published(Reader(inside).tensors(), 6))
        guessed = self.answer(main, block, "--temp", 0, "--draft", "mtp")
        self.assertEqual(guessed["ids"], self.answer(main, "--temp", 0)["ids"])
        self.assertGreater(guessed["draft"]["drafted"], 0)
        run = aster("run", main, *STORY, "--draft", "mtp", check=INPUT)
        self.assertIn(b"no block", run.stderr)


class PlainRows(Case):
    def test_on_nodes_they_are_refused_rather_than_forgotten(self):
        model = self.folder / "rounded.gguf"
        aster("synth", model, "--preset", "flash-shape-tiny", "--type", "F32", "--vocab", 512)
        run = aster("run", model, *STORY, "--kv-plain", "--local-nodes", 2, check=INPUT)
        self.assertIn(b"--kv-plain", run.stderr)


if __name__ == "__main__":
    unittest.main()
