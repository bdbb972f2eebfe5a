#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster eval, and models that are called by name: with a synthetic model, whose replies are nonsense."""
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from fixture import ASTER, INPUT, USAGE, Case, aster

INTERRUPTED = 130


def question(name, category, content, answer="8", extract="whole", **more):
    return {"id": name, "category": category, "messages": [{"role": "user", "content": content}], "answer": answer,
            "extract": extract, **more}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class EvalCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.questions = cls.folder / "questions.jsonl"
        tool = {"type": "function", "function": {"name": "add"}}
        cls.write(cls.questions, [question(f"words-{i}", "words", f"What is {i} times {i + 3}?") for i in range(6)] +
                  [question(f"long-{i}", "long words", "and then " * (20 * i + 1)) for i in range(4)] +
                  [question("tools-0", "JSON", "Use the tool.", "<tool_call>{}</tool_call>", "call", tools=[tool])])

    @staticmethod
    def write(path, questions):
        path.write_text("".join(json.dumps(question) + "\n" for question in questions))

    def eval(self, *arguments, **options):
        limit = () if "-n" in arguments else ("-n", 8)
        return aster("eval", self.tiny, "--questions", self.questions, *limit, *arguments, **options)

    def results(self, name, *arguments):
        path = self.folder / name
        self.eval("--out", path, *arguments)
        return {line["id"]: line for line in lines(path)[1:]}


