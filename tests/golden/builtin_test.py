#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The built-in models' output as recorded: the same text and the same logits to the last bit on every instruction set
that this machine has, and the same score on the fastest one. After training a model again, record it again:

    ASTER=build/release/bin/aster python3 tests/golden/builtin_test.py --record
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASTER = pathlib.Path(os.environ.get("ASTER", ROOT / "build/release/bin/aster")).resolve()
MODELS = ROOT / "models"
RECORD = pathlib.Path(__file__).with_name("builtin.json")

PROMPTS = ("Tell me a story about Lily and a rabbit.", "What is 4538 + 3677?",
           "Sort these words from a to z: black, bell, tower")
TOKENS = [(7 * i * i + 13 * i + 5) % 2000 for i in range(141)]
# Short questions, so that this takes seconds.
EVALUATION = ("--categories", "addition,sorting,facts,tools", "--limit", "8", "-n", "64")
INSTRUCTION_SETS = ("ref", "avx2", "avxvnni", "avx512", "amx", "neon", "i8mm")


def run(*arguments, isa=None, check=True):
    environment = {**os.environ, **({"ASTER_ISA": isa} if isa else {})}
    return subprocess.run([ASTER, *map(str, arguments)], capture_output=True, check=check, env=environment, timeout=600)


def is_supported(model):
    return bool(json.loads(run("inspect", model, "--json").stdout)["supported"])


def instruction_sets(model):
    """The instruction sets of this machine: others are refused before anything is computed."""
    return [isa for isa in INSTRUCTION_SETS
            if run("verify", model, "--tokens", 2, isa=isa, check=False).returncode in (0, 1)]


def text_of(model, prompt, isa):
    return json.loads(run("run", model, "-p", prompt, "-n", 40, "--temp", 0, "--json", isa=isa).stdout)["text"]


def logits_hash(model, folder, isa):
    ids, out = folder / "ids", folder / "logits"
    ids.write_text(" ".join(map(str, TOKENS)))
    run("logits", model, "--ids", ids, "--out", out, isa=isa)
    return hashlib.sha256(out.read_bytes()).hexdigest()


def score_of(model, questions, isa):
    report = json.loads(run("eval", model, "--questions", questions, *EVALUATION, "--json", isa=isa).stdout)
    overall = report["models"][0]["overall"]
    return [overall["right"], overall["asked"]]


def golden_of(model, questions, folder, isa=None, whole=True):
    """`whole=False`: one text and no score, which is enough if all instruction sets have the same logits."""
    golden = {"texts": [text_of(model, prompt, isa) for prompt in PROMPTS[:None if whole else 1]],
              "logits": logits_hash(model, folder, isa)}
    if whole:
        golden["right_of_asked"] = score_of(model, questions, isa)
    return golden


def is_as_recorded(value, recorded):
    return value == (recorded[:len(value)] if isinstance(value, list) and recorded else recorded)


def differences(record, models, questions, sets_of=instruction_sets):
    """Differences from the record, in words."""
    found = []
    unrecorded = {path.stem for path in models.glob("*.gguf") if path.stem not in record}
    found += [f"{name}: is not recorded; run this with --record" for name in sorted(unrecorded)
              if is_supported(models / f"{name}.gguf")]
    sets = []
    with tempfile.TemporaryDirectory() as folder:
        for name, recorded in record.items():
            model = models / f"{name}.gguf"
            if not model.exists():
                found.append(f"{name}: is recorded, and there is no {model}")
                continue
            sets = sets or sets_of(model)
            for isa in sets:
                golden = golden_of(model, questions, pathlib.Path(folder), isa, whole=isa == sets[-1])
                found += [f"{name} on {isa}: {key} is {value}, and was {recorded.get(key)}"
                          for key, value in golden.items() if not is_as_recorded(value, recorded.get(key))]
    return found


def record_of(models, questions):
    with tempfile.TemporaryDirectory() as folder:
        return {path.stem: golden_of(path, questions, pathlib.Path(folder))
                for path in sorted(models.glob("*.gguf")) if is_supported(path)}


class Builtin(unittest.TestCase):
    def test_models_answer_as_recorded(self):
        self.assertEqual(differences(json.loads(RECORD.read_text()), MODELS, MODELS / "questions.jsonl"), [])


class ComparisonOfRecords(unittest.TestCase):
    """With a synthetic model and one instruction set: changes are found, and nothing else."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.models = pathlib.Path(holder.name)
        run("synth", self.models / "nova.gguf", "--preset", "tiny", "--layers", 2, "--vocab", 2048)
        self.questions = MODELS / "questions.jsonl"
        self.record = record_of(self.models, self.questions)

    def differences(self, record=None):
        return differences(record or self.record, self.models, self.questions, sets_of=lambda model: [None])

    def test_nothing_changed(self):
        self.assertEqual(self.record["nova"]["right_of_asked"][1], 8)
        self.assertEqual(self.differences(), [])

    def test_every_change_is_found(self):
        for key, value in (("texts", ["", "", ""]), ("logits", "0"), ("right_of_asked", [7, 8])):
            changed = {"nova": {**self.record["nova"], key: value}}
            found = self.differences(changed)
            self.assertGreater(len(found), 0, key)
            self.assertTrue(all(key in line for line in found), found)

    def test_another_model_is_not_the_same(self):
        run("synth", self.models / "nova.gguf", "--preset", "tiny", "--layers", 2, "--vocab", 2048, "--seed", 2)
        self.assertTrue(any("logits" in line for line in self.differences()))

    def test_models_that_are_missing_or_not_recorded_are_found(self):
        self.assertIn("no", self.differences({**self.record, "comet": {}})[-1])
        shutil.copy(self.models / "nova.gguf", self.models / "pulsar.gguf")
        self.assertIn("pulsar: is not recorded", self.differences()[0])


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(json.dumps(record_of(MODELS, MODELS / "questions.jsonl"), indent=1) + "\n")
    else:
        unittest.main()
