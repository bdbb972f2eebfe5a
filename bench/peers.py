#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Rates of aster beside those of other engines on the same files:

    bench/peers.py --aster build/release/bin/aster --peer llama.cpp=…/llama.cpp/build/bin model.gguf…

A peer is a folder with the programs llama-bench and llama-batched-bench, of llama.cpp or of a project that kept their
options. Every case is run in turns, one engine after the other, `--rounds` times, and medians are compared: so
neighbours on a busy machine disturb all alike. Cases that a peer cannot measure are left out.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    kind: str  # prefill or decode
    tokens: int
    depth: int = 0
    batch: int = 1

    def __str__(self):
        name = f"{self.kind} {self.tokens}" if self.kind == "prefill" else self.kind
        name += f" of {self.batch}" if self.batch > 1 else ""
        return name + (f" at {self.depth}" if self.depth else "")


def output_of(command):
    """A program's output; None if it fails, which is reported."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    print(f"{command[0]}: exit status {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
    return None


class Aster:
    def __init__(self, program):
        self.name = "aster"
        self.program = program

    def rate(self, model, case, threads):
        lengths = (case.tokens, 0) if case.kind == "prefill" else (0, case.tokens)
        output = output_of([self.program, "bench", model, "--prompt", lengths[0], "--gen", lengths[1], "--depth",
                            case.depth, "--batch", case.batch, "--threads", threads, "--reps", 1, "--json"])
        return output and json.loads(output)["results"][0]["tokens_per_s"]


class Peer:
    def __init__(self, name, folder):
        self.name = name
        self.bench = folder / "llama-bench"
        self.batched_bench = folder / "llama-batched-bench"
        self.has_depth = "n-depth" in subprocess.run([self.bench, "--help"], capture_output=True, text=True).stdout

    def rate(self, model, case, threads):
        if case.batch > 1:
            return self.batched_rate(model, case, threads)
        options = ["-m", model, "-t", threads, "-r", 1, "-fa", 1, "-o", "json"]
        lengths = (case.tokens, 0) if case.kind == "prefill" else (0, case.tokens)
        if self.has_depth:
            options += ["-p", lengths[0], "-n", lengths[1], "-d", case.depth]
        elif case.depth == 0:
            options += ["-p", lengths[0], "-n", lengths[1]]
        elif case.kind == "decode":
            options += ["-p", 0, "-n", 0, "-gp", f"{case.depth},{case.tokens}"]
        else:
            return None
        output = output_of([self.bench] + options)
        return output and json.loads(output)[-1]["avg_ts"]

    def batched_rate(self, model, case, threads):
        context = max(case.depth, 16) + case.batch * case.tokens + 64
        output = output_of([self.batched_bench, "-m", model, "-t", threads, "-c", context, "-pps", "-npp",
                            max(case.depth, 16), "-ntg", case.tokens, "-npl", case.batch])
        if output is None:
            return None
        rows = [line.split("|")[1:-1] for line in output.splitlines() if line.startswith("|")]
        return float(rows[-1][rows[0].index(next(cell for cell in rows[0] if "S_TG" in cell))])


def engine_of(text):
    name, _, folder = text.partition("=")
    if not folder:
        raise argparse.ArgumentTypeError("wants NAME=FOLDER")
    return Peer(name, pathlib.Path(folder))


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def cases_of(options):
    for depth in options.depth:
        for tokens in options.prompt:
            yield Case("prefill", tokens, depth)
        yield Case("decode", options.gen, depth)
    for batch in options.batch:
        yield Case("decode", options.gen, 0, batch)


def compare(engines, model, case, threads, rounds):
    rates = {engine.name: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            rate = engine.rate(model, case, threads)
            if rate is not None:
                rates[engine.name].append(rate)
    return {name: statistics.median(values) if values else None for name, values in rates.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--peer", action="append", default=[], type=engine_of, metavar="NAME=FOLDER")
    parser.add_argument("--prompt", type=numbers, default=[512, 2048], help="lengths of prompts")
    parser.add_argument("--gen", type=int, default=32, help="length of answers")
    parser.add_argument("--depth", type=numbers, default=[0, 4096], help="tokens before the measured ones")
    parser.add_argument("--batch", type=numbers, default=[8, 32], help="sequences answered at once")
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    engines = [Aster(options.aster)] + options.peer
    print("tokens/s, and aster's as a multiple of each\n")
    for model in options.models:
        for threads in options.threads:
            for case in cases_of(options):
                rates = compare(engines, model, case, threads, options.rounds)
                ours = rates["aster"]
                cells = [f"{name} {rate:.1f}" + (f" ({ours / rate:.2f}×)" if ours and name != "aster" else "")
                         if rate else f"{name} –" for name, rate in rates.items()]
                print(f"{model.name}  {threads} threads  {str(case):22} {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
