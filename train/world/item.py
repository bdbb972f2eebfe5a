# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""One exercise: a conversation that ends with a question, and the reply to it."""

import zlib

# One question of this many is never trained on, and only those are asked in evaluations.
HELD_OUT_OF = 16


class Item:
    """A question with its reply.

    turns    the conversation before the reply: (role, text), the last one by the user
    reply    the reply of a perfect assistant
    answer   the text that a right reply must have
    extract  where: "final" is what follows the last "Answer:", "whole" the reply, "call" the tool call, "json" a value
    tools    the tools that are offered, or None
    """

    def __init__(self, category, user, reply, answer=None, extract="whole", turns=(), tools=None):
        self.category = category
        self.turns = list(turns) + [("user", user)]
        self.reply = reply
        self.answer = reply if answer is None else answer
        self.extract = extract
        self.tools = tools

    def is_held_out(self):
        """Decided by the question, not by chance, so that no held-out question is trained on with another seed."""
        asked = "\n".join(text for _, text in self.turns if text)
        return zlib.crc32((self.category + "\n" + asked.lower()).encode()) % HELD_OUT_OF == 0


def draw(make, rng, held_out):
    """An item of a kind that is (or is not) held out."""
    while True:
        item = make(rng)
        if item.is_held_out() == held_out:
            return item
