# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Has a checkpoint answer the questions of an evaluation, or one question, before there is a model file.

  /usr/bin/python3 train/ask.py nova --data DIR --checkpoint DIR/checkpoint.pt [--questions FILE] [--ask TEXT]
"""

import argparse
import json
import os
import sys
from collections import defaultdict

import torch

import networks
import scoring
import vocab
from models import MODELS


class Assistant:
    """A trained network with its vocabulary and chat format."""

    def __init__(self, model, data, checkpoint):
        self.chat = model.chat
        self.words = vocab.load(os.path.join(data, "vocab.json"))
        self.network = networks.load(model, len(self.words.tokens), checkpoint)
        self.end = self.words.ids[self.chat.end_token]

    def reply(self, messages, tools=None, limit=300):
        turns = [("tools", json.dumps(tools))] if tools else []
        turns += [(message["role"], message["content"]) for message in messages]
        ids, cache, written = self.words.encode(self.chat.prompt(turns)), [], []
        # In pieces, because the memory of attention grows with the square of a piece's length.
        for begin in range(0, len(ids), 1024):
            logits = self.network.step(torch.tensor(ids[begin:begin + 1024]), cache)
        for _ in range(limit):
            best = int(logits.argmax())
            if best == self.end:
                break
            written.append(best)
            logits = self.network.step(torch.tensor([best]), cache)
        return self.words.decode(written)


def evaluate(assistant, questions, show_wrong):
    right, asked = defaultdict(int), defaultdict(int)
    for question in questions:
        reply = assistant.reply(question["messages"], question.get("tools"))
        good = scoring.is_right(reply, question["answer"], question["extract"])
        asked[question["category"]] += 1
        right[question["category"]] += good
        if show_wrong and not good:
            print(f"{question['id']}: {question['messages'][-1]['content'][-200:]!r}\n  wanted {question['answer']!r}\n"
                  f"  wrote  {reply!r}")
    for category in asked:
        print(f"{category:16} {right[category]:3} of {asked[category]:3}")
    print(f"{'all':16} {sum(right.values()):3} of {sum(asked.values()):3}: "
          f"{100 * sum(right.values()) / max(1, sum(asked.values())):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--questions", help="what questions.py wrote")
    parser.add_argument("--every", type=int, default=1, help="ask only one of so many questions")
    parser.add_argument("--show-wrong", action="store_true")
    parser.add_argument("--ask", help="one question")
    options = parser.parse_args()
    assistant = Assistant(MODELS[options.model], options.data, options.checkpoint)
    if options.ask:
        print(assistant.reply([{"role": "user", "content": options.ask}]))
    if options.questions:
        with open(options.questions, encoding="utf-8") as file:
            questions = [json.loads(line) for line in file]
        evaluate(assistant, questions[::options.every], options.show_wrong)


if __name__ == "__main__":
    sys.exit(main())
