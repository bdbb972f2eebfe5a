#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How far logits of DeepSeek V4 are from the truth, on shapes that have little in common, and from each other's:

    bench/truth_deepseek4.py --aster build/release/bin/aster --peer llama.cpp=./llama_cpp_logits

The truth is computed in double precision by the independent implementation that tests/golden/deepseek4_test.py uses,
from the weights as they are in the file. A peer is a program as for bench/truth.py. Models are made with `aster synth`,
and the texts are long enough for windows to end, rows of both ratios to be compressed and the index to choose. If two
rows or experts rank nearly alike, floats may choose another one than doubles did: then a position is far off, which is
why the median and the worst twentieth are printed beside the mean. "rounded" are rows of few bits, as published models
were trained; an engine that keeps 16 bits differs from them by the bits lost.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOLS = pathlib.Path(os.environ.get("ASTER_SHARED_DIR", ROOT / "../shared")) / "reference/deepseek-v4-tools"
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(TOOLS)]
from gguf_f32 import Reader  # noqa: E402
from truth import Distance  # noqa: E402
import ref  # noqa: E402

FLASH = "flash"
CONTRACTED = ("--type", "Q8_0", "--tensor-type", "ffn_down_exps=Q2_K")
PUBLISHED = CONTRACTED + ("--tensor-type", "*_exps=IQ2_XXS")
# The options of each, added to aster synth's preset flash-shape-tiny. With the preset's four heads of the index many
# ranks are exactly zero, and engines choose others of them; with 32 heads, as with the 64 of the real shape, hardly
# any.
HEADS = ("--index-heads", 32)
SHAPES = {
    FLASH: HEADS,
    "pro": HEADS + ("--ratios", "128,128,4,128,4,128", "--experts", 12, "--experts-used", 3, "--expert-limit", 2),
    "short rows only": HEADS + ("--ratios", "4", "--layers", 4, "--window", 16, "--index-top", 8, "--hash-layers", 0,
                                "--experts", 16, "--experts-used", 4),
    "one layer of each, low ranks": HEADS + ("--ratios", "128,4", "--layers", 2, "--window", 32, "--hash-layers", 1,
                                             "--query-rank", 64, "--output-rank", 32, "--output-groups", 4),
    "real heads": HEADS + ("--heads", 8, "--head-dim", 512, "--query-rank", 512, "--output-rank", 256,
                           "--output-groups", 8, "--embedding", 512, "--layers", 4),
    "a window that does not end": ("--window", 4096, "--index-top", 512, "--experts", 6, "--experts-used", 6),
    "equal ranks": (),
    "long rows only": ("--ratios", "128", "--layers", 3, "--window", 32),
    "the window only": ("--ratios", "0", "--layers", 4, "--window", 48, "--hash-layers", 4),
    "two streams": HEADS + ("--streams", 2),
    # The independent implementation rounds blocks of 64 numbers, and of the preset's 128 stand 96 still.
    "wider heads": HEADS + ("--head-dim", 160),
    "wider heads, short rows only": HEADS + ("--head-dim", 160, "--ratios", "4", "--layers", 4, "--window", 16,
                                             "--index-top", 8),
}
ROUNDED = ("wider heads", "wider heads, short rows only")
# Shape, a note about its types, options, whether rows are rounded.
CASES = [(name, "F32", ("--type", "F32"), False) for name in SHAPES if name not in ROUNDED] + [
    (FLASH, "F16", ("--type", "F16"), False),
    (FLASH, "Q8_0", ("--type", "Q8_0"), False),
    (FLASH, "Q4_K", ("--type", "Q4_K"), False),
    (FLASH, "Q8_0 and Q2_K", CONTRACTED, False),
    ("pro", "Q8_0 and Q2_K", CONTRACTED, False),
    (FLASH, "as published", PUBLISHED, False),
    ("pro", "as published", PUBLISHED, False),
] + [(name, "F32", ("--type", "F32"), True) for name in ROUNDED]


