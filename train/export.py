# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes the model of a checkpoint as a GGUF file.

  /usr/bin/python3 train/export.py nova --data DIR --checkpoint DIR/checkpoint.pt --out nova.gguf [--type f32|f16|q8_0]

`aster quantize` makes the other types from float32 or float16.
"""

import argparse
import os
import sys

import gguf
import networks
import vocab
from models import MODELS

_TYPES = {"f32": gguf.F32, "f16": gguf.F16, "q8_0": gguf.Q8_0}


def general_metadata(model, network):
    return {"general.architecture": model.arch, "general.name": model.name.capitalize(),
            "general.description": model.description, "general.type": "model", "general.license": "mit",
            "general.size_label": size_label(network)}


def layers_metadata(network):
    return {
        "block_count": network.layers, "context_length": network.context, "embedding_length": network.embedding,
        "feed_forward_length": network.feed_forward, "attention.head_count": network.heads,
        "attention.head_count_kv": network.kv_heads, "attention.key_length": network.head_dim,
        "attention.value_length": network.head_dim, "attention.layer_norm_rms_epsilon": network.epsilon,
        "rope.freq_base": network.rope_base, "rope.dimension_count": network.head_dim,
    }


def dense_metadata(network):
    return {**layers_metadata(network), "vocab_size": network.vocab_size}


def sparse_metadata(network):
    """The keys that published files of the architecture have. The block that predicts the token after the next counts
    as a layer."""
    blocks = network.layers + bool(network.mtp)
    return {
        "block_count": blocks, "context_length": network.context, "embedding_length": network.embedding,
        "vocab_size": network.vocab_size, "attention.head_count": network.heads, "attention.head_count_kv": 1,
        "attention.key_length": network.head_dim, "attention.value_length": network.head_dim,
        "attention.q_lora_rank": network.q_rank, "attention.output_lora_rank": network.output_rank,
        "attention.output_group_count": network.output_groups, "attention.layer_norm_rms_epsilon": network.epsilon,
        "attention.sliding_window": network.window,
        "attention.compress_ratios": network.ratios + [0] * bool(network.mtp),
        "attention.compress_rope_freq_base": network.compressed_rope_base, "rope.freq_base": network.rope_base,
        "rope.dimension_count": network.rope_dim, "rope.scaling.type": "yarn",
        "rope.scaling.factor": network.yarn_factor,
        "rope.scaling.original_context_length": network.yarn_context, "rope.scaling.yarn_beta_fast": 32.0,
        "rope.scaling.yarn_beta_slow": 1.0, "attention.indexer.head_count": network.indexer_heads,
        "attention.indexer.key_length": network.indexer_dim, "attention.indexer.top_k": network.indexer_top,
        "expert_count": network.experts, "expert_used_count": network.used, "expert_shared_count": 1,
        "expert_feed_forward_length": network.feed_forward, "expert_weights_scale": network.expert_scale,
        "expert_weights_norm": True, "expert_gating_func": 4, "hash_layer_count": network.hash_layers,
        "swiglu_clamp_exp": [network.clamp] * blocks, "hyper_connection.count": network.streams,
        "hyper_connection.sinkhorn_iterations": network.sinkhorn, "hyper_connection.epsilon": network.epsilon,
        "nextn_predict_layers": int(network.mtp),
        # The project's own key: published models are trained with rows of 8 and 4 bits.
        "attention.rounded_rows": False,
    }


def shape_metadata(model, network):
    numbers = sparse_metadata(network) if model.arch == "deepseek4" else dense_metadata(network)
    return {**general_metadata(model, network), **{f"{model.arch}.{key}": value for key, value in numbers.items()}}


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


def _type_of(name, value, kind):
    """The type of a tensor as in published files: tensors that choose or mix have 16 bits when others have fewer, and
    vectors have 32."""
    if not value.is_floating_point():
        return gguf.I32
    if value.ndim == 1:
        return gguf.F32
    is_fine = any(part in name for part in ("gate_inp", "hc_", "_compressor_", "indexer.proj"))
    return gguf.F16 if is_fine and kind != gguf.F32 else kind


def write(model, words, network, path, kind):
    tensors = [(name, value.numpy(), _type_of(name, value, kind)) for name, value in network.file_tensors()]
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
    network = networks.load(model, len(words.tokens), options.checkpoint)
    write(model, words, network, options.out, _TYPES[options.type])
    print(f"{options.out}: {size_label(network)} parameters, {os.path.getsize(options.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
