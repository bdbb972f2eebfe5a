# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Arithmetic with the steps written out, so that every step is one that a small model can do."""

from . import village, words
from .item import Item


def _ask(rng, expression):
    return rng.choice([f"What is {expression}?", f"Calculate {expression}.", f"How much is {expression}?",
                       f"Please work out {expression}.", f"{expression} = ?"])


def add(rng):
    """Sums of two numbers, digit by digit from the right, with carries."""
    digits = rng.choice([1, 2, 2, 3, 3, 4])
    left, right = (rng.randint(0, 10 ** rng.randint(1, digits) - 1) for _ in range(2))
    if rng.random() < 0.6:
        left, right = (rng.randint(10 ** (digits - 1), 10 ** digits - 1) for _ in range(2))
    width = max(len(str(left)), len(str(right)))
    top, bottom = str(left).zfill(width), str(right).zfill(width)
    steps, carry = [], 0
    for x, y in zip(reversed(top), reversed(bottom)):
        total = int(x) + int(y) + carry
        shown = f"{x} + {y} + 1" if carry else f"{x} + {y}"
        carry = total // 10
        steps.append(f"{shown} = {total}, write {total % 10}" + (", carry 1." if carry else "."))
    if carry:
        steps.append("Write 1.")
    answer = str(left + right)
    return Item("addition", _ask(rng, f"{left} + {right}"),
                f"{top} + {bottom}\n" + "\n".join(steps) + f"\nAnswer: {answer}", answer, "final")


def subtract(rng):
    """Differences that are not negative, digit by digit, with borrowing."""
    digits = rng.choice([1, 2, 2, 3, 3])
    left, right = sorted((rng.randint(0, 10 ** digits - 1) for _ in range(2)), reverse=True)
    width = len(str(left))
    top, bottom = str(left), str(right).zfill(width)
    steps, borrow = [], 0
    for x, y in zip(reversed(top), reversed(bottom)):
        lent = int(x) - borrow < int(y)
        shown = f"{int(x) + 10 * lent} - 1 - {y}" if borrow else f"{int(x) + 10 * lent} - {y}"
        value = int(x) + 10 * lent - borrow - int(y)
        borrow = int(lent)
        steps.append(f"{shown} = {value}, write {value}" + (", borrow 1." if lent else "."))
    answer = str(left - right)
    return Item("subtraction", _ask(rng, f"{left} - {right}"),
                f"{top} - {bottom}\n" + "\n".join(steps) + f"\nAnswer: {answer}", answer, "final")


def multiply(rng):
    """A number of up to three digits times one digit."""
    left, right = rng.randint(2, 10 ** rng.choice([1, 2, 2, 3]) - 1), rng.randint(2, 9)
    steps, carry = [], 0
    for x in reversed(str(left)):
        total = int(x) * right + carry
        shown = f"{x} x {right} + {carry}" if carry else f"{x} x {right}"
        carry = total // 10
        steps.append(f"{shown} = {total}, write {total % 10}" + (f", carry {carry}." if carry else "."))
    if carry:
        steps.append(f"Write {carry}.")
    answer = str(left * right)
    return Item("multiplication", _ask(rng, f"{left} x {right}"),
                f"{left} x {right}\n" + "\n".join(steps) + f"\nAnswer: {answer}", answer, "final")


def word_problem(rng):
    """A person has, gets and loses things: one line of arithmetic for each event."""
    someone, other = village.people(rng, 2)
    fruit = rng.choice(words.FRUITS)
    have = rng.randint(2, 30)
    text, steps = [f"{someone.name} has {have} {fruit}."], []
    for _ in range(rng.randint(1, 3)):
        change = rng.randint(1, 9)
        if rng.random() < 0.5 or have - change < 1:
            text.append(rng.choice([f"{other.name} gives {someone.him} {change} more.",
                                    f"Then {someone.he} finds {change} {fruit}.",
                                    f"Then {someone.he} buys {change} {fruit}."]))
            steps.append(f"{have} + {change} = {have + change}.")
            have += change
        else:
            text.append(rng.choice([f"Then {someone.he} gives {change} {fruit} to {other.name}.",
                                    f"Then {someone.he} loses {change} {fruit}.",
                                    f"{other.name} takes {change} of them."]))
            steps.append(f"{have} - {change} = {have - change}.")
            have -= change
    text.append(rng.choice([f"How many {fruit} does {someone.name} have now?",
                            f"How many {fruit} are left for {someone.name}?"]))
    return Item("word problems", " ".join(text), "\n".join(steps) + f"\nAnswer: {have}", str(have), "final")


def compare(rng):
    """The largest, smallest or middle one of some numbers."""
    count = rng.randint(2, 5)
    numbers = rng.sample(range(1, 100 if rng.random() < 0.7 else 1000), count)
    largest = rng.random() < 0.5
    word = rng.choice(["largest", "biggest"] if largest else ["smallest", "lowest"])
    best = max(numbers) if largest else min(numbers)
    shown = ", ".join(map(str, numbers))
    return Item("comparison", rng.choice([f"Which number is the {word}: {shown}?",
                                          f"What is the {word} of these numbers: {shown}?"]),
                f"The {word} number is {best}.")


def calendar(rng):
    """Days and months after and before others."""
    names, unit = (words.DAYS, "day") if rng.random() < 0.6 else (words.MONTHS, "month")
    start, distance = rng.randrange(len(names)), rng.randint(1, 5)
    forward = rng.random() < 0.6
    walk = [names[(start + (step if forward else -step)) % len(names)] for step in range(1, distance + 1)]
    direction = "after" if forward else "before"
    plural = f"1 {unit}" if distance == 1 else f"{distance} {unit}s"
    question = rng.choice([f"Which {unit} comes {plural} {direction} {names[start]}?",
                           f"What {unit} is {plural} {direction} {names[start]}?"])
    counted = " ".join(f"{step}: {name}." for step, name in enumerate(walk, 1))
    return Item("calendar", question, f"{counted}\nAnswer: {walk[-1]}", walk[-1], "final")