def run(*command):
    """None, or a failed program's last message."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode == 0:
        return None
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "ASSERT" in line or "rror" in line]
    return said[0].rsplit("/", 1)[-1].strip() if said else f"ended with status {done.returncode}"


def run_checked(*command):
    if (why := run(*command)) is not None:
        sys.exit(f"{command[0]} failed: {why}")


class Truth(ref.Ref):
    """The independent implementation on a file of ours."""

    KEYS = {"n_layer": "block_count", "ratios": "attention.compress_ratios", "n_head": "attention.head_count",
            "hd": "attention.key_length", "swa": "attention.sliding_window",
            "crope": "attention.compress_rope_freq_base", "rope": "rope.freq_base", "rot": "rope.dimension_count",
            "ih": "attention.indexer.head_count", "ihd": "attention.indexer.key_length",
            "itopk": "attention.indexer.top_k", "o_rank": "attention.output_lora_rank",
            "o_groups": "attention.output_group_count", "yfac": "rope.scaling.factor",
            "yorig": "rope.scaling.original_context_length", "ne": "expert_count", "neu": "expert_used_count",
            "rscale": "expert_weights_scale", "hc": "hyper_connection.count", "hceps": "hyper_connection.epsilon",
            "sink": "hyper_connection.sinkhorn_iterations", "nhash": "hash_layer_count"}

    def __init__(self, path, rounded):
        reader = Reader(path)
        of = {name: reader.metadata[f"deepseek4.{key}"] for name, key in self.KEYS.items()}
        self.c = of | {"clamp": reader.metadata["deepseek4.swiglu_clamp_exp"][0]}
        self.w = {name: reader.tensor(name) for name in reader.infos}
        self.o = {"kv16": True, "clamp": "ds4", "fp8": rounded, "fp4": rounded, "q16": False}
        self.inv = {compressed: self.freqs(compressed) for compressed in (0, 1)}


class Spread(Distance):
    """A distance, and its spread over positions."""

    def __init__(self, logits, truth):
        super().__init__(logits, truth)
        errors = numpy.sqrt(numpy.square(logits - truth).mean(1)) / truth.std()
        self.median, self.most = numpy.median(errors), numpy.quantile(errors, 0.95)

    def __str__(self):
        return f"{self.median:.1e} | {self.most:.1e} | {self.divergence:.1e} | {100 * self.agreement:.1f} %"


def measure(case, engines, options, folder):
    name, kind, types, rounded = case
    model, plain, ids, out = (folder / part for part in ("model.gguf", "f32.gguf", "ids.txt", "logits"))
    rows = () if rounded else ("--plain-rows",)
    run_checked(options.aster, "synth", model, "--preset", "flash-shape-tiny", "--no-next", *SHAPES[name], *types,
                *rows)
    run_checked(options.aster, "quantize", model, plain, "--type", "F32", "--pure")
    tokens = numpy.random.default_rng(options.seed).integers(0, 1000, options.tokens)
    ids.write_text(" ".join(map(str, tokens)))
    truth = Truth(plain, rounded).forward(tokens)
    found = {}
    label = f"| {name}, {kind}{', rounded' if rounded else ''} |"
    for engine, command in engines.items():
        if (why := run(*command(model, ids, out))) is not None:
            print(f"{label} {engine} | – | – | – | {why} |", flush=True)
            continue
        found[engine] = numpy.fromfile(out, dtype=numpy.float32).astype(numpy.float64).reshape(truth.shape)
        print(f"{label} {engine} | {Spread(found[engine], truth)} |", flush=True)
    ours = found.pop("aster")
    for engine, logits in found.items():
        print(f"{label} aster from {engine} | {Spread(ours, logits)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="some of " + ", ".join(SHAPES) + "; all of them")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM", help="another engine")
    parser.add_argument("--tokens", type=int, default=700, help="how many positions (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    engines = {"aster": lambda model, ids, out: (options.aster, "logits", model, "--ids", ids, "--out", out)}
    for peer in options.peer:
        name, program = peer.split("=", 1)
        engines[name] = lambda model, ids, out, program=program: (program, model, ids, out)
    print("| model | engine | error, median | worst twentieth | KL | same first choice |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        for case in (case for case in CASES if not options.shapes or case[0] in options.shapes):
            measure(case, engines, options, pathlib.Path(temporary))


if __name__ == "__main__":
    main()
