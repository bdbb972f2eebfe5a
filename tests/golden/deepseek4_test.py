#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""DeepSeek V4 against an independent implementation and its recorded logits, with rows of few bits and without.

Ends with status 77 where that implementation or numpy is not installed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASTER = pathlib.Path(os.environ.get("ASTER", ROOT / "build/release/bin/aster"))
TOOLS = pathlib.Path(os.environ.get("ASTER_SHARED_DIR", ROOT / "../shared")) / "reference/deepseek-v4-tools"

if not TOOLS.is_dir():
    print(f"skipped: the independent implementation is not here ({TOOLS})")
    sys.exit(77)
try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(TOOLS))
import gen  # noqa: E402
import ref  # noqa: E402

# The configuration of the recorded logits.
FULL = {"hd": 512, "rot": 64, "ihd": 128, "ih": 8, "swa": 128, "itopk": 32, "n_head": 8, "o_groups": 2, "o_rank": 64,
        "q_rank": 256, "yorig": 65536}
TIE = 1e-3
IDS = [int(text) for text in (TOOLS / "toks.txt").read_text().split()]


class PlainWriter(gen.W):
    """A file whose metadata say that it was trained with rows of 16 bits."""

    def write(self, path):
        self.b("deepseek4.attention.rounded_rows", False)
        super().write(path)


def errors_of(logits, wanted):
    """For each position, the distance of the logits, relative to their spread."""
    return np.sqrt(np.square(logits - wanted).mean(1)) / wanted.std()


class Golden(unittest.TestCase):
    def make(self, folder, changes, rounded):
        path = os.path.join(folder, "model.gguf")
        saved = gen.W
        gen.W = saved if rounded else PlainWriter
        try:
            gen.make(path, {**gen.BASE, **changes})
        finally:
            gen.W = saved
        return path

    def logits_of(self, folder, path, ids, *options):
        ids_path, out = os.path.join(folder, "ids"), os.path.join(folder, "logits")
        with open(ids_path, "w", encoding="utf-8") as file:
            file.write(" ".join(map(str, ids)))
        subprocess.run([ASTER, "logits", path, "--ids", ids_path, "--out", out, "--threads", "1", *options], check=True)
        return np.fromfile(out, np.float32).reshape(len(ids), -1).astype(np.float64)

    def check(self, logits, wanted, median, most):
        """Every position, also those where two rows or experts rank nearly alike."""
        errors = errors_of(logits, wanted)
        print(f"median {np.median(errors):.1e}, 95 % {np.quantile(errors, 0.95):.1e}, most {errors.max():.1e}")
        self.assertLess(np.median(errors), median)
        self.assertLess(errors.max(), most)
        # The same token is the most likely, unless two are equal to a thousandth of the logits' spread.
        best = np.sort(wanted, axis=1)[:, -2:]
        decided = best[:, 1] - best[:, 0] > TIE * wanted.std()
        self.assertGreater(decided.mean(), 0.97)
        others = np.flatnonzero(decided & (logits.argmax(1) != wanted.argmax(1)))
        self.assertEqual(others.tolist(), [])

    def test_recorded_logits_without_rounding(self):
        wanted = np.fromfile(TOOLS / "full-ik.logits.f32", np.float32).reshape(len(IDS), -1).astype(np.float64)
        with tempfile.TemporaryDirectory() as folder:
            logits = self.logits_of(folder, self.make(folder, FULL, rounded=False), IDS)
        self.check(logits, wanted, 5e-5, 1e-4)

    def test_recorded_logits_of_rounded_rows(self):
        wanted = np.fromfile(TOOLS / "full-ds4.logits.f32", np.float32).reshape(len(IDS), -1).astype(np.float64)
        with tempfile.TemporaryDirectory() as folder:
            logits = self.logits_of(folder, self.make(folder, FULL, rounded=True), IDS)
        # A number between two representable ones may be rounded either way.
        self.check(logits, wanted, 1e-4, 2e-3)

    def compare(self, ids, **changes):
        """Compares with the present results of the other implementation."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.make(folder, changes, rounded=False)
            logits = self.logits_of(folder, path, ids)
            wanted = ref.Ref(path, clamp="ds4").forward(ids)
        self.check(logits, wanted, 3e-4, 1e-3)

    def test_a_shape_like_flash(self):
        self.compare(IDS)

    def test_a_shape_like_pro(self):
        self.compare(IDS, ratios=[128, 128, 4, 128, 4, 128], rscale=2.5, ratio_ty=5)

    def test_a_limit_that_is_reached(self):
        self.compare(IDS[:150], clamp=0.7, itopk=4)

    def test_other_numbers(self):
        self.compare(IDS[:200], n_head=6, o_groups=3, ih=3, hc=2, sink=4, swa=40, ne=5, neu=3, nhash=1)


if __name__ == "__main__":
    unittest.main()
