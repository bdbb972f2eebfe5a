# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Puts the corpus together: numbered documents, each drawn from its own seed.

A document is a list of (role, text): the role "text" is plain text, the others are the turns of a conversation.
Documents of the split "train" have no held-out question (item.py); those of "held-out" are made in the same way from
other seeds.
"""

import json
import random

from . import formats, lists, memory, numbers, stories, talk, village, words
from .item import Item, draw

# The kinds of questions, with their relative frequencies in training. An emphasis multiplies some of them.
WEIGHTS = {
    numbers.add: 9, numbers.subtract: 6, numbers.multiply: 6, numbers.word_problem: 4, numbers.compare: 3,
    numbers.calendar: 2, lists.copy: 5, lists.reverse: 6, lists.sort: 7, lists.count: 4, lists.find: 3, lists.order: 4,
    memory.recall: 4, memory.tracking: 3, memory.story_question: 6, formats.write_json: 2, formats.read_json: 2,
    formats.use_tool: 4, formats.run_program: 4, formats.write_program: 1, talk.chat: 3, talk.fact: 4, talk.describe: 1,
    talk.wish: 5, talk.dialogue: 3,
}
# Kinds with few forms, all of which are trained on, so they are not asked in evaluations.
UNASKED = (talk.chat, talk.wish, talk.describe, formats.write_program)

# The kinds that evaluations ask, by category.
CATEGORIES = {
    "addition": numbers.add, "subtraction": numbers.subtract, "multiplication": numbers.multiply,
    "word problems": numbers.word_problem, "comparison": numbers.compare, "calendar": numbers.calendar,
    "copying": lists.copy, "reversing": lists.reverse, "sorting": lists.sort, "counting": lists.count,
    "finding": lists.find, "ordering": lists.order, "recall": memory.recall, "long recall": memory.long_recall,
    "tracking": memory.tracking, "stories": memory.story_question, "JSON": None, "tools": formats.use_tool,
    "programs": formats.run_program, "facts": talk.fact, "dialogue": talk.dialogue,
}

EMPHASES = {
    "even": {},
    "numbers": {numbers.add: 2, numbers.subtract: 2, numbers.multiply: 2, numbers.word_problem: 1.5, lists.sort: 1.5,
                formats.run_program: 1.5, memory.story_question: 0.7, memory.recall: 2, memory.tracking: 1.5,
                talk.fact: 0.7},
    "words": {numbers.add: 0.4, numbers.subtract: 0.4, numbers.multiply: 0.3, memory.story_question: 2,
              memory.recall: 1.7, memory.tracking: 2, formats.write_json: 2, formats.read_json: 2, talk.fact: 2,
              talk.dialogue: 1.5, lists.order: 1.5, lists.find: 3, lists.count: 1.5, formats.run_program: 6},
}
SYSTEM_PROMPTS = [f"You are {talk.NAME}, a helpful assistant.", "You are a helpful assistant.",
                  "Answer the questions of the user.", "Be kind and brief."]


def questions_of(category):
    """The function that makes questions of a category."""
    if category == "JSON":
        return lambda rng: rng.choice([formats.write_json, formats.read_json])(rng)
    return CATEGORIES[category]


class Corpus:
    """The documents of one split, for one assistant, with one emphasis."""

    def __init__(self, split="train", assistant="Nova", emphasis="even", long_share=0.01):
        self.split = split
        self.assistant = assistant
        self.kinds = list(WEIGHTS)
        factors = EMPHASES[emphasis]
        self.weights = [WEIGHTS[kind] * factors.get(kind, 1) for kind in self.kinds]
        self.long_share = long_share

    def document(self, number):
        rng = random.Random(f"Brightwater {self.split} {number}")
        choice = rng.random()
        if choice < self.long_share:
            turns = self._conversation(rng, draw(memory.long_recall, rng, False), 0)
        elif choice < 0.14:
            turns = [("text", self._plain(rng))]
        else:
            turns = self._conversation(rng, self._item(rng), rng.choice([0, 0, 0, 1, 2, 3]))
        return [(role, text.replace(talk.NAME, self.assistant)) for role, text in turns]

    def _item(self, rng):
        kind = rng.choices(self.kinds, self.weights)[0]
        return kind(rng) if kind in UNASKED else draw(kind, rng, False)

    def _plain(self, rng):
        kind = rng.randrange(6)
        if kind <= 3:
            story = stories.tell(rng)
            return (f"{story.title}\n\n" if rng.random() < 0.5 else "") + story.text()
        if kind == 4:
            someone = village.person(rng)
            lines = [reply for _, reply in village.facts_about(someone)]
            rng.shuffle(lines)
            return " ".join(lines)
        facts = [reply for _, reply in village.facts_of_place(rng.choice(words.PLACES))]
        return " ".join(facts)

    def _conversation(self, rng, item, extra):
        """The item with more questions about the same text, if it has one, and with unrelated questions."""
        turns = []
        if item.tools:
            turns.append(("tools", json.dumps(item.tools)))
        elif rng.random() < 0.15:
            turns.append(("system", rng.choice(SYSTEM_PROMPTS)))
        turns += item.turns + [("assistant", item.reply)] + getattr(item, "after", [])
        more = getattr(item, "more", [])
        if more:
            asked = item.turns[-1][1]
            for question, reply in rng.sample(more, min(len(more), rng.randint(1, 4))):
                if question in asked:
                    continue
                # The text with another question could be a held-out item, which must not be asked.
                alone = Item(item.category, asked.rsplit("\n", 1)[0] + "\n" + question, reply)
                if not alone.is_held_out():
                    turns += [("user", question), ("assistant", reply)]
        for _ in range(0 if item.tools else extra):
            other = self._item(rng)
            if not other.tools and len(other.turns) == 1:
                turns += other.turns + [("assistant", other.reply)]
        return turns