class Eval(EvalCase):
    def test_every_question_has_a_line(self):
        results = self.results("all.jsonl")
        self.assertEqual(set(results), {q["id"] for q in lines(self.questions)})
        one = results["words-3"]
        self.assertEqual(set(one), {"id", "category", "prompt_tokens", "reply_tokens", "reply", "extracted", "expected",
                                    "right", "finish_reason", "times"})
        self.assertEqual((one["category"], one["expected"], one["right"]), ("words", "8", False))
        self.assertEqual(one["extracted"], one["reply"])
        self.assertIsNone(results["tools-0"]["extracted"])
        self.assertEqual(one["finish_reason"], "length")

    def test_a_reply_is_what_aster_run_answers(self):
        results = self.results("run.jsonl")
        for i in (0, 5):
            run = aster("run", self.tiny, "-p", f"What is {i} times {i + 3}?", "-n", 8, "--temp", 0, "--json")
            answer = json.loads(run.stdout)
            self.assertEqual(results[f"words-{i}"]["reply"], answer["text"])
            self.assertEqual(results[f"words-{i}"]["prompt_tokens"], answer["tokens"]["prompt"])

    def test_right_answers_are_counted(self):
        replies = self.results("first.jsonl")
        known = self.folder / "known.jsonl"
        questions = lines(self.questions)
        for q in questions:
            if q["category"] == "words":
                q["answer"] = "  " + replies[q["id"]]["reply"].replace(" ", "\n")
        self.write(known, questions)
        report = json.loads(aster("eval", self.tiny, "--questions", known, "-n", 8, "--json").stdout)["models"][0]
        tallies = {entry["category"]: entry for entry in report["categories"]}
        self.assertEqual((tallies["words"]["right"], tallies["words"]["asked"]), (6, 6))
        self.assertEqual((report["overall"]["right"], report["overall"]["asked"]), (6, 11))
        # Wilson's interval, the other way round: the rates that are 1.96 deviations away.
        for end in (report["overall"]["low"], report["overall"]["high"]):
            self.assertAlmostEqual(abs(6 / 11 - end) / math.sqrt(end * (1 - end) / 11), 1.959964, places=5)
        text = aster("eval", self.tiny, "--questions", known, "-n", 8).stdout.decode()
        self.assertRegex(text, r"words +6 of 6 +100\.0 % +61\.0 to 100\.0")
        self.assertRegex(text, r"all +6 of 11 +54\.5 %")

    def test_tools_stand_in_the_prompt(self):
        without = self.folder / "without.jsonl"
        questions = lines(self.questions)
        questions[-1].pop("tools")
        questions[-1]["messages"][0]["content"] = "<|end|><|start|>"
        self.write(without, questions[-1:])
        # A control token typed in a question does not end a turn: two characters, not two turns.
        aster("eval", self.tiny, "--questions", without, "-n", 1, "--out", self.folder / "w.jsonl")
        self.assertGreater(lines(self.folder / "w.jsonl")[1]["prompt_tokens"], 10)

    def test_replies_do_not_depend_on_how_many_are_asked_at_once(self):
        def replies(*options):
            name = "-".join(str(option) for option in options) + ".jsonl"
            return {name: result["reply"] for name, result in self.results(name, *options).items()}

        self.assertEqual(replies("--parallel", 1), replies("--parallel", 5))
        self.assertEqual(replies("--parallel", 1, "--temp", 1, "--seed", 4),
                         replies("--parallel", 11, "--temp", 1, "--seed", 4, "--threads", 2))
        self.assertNotEqual(replies("--parallel", 2, "--temp", 1, "--seed", 4), replies("--parallel", 2))

    def test_an_interrupted_run_is_continued(self):
        whole = self.results("whole.jsonl")
        path = self.folder / "part.jsonl"
        all_lines = (self.folder / "whole.jsonl").read_text().splitlines(keepends=True)
        path.write_text("".join(all_lines[:5]) + all_lines[5][:30])
        report = json.loads(self.eval("--out", path, "--json").stdout)["models"][0]
        self.assertEqual(report["resumed"], 4)
        self.assertEqual(report["overall"]["asked"], 11)
        self.assertTrue(path.read_text().startswith("".join(all_lines[:5])))
        self.assertEqual({line["id"]: line["reply"] for line in lines(path)[1:]},
                         {name: result["reply"] for name, result in whole.items()})
        before = path.read_text()
        self.assertIn("11 were asked in an earlier run", self.eval("--out", path).stdout.decode())
        self.assertEqual(path.read_text(), before)

    def test_results_of_another_run_are_left_alone(self):
        path = self.folder / "mine.jsonl"
        self.eval("--out", path)
        before = path.read_text()
        other = self.folder / "other.gguf"
        aster("synth", other, "--seed", 2)
        fingerprints = [json.loads(aster("inspect", model, "--fingerprint", "--json").stdout)["fingerprint"]
                        for model in (self.tiny, other)]
        run = aster("eval", other, "--questions", self.questions, "-n", 8, "--out", path, check=INPUT)
        for fingerprint in fingerprints:
            self.assertIn(fingerprint, run.stderr.decode())
        self.assertIn(b"max_tokens 8, and this run has 9", self.eval("-n", 9, "--out", path, check=INPUT).stderr)
        self.assertIn(b"was begun with min_p unset, and this run has 0.05",
                      self.eval("--temp", 1, "--out", path, check=INPUT).stderr)
        changed = self.folder / "changed.jsonl"
        self.write(changed, lines(self.questions)[1:])
        self.assertIn(b"questions", aster("eval", self.tiny, "--questions", changed, "-n", 8, "--out", path,
                                          check=INPUT).stderr)
        notes = self.folder / "notes"
        notes.write_text("my notes\n")
        self.eval("--out", notes, check=INPUT)
        self.assertEqual((path.read_text(), notes.read_text()), (before, "my notes\n"))

    def test_questions_are_chosen(self):
        def asked(*options):
            report = json.loads(self.eval("--json", *options).stdout)["models"][0]
            return {entry["category"]: entry["asked"] for entry in report["categories"]}

        self.assertEqual(asked("--limit", 3), {"words": 1, "long words": 1, "JSON": 1})
        self.assertEqual(asked("--limit", 6), {"words": 3, "long words": 2, "JSON": 1})
        self.assertEqual(asked("--categories", "json,Long-Words"), {"long words": 4, "JSON": 1})
        self.assertIn(b"words, long words, JSON", self.eval("--categories", "word", check=INPUT).stderr)

    def test_what_does_not_fit_is_skipped_and_said(self):
        results = self.results("short.jsonl", "--ctx", 60)
        skipped = [name for name, result in results.items() if "skipped" in result]
        self.assertEqual(sorted(skipped), ["long-1", "long-2", "long-3"])
        run = self.eval("--ctx", 60, "--json")
        overall = json.loads(run.stdout)["models"][0]["overall"]
        self.assertEqual((overall["asked"], overall["skipped"]), (8, 3))
        self.assertIn("3 questions were skipped: longer than the context of 60 tokens",
                      self.eval("--ctx", 60).stdout.decode())

    def test_several_models_stand_side_by_side(self):
        other = self.folder / "second.gguf"
        aster("synth", other, "--seed", 3, "--arch", "qwen3")
        outs = [self.folder / "one.out", self.folder / "two.out"]
        run = aster("eval", self.tiny, other, "--questions", self.questions, "-n", 4, "--out", outs[0], "--out",
                    outs[1])
        head = run.stdout.decode().splitlines()[0]
        self.assertIn("tiny.gguf", head)
        self.assertIn("second.gguf", head)
        self.assertEqual([len(lines(out)) for out in outs], [12, 12])
        report = json.loads(aster("eval", self.tiny, other, "--questions", self.questions, "-n", 4, "--json").stdout)
        self.assertEqual([model["model"] for model in report["models"]], [str(self.tiny), str(other)])
        aster("eval", self.tiny, other, "--out", outs[0], check=USAGE)

    def test_control_c_keeps_what_is_there(self):
        path = self.folder / "interrupted.jsonl"
        many = self.folder / "many.jsonl"
        self.write(many, [question(f"q-{i}", "words", f"Say {i}") for i in range(3000)])
        run = subprocess.Popen([ASTER, "eval", self.tiny, "--questions", many, "-n", "20", "--out", path],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not (path.exists() and path.read_text().count("\n") > 3):
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=300)
        self.assertEqual(run.returncode, INTERRUPTED)
        kept = lines(path)[1:]
        self.assertGreater(len(kept), 2)
        self.assertLess(len(kept), 3000)
        self.assertIn(f"interrupted: {len(kept)} of 3000 questions were asked", out.decode())

    def test_invalid_options_are_refused(self):
        self.eval("--parallel", 0, check=USAGE)
        self.eval("-n", 0, check=USAGE)
        self.eval("--verbose", check=USAGE)
        self.eval("--top-p", 2, check=INPUT)
        aster("eval", self.tiny, "--questions", self.folder / "none", check=INPUT)
        bad = self.folder / "bad.jsonl"
        bad.write_text('{"id": "a"}\n')
        self.assertIn(b"bad.jsonl: line 1", aster("eval", self.tiny, "--questions", bad, check=INPUT).stderr)
        self.eval("--out", self.folder, check=INPUT)


