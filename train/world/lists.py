# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Exercises with lists: copying, reversing, sorting, counting, finding."""

from . import village, words
from .item import Item


def _words(rng, low, high):
    return rng.sample(words.LIST_WORDS, rng.randint(low, high))


def _numbers(rng, low, high):
    return [str(number) for number in rng.sample(range(1, 100), rng.randint(low, high))]


def _some(rng, low, high):
    return _words(rng, low, high) if rng.random() < 0.6 else _numbers(rng, low, high)


def copy(rng):
    """Repeats a list, or a sentence."""
    if rng.random() < 0.25:
        someone, other = village.people(rng, 2)
        text = (f"{someone.name} and {other.name} saw {words.a(words.thing(rng))} and {words.a(words.thing(rng))} "
                f"at the {rng.choice(words.PLACES)}.")
    elif rng.random() < 0.3:
        text = " ".join(str(rng.randint(0, 10 ** rng.randint(1, 5))) for _ in range(rng.randint(2, 8)))
    else:
        text = ", ".join(_some(rng, 3, 16))
    ask = rng.choice(["Repeat this:", "Say this again:", "Copy this text:", "Write the same text again:"])
    return Item("copying", f"{ask} {text}", text)


def reverse(rng):
    """Reverses a list, or the letters of a word."""
    if rng.random() < 0.3:
        word = rng.choice(words.LIST_WORDS)
        spelled = " ".join(word)
        backward = " ".join(reversed(word))
        if rng.random() < 0.3:
            return Item("reversing", f"Spell the word {word}.", spelled)
        reply = f"{spelled}\nAnswer: {backward}"
        return Item("reversing", f"Spell the word {word} backwards.", reply, backward, "final")
    items = _some(rng, 2, 8)
    ask = rng.choice(["Write this list in reverse order:", "Reverse this list:",
                      "Say these from the last to the first:"])
    return Item("reversing", f"{ask} {', '.join(items)}", ", ".join(reversed(items)))


def sort(rng):
    """Sorts numbers by size, words by the alphabet."""
    if rng.random() < 0.6:
        items = _numbers(rng, 2, 7)
        down = rng.random() < 0.3
        ordered = sorted(items, key=int, reverse=down)
        ask = rng.choice(["Sort these numbers from largest to smallest:", "Put these numbers in falling order:"] if down
                         else ["Sort these numbers:", "Put these numbers in order:",
                               "Sort these numbers from smallest to largest:"])
    else:
        items = _words(rng, 2, 6)
        ordered = sorted(items)
        ask = rng.choice(["Sort these words:", "Put these words in order of the alphabet:",
                          "Sort these words from a to z:"])
    return Item("sorting", f"{ask} {', '.join(items)}", ", ".join(ordered))


def count(rng):
    """Counts a word in a list, by going through the list."""
    kinds = rng.sample(words.LIST_WORDS, rng.randint(2, 4))
    items = [rng.choice(kinds) for _ in range(rng.randint(3, 14))]
    wanted = rng.choice(kinds)
    number, walked = 0, []
    for item in items:
        number += item == wanted
        walked.append(f"{item} {number}" if item == wanted else item)
    reply = f"{', '.join(walked)}.\nAnswer: {number}"
    question = rng.choice([f"How many times is the word {wanted} in this list: ",
                           f"Count the word {wanted} in this list: "])
    return Item("counting", question + ", ".join(items), reply, str(number), "final")


def find(rng):
    """Finds an item by its place in a list, or by its neighbour: the reply repeats the list up to the item."""
    items = _some(rng, 3, 8)
    shown = ", ".join(items)
    kind = rng.randrange(4)
    if kind == 0:
        place = rng.randrange(min(len(items), len(words.ORDINALS)))
        question = f"Which is the {words.ORDINALS[place]} in this list: {shown}?"
        walked = [f"{ordinal} {item}" for ordinal, item in zip(words.ORDINALS, items[:place + 1])]
    elif kind == 1:
        place = len(items) - 1
        question, walked = f"Which is the last in this list: {shown}?", items
    else:
        before = rng.randrange(len(items) - 1)
        place = before + 1 if kind == 2 else before
        walked = items[:before + 2]
        question = (f"What comes after {items[before]} in this list: {shown}?" if kind == 2 else
                    f"What comes before {items[before + 1]} in this list: {shown}?")
    return Item("finding", question, f"{', '.join(walked)}.\nAnswer: {items[place]}", items[place], "final")


def order(rng):
    """Finds the oldest person, from comparisons of neighbours in any order."""
    people = [person.name for person in village.people(rng, rng.randint(3, 5))]
    more, most, least = rng.choice([("older", "oldest", "youngest"), ("taller", "tallest", "shortest"),
                                    ("faster", "fastest", "slowest"), ("richer", "richest", "poorest")])
    claims = [f"{left} is {more} than {right}." for left, right in zip(people, people[1:])]
    rng.shuffle(claims)
    first = rng.random() < 0.5
    chain = ", ".join(people)
    answer = people[0] if first else people[-1]
    return Item("ordering", " ".join(claims) + f" Who is the {most if first else least}?",
                f"From {most} to {least}: {chain}.\nAnswer: {answer}", answer, "final")
