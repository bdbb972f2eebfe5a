# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Merges of characters by score, like SentencePiece, with a token for every byte that no character covers."""

import json
import re
from collections import Counter

from . import merges as bpe

_SPACE = "\u2581"
# No token crosses the border of such a word, so that words can be encoded one by one.
_WORDS = re.compile(rf"{_SPACE}*[^{_SPACE}\n]+|{_SPACE}+|\n")
_PRINTABLE = [chr(code) for code in range(0x21, 0x7F)]


def _can_merge(left, right):
    """Digits are not merged, and letters are not merged with other characters."""
    text = (left + right).strip(_SPACE)
    return text.isalpha() or not text


class SentencePiece:
    """A vocabulary: <unk>, <s>, </s>, 256 bytes, characters, merges (a better score is higher), special tokens."""

    def __init__(self, merges, control, visible):
        self.merges, self.control, self.visible = list(merges), list(control), list(visible)
        self.tokens = (["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + [_SPACE] + _PRINTABLE +
                       self.merges + [token for token in self.control if token != "</s>"] + self.visible)
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        assert len(self.ids) == len(self.tokens), "a token is there twice"
        self._ranks = {token: rank for rank, token in enumerate(self.merges)}
        self._special = re.compile("(" + "|".join(re.escape(token) for token in self.control + self.visible) + ")")
        self._cache = {}

    @classmethod
    def train(cls, texts, size, control, visible):
        counts = Counter()
        pattern = re.compile("|".join(re.escape(token) for token in control + visible))
        for text in texts:
            for fragment in pattern.split(text):
                counts.update(_WORDS.findall(fragment.replace(" ", _SPACE)))
        words = {tuple(word): count for word, count in counts.items()}
        room = size - 3 - 256 - 1 - len(_PRINTABLE) - len(set(control) - {"</s>"}) - len(visible)
        learned, seen = [], set()
        # Two merges may give the same text, which is one token.
        for left, right in bpe.learn(words, 2 * room, _can_merge):
            if left + right not in seen and len(learned) < room:
                seen.add(left + right)
                learned.append(left + right)
        return cls(learned, control, visible)

    def encode(self, text):
        ids = []
        for i, fragment in enumerate(self._special.split(text)):
            if i % 2:
                ids.append(self.ids[fragment])
            else:
                for word in _WORDS.findall(fragment.replace(" ", _SPACE)):
                    ids += self._cache.get(word) or self._encode_word(word)
        return ids

    def _encode_word(self, word):
        ids = []
        # All neighbours whose text is a token are merged, whichever merges they come from.
        for symbol in bpe.apply(word, lambda left, right: self._ranks.get(left + right)):
            if symbol in self.ids:
                ids.append(self.ids[symbol])
            else:
                ids += [self.ids[f"<0x{byte:02X}>"] for byte in symbol.encode()]
        self._cache[word] = ids
        return ids

    def decode(self, ids):
        data = b"".join(bytes([number - 3]) if 3 <= number < 3 + 256 else
                        self.tokens[number].replace(_SPACE, " ").encode() for number in ids)
        return data.decode("utf-8", "replace")

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"kind": "sentence-piece", "merges": self.merges, "control": self.control,
                       "visible": self.visible}, file)

    def metadata(self):
        """The keys of a model file that hold this vocabulary."""
        controls = len([token for token in self.control if token != "</s>"])
        plain = len(self.tokens) - 3 - 256 - controls - len(self.visible)
        types = [2, 3, 3] + [6] * 256 + [1] * plain + [3] * controls + [4] * len(self.visible)
        characters = 1 + len(_PRINTABLE)
        scores = [0.0] * (3 + 256) + [-1e6] * characters + [-float(rank) for rank in range(len(self.merges))]
        scores += [0.0] * (len(self.tokens) - len(scores))
        return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": self.tokens, "tokenizer.ggml.scores": scores,
                "tokenizer.ggml.token_type": types, "tokenizer.ggml.unknown_token_id": 0,
                "tokenizer.ggml.add_space_prefix": False}
