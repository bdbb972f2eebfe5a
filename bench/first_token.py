#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Time to first token (TTFT) of a long prompt: computed, and with its KV cache from another node, memory and disk.

    bench/first_token.py --aster build/release/bin/aster model.gguf --prompt 16384

Two nodes of a cluster, a core each, on this machine; the first has the model's file. In a round the second one prefills
the prompt (cold), the first one asks and gets the second one's KV rows (another node), asks again (memory), restarts
and finds them in its --kv-cache (disk, in the system's page cache; once all of it has been written). Before that it
asks with some more tokens after the prompt, as a next turn does. Medians of the rounds.
"""
import argparse
import json
import statistics
import sys
import time

from machines import PATIENCE_S, pair, prompt_ids

PAGE = 128  # tokens
TURN_TOKENS = 24
TURN = f"{TURN_TOKENS} tokens behind it"


def one_round(options):
    """Seconds by source."""
    with pair(options.aster) as (machines, folder):
        prompt = prompt_ids(options.prompt)
        cache = (options.model, "--kv-now", "--kv-cache", folder / "rows")
        took = {}

        def ask(node, what, ids):
            path = folder / "prompt.ids"
            path.write_text(" ".join(map(str, ids)))
            told = json.loads(machines.desk.run(
                "run", options.model, "--ids", path, "-n", 1, "--temp", 0, "--ignore-eos", "--json", "--kv-memory",
                options.kv_memory, "--cluster", "--split", f"{node}=0:out", patience_s=options.patience))
            took[what] = told["timings"]["prefill_s"]
            return told

        machines.start(cache, ())
        cold = ask("lap", "cold", prompt)
        fetched = ask("desk", "another node", prompt)
        until = time.monotonic() + PATIENCE_S
        while len(list((folder / "rows").glob("*.rows"))) < (options.prompt - 1) // PAGE:
            if time.monotonic() > until:
                sys.exit("the disk takes too long to write the KV cache")
            ask("desk", "once more", prompt)  # pages that found no room are offered again
        again = ask("desk", "memory", prompt)
        ask("desk", TURN, prompt + prompt_ids(TURN_TOKENS))
        machines.stop()
        machines.start(cache, ())
        kept = ask("desk", "disk", prompt)
    if cold["tokens"]["cached"] != 0 or [each["node"] for each in fetched.get("fetched", [])] != ["lap"]:
        sys.exit(f"not what was to be measured: {cold['tokens']} {fetched.get('fetched')}")
    if again["tokens"]["cached"] == 0 or kept["tokens"]["cached"] < again["tokens"]["cached"] or "fetched" in again:
        sys.exit(f"not what was to be measured: {again['tokens']} {kept['tokens']}")
    took["bytes"] = fetched["fetched"][0]["bytes"]
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--prompt", type=int, default=16384, help="tokens")
    parser.add_argument("--kv-memory", default="1GiB", help="KV cache of each node")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1800, help="seconds for one request")
    options = parser.parse_args()
    rounds = [one_round(options) for _ in range(options.rounds)]
    megabytes = statistics.median(turn["bytes"] for turn in rounds) / 1e6
    print(f"{options.prompt} tokens, {megabytes:.1f} MB from another node")
    for what in ("cold", "another node", "disk", "memory", TURN):
        print(f"  {what:20} {statistics.median(turn[what] for turn in rounds):8.3f} s")


if __name__ == "__main__":
    main()
