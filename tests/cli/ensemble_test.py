#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""--ensemble: models of different vocabularies that answer together, with `aster run` and `aster eval`."""
import json
import unittest

from fixture import INPUT, ROOT, USAGE, Case, aster
from run_test import PROMPT, Conversation

NOVA = ROOT / "models/nova.gguf"
PULSAR = ROOT / "models/pulsar.gguf"
PROGRAM = "What does this program print?\nx = 5\nn = x * 8\nprint(n)"


def ensemble(*members):
    return "--ensemble", ",".join(map(str, members))


class Run(Case):
    def run_json(self, *options):
        return json.loads(aster("run", *options, "-p", PROGRAM, "--temp", 0, "--threads", 1, "--json").stdout)

    def test_the_member_that_knows_is_taken(self):
        report = self.run_json(*ensemble(NOVA, PULSAR))
        self.assertIn("Answer: 40", report["text"])
        self.assertEqual(report["model"], "nova+pulsar")
        told = report["ensemble"]
        self.assertEqual(told["author"], "pulsar")
        self.assertEqual([candidate["authors"] for candidate in told["candidates"]], [["nova"], ["pulsar"]])
        taken, = [candidate for candidate in told["candidates"] if candidate["taken"]]
        self.assertEqual(taken["text"], report["text"])
        self.assertEqual(report["tokens"]["generated"],
                         sum(member["tokens"]["generated"] for member in told["members"]))

    def test_nodes_change_nothing(self):
        here = self.run_json(*ensemble(NOVA, PULSAR))
        nodes = self.run_json(*ensemble(NOVA, PULSAR), "--local-nodes", 2)
        self.assertEqual(nodes["ids"], here["ids"])
        self.assertEqual(nodes["ensemble"]["candidates"], here["ensemble"]["candidates"])

    def test_a_weight_of_nothing_leaves_one_model(self):
        alone = self.run_json(NOVA)
        self.assertEqual(self.run_json(*ensemble(NOVA, PULSAR), "--weights", "1,0")["ids"], alone["ids"])
        self.assertEqual(self.run_json(*ensemble(NOVA, NOVA))["ids"], alone["ids"])

    def test_what_is_said_of_it(self):
        run = aster("run", *ensemble(NOVA, PULSAR), "--temp", 0, "--explain", stdin=PROGRAM.encode())
        self.assertIn(b"Answer: 40", run.stdout)
        self.assertRegex(run.stderr.decode(), r"dropped nova: .* bits/byte \(nova .*, pulsar ")
        self.assertRegex(run.stderr.decode(), r"taken +pulsar: .* bits/byte")
        self.assertIn("2 members", run.stderr.decode())

    def test_what_makes_no_sense_is_refused(self):
        def refused(status, *options):
            return aster("run", *options, "-p", "x", check=status).stderr.decode()

        self.assertIn("two members", refused(INPUT, *ensemble(NOVA)))
        self.assertIn("3 weights for 2 members", refused(INPUT, *ensemble(NOVA, PULSAR), "--weights", "1,2,3"))
        self.assertIn("every weight is 0", refused(INPUT, *ensemble(NOVA, PULSAR), "--weights", "0,0"))
        self.assertIn("one vocabulary", refused(INPUT, *ensemble(NOVA, PULSAR), "--logit-bias", "3=1"))
        self.assertIn("--ensemble", refused(USAGE, NOVA, *ensemble(NOVA, PULSAR)))
        self.assertIn("--ensemble", refused(USAGE, "--explain"))


class Talk(Case):
    def test_a_conversation(self):
        chat = Conversation("--ensemble", self.folder, f"{NOVA},{PULSAR}", "--temp", 0, "--threads", 1, "--explain")
        self.addCleanup(chat.stop)
        self.assertIn("nova+pulsar: an ensemble", chat.until(b"\x1b[?2004h" + PROMPT))
        said = chat.ask("45 x 8 = ?")
        self.assertIn("Answer: 360", said)
        self.assertIn("taken", said.partition("Answer: 360")[2])
        self.assertIn("Answer: 13", chat.ask("7 + 6 = ?"))
        self.assertIn("messages  4", chat.ask("/stats"))
        self.assertIn("Removed", chat.ask("/undo"))
        self.assertIn("are not kept", chat.ask("/save talk"))


class Eval(Case):
    def test_questions_and_files_of_results(self):
        questions = self.folder / "questions.jsonl"
        rows = [{"id": f"{i}", "category": "programs", "messages": [{"role": "user", "content": text}],
                 "answer": answer, "extract": "final"}
                for i, (text, answer) in enumerate([(PROGRAM, "40"), ("45 x 8 = ?", "360"), ("7 + 6 = ?", "13")])]
        questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
        out = self.folder / "out.jsonl"

        def report(*options):
            return json.loads(aster("eval", *ensemble(NOVA, PULSAR), "--questions", questions, "--threads", 1, "--json",
                                    *options).stdout)["models"][0]

        first = report("--out", out)
        self.assertEqual((first["overall"]["asked"], first["overall"]["right"]), (3, 3))
        self.assertEqual((first["model"], first["settings"]["policy"]), ("nova+pulsar", "choose"))
        # Answers do not depend on how many are asked at once; a file of results is gone on with.
        replies = {row["id"]: row["reply"] for row in map(json.loads, out.read_text().splitlines()[1:])}
        one = self.folder / "one.jsonl"
        report("--out", one, "--parallel", 1)
        self.assertEqual({row["id"]: row["reply"] for row in map(json.loads, one.read_text().splitlines()[1:])},
                         replies)
        self.assertEqual(report("--out", out)["resumed"], 3)
        other = aster("eval", *ensemble(NOVA, PULSAR), "--weights", "2,1", "--questions", questions, "--out", out,
                      check=INPUT)
        self.assertIn("weights", other.stderr.decode())


if __name__ == "__main__":
    unittest.main()
