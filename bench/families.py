#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Rates of every family at its published widths, with few layers and experts, beside other engines:

    bench/families.py --aster build/release/bin/aster --engine aster=build/release/bin/resident_rates \\
        --engine ik=./llama_cpp_rates --engine repacked=REPACK=1,./llama_cpp_rates [FAMILY…]

Files are made with `aster synth`, with a vocabulary of 4096, which keeps the head out of the comparison. Engines stay
loaded and take turns (bench/in_turns.py); the ratio is the first engine's rate to the best of the others'. An engine
that fails to load a file or to compute is left out: its error is printed above the line.
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile

import in_turns

FAMILIES = {  # by `general.architecture`, and the size if there are several
    "llama": "--preset llama-8b --layers 2",
    "mistral3": "--preset mistral3-proportions --layers 2",
    "qwen2": "--preset qwen2.5-7b --layers 2",
    "qwen3": "--preset qwen3-8b --layers 2",
    "qwen3moe": "--preset qwen3-moe-proportions",
    "qwen3next": "--preset qwen3-next-proportions",
    "qwen35": "--preset qwen3.5-proportions",
    "qwen35moe": "--preset qwen3.5-moe-proportions",
    "gemma2": "--preset gemma2-2b",  # whole, as peers know it by its layers
    "gemma3": "--preset gemma3-4b --layers 6 --type Q4_0",
    "gemma4 E2B": "--preset gemma4-e-proportions",
    "gemma4 31B": "--preset gemma4-proportions",
    "gemma4 A4B": "--preset gemma4-moe-proportions",
    "phi3": "--preset phi4-proportions --layers 2 --window 4096",  # peers require one
    "gpt-oss": "--preset gpt-oss-proportions --layers 2 --type MXFP4_MOE",
    "glm4moe": "--preset glm-proportions --layers 2",
    "minimax-m2": "--preset minimax-m2-proportions --layers 2",
    "mimo2": "--preset mimo2-proportions",
    "deepseek2": "--preset deepseek2-proportions --layers 2",
    "deepseek32": "--preset deepseek32-proportions --layers 2",
    "glm-dsa": "--preset glm-5-proportions --layers 4",
    "deepseek4": "--preset flash-proportions --experts 12 --no-next --type Q8_0 --tensor-type ffn_down_exps=Q2_K "
    "--tensor-type *_exps=IQ2_XXS",
}
CASES = ("pp:128@0", "tg:12@0")


def working(options, model):
    """The engines that load the file and compute each case."""
    engines = []
    for text in options.engine:
        try:
            engine = in_turns.Engine(text, model, options.threads)
            for case in options.case:
                engine.rate(case)
            engines.append(engine)
        except (SystemExit, BrokenPipeError, ValueError):
            print(f"{text}: left out", flush=True)
    return engines


def compare(model, options):
    engines = working(options, model)
    cells = []
    for case in options.case:
        rates = {engine.name: [] for engine in engines}
        for _ in range(options.rounds):
            for engine in engines:
                rates[engine.name].append(engine.rate(case))
        medians = [statistics.median(values) for values in rates.values()]
        ratio = f"{medians[0] / max(medians[1:]):.2f}×" if len(medians) > 1 else "alone"
        cells += [" / ".join(f"{median:.3g}" for median in medians), ratio]
    for engine in engines:
        engine.process.kill()
        engine.process.wait()
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", default=list(FAMILIES), help="by general.architecture (default: all)")
    parser.add_argument("--aster", required=True, help="the program, which makes the files")
    parser.add_argument("--engine", action="append", required=True, metavar="NAME=PROGRAM")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", action="append", help=f"cases of in_turns.py: {', '.join(CASES)}")
    options = parser.parse_args()
    options.case = options.case or CASES
    if unknown := set(options.family) - set(FAMILIES):
        parser.error(f"no family {', '.join(sorted(unknown))}: there are {', '.join(FAMILIES)}")

    print("|".join(["", " family ", *(f" {case} | best " for case in options.case), ""]))
    print("|---" * (1 + 2 * len(options.case)) + "|", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        model = str(pathlib.Path(temporary) / "model.gguf")
        for family in options.family:
            shape = FAMILIES[family].split()
            if "--type" not in shape:
                shape += ["--type", "Q4_K_M"]
            subprocess.run([options.aster, "synth", model, "--vocab", "4096", *shape], check=True,
                           stdout=subprocess.DEVNULL)
            print("| " + " | ".join([family, *compare(model, options)]) + " |", flush=True)


if __name__ == "__main__":
    main()
