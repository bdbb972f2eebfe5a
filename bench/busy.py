#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""An answer on a machine where other programs compute too: its decode rate, and the processor time that it takes.

    bench/busy.py build/release/bin/aster
    bench/busy.py build/release/bin/aster other/bin/aster --model L1B.gguf --gen 32 --busy 0,1,5

Several programs (such as the one before a change) answer in turns. Beside N busy programs, each of which computes
without a pause on any core, the rate is at best (cores / (cores + N)) of the rate alone, if all threads have equal
shares and the answer has one thread per core: 2 threads beside 2 busy programs on 2 cores have half of them. Medians of
the rounds.
"""
import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time


@contextlib.contextmanager
def busy_programs(count):
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


def answer(program, options):
    """Tokens a second in decode, seconds in all, and seconds of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    command = [program, "run", options.model, "-p", "Tell me a story.", "-n", options.gen, "--temp", 0, "--ignore-eos",
               "--json"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    took = time.monotonic() - begun
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processors = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout)["timings"]["decode_tokens_per_s"], took, processors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="ASTER")
    parser.add_argument("--model", default="nova")
    parser.add_argument("--gen", type=int, default=800, help="tokens of the answer")
    parser.add_argument("--busy", type=lambda text: [int(n) for n in text.split(",")], default=[0, 1, 2, 5],
                        help="numbers of busy programs")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{len(os.sched_getaffinity(0))} cores, {options.model}, {options.gen} tokens")
    print(f"{'busy':>4}  {'program':<40}{'tokens/s':>10}{'of alone':>10}{'seconds':>9}{'of processors':>15}")
    alone = {}
    for count in options.busy:
        seen = {program: [] for program in options.programs}
        with busy_programs(count):
            for _ in range(options.rounds):
                for program in options.programs:
                    seen[program].append(answer(program, options))
        for program, runs in seen.items():
            rate, took, processors = (statistics.median(each) for each in zip(*runs))
            alone.setdefault(program, rate)
            print(f"{count:>4}  {program[-38:]:<40}{rate:>10.1f}{rate / alone[program]:>10.2f}{took:>9.2f}"
                  f"{processors:>15.2f}", flush=True)


if __name__ == "__main__":
    main()
