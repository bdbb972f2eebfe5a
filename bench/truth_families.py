#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How far logits of every family are from an evaluation of the same weights in double precision, on small files:

    bench/truth_families.py --aster build/release/bin/aster --reference build/release/bin/reference_logits
        --peer ik_llama.cpp=./llama_cpp_logits [FAMILY…]

The truth is the result of bench/reference_logits.cc, the evaluation that the tests of the forward pass compare with.
For llama, qwen2, qwen3 and qwen3moe it is compared with that of bench/truth.py, and the largest difference is printed.
A quantised file's weights count as exact, so that an engine's error comes from its rounded activations and KV rows.

An error is the root mean square relative to the logits' spread: over all positions, and of the median position. If two
experts or rows rank nearly alike, a rounding error chooses another one, and the position and those after it are far
off: the median shows the others. A peer is a program as for bench/truth.py; "refused": it cannot read the file.
"""
import argparse
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gguf_f32 import Reader  # noqa: E402
from truth import ARCHITECTURES, Distance, Model, plain_model, referred_logits, run  # noqa: E402

NARROW = "--embedding 256 --ff 512 --vocab 1024"
SMALL = f"{NARROW} --window 128"
EXPERTS = "--experts 8 --experts-used 3 --expert-ff 256"
TYPES = ("F32", "Q8_0", "Q4_K")
# For `aster synth`. If a peer derives a number from a model's size, such as the scale of Gemma's scores, shapes are
# those of published models, made narrow.
FAMILIES = {
    "llama": "--preset tiny",
    "qwen2": "--preset tiny --arch qwen2",
    "qwen3": "--preset tiny --arch qwen3",
    "qwen3moe": "--preset tiny --arch qwen3moe --experts 8 --experts-used 2 --expert-ff 256",
    "qwen3next": "--preset qwen3-next-tiny",
    "qwen35": "--preset qwen3.5-tiny",
    "qwen35moe": "--preset qwen3.5-moe-tiny",
    "mistral3": "--preset mistral3-tiny",
    "phi3": "--preset phi4-mini-tiny --embedding 768 --heads 16 --head-dim 48 --untied --context 4096 --window 128",
    "gemma2": f"--preset gemma2-2b {SMALL}",
    "gemma3": f"--preset gemma3-1b {SMALL}",
    "gemma4 (E2B)": f"--preset gemma4-e-proportions {SMALL}",
    "gemma4 (31B)": f"--preset gemma4-proportions {SMALL}",
    "gemma4 (26B A4B)": f"--preset gemma4-moe-proportions {SMALL} {EXPERTS}",
    "gemma4 (E2B), scaled": "--preset gemma4-tiny",
    "gemma4 (31B), scaled": "--preset gemma4-dense-tiny",
    "gemma4 (26B A4B), scaled": "--preset gemma4-moe-tiny",
    "gpt-oss": "--preset gpt-oss-tiny",
    "glm4moe": "--preset glm-tiny",
    "minimax-m2": "--preset minimax-m2-tiny",
    "mimo2": "--preset mimo2-tiny",
    "deepseek2": "--preset deepseek2-tiny",
    "deepseek2, no groups": f"--preset deepseek2-proportions {NARROW} --heads 4 {EXPERTS} --layers 4",
    "deepseek2 (GLM 4.7 Flash)": f"--preset glm-4.7-flash {NARROW} --heads 4 {EXPERTS} --layers 4",
    "deepseek32": "--preset deepseek32-tiny",
    "glm-dsa (GLM 5)": "--preset glm-5-tiny",
    "glm-dsa (GLM 5.2)": "--preset glm-5.2-tiny",
    "deepseek4": "--preset flash-shape-tiny --index-heads 32 --plain-rows",
    "deepseek41": "--preset flash41-shape-tiny --index-heads 32 --plain-rows",
}
# For MLA the evaluation takes the square of the positions; and ik_llama.cpp another path from 128 on.
MLA, MLA_TOKENS = ("deepseek2", "deepseek32", "glm-dsa"), 96
PUBLISHED = {"gpt-oss": "MXFP4_MOE", "gemma3": "Q4_0"}  # in place of Q4_K
# What a peer's file says beside: ik_llama.cpp multiplies with YaRN's magnitude, which the file cancels.
PEER_KEYS = {"mistral3": ("mistral3.rope.scaling.attn_factor", 1 / (1 + 0.1 * math.log(16)))}
MEASURES = {  # aster's column is named after the measure, peers' columns after the peer and the measure
    "error": lambda distance: f"{distance.error:.1e}",
    "median": lambda distance: f"{distance.median:.1e}",
    "KL": lambda distance: f"{distance.divergence:.1e}",
    "same top token": lambda distance: f"{100 * distance.agreement:.1f} %",
}


def add_key(model, out, key, value):
    """A copy of a GGUF file with one more number. The inserted part is as long as a page, padded with a text, so that
    tensors stay aligned."""
    def of_key(name, kind):
        return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind)

    number = of_key(key, 6) + struct.pack("<f", value)
    text = of_key("filler", 8)
    length = 4096 - len(number) - len(text) - 8
    data = model.read_bytes()
    magic, version, tensors, keys = struct.unpack("<4sIQQ", data[:24])
    head = struct.pack("<4sIQQ", magic, version, tensors, keys + 2)
    out.write_bytes(head + number + text + struct.pack("<Q", length) + b"." * length + data[24:])


class Table:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.peers = dict(peer.split("=", 1) for peer in options.peer)
        self.differences = {}  # between both evaluations, by file
        self.ids = folder / "ids.txt"

    def head(self):
        columns = ["family", "type"]
        for measure in MEASURES:
            columns += [measure, *self.peers]
        return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"

    def truth(self, model, tokens, label):
        plain = plain_model(self.options.aster, model, self.folder)
        truth = referred_logits(self.options.reference, plain, tokens, self.folder)
        reader = Reader(plain)
        if reader.metadata["general.architecture"] in ARCHITECTURES:
            self.differences[label] = Distance(truth, Model(reader).logits(tokens)).error
        return truth

    def distance(self, command, truth):
        """None if the engine does not compute the file."""
        out = self.folder / "logits"
        command = [str(part) for part in (*command, out)]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        return Distance(numpy.fromfile(out, dtype=numpy.float32).astype(numpy.float64).reshape(truth.shape), truth)

    def row(self, family, kind):
        model, for_peers = self.folder / "model.gguf", self.folder / "for_peers.gguf"
        run(self.options.aster, "synth", model, *FAMILIES[family].split(), "--no-next", "--type", kind)
        count = min(self.options.tokens, MLA_TOKENS) if family.startswith(MLA) else self.options.tokens
        tokens = numpy.random.default_rng(self.options.seed).integers(3, 1000, count)
        truth = self.truth(model, tokens, f"{family} {kind}")
        found = [self.distance((self.options.aster, "logits", model, "--ids", self.ids, "--out"), truth)]
        if found[0] is None:
            sys.exit(f"{family} {kind}: aster logits failed")
        if family in PEER_KEYS:
            add_key(model, for_peers, *PEER_KEYS[family])
        for program in self.peers.values():
            theirs = for_peers if family in PEER_KEYS else model
            found.append(self.distance((program, theirs, self.ids), truth))
        columns = [family, kind]
        for text_of in MEASURES.values():
            columns += [text_of(one) if one else "refused" for one in found]
        return f"| {' | '.join(columns)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    families = "some of " + ", ".join(FAMILIES) + "; all of them"
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=families)
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--reference", required=True, help="the program that evaluates in double precision")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM", help="another engine")
    parser.add_argument("--tokens", type=int, default=192, help="how many positions (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        table = Table(options, pathlib.Path(temporary))
        print(table.head())
        for family in options.families or FAMILIES:
            for kind in TYPES[:2] + (PUBLISHED.get(family, TYPES[2]),):
                print(table.row(family, kind), flush=True)
    if table.differences:
        file = max(table.differences, key=table.differences.get)
        print(f"\nBoth evaluations differ by {table.differences[file]:.1e} at most ({file}).")


if __name__ == "__main__":
    main()
