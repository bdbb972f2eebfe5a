#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Vocabularies and chat formats mean the same in Python, for training, and in the program, for everything else."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "train"))

import chat  # noqa: E402
import vocab  # noqa: E402
from vocab import merges  # noqa: E402
from world import corpus, formats  # noqa: E402

FORMATS = {"byte-level": chat.NOVA, "sentence-piece": chat.PULSAR}


def texts(form, count, first=0):
    documents = corpus.Corpus()
    return ["".join(text for text, _ in form.segments(documents.document(number)))
            for number in range(first, first + count)]


def train(kind, size=900):
    form = FORMATS[kind]
    return vocab.KINDS[kind].train(texts(form, 400), size, form.control, form.visible)


class Merges(unittest.TestCase):
    def test_most_frequent_first(self):
        self.assertEqual(merges.learn({tuple("abab"): 3, tuple("bc"): 4}, 2), [("a", "b"), ("b", "c")])

    def test_rare_pairs_stay_apart(self):
        self.assertEqual(merges.learn({tuple("ab"): 1}, 5), [])

    def test_apply_takes_the_best_rank(self):
        ranks = {("b", "c"): 0, ("a", "b"): 1}
        self.assertEqual(merges.apply("abc", lambda left, right: ranks.get((left, right))), ["a", "bc"])


class Vocabularies(unittest.TestCase):
    def test_decoding_gives_the_text(self):
        for kind, form in FORMATS.items():
            words = train(kind)
            for text in texts(form, 50, 1000) + ["  two  spaces\n\n\tand a tab", "x" * 100, "don't {'a': [1, 22]}"]:
                self.assertEqual(words.decode(words.encode(text)), text, kind)

    def test_size_and_special_tokens(self):
        for kind, form in FORMATS.items():
            words = train(kind)
            self.assertLessEqual(len(words.tokens), 900)
            self.assertGreater(len(words.tokens), 700)
            for token in form.control + form.visible:
                self.assertEqual(words.encode(token), [words.ids[token]])

    def test_digits_are_one_by_one(self):
        for kind in FORMATS:
            words = train(kind)
            self.assertEqual(len(words.encode("93517")), 5)

    def test_saved_and_loaded(self):
        for kind in FORMATS:
            words = train(kind)
            with tempfile.TemporaryDirectory() as folder:
                words.save(os.path.join(folder, "vocab.json"))
                loaded = vocab.load(os.path.join(folder, "vocab.json"))
            self.assertEqual(loaded.tokens, words.tokens)
            self.assertEqual(loaded.encode("Tell me a story."), words.encode("Tell me a story."))


@unittest.skipUnless(os.environ.get("ASTER"), "ASTER does not name the program")
class Program(unittest.TestCase):
    """A model file with random numbers as weights is enough to compare the program's tokenizer with ours."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write_model(self, kind):
        import struct
        words, form = train(kind), FORMATS[kind]
        path = os.path.join(self.folder.name, kind + ".gguf")
        end = words.ids[form.end_token]
        metadata = {"general.architecture": "llama", **words.metadata(), "tokenizer.ggml.eos_token_id": end,
                    "tokenizer.ggml.add_bos_token": False, "tokenizer.chat_template": form.jinja()}
        head = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(metadata))
        import gguf_values
        head += b"".join(gguf_values.entry(key, value) for key, value in metadata.items())
        with open(path, "wb") as file:
            file.write(head + b"\0" * (-len(head) % 32))
        return words, form, path

    def run_program(self, *arguments, text=""):
        done = subprocess.run([os.environ["ASTER"], *arguments], input=text.encode(), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def test_same_tokens(self):
        for kind in FORMATS:
            words, form, path = self.write_model(kind)
            rng = random.Random(5)
            odd = ["".join(rng.choice("ab Z9\n.,'!{}\"_-") for _ in range(200)) for _ in range(5)]
            for text in ["\n".join(texts(form, 40, 2000))] + odd:
                got = [int(number) for number in self.run_program("tokenize", path, "--ids", text=text).split()]
                self.assertEqual(got, words.encode(text), kind)

    def test_same_prompts(self):
        tools = [formats.TOOLS["add"], formats.TOOLS["get_time"]]
        call = {"name": "add", "arguments": {"a": 2, "b": 3}}
        conversations = [
            ([("user", "Hello")], None),
            ([("system", "Be kind."), ("user", "Hello"), ("assistant", "Hi!"), ("user", "Bye")], None),
            ([("user", "Add 2 and 3.")], tools),
            ([("system", "Be kind."), ("user", "Add 2 and 3."), ("assistant", formats.call_text(**call)),
              ("tool", '{"result": 5}')], tools),
        ]
        for kind in FORMATS:
            _, form, path = self.write_model(kind)
            for turns, offered in conversations:
                messages = [{"role": role, "content": text} for role, text in turns]
                for message in messages:
                    if message["content"].startswith("<tool_call>"):
                        message.update(content="", tool_calls=[{"type": "function", "function": call}])
                variables = {"messages": messages, "add_generation_prompt": True}
                if offered:
                    variables["tools"] = offered
                    turns = [("tools", json.dumps(offered))] + turns
                with open(os.path.join(self.folder.name, "chat.json"), "w", encoding="utf-8") as file:
                    json.dump(variables, file)
                got = self.run_program("template", path, os.path.join(self.folder.name, "chat.json"))
                self.assertEqual(got, form.prompt(turns))


if __name__ == "__main__":
    unittest.main()
