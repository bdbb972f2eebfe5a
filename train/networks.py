# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The network for a model's architecture."""

import torch

from dense import Dense
from sparse import Sparse


def build(model, vocab_size, precision=torch.float32):
    if model.arch == "deepseek4":
        return Sparse(vocab_size, **model.shape, precision=precision)
    return Dense(model.arch, vocab_size, **model.shape, precision=precision)


def load(model, vocab_size, checkpoint):
    """A trained network, which computes in float32."""
    network = build(model, vocab_size)
    network.load_state_dict(torch.load(checkpoint, map_location="cpu")["model"])
    return network.eval()
