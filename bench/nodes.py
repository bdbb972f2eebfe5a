#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What a second node brings: rates of one node on one core, and of two on a core each.

    bench/nodes.py --aster build/release/bin/aster model.gguf --prompt 2048,8192

The two cores stand for two machines, connected by loopback. Every round measures one node, then two; medians are
compared. With more than one sequence, a route's stages work on different ones at the same time.
"""
import argparse
import json
import statistics
import subprocess


def measure(options, nodes):
    """Rates by case."""
    command = [options.aster, "bench", options.model, "--local-nodes", nodes, "--pin", "--threads", 1, "--prompt",
               options.prompt, "--gen", options.gen, "--depth", options.depth, "--batch", options.batch, "--reps", 1,
               "--json"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    return {(case["kind"], case["tokens"], case["depth"], case["batch"]): case["tokens_per_s"]
            for case in json.loads(done.stdout)["results"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--prompt", default="512,2048", help="lengths of prompts")
    parser.add_argument("--gen", type=int, default=64, help="length of answers")
    parser.add_argument("--depth", default="0", help="tokens that stand before")
    parser.add_argument("--batch", default="1,2", help="sequences answered at once")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds = [(measure(options, 1), measure(options, options.nodes)) for _ in range(options.rounds)]
    print(f"{'':8} {'tokens':>7} {'depth':>6} {'sequences':>9} {'1 node':>9} {options.nodes} nodes")
    for case in rounds[0][0]:
        one, more = (statistics.median(rates[case] for rates in side) for side in zip(*rounds))
        kind, tokens, depth, batch = case
        print(f"{kind:8} {tokens:7} {depth:6} {batch:9} {one:9.1f} {more:7.1f}  {more / one:.2f}×")


if __name__ == "__main__":
    main()
