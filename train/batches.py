# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Packs documents into windows of a few lengths, and chooses the windows that each step of training sees.

What a step sees depends on the seed and the number of the step only, so that a resumed run continues as if it had never
been interrupted.
"""

import random

import numpy as np

LENGTHS = (512, 2048, 8192)
_OPEN_WINDOWS = 64


def _pack(lengths, window, rng):
    """Lists of documents that fill windows well: each document goes where it leaves the least room."""
    order = list(lengths)
    rng.shuffle(order)
    opened, full = [], []
    for document, length in order:
        fitting = [(room, i) for i, (room, _) in enumerate(opened) if room >= length]
        if fitting:
            room, i = min(fitting)
            opened[i][1].append(document)
            opened[i][0] = room - length
            if opened[i][0] < 8:
                full.append(opened.pop(i)[1])
        else:
            opened.append([window - length, [document]])
            if len(opened) > _OPEN_WINDOWS:
                fullest = min(range(len(opened)), key=lambda i: opened[i][0])
                full.append(opened.pop(fullest)[1])
    return full + [documents for _, documents in opened]


class Documents:
    """The documents of a split as windows of tokens, with a weight for the loss of each token."""

    def __init__(self, path, seed):
        data = np.load(path)
        self.tokens, self.weights = data["tokens"], data["weights"]
        lengths = data["lengths"]
        self.begins = np.concatenate([[0], np.cumsum(lengths)])
        self.windows = {}
        shortest = 0
        for window in LENGTHS:
            some = [(i, int(length)) for i, length in enumerate(lengths) if shortest < length <= window]
            self.windows[window] = _pack(some, window, random.Random(f"{seed} {window}"))
            shortest = window

    def window(self, length, index):
        """Tokens and weights of a window; the unused end has weight zero."""
        tokens, weights = np.zeros(length, np.int64), np.zeros(length, np.float32)
        end = 0
        for document in self.windows[length][index]:
            begin, behind = self.begins[document], self.begins[document + 1]
            tokens[end:end + behind - begin] = self.tokens[begin:behind]
            weights[end:end + behind - begin] = self.weights[begin:behind] / 10
            end += behind - begin
        return tokens, weights

    def batch(self, length, first, tokens):
        """A micro-batch of `tokens` tokens, in many short windows or few long ones, but at least one: the windows from
        the first-th on, in an order that changes with every epoch."""
        windows = self.windows[length]
        chosen = []
        for place in range(first, first + max(1, tokens // length)):
            epoch, index = divmod(place, len(windows))
            # A step coprime to the count visits every window once an epoch.
            chosen.append(self.window(length, (index * _coprime(len(windows), epoch)) % len(windows)))
        return tuple(np.stack(arrays) for arrays in zip(*chosen))


def _coprime(count, epoch):
    if epoch == 0 or count < 3:
        return 1
    step = random.Random(f"{count} {epoch}").randrange(1, count)
    while np.gcd(step, count) != 1:
        step += 1
    return step


def length_of(seed, number, shares):
    """The window length of a run's micro-batch with this number."""
    rng = random.Random(f"{seed} micro {number}")
    return rng.choices(list(shares), list(shares.values()))[0]
