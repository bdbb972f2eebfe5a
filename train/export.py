# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes the model of a checkpoint as a GGUF file.

  /usr/bin/python3 train/export.py nova --data DIR --checkpoint DIR/checkpoint.pt --out nova.gguf [--type f32|f16|q8_0]

From float32 or float16, `aster quantize` makes the other types.
"""

import argparse
import os
import sys

import torch

import gguf
import vocab
from dense import Dense
from models import MODELS

_TYPES = {"f32": gguf.F32, "f16": gguf.F16, "q8_0": gguf.Q8_0}


def load_network(model, words, checkpoint):
    """The trained network, computing in float32."""
    network = Dense(model.arch, len(words.tokens), **model.shape)
    network.load_state_dict(torch.load(checkpoint, map_location="cpu")["model"])
    return network.eval()


def shape_metadata(model, network):
    arch = model.arch
    return {
        "general.architecture": arch, "general.name": model.name.capitalize(), "general.description": model.description,
        "general.type": "model", "general.license": "mit", "general.size_label": size_label(network),
        f"{arch}.block_count": network.layers, f"{arch}.context_length": network.context,
        f"{arch}.embedding_length": network.embedding, f"{arch}.feed_forward_length": network.feed_forward,
        f"{arch}.attention.head_count": network.heads, f"{arch}.attention.head_count_kv": network.kv_heads,
        f"{arch}.attention.key_length": network.head_dim, f"{arch}.attention.value_length": network.head_dim,
        f"{arch}.attention.layer_norm_rms_epsilon": network.epsilon, f"{arch}.rope.freq_base": network.rope_base,
        f"{arch}.rope.dimension_count": network.head_dim, f"{arch}.vocab_size": network.vocab_size,
    }


def size_label(network):
    count = sum(parameter.numel() for parameter in network.parameters())
    return f"{count / 1e6:.1f}M"


def vocab_metadata(model, words):
    end = words.ids[model.chat.end_token]
    separator = words.ids[model.chat.separator]
    begin = words.ids.get("<s>", separator)
    return {**words.metadata(), "tokenizer.ggml.bos_token_id": begin, "tokenizer.ggml.eos_token_id": end,
            "tokenizer.ggml.padding_token_id": separator, "tokenizer.ggml.add_bos_token": False,
            "tokenizer.ggml.add_eos_token": False, "tokenizer.chat_template": model.chat.jinja()}


def write(model, words, network, path, kind):
    tensors = []
    for name, value in network.file_tensors():
        array = value.float().numpy()
        tensors.append((name, array, kind if array.ndim > 1 else gguf.F32))
    gguf.write(path, {**shape_metadata(model, network), **vocab_metadata(model, words)}, tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--data", required=True, help="where vocab.json is")
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--type", choices=_TYPES, default="f32")
    options = parser.parse_args()
    model = MODELS[options.model]
    words = vocab.load(os.path.join(options.data, "vocab.json"))
    network = load_network(model, words, options.checkpoint)
    write(model, words, network, options.out, _TYPES[options.type])
    print(f"{options.out}: {size_label(network)} parameters, {os.path.getsize(options.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
