#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster bench and aster perplexity: their output, and their errors. No test checks how fast anything was."""
import array
import json
import math
import unittest

from fixture import INPUT, USAGE, Case, aster


class Bench(Case):
    def report(self, *options):
        return json.loads(aster("bench", self.tiny, *options, "--json").stdout)

    def test_every_case_is_in_the_report(self):
        report = self.report("--prompt", "16,40", "--gen", 3, "--depth", "0,130", "--threads", "1,2", "--batch", "1,3",
                             "--reps", 2)
        cases = {(r["kind"], r["threads"], r["depth"], r["tokens"], r["batch"]) for r in report["results"]}
        expected = {("prefill", t, d, p, 1) for t in (1, 2) for d in (0, 130) for p in (16, 40)}
        expected |= {("decode", t, d, 3, b) for t in (1, 2) for d in (0, 130) for b in (1, 3)}
        self.assertEqual(cases, expected)
        self.assertEqual(len(report["results"]), len(expected))
        for result in report["results"]:
            self.assertEqual(len(result["seconds"]), 2)
            self.assertGreater(result["tokens_per_s"], 0)
            self.assertAlmostEqual(result["fraction_of_limit"],
                                   result["tokens_per_s"] / result["limit_tokens_per_s"])
        self.assertEqual([limit["threads"] for limit in report["limits"]], [1, 2])
        for limit in report["limits"]:
            self.assertGreater(limit["read_bytes_per_s"], 0)
            self.assertGreater(limit["multiply_adds_per_s"], 0)
        self.assertGreater(report["load"]["peak_memory_bytes"], report["model"]["packed_bytes"])
        self.assertGreaterEqual(report["peak_memory_bytes"], report["load"]["peak_memory_bytes"])

    def test_nodes_of_this_machine_get_the_plan_that_is_predicted_to_be_sooner(self):
        large = self.folder / "large.gguf"  # so large that the plan matters
        aster("synth", large, "--type", "Q8_0", "--layers", 4, "--embedding", 512, "--ff", 8192, "--vocab", 24000)
        self.assertGreater(large.stat().st_size, 64 << 20)
        far = ("--local-nodes", 2, "--threads", 1, "--link", "200ms,10Mbit", "--raw", "--temp", 0, "-n", 3, "-p", "abc")
        told = aster("run", large, *far, "--explain")
        said = told.stderr.decode()
        self.assertRegex(said, r"a pipeline was taken, with the first token predicted after ")
        self.assertIn("one node alone is not possible: all nodes are to take part", said)
        self.assertRegex(said, r"a group \(--split node-1\+node-2=0:out\) would take .* for messages between nodes")
        alone = aster("run", large, "--threads", 1, "--raw", "--temp", 0, "-n", 3, "-p", "abc")
        self.assertEqual(told.stdout, alone.stdout)
        # One sequence at a time.
        reasons = json.loads(aster("bench", large, "--local-nodes", 2, "--threads", 1, "--prompt", 8, "--gen", 2,
                                   "--reps", 1, "--json").stdout)
        self.assertIn(reasons["split"], ("node-1=0:1,node-2=2:out", "node-1+node-2=0:out"), reasons)

    def test_either_kind_can_be_left_out(self):
        for prompt, answer, kind in ((0, 2, "decode"), (8, 0, "prefill")):
            results = self.report("--prompt", prompt, "--gen", answer, "--reps", 1)["results"]
            self.assertEqual([result["kind"] for result in results], [kind])
        aster("bench", self.tiny, "--prompt", 0, "--gen", 0, check=INPUT)

    def test_floats_have_no_integer_limit(self):
        floats = self.folder / "f16.gguf"
        aster("synth", floats, "--type", "F16")
        report = json.loads(aster("bench", floats, "--prompt", 8, "--gen", 2, "--reps", 1, "--json").stdout)
        self.assertEqual([(w["type"], w["kernel"], w["activations"]) for w in report["weights"]],
                         [("F16", "F16", "float32")])
        fractions = {r["kind"]: r["fraction_of_limit"] for r in report["results"]}
        self.assertIsNone(fractions["prefill"])
        self.assertGreater(fractions["decode"], 0)

    def test_reports_are_compared_case_by_case(self):
        first, second = self.folder / "a.json", self.folder / "b.json"
        report = self.report("--prompt", "8,16", "--gen", 2, "--reps", 1)
        first.write_text(json.dumps(report))
        for result in report["results"]:
            result["tokens_per_s"] *= 2
        del report["results"][0]
        second.write_text(json.dumps(report))
        ratios = json.loads(aster("bench", "--compare", first, second, "--json").stdout)["ratios"]
        self.assertEqual([ratio["ratio"] for ratio in ratios], [2, 2])
        self.assertIn("2.00x", aster("bench", "--compare", first, second).stdout.decode())
        run = aster("bench", self.tiny, "--prompt", 16, "--gen", 0, "--reps", 1, "--against", first)
        self.assertIn("ratio", run.stdout.decode())

    def test_what_is_no_report_is_refused(self):
        good, bad = self.folder / "good.json", self.folder / "bad.json"
        good.write_text(json.dumps(self.report("--prompt", 8, "--gen", 0, "--reps", 1)))
        for text in ("", "[]", "{}", '{"results": 3}', '{"results": [7]}', '{"results": [{"kind": "prefill"}]}',
                     good.read_text().replace('"tokens": 8', '"tokens": -8'),
                     good.read_text().replace('"prefill"', '"other"')):
            bad.write_text(text)
            self.assertIn(b"bad.json", aster("bench", "--compare", good, bad, check=INPUT).stderr)
        bad.write_text(good.read_text().replace('"tokens": 8', '"tokens": 9'))
        self.assertIn(b"in common", aster("bench", "--compare", good, bad, check=INPUT).stderr)

    def test_wrong_usage(self):
        aster("bench", self.tiny, "--prompt", "8,x", check=USAGE)
        aster("bench", self.tiny, "--threads", "0", check=USAGE)
        aster("bench", self.tiny, "--reps", "0", check=USAGE)
        aster("bench", "--compare", "one.json", check=USAGE)
        aster("bench", self.tiny, "--compare", "a.json", "b.json", check=USAGE)
        aster("bench", self.folder / "none.gguf", check=INPUT)


