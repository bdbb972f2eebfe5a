#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""--ensemble: models of different vocabularies that answer together, with `aster run` and `aster eval`."""
import json
import unittest

from fixture import INPUT, ROOT, USAGE, Case, aster
from run_test import CALL, PROMPT, TOOLS, Conversation

NOVA = ROOT / "models/nova.gguf"
PULSAR = ROOT / "models/pulsar.gguf"
COMET = ROOT / "models/comet.gguf"
LOOP = "Run this program:\nc = 10\nfor i in range(3):\n    c = c + 1\nn = c + 2\ny = n - 5\nprint(n)"
PROGRAM = "What does this program print?\nx = 5\nn = x * 8\nprint(n)"


def ensemble(*members):
    return "--ensemble", ",".join(map(str, members))


class Run(Case):
    def run_json(self, *options):
        return json.loads(aster("run", *options, "-p", PROGRAM, "--temp", 0, "--threads", 1, "--json").stdout)

    def test_the_more_certain_member_is_taken(self):
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

    def test_a_weight_of_zero_leaves_one_model(self):
        alone = self.run_json(NOVA)
        self.assertEqual(self.run_json(*ensemble(NOVA, PULSAR), "--weights", "1,0")["ids"], alone["ids"])
        self.assertEqual(self.run_json(*ensemble(NOVA, NOVA))["ids"], alone["ids"])

    def test_explain_and_json(self):
        run = aster("run", *ensemble(NOVA, PULSAR), "--temp", 0, "--explain", stdin=PROGRAM.encode())
        self.assertIn(b"Answer: 40", run.stdout)
        self.assertRegex(run.stderr.decode(), r"dropped nova: .* bits/byte \(nova .*, pulsar ")
        self.assertRegex(run.stderr.decode(), r"taken +pulsar: .* bits/byte")
        self.assertIn("2 members", run.stderr.decode())

    def test_calls_are_lines_of_json(self):
        tools, grammar = self.folder / "tools.json", self.folder / "call.gbnf"
        tools.write_text(json.dumps(TOOLS))
        grammar.write_text(CALL)
        run = aster("run", *ensemble(NOVA, PULSAR), "-p", "What is 1 + 2?", "--tools", tools, "--grammar", grammar,
                    "--temp", 0)
        call = json.loads(run.stdout)
        self.assertEqual((call["name"], call["arguments"]), ("add", {"a": 1, "b": 2}))

    def test_they_write_one_answer(self):
        for policy in "spans", "bytes":
            report = self.run_json(*ensemble(NOVA, PULSAR), "--policy", policy)
            told = report["ensemble"]
            self.assertEqual(told["policy"], policy)
            spans = [next(each for each in span["candidates"] if each["taken"]) for span in told["spans"]]
            self.assertEqual("".join(span["text"] for span in spans), report["text"])
            # With one model: the text that it writes.
            alone = self.run_json(NOVA)
            for options in (ensemble(NOVA, NOVA), (*ensemble(NOVA, PULSAR), "--weights", "1,0")):
                self.assertEqual(self.run_json(*options, "--policy", policy)["ids"], alone["ids"])
        run = aster("run", *ensemble(NOVA, PULSAR), "--policy", "spans", "--temp", 0, "--explain",
                    stdin=LOOP.encode())
        self.assertIn(b"Answer: 15", run.stdout)
        self.assertRegex(run.stderr.decode(), r"taken +pulsar: .* bits/byte \(nova .*, pulsar .*\) \"")
        self.assertRegex(run.stderr.decode(), r"written by pulsar")

    def test_invalid_options_are_refused(self):
        def refused(status, *options):
            return aster("run", *options, "-p", "x", check=status).stderr.decode()

        self.assertIn("two members", refused(INPUT, *ensemble(NOVA)))
        self.assertIn("3 weights for 2 members", refused(INPUT, *ensemble(NOVA, PULSAR), "--weights", "1,2,3"))
        self.assertIn("every weight is 0", refused(INPUT, *ensemble(NOVA, PULSAR), "--weights", "0,0"))
        self.assertIn("one vocabulary", refused(INPUT, *ensemble(NOVA, PULSAR), "--logit-bias", "3=1"))
        self.assertIn("--trace needs a single model",
                      refused(INPUT, *ensemble(NOVA, PULSAR), "--local-nodes", 2, "--trace", self.folder / "trace"))
        self.assertIn("--ensemble", refused(USAGE, NOVA, *ensemble(NOVA, PULSAR)))
        self.assertIn("--ensemble", refused(INPUT, "--explain"))


