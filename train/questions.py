# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes the files that models are measured with: held-out questions, one JSON object a line, and held-out stories.

  python3 train/questions.py models/questions.jsonl models/held-out.txt
  python3 train/questions.py tuning.jsonl --tuning

The second command makes questions for choosing settings. They are held out, too, and none of them is among the first.

Each question has an id, a category, messages, perhaps tools as a chat template takes them, the answer, and how to find
it in a reply: "final" is the text after the last "Answer:", "whole" the whole reply, "call" the JSON in a <tool_call>,
"json" the reply as JSON. scoring.py finds it.
"""

import json
import random
import sys

from world import corpus, memory
from world.item import draw

PER_CATEGORY = 24
# The largest number of characters of a long text; the longest texts are just below 8192 tokens.
_LONGEST = 34_000
_MAX_DRAWS = 500
_TEXT_DOCUMENTS = 800


def _makers(category):
    """A function for each question of a category: long texts come in all lengths."""
    if category == "long recall":
        return [lambda rng, size=_LONGEST * (i + 1) // PER_CATEGORY: memory.long_recall(rng, size)
                for i in range(PER_CATEGORY)]
    return [corpus.questions_of(category)] * PER_CATEGORY


def compile_questions(name="questions", asked=()):
    """The set of this name, without questions that were asked before."""
    questions, asked = [], set(asked)
    for category in corpus.CATEGORIES:
        rng = random.Random(f"{name} about {category}")
        for number, make in enumerate(_makers(category)):
            item = draw(make, rng, held_out=True)
            for _ in range(_MAX_DRAWS):
                if str(item.turns) not in asked:
                    break
                item = draw(make, rng, held_out=True)
            else:
                break  # a category with few forms
            asked.add(str(item.turns))
            question = {"id": f"{category.replace(' ', '-').lower()}-{number:02}", "category": category,
                        "messages": [{"role": role, "content": text} for role, text in item.turns],
                        "answer": item.answer, "extract": item.extract}
            if item.tools:
                question["tools"] = item.tools
            questions.append(question)
    return questions


def compile_tuning():
    asked = [str([(message["role"], message["content"]) for message in question["messages"]])
             for question in compile_questions()]
    return compile_questions("tuning", asked)


def compile_text():
    """Stories for measuring perplexity: plain text, which is never trained on."""
    documents = (corpus.Corpus("held-out").document(number) for number in range(_TEXT_DOCUMENTS))
    return "\n\n".join(turns[0][1] for turns in documents if turns[0][0] == "text") + "\n"


def write(questions, path):
    with open(path, "w", encoding="utf-8") as file:
        for question in questions:
            file.write(json.dumps(question) + "\n")


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    if sys.argv[2] == "--tuning":
        write(compile_tuning(), sys.argv[1])
        return 0
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(compile_text())
    write(compile_questions(), sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
