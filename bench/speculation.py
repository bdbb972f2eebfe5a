#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Speculative decoding: rates of the same answers with and without draft tokens, in turns, of one process each.

    bench/speculation.py build/release/bin/aster --threads 1 --reps 5
    bench/speculation.py build/release/bin/aster quasar:mtp:3 big.gguf:small.gguf:4
    bench/speculation.py build/release/bin/aster --nodes 2 --link 0.2ms,10Gbit nova:comet:4

A case is MODEL:DRAFTER:MOST, the options --draft and --draft-max of `aster bench`. Every repetition answers six short
questions twice; ratios are of a repetition's two rates, and the median is told with the least and the most. With
--nodes the model is split over as many nodes on this machine, a core each, so that draft tokens are in flight between
them; both rates are those of the nodes.
"""
import argparse
import json
import subprocess
import sys

CASES = ["quasar:mtp:1", "quasar:mtp:3", "quasar:ngram:4", "nova:comet:2", "nova:comet:4", "nova:ngram:4"]


def measure(options, case):
    model, who, most = case.rsplit(":", 2)
    command = [options.aster, "bench", model, "--draft", who, "--draft-max", most, "--gen", str(options.gen),
               "--reps", str(options.reps), "--threads", str(options.threads), "--json"]
    if options.nodes > 1:
        command += ["--local-nodes", str(options.nodes), "--pin"]
    if options.link:
        command += ["--link", options.link]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aster")
    parser.add_argument("cases", nargs="*", default=CASES, metavar="MODEL:DRAFTER:MOST")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--gen", type=int, default=128)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--link", help="between the nodes, such as 0.2ms,10Gbit")
    options = parser.parse_args()
    if options.link and options.nodes < 2:
        parser.error("--link is between nodes: give --nodes")
    print(f"{'model':<10}{'drafter':<10}{'most':>5}{'accepted':>9}{'tokens/step':>13}{'plain':>10}{'drafted':>10}"
          f"{'ratio':>8}")
    for case in options.cases or CASES:
        model, who, most = case.rsplit(":", 2)
        rates = measure(options, case)
        right = 100 * rates["accepted"] / max(1, rates["drafted"])
        print(f"{model:<10}{who:<10}{most:>5}{right:>7.1f} %{rates['tokens_per_step']:>13.2f}"
              f"{rates['plain_tokens_per_s']:>10.1f}{rates['draft_tokens_per_s']:>10.1f}{rates['ratio']:>8.2f}"
              f"  ({min(rates['ratios']):.2f} to {max(rates['ratios']):.2f})", flush=True)


if __name__ == "__main__":
    main()
