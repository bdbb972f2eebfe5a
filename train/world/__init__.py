# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A small world in plain English, made by rule: the corpus of the built-in models.

Everything is drawn from seeded generators, so that the same seed gives the same text on every machine. Nothing here
depends on tokens, models or training. corpus.py puts it together; each module below it makes one kind of text.
"""
