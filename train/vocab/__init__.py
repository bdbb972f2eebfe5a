# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Vocabularies: trained on word counts, saved as JSON, and encoding exactly like the program's tokenizer."""

import json

from .byte_level import ByteLevel
from .sentence_piece import SentencePiece

KINDS = {"byte-level": ByteLevel, "sentence-piece": SentencePiece}


def load(path):
    with open(path, encoding="utf-8") as file:
        saved = json.load(file)
    return KINDS[saved.pop("kind")](**saved)
