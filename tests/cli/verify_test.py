#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Small models of every architecture give the same bits in every way of `aster verify`. Only the release build runs
this: with sanitizers it takes minutes, and unit tests compute every architecture there."""
import json
import unittest

from fixture import INPUT, Case, aster


class Architectures(Case):
    def test_glm_and_minimax(self):
        path = self.folder / "mixture.gguf"
        aster("synth", path, "--arch", "glm4moe", "--type", "Q8_0", "--layers", 2)
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual((report["shape"]["dense_layers"], report["shape"]["experts"]["shared"]), (1, 1))
        self.assertIn("and 1 shared), 1 of 2 layers dense of 512", aster("inspect", path).stdout.decode())
        aster("verify", path)
        aster("synth", path, "--arch", "glm4moe", "--layers", 1, check=INPUT)
        aster("synth", path, "--arch", "minimax-m2", "--type", "Q8_0", "--layers", 2, "--experts", 6)
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertEqual((report["shape"]["experts"]["count"], report["shape"]["rope_dimensions"]), (6, 32))
        aster("verify", path)

    def test_deepseek_2(self):
        path = self.folder / "mla.gguf"
        aster("synth", path, "--arch", "deepseek2", "--type", "Q8_0", "--layers", 2)
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual(report["shape"]["mla"], {"query_rank": 256, "row_rank": 512, "key_dim": 128, "value_dim": 128})
        aster("verify", path)
        plan = json.loads(aster("plan", "--memory", "--preset", "kimi-k2", "--context", "8192,131072", "--json").stdout)
        growth = [item["kv_bytes"]["131072"] - item["kv_bytes"]["8192"] for item in plan["slices"]]
        self.assertEqual(sum(growth), 61 * (131072 - 8192) * 576 * 2)

    def test_models_that_keep_states(self):
        path = self.folder / "states.gguf"
        for arch in ("qwen3next", "qwen35", "qwen35moe"):
            aster("synth", path, "--arch", arch, "--type", "Q8_0")
            report = json.loads(aster("inspect", path, "--json").stdout)
            self.assertTrue(report["supported"], report["obstacles"])
            self.assertEqual(report["shape"]["states"], {"heads": 4, "key_heads": 2, "key_dim": 64, "value_dim": 64,
                                                         "convolution": 4, "attention_every": 4})
            self.assertIn("4 states of 64x64 in all layers but every 4th", aster("inspect", path).stdout.decode())
            aster("verify", path)
        plan = json.loads(aster("plan", "--memory", "--preset", "qwen3-next-80b", "--context", "8192,131072",
                                "--json").stdout)
        # Twelve of 48 layers keep rows: at each position keys and values of 2 heads of 256.
        growth = [item["kv_bytes"]["131072"] - item["kv_bytes"]["8192"] for item in plan["slices"]]
        self.assertEqual(sum(growth), 12 * (131072 - 8192) * 2 * 2 * 256 * 2)

    def test_mimo_2(self):
        path = self.folder / "kinds.gguf"
        aster("synth", path, "--arch", "mimo2", "--type", "Q8_0")
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        shape = report["shape"]
        self.assertEqual((shape["window_kv_heads"], shape["value_dim"]), (4, 32))
        self.assertIn("with 4 heads for keys and values and a sink for each", aster("inspect", path).stdout.decode())
        aster("verify", path)
        plan = json.loads(aster("plan", "--memory", "--preset", "mimo-v2-flash", "--context", "8192,131072",
                                "--json").stdout)
        # Nine of 48 layers keep all rows: at each position 4 keys of 192 and values of 128.
        growth = [item["kv_bytes"]["131072"] - item["kv_bytes"]["8192"] for item in plan["slices"]]
        self.assertEqual(sum(growth), 9 * (131072 - 8192) * 4 * (192 + 128) * 2)

    def test_mistral_3_and_phi_4(self):
        path = self.folder / "family.gguf"
        aster("synth", path, "--arch", "mistral3", "--type", "Q8_0", "--layers", 2)
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertAlmostEqual(report["shape"]["temperature_scale"], 0.1, delta=1e-6)
        aster("verify", path)
        aster("synth", path, "--arch", "phi3", "--type", "Q8_0", "--layers", 2, "--window", 64)
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual((report["shape"]["sliding_window"], report["shape"]["rope_dimensions"]), (64, 48))
        aster("verify", path)
        aster("synth", path, "--arch", "phi3", "--preset", "tiny", check=INPUT)

    def test_deepseek_v4_with_compressed_rows(self):
        path = self.folder / "flash.gguf"
        aster("synth", path, "--arch", "deepseek4", "--type", "Q8_0", "--layers", 4)
        aster("verify", path, "--tokens", 150)


if __name__ == "__main__":
    unittest.main()
