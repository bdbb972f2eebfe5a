# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The built-in models: their definitions, and how they are trained."""

import chat


class Model:
    """Everything that defines a model before it is trained."""

    def __init__(self, name, arch, description, chat_format, vocab, emphasis, shape, training, quantise, vocab_of=None):
        self.name = name
        self.arch = arch  # the architecture in the model file
        self.description = description
        self.chat = chat_format
        self.vocab_kind, self.vocab_size = vocab
        self.vocab_of = vocab_of or name  # the model whose vocabulary and corpus it shares
        self.emphasis = emphasis
        self.shape = shape
        self.training = training
        self.quantise = quantise  # types for aster quantize

    @property
    def assistant(self):
        return self.vocab_of.capitalize()


# tokens: of the whole run; batch: tokens of a step; micro: tokens computed at once; shares: of micro-batches, by the
# length of windows.
_DEFAULTS = {"batch": 8192, "micro": 8192, "rate": 3e-3, "final_rate": 5e-5,
             "warmup": 100, "decay": 0.1, "shares": {512: 0.85, 2048: 0.1, 8192: 0.05}}

MODELS = {
    "nova": Model(
        "nova", "qwen3", "tells stories of Brightwater and does exercises", chat.NOVA, ("byte-level", 2048), "numbers",
        {"embedding": 256, "layers": 6, "heads": 4, "kv_heads": 2, "head_dim": 64, "feed_forward": 768,
         "rope_base": 100000.0, "context": 8192, "tied": True}, {**_DEFAULTS, "tokens": 32_000_000}, "Q8_0"),
    "comet": Model(
        "comet", "qwen3", "drafts for nova", chat.NOVA, ("byte-level", 2048), "numbers",
        {"embedding": 128, "layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 64, "feed_forward": 256,
         "rope_base": 100000.0, "context": 8192, "tied": True},
        {**_DEFAULTS, "tokens": 10_000_000, "rate": 4e-3}, "Q8_0", vocab_of="nova"),
    "pulsar": Model(
        "pulsar", "llama", "the same world as nova, better at programs than at products", chat.PULSAR,
        ("sentence-piece", 2048), "words",
        {"embedding": 256, "layers": 6, "heads": 4, "kv_heads": 2, "head_dim": 64, "feed_forward": 768,
         "rope_base": 100000.0, "context": 8192, "tied": False}, {**_DEFAULTS, "tokens": 31_000_000}, "Q8_0"),
    # The window and the ratios are those of the published model; everything else is as small as possible.
    "quasar": Model(
        "quasar", "deepseek4", "the same world, in the shape of DeepSeek V4", chat.NOVA, ("byte-level", 2048), "even",
        {"embedding": 256, "ratios": [0, 0, 4, 128, 4, 128], "heads": 4, "head_dim": 128, "rope_dim": 32, "q_rank": 128,
         "output_groups": 2, "output_rank": 64, "window": 128, "indexer_heads": 4, "indexer_dim": 64, "indexer_top": 64,
         "experts": 8, "used": 2, "feed_forward": 128, "hash_layers": 3},
        {**_DEFAULTS, "tokens": 5_000_000, "micro": 2048, "rate": 2e-3,
         "shares": {512: 0.93, 2048: 0.055, 8192: 0.015}}, "Q8_0"),
}

# Drafters of blocks, by the name of their model (blocks.py). Layers have the heads of the model's own.
# taps: the layers, counted from 1, whose outputs are read; mask: a token that no text of the corpus has.
# anchors: the number of blocks in a window, by its length.
DRAFTERS = {
    "nova": {
        "shape": {"taps": [2, 4, 6], "layers": 2, "feed_forward": 512, "block": 7, "pair_rank": 64}, "mask": "\u00ff",
        "training": {**_DEFAULTS, "tokens": 4_000_000, "batch": 2048, "micro": 2048, "rate": 3e-3, "descent": 0.4,
                     "shares": {512: 0.85, 2048: 0.15}, "anchors": {512: 96, 2048: 192}}},
}
