# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Byte-level BPE, cut into words by the rules that files call "qwen2": every digit is a word of its own."""

import json
import re
from collections import Counter

from . import merges as bpe

# The published pattern for ASCII text, which the corpus is; encode() refuses other text.
_WORDS = re.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n0-9A-Za-z]?[A-Za-z]+|[0-9]| ?[^\s0-9A-Za-z]+[\r\n]*|"
                    r"\s*[\r\n]+|\s+(?!\S)|\s+")


def _letters_of_bytes():
    """How byte-level vocabularies write bytes: visible ones as themselves, the others as the next free character."""
    letters, free = [], 0x100
    for byte in range(256):
        seen = 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD)
        letters.append(chr(byte if seen else free))
        free += 0 if seen else 1
    return letters


_LETTERS = _letters_of_bytes()


def _spell(word):
    return "".join(_LETTERS[byte] for byte in word.encode("ascii"))


class ByteLevel:
    """A vocabulary: 256 bytes, then merges, then special tokens (control tokens, and those recognised in any text)."""

    def __init__(self, merges, control, visible):
        self.merges = [tuple(merge) for merge in merges]
        self.control, self.visible = list(control), list(visible)
        self.tokens = _LETTERS + [left + right for left, right in self.merges] + self.control + self.visible
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        assert len(self.ids) == len(self.tokens), "two merges make the same token"
        self._ranks = {merge: rank for rank, merge in enumerate(self.merges)}
        self._special = re.compile("(" + "|".join(re.escape(token) for token in self.control + self.visible) + ")")
        self._cache = {}

    @classmethod
    def train(cls, texts, size, control, visible):
        counts = Counter()
        pattern = re.compile("|".join(re.escape(token) for token in control + visible))
        for text in texts:
            for fragment in pattern.split(text):
                counts.update(_WORDS.findall(fragment))
        words = {tuple(_spell(word)): count for word, count in counts.items()}
        learned = bpe.learn(words, size - 256 - len(control) - len(visible))
        return cls(learned, control, visible)

    def encode(self, text):
        ids = []
        for i, fragment in enumerate(self._special.split(text)):
            if i % 2:
                ids.append(self.ids[fragment])
            else:
                for word in _WORDS.findall(fragment):
                    ids += self._cache.get(word) or self._encode_word(word)
        return ids

    def _encode_word(self, word):
        symbols = bpe.apply(_spell(word), lambda left, right: self._ranks.get((left, right)))
        self._cache[word] = [self.ids[symbol] for symbol in symbols]
        return self._cache[word]

    def decode(self, ids):
        special = set(self.control + self.visible)
        data = b"".join(self.tokens[number].encode() if self.tokens[number] in special else
                        bytes(_LETTERS.index(letter) for letter in self.tokens[number]) for number in ids)
        return data.decode("utf-8", "replace")

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"kind": "byte-level", "merges": self.merges, "control": self.control,
                       "visible": self.visible}, file)

    def metadata(self):
        """The keys of a model file that hold this vocabulary."""
        specials = len(self.control) + len(self.visible)
        types = [1] * (len(self.tokens) - specials) + [3] * len(self.control) + [4] * len(self.visible)
        return {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": self.tokens,
                "tokenizer.ggml.token_type": types,
                "tokenizer.ggml.merges": [" ".join(merge) for merge in self.merges]}
