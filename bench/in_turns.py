#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Rates of engines that stay loaded and take turns, case by case: a busy neighbour disturbs all alike.

    bench/in_turns.py --model M.gguf --threads 1 --rounds 5 \\
        --engine aster=build/release/bin/resident_rates \\
        --engine avx2=ASTER_ISA=avx2,build/release/bin/resident_rates \\
        --engine llama.cpp=…/llama_cpp_rates  pp:512@0 tg:24@0 bt:8:12@0 tg:24@16384

An engine is a program that gets the model and the number of threads, reports that it is ready, and answers each case on
its standard input with a line that ends in a rate: bench/resident_rates.cc, bench/peers/llama_cpp_rates.cc. Words with
= before the program are environment variables. Medians, and the ratio of each engine's rate to the first one's.
"""
import argparse
import os
import statistics
import subprocess
import sys


class Engine:
    def __init__(self, text, model, threads):
        self.name, _, rest = text.partition("=")
        *variables, program = rest.split(",")
        environment = os.environ | dict(variable.split("=", 1) for variable in variables)
        self.process = subprocess.Popen([program, model, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name}: ended with status {self.process.wait()}")
        return line.split()

    def rate(self, case):
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return float(self.answer()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", action="append", required=True, metavar="NAME=PROGRAM")
    parser.add_argument("cases", nargs="+")
    options = parser.parse_args()
    engines = [Engine(text, options.model, options.threads) for text in options.engine]
    for case in options.cases:
        rates = {engine.name: [] for engine in engines}
        for _ in range(options.rounds):
            for engine in engines:
                rates[engine.name].append(engine.rate(case))
        medians = {name: statistics.median(values) for name, values in rates.items()}
        first = medians[engines[0].name]
        compared = [f"{name} {median:.2f} (x{first / median:.2f})" for name, median in medians.items()]
        print(f"{case:16}", "  ".join(compared), flush=True)


if __name__ == "__main__":
    main()
