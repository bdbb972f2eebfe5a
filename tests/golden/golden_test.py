#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Logits as recorded: the same bits, today and on every machine, and near the exact ones of an evaluation in double
precision (bench/truth.py). After changing the arithmetic on purpose, record them again, with numpy installed:

    ASTER=build/release/bin/aster /usr/bin/python3 tests/golden/golden_test.py --record
"""
import array
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASTER = pathlib.Path(os.environ.get("ASTER", ROOT / "build/release/bin/aster"))
RECORD = pathlib.Path(__file__).with_name("golden.json")

TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "MXFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS")
ARCHITECTURES = {
    "llama": (),
    "qwen2": ("--untied",),
    "qwen3": ("--head-dim", "128"),
    "qwen3moe": ("--experts", "8", "--experts-used", "3", "--expert-ff", "256"),
}
SHAPE = ("--preset", "tiny", "--layers", "2", "--vocab", "512")
# More than a page of positions, and not a whole number of anything.
TOKENS = [(7 * i * i + 13 * i + 5) % 512 for i in range(141)]
SAMPLE = range(0, 512, 37)


def models():
    """The arguments that make each model, by name."""
    for arch, more in ARCHITECTURES.items():
        for kind in TYPES if arch == "llama" else ("F16", "Q4_K_M"):
            yield f"{arch} {kind}", (*SHAPE, "--arch", arch, "--type", kind, *more)


def logits_of(arguments, folder):
    model, ids, out = folder / "model.gguf", folder / "ids.txt", folder / "logits"
    ids.write_text(" ".join(map(str, TOKENS)))
    for command in (("synth", model, *arguments), ("logits", model, "--ids", ids, "--out", out)):
        subprocess.run([ASTER, *command], check=True, capture_output=True)
    return out.read_bytes()


def last_row(logits):
    return array.array("f", logits[-4 * 512:])


class Golden(unittest.TestCase):
    def test_logits_are_what_they_were(self):
        record = json.loads(RECORD.read_text())
        self.assertEqual(set(record), {name for name, _ in models()})
        with tempfile.TemporaryDirectory() as folder:
            for name, arguments in models():
                with self.subTest(name):
                    logits = logits_of(arguments, pathlib.Path(folder))
                    self.assertEqual(len(logits), 4 * 512 * len(TOKENS))
                    self.check_truth(last_row(logits), record[name])
                    self.assertEqual(hashlib.sha256(logits).hexdigest(), record[name]["sha256"])

    def check_truth(self, row, golden):
        errors = [row[i] - true for i, true in zip(SAMPLE, golden["truth"])]
        spread = sum(true * true for true in golden["truth"]) ** 0.5
        self.assertLess(sum(error * error for error in errors) ** 0.5 / spread, golden["allowed_error"])


def record():
    sys.path.insert(0, str(ROOT / "bench"))
    import truth

    golden = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, arguments in models():
            logits = logits_of(arguments, folder)
            true = truth.true_logits(ASTER, folder / "model.gguf", TOKENS, folder)[-1][list(SAMPLE)]
            error = ((last_row(logits)[::37] - true) ** 2).sum() ** 0.5 / (true**2).sum() ** 0.5
            golden[name] = {
                "sha256": hashlib.sha256(logits).hexdigest(),
                "truth": [round(value, 9) for value in true.tolist()],
                "allowed_error": float(f"{2 * error:.1g}"),
            }
            print(f"{name}: error {error:.1e}")
    RECORD.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main()
