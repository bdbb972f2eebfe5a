#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""--draft: with any drafter, on one machine or on nodes, the answer is the same as without drafts."""
import json
import unittest

from fixture import INPUT, UNSUPPORTED, USAGE, Case, aster

STORY = ("-p", "Tell me a story about a rabbit.", "-n", 60)
SAMPLED = ("--temp", 0.8, "--seed", 7)


class Drafts(Case):
    def answer(self, model, *options):
        return json.loads(aster("run", model, *STORY, *options, "--json").stdout)

    def check(self, model, whos, *options, sure="accepted"):
        """`sure`: the counter that must not be zero, however fast the machine is at the moment."""
        for sampling in (("--temp", 0), SAMPLED):
            plain = self.answer(model, *sampling)
            self.assertNotIn("draft", plain)
            for who in whos:
                drafted = self.answer(model, *sampling, "--draft", who, *options)
                self.assertEqual(drafted["ids"], plain["ids"], (who, options))
                self.assertEqual(drafted["text"], plain["text"])
                draft = drafted["draft"]
                self.assertEqual(draft["steps"] + draft["accepted"] + 1, drafted["tokens"]["generated"])
                if who != "ngram":
                    self.assertGreater(draft[sure], 0, (who, options))

    def test_on_one_machine(self):
        self.check("quasar", ("mtp", "ngram"))
        self.check("nova", ("comet", "ngram"), "--draft-max", 6)

    def test_a_node_that_decodes_by_itself(self):
        self.check("quasar", ("mtp", "ngram"), "--local-nodes", 1)
        self.check("nova", ("comet",), "--local-nodes", 1)

    def test_a_route_of_two(self):
        # Even if measured times show that drafts do not pay, a few are made, to measure them again.
        nodes = ("--local-nodes", 2, "--split", "0:1,2:out")
        self.check("quasar", ("mtp",), *nodes, sure="drafted")
        self.check("nova", ("comet", "ngram"), *nodes, sure="drafted")

    def test_a_group(self):
        self.check("quasar", ("mtp", "ngram"), "--local-nodes", 2, "--split", "group")

    def test_prefill_and_decode_on_different_nodes(self):
        self.check("quasar", ("mtp",), "--local-nodes", 2, "--split", "0:out", "--decode", "node-2=0:out")

    def test_a_drafter_of_blocks(self):
        # Its file is given together with the model, or named as a draft model is.
        self.check("nova", ("nova-dspark",), "--draft-max", 7)
        plain = self.answer("nova", "--temp", 0)["ids"]
        drafted = accepted = 0
        for nodes in ((), ("--local-nodes", 1), ("--local-nodes", 2, "--split", "0:0,1:out"),
                      ("--local-nodes", 2, "--split", "0:out", "--decode", "node-2=0:out")):
            answer = json.loads(aster("run", "nova", "nova-dspark", "--draft", "mtp", "--draft-max", 7, "--temp", 0,
                                      *STORY, *nodes, "--json").stdout)
            self.assertEqual(answer["ids"], plain, nodes)
            self.assertGreater(answer["draft"]["drafted"], 0, nodes)
            drafted += answer["draft"]["drafted"]
            accepted += answer["draft"]["accepted"]
        # Their number depends on timing; a drafter that was read wrongly is hardly ever right.
        self.assertGreater(3 * accepted, drafted)

    def test_a_drafter_of_blocks_needs_its_model_and_its_layers(self):
        for model in ("pulsar", "quasar"):
            run = aster("run", model, *STORY, "--draft", "nova-dspark", check=INPUT)
            self.assertIn(b"same vocabulary", run.stderr)
        self.assertIn(b"no model", aster("run", "nova-dspark", *STORY, check=UNSUPPORTED).stderr)
        run = aster("run", "nova", *STORY, "--local-nodes", 2, "--draft", "nova-dspark", check=INPUT)
        self.assertIn(b"give it along with the model", run.stderr)
        run = aster("run", "nova", "nova-dspark", *STORY, "--local-nodes", 2, "--draft", "mtp")
        self.assertIn(b"makes no draft tokens here: it reads rows behind layer 1", run.stderr)
        told = aster("inspect", "nova", "nova-dspark").stdout
        self.assertIn(b"7 tokens in a block, rows behind layers 1, 3, 5", told)
        self.assertIsNone(json.loads(aster("inspect", "nova", "nova-dspark", "--json").stdout)["drafter"]["problem"])
        self.assertIn(b"made for another architecture", aster("inspect", "quasar", "nova-dspark").stdout)

    def test_what_cannot_draft_is_refused(self):
        run = aster("run", "nova", *STORY, "--draft", "mtp", check=INPUT)
        self.assertIn(b"no MTP block", run.stderr)
        run = aster("run", "nova", *STORY, "--draft", "pulsar", check=INPUT)
        self.assertIn(b"same vocabulary", run.stderr)
        run = aster("run", "nova", *STORY, "--draft", "mtp", "--local-nodes", 2, check=INPUT)
        self.assertIn(b"no MTP block", run.stderr)
        aster("run", "nova", *STORY, "--draft", "no-such-model", check=INPUT)
        aster("run", "nova", *STORY, "--draft", "ngram", "--draft-max", 0, check=USAGE)

    def test_everything_hashes_the_same(self):
        report = json.loads(aster("verify", "quasar", "--tokens", 60, "--draft", "mtp", "--json").stdout)
        self.assertTrue(report["equal"])
        self.assertEqual(len([way for way in report["ways"] if "--draft" in way["name"]]), 2)
        self.assertGreaterEqual(len([way for way in report["ways"] if "draft tokens" in way["name"]]), 2)

    def test_bench_reports_both_rates(self):
        report = json.loads(aster("bench", "nova", "--draft", "comet", "--gen", 20, "--reps", 2, "--json").stdout)
        self.assertGreater(report["accepted"], 0)
        self.assertEqual(len(report["ratios"]), 2)
        self.assertGreater(report["plain_tokens_per_s"], 0)
        self.assertGreater(report["draft_tokens_per_s"], 0)
        self.assertIn(b"without drafts", aster("bench", "nova", "--draft", "ngram", "--gen", 8, "--reps", 1).stdout)

    def test_an_evaluation_has_the_same_replies(self):
        replies = []
        for options in ((), ("--draft", "comet")):
            out = self.folder / f"out{len(options)}"
            aster("eval", "nova", "--limit", 6, "--out", out, *options)
            lines = [json.loads(line) for line in out.read_text().splitlines()[1:]]
            replies.append({line["id"]: line["reply"] for line in lines})
        self.assertEqual(replies[0], replies[1])


if __name__ == "__main__":
    unittest.main()
