#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The corpus is the same on every machine, its answers are right, and no held-out question is trained on."""

import hashlib
import json
import os
import random
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "train"))

import questions  # noqa: E402
import scoring  # noqa: E402
from world import corpus, formats, lists, memory, numbers, stories, talk  # noqa: E402
from world.item import draw  # noqa: E402


def items(make, count=300):
    rng = random.Random(f"items of {make.__name__}")
    return [make(rng) for _ in range(count)]


class Corpus(unittest.TestCase):
    def test_documents_are_those_of_every_other_machine(self):
        documents = [corpus.Corpus().document(number) for number in range(500)]
        digest = hashlib.sha256(repr(documents).encode()).hexdigest()
        self.assertEqual(digest[:16], "4c97538c6e635f19", "the corpus has changed: models must be trained again")

    def test_documents_do_not_depend_on_each_other(self):
        forward = [corpus.Corpus().document(number) for number in (1, 2, 3)]
        backward = [corpus.Corpus().document(number) for number in (3, 2, 1)]
        self.assertEqual(forward, backward[::-1])

    def test_hardly_any_document_is_there_twice(self):
        self.assertGreater(len({repr(corpus.Corpus().document(number)) for number in range(1000)}), 950)

    def test_splits_differ(self):
        self.assertNotEqual(corpus.Corpus("train").document(0), corpus.Corpus("held-out").document(0))

    def test_text_is_ascii_and_names_the_assistant(self):
        text = repr([corpus.Corpus(assistant="Pulsar").document(number) for number in range(2000)])
        self.assertTrue(text.isascii())
        self.assertIn("I am Pulsar", text)
        self.assertNotIn(talk.NAME, text)

    def test_an_emphasis_changes_what_there_is(self):
        def sums(emphasis):
            some = corpus.Corpus(emphasis=emphasis)
            return sum("write" in text for number in range(2000) for _, text in some.document(number))
        self.assertGreater(sums("numbers"), 2 * sums("words"))

    def test_roles(self):
        for number in range(500):
            roles = [role for role, _ in corpus.Corpus().document(number)]
            self.assertTrue(roles == ["text"] or roles[-1] == "assistant", roles)
            self.assertLessEqual(set(roles), {"text", "tools", "system", "user", "assistant", "tool"})