class Chat(Case):
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
        self.assertIn("cannot be saved or loaded", chat.ask("/save talk"))
        self.assertIn("one vocabulary", chat.ask("/set logit-bias 3=1"))

    def test_ctrl_c_takes_the_question_back(self):
        chat = Conversation("--ensemble", self.folder, f"{NOVA},{PULSAR}", "--temp", 0, "--threads", 1, "--policy",
                            "spans", "--ignore-eos")
        self.addCleanup(chat.stop)
        chat.until(b"\x1b[?2004h" + PROMPT)
        chat.type("tell me everything\n")
        while len(chat.unread) < 200:
            chat.read()
        chat.type("\x03")
        said = chat.until(b"\x1b[?2004h" + PROMPT)
        self.assertIn("(stopped, and taken back)", said)
        self.assertNotIn("error", said)
        self.assertIn("messages  0", chat.ask("/stats"))


class Other(Case):
    def test_verify(self):
        report = json.loads(aster("verify", *ensemble(NOVA, PULSAR), "--tokens", 12, "--threads", 1, "--json").stdout)
        self.assertTrue(report["equal"])
        groups = {way["group"] for way in report["ways"]}
        self.assertEqual(groups, {"nova alone", "pulsar alone", "choose", "spans", "bytes", "auto"})
        names = [way["name"] for way in report["ways"]]
        self.assertIn("bytes: nova twice", names)
        self.assertIn("spans: pulsar has all the weight", names)

    def test_bench(self):
        report = json.loads(aster("bench", *ensemble(NOVA, PULSAR), "--gen", 8, "--reps", 1, "--threads", 1,
                                  "--json").stdout)
        self.assertEqual([member["name"] for member in report["members"]], ["nova", "pulsar"])
        self.assertEqual([policy["name"] for policy in report["policies"]], ["choose", "spans", "bytes", "auto"])
        self.assertEqual(max(member["of_slowest"] for member in report["members"]), 1)

    def test_perplexity_of_a_text_together(self):
        report = json.loads(aster("perplexity", *ensemble(NOVA, PULSAR), "--ctx", 64, "--chunks", 2, "--threads", 1,
                                  "--json").stdout)
        each = [member["bits_per_byte"] for member in report["members"]]
        # The mean of two loses at most one bit per chunk compared with the better one.
        self.assertLess(report["bits_per_byte"], min(each) + report["chunks"] / report["scored_bytes"] + 1e-6)


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
        # Answers do not depend on the number of concurrent questions; a file of results is continued.
        replies = {row["id"]: row["reply"] for row in map(json.loads, out.read_text().splitlines()[1:])}
        one = self.folder / "one.jsonl"
        report("--out", one, "--parallel", 1)
        self.assertEqual({row["id"]: row["reply"] for row in map(json.loads, one.read_text().splitlines()[1:])},
                         replies)
        self.assertEqual(report("--out", out)["resumed"], 3)
        other = aster("eval", *ensemble(NOVA, PULSAR), "--weights", "2,1", "--questions", questions, "--out", out,
                      check=INPUT)
        self.assertIn("weights", other.stderr.decode())


    def test_members_are_weighed_by_their_results(self):
        questions = self.folder / "questions.jsonl"
        rows = [{"id": f"{i}", "category": "sums", "messages": [{"role": "user", "content": f"{i + 41} x {i + 3} = ?"}],
                 "answer": f"{(i + 3) * (i + 41)}", "extract": "final"} for i in range(4)]
        questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
        results = [self.folder / "nova.jsonl", self.folder / "comet.jsonl"]
        for model, out in zip((NOVA, COMET), results):
            aster("eval", model, "--questions", questions, "--out", out, "--threads", 1)
        told = json.loads(aster("run", *ensemble(NOVA, COMET), "--weights", ",".join(map(str, results)), "-p", PROGRAM,
                                "--temp", 0, "--threads", 1, "--json").stdout)["ensemble"]
        # The small one takes 44 x 6 for 224.
        self.assertGreater(told["members"][0]["weight"], 1)
        self.assertEqual(told["members"][1]["weight"], 0)
        swapped = aster("run", *ensemble(NOVA, COMET), "--weights", ",".join(map(str, results[::-1])), "-p", "x",
                        check=INPUT)
        self.assertIn("has results of comet.gguf, not of", swapped.stderr.decode())


if __name__ == "__main__":
    unittest.main()
