#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The planner's predictions for requests, beside the measured times: a mixed load on a cluster of two machines.

    bench/predictions.py --aster build/release/bin/aster model.gguf
    bench/predictions.py --aster build/release/bin/aster model.gguf --kinds

Two nodes, a core each, stand for two machines; they measure their rates and the link when they start. Each request is
planned for its own lengths, and its time to first token and its total time are compared with the prediction. With
--kinds every possible kind of plan is measured for each request, too, and it is counted how often the one that was
taken is the fastest, or within a tenth of it.
"""
import argparse
import itertools
import json
import shlex
import sys

from machines import pair, prompt_ids

LOAD = ((16, 64), (32, 16), (64, 128), (128, 32), (200, 64), (300, 16), (400, 96), (512, 32), (700, 48), (1000, 16))


def ask(machines, folder, options, prompt, answer, *plan):
    # Each is a text of its own, of which no node has KV rows.
    ask.number += 1
    path = folder / "prompt.ids"
    path.write_text(" ".join(map(str, prompt_ids(prompt, ask.number))))
    run = machines.desk.begin("run", options.model, "--ids", path, "-n", answer, "--temp", 0, "--ignore-eos",
                              "--kv-memory", options.kv_memory, "--cluster", "--json", "--explain", *plan)
    told = json.loads(machines.desk.end(run, options.patience))
    timings = told["timings"]
    return told, timings["prefill_s"], timings["prefill_s"] + timings["decode_s"]


ask.number = 0


def is_near(predicted, measured):
    return abs(predicted / measured - 1) <= 0.15


def print_kinds(machines, folder, options, prompt, answer, plans):
    """Whether the kind that was taken was the fastest, or nearly."""
    taken, best = None, None
    for plan in plans:
        if "options" not in plan:
            continue
        _, _, in_all = ask(machines, folder, options, prompt, answer, *shlex.split(plan["options"]))
        print(f"    {plan['kind']:28} predicted {plan['request_s']:7.2f} s, measured {in_all:7.2f} s"
              f"{'  taken' if plan['taken'] else ''}")
        taken = in_all if plan["taken"] else taken
        best = in_all if best is None else min(best, in_all)
    return taken is not None and taken <= 1.1 * best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--kv-memory", default="256MiB")
    parser.add_argument("--kinds", action="store_true", help="measure every kind of plan")
    parser.add_argument("--requests", type=int, default=2 * len(LOAD), help="number of requests; the load is repeated")
    parser.add_argument("--patience", type=float, default=600, help="seconds for a request")
    options = parser.parse_args()
    near, right, count = 0, 0, 0
    with pair(options.aster) as (machines, folder):
        machines.start((options.model, "--kv-now"), (options.model, "--kv-now"))
        print(f"{'prompt':>6} {'answer':>6}  {'first token':>22}  {'in all':>22}  plan")
        for prompt, answer in itertools.islice(itertools.cycle(LOAD), options.requests):
            told, first, in_all = ask(machines, folder, options, prompt, answer)
            plans = told.get("plans", [])
            if not plans:
                sys.exit("nothing was predicted: the nodes have not measured their rates")
            plan = next(plan for plan in plans if plan["taken"])
            print(f"{prompt:6} {answer:6}  {plan['first_token_s']:8.2f} s, {first:8.2f} s  "
                  f"{plan['request_s']:8.2f} s, {in_all:8.2f} s  {plan['kind']}: {plan['options']}", flush=True)
            count += 1
            near += is_near(plan["first_token_s"], first) and is_near(plan["request_s"], in_all)
            if options.kinds:
                right += print_kinds(machines, folder, options, prompt, answer, plans)
    print(f"Predicted, then measured. Both within 15 % in {near} of {count} requests.")
    if options.kinds:
        print(f"The kind that was taken was the soonest, or within a tenth of it, in {right} of {count}.")


if __name__ == "__main__":
    main()