class HeldOut(unittest.TestCase):
    def test_no_question_of_the_evaluation_is_trained_on(self):
        asked = {question["messages"][-1]["content"].lower() for question in questions.compile_questions()
                 if len(question["messages"]) == 1}
        for number in range(4000):
            for role, text in corpus.Corpus().document(number):
                if role == "user":
                    self.assertNotIn(text.lower(), asked)

    def test_the_committed_questions_are_those_of_the_generator(self):
        with open(os.path.join(ROOT, "models", "questions.jsonl"), encoding="utf-8") as file:
            committed = [json.loads(line) for line in file]
        self.assertEqual(committed, questions.compile_questions())

    def test_questions_for_tuning_are_other_ones(self):
        asked = {str(question["messages"]) for question in questions.compile_questions()}
        tuning = questions.compile_tuning()
        self.assertGreaterEqual(len(tuning), 400)
        self.assertFalse(asked & {str(question["messages"]) for question in tuning})
        self.assertEqual(len({question["id"] for question in tuning}), len(tuning))

    def test_the_committed_text_is_that_of_the_generator(self):
        with open(os.path.join(ROOT, "models", "held-out.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), questions.compile_text())

    def test_no_story_of_the_text_is_trained_on(self):
        told = set(questions.compile_text().split("\n\n"))
        for number in range(3000):
            for _, text in corpus.Corpus().document(number):
                long = {part for part in text.split("\n\n") if len(part) > 200}
                self.assertFalse(long & told)

    def test_enough_questions(self):
        compiled = questions.compile_questions()
        self.assertGreaterEqual(len(compiled), 400)
        self.assertGreaterEqual(len({question["category"] for question in compiled}), 8)
        self.assertEqual(len({question["id"] for question in compiled}), len(compiled))

    def test_about_one_in_sixteen(self):
        for make in (numbers.add, lists.sort, memory.recall):
            share = sum(item.is_held_out() for item in items(make, 2000)) / 2000
            self.assertTrue(0.03 < share < 0.1, (make, share))

    def test_draw(self):
        rng = random.Random(1)
        self.assertTrue(draw(numbers.add, rng, True).is_held_out())
        self.assertFalse(draw(numbers.add, rng, False).is_held_out())


class Answers(unittest.TestCase):
    """Answers are computed a second time, from the question only."""

    def test_sums(self):
        for make, sign in ((numbers.add, "+"), (numbers.subtract, "-"), (numbers.multiply, "x")):
            for item in items(make):
                left, right = map(int, re.search(rf"(\d+) [{sign}] (\d+)", item.turns[-1][1]).groups())
                value = {"+": left + right, "-": left - right, "x": left * right}[sign]
                self.assertEqual(item.answer, str(value))

    def test_every_line_of_a_worked_sum_is_true(self):
        for make in (numbers.add, numbers.subtract, numbers.multiply, numbers.word_problem):
            for item in items(make):
                for line in re.findall(r"([\d +x-]+) = (\d+)", item.reply):
                    self.assertEqual(eval(line[0].replace("x", "*").lstrip()), int(line[1]), item.reply)

    def test_digits_written_are_the_answer(self):
        for make in (numbers.add, numbers.subtract, numbers.multiply):
            for item in items(make):
                written = "".join(re.findall(r"[wW]rite (\d)", item.reply))[::-1]
                self.assertEqual(int(written), int(item.answer), item.reply)

    def test_lists(self):
        for item in items(lists.sort):
            asked, shown = item.turns[-1][1].split(": ")
            given, got = shown.split(", "), item.answer.split(", ")
            key = int if given[0].isdigit() else str
            down = "largest to smallest" in asked or "falling" in asked
            self.assertEqual(got, sorted(given, key=key, reverse=down))
        for item in items(lists.reverse):
            if ": " in item.turns[-1][1]:
                self.assertEqual(item.answer.split(", "), item.turns[-1][1].split(": ")[1].split(", ")[::-1])
        for item in items(lists.count):
            word = re.search(r"the word (\w+)", item.turns[-1][1])[1]
            self.assertEqual(int(item.answer), item.turns[-1][1].split(": ")[1].split(", ").count(word))
        for item in items(lists.copy):
            self.assertTrue(item.turns[-1][1].endswith(": " + item.answer))

    def test_programs_print_what_is_said(self):
        for item in items(formats.run_program):
            printed = []
            exec(item.turns[-1][1].split("\n", 1)[1], {"print": printed.append, "range": range})
            self.assertEqual([str(value) for value in printed], [item.answer])

    def test_json_is_json(self):
        for item in items(formats.write_json):
            json.loads(item.answer)
        for item in items(formats.use_tool):
            call = json.loads(item.reply.removeprefix("<tool_call>").removesuffix("</tool_call>"))
            offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in item.tools}
            self.assertEqual(list(offered[call["name"]]["properties"]), list(call["arguments"]))

    def test_what_is_to_be_recalled_is_there(self):
        for make in (memory.recall, memory.long_recall):
            for item in items(make, 60):
                text = item.turns[-1][1]
                number = re.search(r"The secret number of the (\w+) is (\d+)\.", item.answer)
                if number:
                    self.assertEqual(len(set(re.findall(rf"secret number of the {number[1]} is (\d+)", text))), 1)
                    self.assertIn(item.answer, text)
                else:
                    thing = re.search(r"the (\w+ \w+)|^The (\w+ \w+)", item.answer)
                    self.assertIn(thing[1] or thing[2], text)

    def test_a_thing_is_where_it_was_last_taken(self):
        for item in items(memory.tracking):
            text = item.turns[-1][1]
            thing = re.search(r"Where is the (\w+) now", text)[1]
            places = re.findall(rf"{thing} (?:is in|to) the (\w+)\.", text)
            self.assertEqual(item.answer, places[-1])

    def test_what_a_story_is_asked_about_is_in_it(self):
        rng = random.Random(3)
        for _ in range(200):
            story = stories.tell(rng)
            said = set(re.findall(r"\w+", (story.text() + story.title).lower()))
            for question, reply in story.questions:
                open_words = {word for word in re.findall(r"\w+", reply.lower()) if word in WORLD_WORDS}
                self.assertLessEqual(open_words - said, set(), (story.text(), question, reply))


WORLD_WORDS = set(stories.words.OBJECTS + stories.words.COLOURS + stories.words.PLACES + stories.words.FOODS +
                  stories.words.ANIMALS + [name.lower() for name in stories.village.NAMES])


class Scoring(unittest.TestCase):
    def right(self, reply, answer, extract):
        return scoring.is_right(reply, answer, extract)

    def test_final(self):
        self.assertTrue(self.right("4 + 5 = 9.\nAnswer: 9", "9", "final"))
        self.assertTrue(self.right("Answer: 8\nNo.\nAnswer: 9.\n", "9", "final"))
        self.assertFalse(self.right("Answer: 9\nAnswer: 8", "9", "final"))
        self.assertFalse(self.right("9", "9", "final"))
        self.assertFalse(self.right("Answer: 91", "9", "final"))
        self.assertFalse(self.right("Answer:", "9", "final"))

    def test_whole(self):
        self.assertTrue(self.right(" the key is  here", "The key is here.", "whole"))
        self.assertFalse(self.right("The key is here. Or not.", "The key is here.", "whole"))
        self.assertFalse(self.right("", "The key is here.", "whole"))

    def test_json(self):
        self.assertTrue(self.right('{"b":2, "a":1}', '{"a": 1, "b": 2}', "json"))
        self.assertFalse(self.right('{"a": "1"}', '{"a": 1}', "json"))
        self.assertFalse(self.right("{", '{"a": 1}', "json"))

    def test_call(self):
        call = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
        self.assertTrue(self.right("Yes. " + call, call, "call"))
        self.assertFalse(self.right(call.replace("1", "2"), call, "call"))
        self.assertFalse(self.right("</tool_call><tool_call>", call, "call"))


if __name__ == "__main__":
    unittest.main()