class Compare(EvalCase):
    def test_pairs_are_counted(self):
        first, second = self.folder / "a.jsonl", self.folder / "b.jsonl"
        self.eval("--out", first)
        head, *rest = lines(first)
        rights = [(i % 2 == 0, i % 3 == 0) for i in range(len(rest))]
        for path, which in ((first, 0), (second, 1)):
            for line, right in zip(rest, rights):
                line["right"] = right[which]
                line["reply"] = f"reply {which}"
            path.write_text("".join(json.dumps(line) + "\n" for line in [head, *rest]))
        report = json.loads(aster("eval", "--compare", first, second, "--json").stdout)
        b = sum(x and not y for x, y in rights)
        c = sum(y and not x for x, y in rights)
        overall = report["overall"]
        self.assertEqual((overall["both"], overall["only_first"], overall["only_second"]), (11, b, c))
        p = min(1, 2 * sum(math.comb(b + c, i) for i in range(min(b, c) + 1)) / 2 ** (b + c))
        self.assertAlmostEqual(overall["p"], p, places=12)
        self.assertEqual(len(report["changes"]), b + c)
        self.assertEqual(sum(entry["only_first"] for entry in report["categories"]), b)
        text = aster("eval", "--compare", first, second).stdout.decode()
        self.assertIn("right only in the first:", text)
        self.assertNotIn("reply 1", text)
        self.assertIn("reply 1", aster("eval", "--compare", first, second, "--verbose").stdout.decode())

    def test_what_is_no_result_is_refused(self):
        first, other = self.folder / "r.jsonl", self.folder / "x.jsonl"
        self.eval("--out", first, "--limit", 2)
        for text in ("", "{}\n", "my notes\n", first.read_text() + "{}\n"):
            other.write_text(text)
            self.assertIn(b"x.jsonl", aster("eval", "--compare", first, other, check=INPUT).stderr)
        other.write_text(first.read_text().replace('"expected":"8"', '"expected":"9"'))
        self.assertIn(b"not the same question", aster("eval", "--compare", first, other, check=INPUT).stderr)
        aster("eval", "--compare", first, check=USAGE)
        aster("eval", self.tiny, "--compare", first, first, check=USAGE)


