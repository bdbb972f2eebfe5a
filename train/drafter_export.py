# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes the drafter of a checkpoint as a GGUF file in float32, of the architecture "dflash".

  /usr/bin/python3 train/drafter_export.py nova --target models/nova.gguf --checkpoint DIR/checkpoint.pt --out FILE

The file has the model's vocabulary, but not its embedding and head. `aster quantize` makes the other types.
"""

import argparse
import os
import sys

import torch

import drafter
import export
import gguf
import gguf_reader
from gguf_values import Unsigned
from models import DRAFTERS, MODELS


def metadata_of(name, network, of_target):
    """Keys of the file. Those of the vocabulary are the model's."""
    shape = {**export.layers_metadata(network), "block_size": network.block, "sample_from_anchor": True,
             "target_layers": Unsigned(network.taps)}
    vocabulary = {key: value for key, value in of_target.items()
                  if key.startswith("tokenizer.") and key != "tokenizer.chat_template"}
    return {"general.architecture": "dflash", "general.name": f"{name.capitalize()}-DSpark",
            "general.description": f"drafts for {name}", "general.type": "model", "general.license": "mit",
            "general.size_label": export.size_label(network),
            **{f"dflash.{key}": value for key, value in shape.items()}, **vocabulary,
            "tokenizer.ggml.mask_token_id": network.mask}


def write(name, network, of_target, path):
    tensors = [(tensor, value.numpy(), gguf.F32) for tensor, value in network.file_tensors()]
    gguf.write(path, metadata_of(name, network, of_target), tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=DRAFTERS)
    parser.add_argument("--target", required=True, help="the model file that it is for")
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    network = drafter.drafter_of(options.model, drafter.target_of(MODELS[options.model], options.target))
    network.load_state_dict(torch.load(options.checkpoint, map_location="cpu")["model"])
    write(options.model, network, gguf_reader.read(options.target)[0], options.out)
    print(f"{options.out}: {export.size_label(network)} parameters, {os.path.getsize(options.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
