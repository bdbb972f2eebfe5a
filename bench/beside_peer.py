#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How far another engine's logits are from ours, on small files of the shapes of many families:

    bench/beside_peer.py --aster build/release/bin/aster --peer ./llama_cpp_logits [PRESET…]

A peer is a program as for bench/truth.py (bench/peers/llama_cpp_logits.cc). Files are made with `aster synth`, of
floats, so that neither engine quantises. A distance is that of a position's logits, relative to their spread. If two
experts or rows rank nearly alike, engines may choose different ones, and the position and those after it are far off:
so the median is printed beside the largest. "same words": positions at which both find the same token most likely.
"""
import argparse
import pathlib
import subprocess
import tempfile

import numpy

DENSE = "--embedding 256 --ff 512 --vocab 1024"
EXPERTS = "--experts 8 --experts-used 3 --expert-ff 256"
PRESETS = {  # made smaller; heads stay as published, as do layers if a peer knows a model by their number
    "tiny": "",
    "qwen3-0.6b": "",
    "qwen3-moe-small": "",
    "gpt-oss-tiny": "",
    "glm-tiny": "",
    "minimax-m2-tiny": "",
    "qwen3-next-tiny": "",
    "qwen3.5-tiny": "",
    "qwen3.5-moe-tiny": "",
    "gemma2-2b": DENSE,
    "gemma3-1b": DENSE,
    "gemma4-e-proportions": DENSE,
    "gemma4-proportions": "--embedding 512 --ff 512 --vocab 1024",
    "gemma4-moe-proportions": f"--embedding 512 --ff 512 --vocab 1024 {EXPERTS}",
    "ministral3-3b": f"{DENSE} --heads 4 --kv-heads 2",
    "mimo-v2-flash": f"{DENSE} --heads 8 {EXPERTS}",
    "deepseek2-proportions": f"{DENSE} --heads 4 {EXPERTS} --layers 4",
    "deepseek-v2-lite": f"{DENSE} --heads 4 {EXPERTS} --layers 27",
    "glm-4.7-flash": f"{DENSE} --heads 4 {EXPERTS} --layers 4",
    "glm-5.2-tiny": "",
}


def logits_of(command, out, positions):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        return None
    return numpy.fromfile(out, dtype=numpy.float32).astype(numpy.float64).reshape(positions, -1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=list(PRESETS))
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--peer", required=True, help="the other engine's program")
    parser.add_argument("--tokens", type=int, default=96, help="number of positions (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    print("| preset | median | largest | same words |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        model, ids, out = (pathlib.Path(temporary) / name for name in ("model.gguf", "ids.txt", "logits"))
        tokens = numpy.random.default_rng(arguments.seed).integers(3, 1000, arguments.tokens)
        ids.write_text(" ".join(str(token) for token in tokens))
        for preset in arguments.presets:
            synth = [arguments.aster, "synth", model, "--preset", preset, "--type", "F32"]
            synth += PRESETS.get(preset, "").split()
            subprocess.run([str(part) for part in synth], check=True, stdout=subprocess.DEVNULL)
            ours = logits_of((arguments.aster, "logits", model, "--ids", ids, "--out", out), out, len(tokens))
            if ours is None:
                raise SystemExit(f"{preset}: aster logits failed")
            theirs = logits_of((arguments.peer, model, ids, out), out, len(tokens))
            model.unlink()
            if theirs is None:
                print(f"| {preset} | refused | | |", flush=True)
                continue
            spread = numpy.sqrt(numpy.mean((ours - ours.mean(axis=1, keepdims=True)) ** 2, axis=1))
            far = numpy.sqrt(numpy.mean((ours - theirs) ** 2, axis=1)) / spread
            same = numpy.mean(ours.argmax(axis=1) == theirs.argmax(axis=1))
            print(f"| {preset} | {numpy.median(far):.1e} | {far.max():.1e} | {100 * same:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