class BuiltinModels(EvalCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.models = cls.folder / "models"
        cls.models.mkdir()
        shutil.copy(cls.tiny, cls.models / "nova.gguf")
        aster("synth", cls.models / "pulsar.gguf", "--seed", 5)
        shutil.copy(cls.questions, cls.models / "questions.jsonl")
        (cls.models / "held-out.txt").write_text("Once there was a fox who lived in a mill. " * 40)
        cls.environment = {"ASTER_MODELS": str(cls.models)}

    def named(self, *arguments, **options):
        return aster(*arguments, environment=self.environment, **options)

    def test_every_command_knows_them(self):
        ids = self.folder / "ids"
        ids.write_text("1 2 3 4 5 6 7 8")
        chat = self.folder / "chat.json"
        chat.write_text('{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": true}')
        for before, after in ((("run",), ("-p", "hi", "-n", 4, "--temp", 0)), (("inspect",), ()),
                              (("verify",), ("--tokens", 9)), (("tokenize",), ("--ids",)),
                              (("logits",), ("--ids", ids, "--out", self.folder / "logits")),
                              (("perplexity",), ("--ctx", 32, "--chunks", 2, "--json")),
                              (("eval",), ("--limit", 2, "-n", 2))):
            with self.subTest(before[0]):
                named, given, path = (self.named(*before, *model, *after, stdin=b"hello").stdout
                                      for model in ((), ("nova",), (self.models / "nova.gguf",)))
                if before[0] in ("run", "inspect", "tokenize", "logits"):
                    self.assertEqual(named, path)
                    self.assertEqual(given, path)
        self.named("bench", "--prompt", 8, "--gen", 2, "--reps", 1)
        self.named("template", "nova", chat)
        self.named("quantize", "nova", self.folder / "q.gguf", "--type", "Q4_0")
        table = self.named("eval", "nova", "pulsar", "-n", 2).stdout.decode()
        self.assertIn("pulsar.gguf", table.splitlines()[0])
        report = json.loads(self.named("perplexity", "--against", "pulsar", "--ctx", 32, "--json").stdout)
        self.assertGreater(report["second"]["bits_per_byte"], 0)

    def test_a_file_of_that_name_comes_first(self):
        place = self.folder / "place"
        place.mkdir()
        shutil.copy(self.models / "pulsar.gguf", place / "nova")
        run = subprocess.run([ASTER, "run", "nova", "-p", "hi", "-n", "1", "--json"], cwd=place, capture_output=True,
                             env={**os.environ, **self.environment}, timeout=60)
        self.assertEqual(json.loads(run.stdout)["model"], "nova")

    def test_installed_beside_the_program(self):
        root = self.folder / "root"
        (root / "bin").mkdir(parents=True)
        shutil.copy(ASTER, root / "bin/aster")
        shutil.copytree(self.models, root / "share/asterism/models")
        run = subprocess.run([root / "bin/aster", "run", "-p", "hi", "-n", "1", "--json"], capture_output=True,
                             timeout=60, check=True,
                             env={k: v for k, v in os.environ.items() if k != "ASTER_MODELS"})
        self.assertEqual(json.loads(run.stdout)["model"], str(root / "share/asterism/models/nova.gguf"))

    def test_what_is_nowhere_is_said(self):
        self.assertIn(b"nosuch", self.named("run", "nosuch", "-p", "x", check=INPUT).stderr)


class BitsPerByte(Case):
    """Of models with different vocabularies, on the same text."""

    def report(self, model, text, *options):
        return json.loads(aster("perplexity", model, "--file", text, "--json", "--ctx", 64, *options).stdout)

    def test_is_what_the_bytes_of_the_tokens_say(self):
        text = self.folder / "text"
        text.write_text("The miller's häuschen stood by the stream, and nobody knew why. " * 12)
        for vocab in (300, 1024):
            model = self.folder / f"{vocab}.gguf"
            aster("synth", model, "--vocab", vocab)
            report = self.report(model, text)
            ids = aster("tokenize", model, "--ids", stdin=text.read_bytes()).stdout.split()
            scored = b""
            for chunk in range(report["chunks"]):
                part = b" ".join(ids[chunk * 64 + 33:(chunk + 1) * 64])
                scored += aster("tokenize", model, "--decode", "--no-bos", stdin=part).stdout
            self.assertEqual(report["scored_bytes"], len(scored))
            bits = report["mean_surprise"] * report["scored"] / math.log(2) / len(scored)
            self.assertAlmostEqual(report["bits_per_byte"], bits, places=9)
            self.assertGreater(report["bits_per_byte_error"], 0)
            self.assertIn("bits per byte", aster("perplexity", model, "--file", text, "--ctx", 64).stdout.decode())

    def test_compares_vocabularies(self):
        # Two untrained models: all tokens are about equally likely, so perplexities are those of the vocabularies'
        # sizes, while bits per byte are comparable for the same text.
        text = self.folder / "numbers"
        text.write_text("".join(f"{i * i} " for i in range(400)))
        reports = {}
        for vocab in (300, 4000):
            model = self.folder / f"v{vocab}.gguf"
            aster("synth", model, "--vocab", vocab, "--type", "F16")
            reports[vocab] = self.report(model, text)
        self.assertLess(reports[300]["perplexity"], reports[4000]["perplexity"])
        for vocab, report in reports.items():
            tokens_per_byte = report["scored"] / report["scored_bytes"]
            self.assertAlmostEqual(report["bits_per_byte"], math.log2(report["perplexity"]) * tokens_per_byte, places=6)

    def test_ids_without_a_vocabulary_say_nothing_of_bytes(self):
        ids = self.folder / "some"
        ids.write_text(" ".join(str(i % 200) for i in range(64)))
        report = json.loads(aster("perplexity", self.tiny, "--ids", ids, "--ctx", 64, "--json").stdout)
        self.assertGreater(report["bits_per_byte"], 0)  # this model has a vocabulary


if __name__ == "__main__":
    unittest.main()
