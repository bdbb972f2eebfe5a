# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A small world in plain English, made by rule: the corpus that the built-in models are trained on.

Everything is drawn from seeded generators, so that the same seed gives the same text on every machine. Nothing here
knows of tokens, models or training. corpus.py puts it together; the modules below it each make one kind of text.
"""