class Perplexity(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.folder / "text"
        cls.text.write_text("the rain in spain stays mainly in the plain. " * 20)
        cls.other = cls.folder / "other.gguf"
        aster("synth", cls.other, "--type", "Q8_0")

    def report(self, *arguments):
        return json.loads(aster("perplexity", *arguments, "--json").stdout)

    def logits(self, model, ids):
        path, out = self.folder / "ids", self.folder / "logits"
        path.write_text(" ".join(map(str, ids)))
        aster("logits", model, "--ids", path, "--out", out)
        values = array.array("f", out.read_bytes())
        return [values[row * 1024:(row + 1) * 1024] for row in range(len(ids))]

    def test_is_what_the_logits_say(self):
        ids = [1022] + [(7 * i * i + 3) % 1000 for i in range(1, 32)]
        path = self.folder / "some"
        path.write_text(" ".join(map(str, ids)))
        report = self.report(self.tiny, "--ids", path, "--ctx", 16)
        self.assertEqual((report["chunks"], report["scored"]), (2, 14))
        surprises = []
        for chunk in (ids[:16], ids[16:]):
            rows = self.logits(self.tiny, chunk)
            for position in range(8, 15):
                row = rows[position]
                total = math.log(math.fsum(math.exp(value) for value in row))
                surprises.append(total - row[chunk[position + 1]])
        self.assertAlmostEqual(report["mean_surprise"], sum(surprises) / 14, places=4)
        self.assertAlmostEqual(report["perplexity"], math.exp(sum(surprises) / 14), delta=report["perplexity"] * 1e-4)

    def test_threads_change_nothing(self):
        reports = [self.report(self.tiny, "--file", self.text, "--ctx", 64, "--threads", n) for n in (1, 2)]
        self.assertEqual(reports[0]["perplexity"], reports[1]["perplexity"])
        self.assertGreater(reports[0]["perplexity_error"], 0)

    def test_a_model_does_not_differ_from_itself(self):
        report = self.report(self.tiny, "--against", self.tiny, "--file", self.text, "--ctx", 64, "--chunks", 2)
        self.assertEqual(report["chunks"], 2)
        divergence = report["divergence"]
        self.assertEqual((divergence["mean"], divergence["same_top"]), (0, 1))
        self.assertEqual(divergence["equal_rows"], divergence["rows"])
        self.assertEqual(report["second"]["perplexity"], report["perplexity"])

    def test_models_and_their_logits_differ_alike(self):
        ids = [(13 * i + 5) % 1000 for i in range(20)]
        path = self.folder / "same"
        path.write_text(" ".join(map(str, ids)))
        files = []
        for name, model in (("one", self.tiny), ("two", self.other)):
            files.append(self.folder / name)
            aster("logits", model, "--ids", path, "--out", files[-1])
        by_vocab = self.report("--logits", files[0], "--logits", files[1], "--vocab", 1024)["divergence"]
        by_model = self.report(self.tiny, "--logits", files[0], "--logits", files[1])["divergence"]
        self.assertEqual(by_vocab, by_model)
        self.assertEqual(by_vocab["rows"], 20)
        self.assertGreater(by_vocab["mean"], 0)
        self.assertGreaterEqual(by_vocab["percentile_99"], by_vocab["median"])
        text = aster("perplexity", "--logits", files[0], "--logits", files[1], "--vocab", 1024).stdout.decode()
        self.assertIn("KL divergence", text)

    def test_invalid_options_are_refused(self):
        one, short = self.folder / "one.f32", self.folder / "short.f32"
        one.write_bytes(bytes(8192))
        short.write_bytes(bytes(4096))
        aster("perplexity", "--logits", one, "--logits", short, "--vocab", 1024, check=INPUT)
        aster("perplexity", "--logits", one, "--logits", one, "--vocab", 1000, check=INPUT)
        aster("perplexity", "--logits", one, "--logits", one, check=INPUT)
        aster("perplexity", "--logits", one, "--vocab", 1024, check=USAGE)
        aster("perplexity", self.tiny, "--file", self.folder / "none", check=INPUT)
        aster("perplexity", self.tiny, "--file", self.text, "--ctx", 1, check=USAGE)
        one.write_text("1 2")
        aster("perplexity", self.tiny, "--ids", one, check=INPUT)
        one.write_text("1 2 3 4 5000")
        aster("perplexity", self.tiny, "--ids", one, check=INPUT)
        small = self.folder / "small.gguf"
        aster("synth", small, "--vocab", 600)
        aster("perplexity", self.tiny, "--against", small, "--file", self.text, check=INPUT)


if __name__ == "__main__":
    unittest.main()
