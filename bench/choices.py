#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Whether --split auto takes the fastest kind of plan: one node, a pipeline, a group, or prefill/decode disaggregation,
over links of several speeds.

    bench/choices.py --aster build/release/bin/aster model.gguf other.gguf
    sudo bench/choices.py --aster build/release/bin/aster model.gguf --link 0.2ms,10Gbit --link 1ms,1Gbit
    bench/choices.py --aster build/release/bin/aster --more-nodes

Two nodes with a core each stand for two machines. They are connected by each given link: loopback, or one that link.py
makes, which needs root; nodes measure their own rates and the link when they start. No core sleeps while a link is
awaited (nodes.py --awake). For each model, link and request, the kinds of plan are measured in turns, each with the
nodes' measurements of the model before the turn, and the medians are printed beside the predictions: for fresh nodes in
the first turn, and for nodes that know their own times in the later ones. Two cores cannot show the times of three and
four nodes: --more-nodes adds the table of one to four nodes, of real nodes and messages on a virtual clock
(tests/sim/group_times_test.cc).
"""
import argparse
import pathlib
import shlex
import statistics
import subprocess
import sys

from machines import pair
from nodes import awake
from predictions import ask

LOOPBACK = "loopback"
# A pipeline with groups needs three nodes.
KINDS = {"one node alone": "one node", "a pipeline": "pipeline", "a group": "group",
         "prefill and decode apart": "apart"}


def turn(machines, folder, options, prompt, answer):
    """By kind: the predicted and the measured times; and the kind that was taken."""
    told = ask(machines, folder, options, prompt, answer)[0]
    plans = told.get("plans", [])
    if not plans:
        sys.exit("nothing was predicted: the nodes have not measured their rates")
    taken = next(plan["kind"] for plan in plans if plan["taken"])
    times = {}
    for plan in plans:
        if plan["kind"] in KINDS and "options" in plan:
            _, _, in_all = ask(machines, folder, options, prompt, answer, *shlex.split(plan["options"]))
            times[plan["kind"]] = (plan["request_s"], in_all)
    return taken, times


def print_choice(model, link, prompt, answer, turns):
    """A line of the table; the number of near predictions, of all predictions, and whether each choice was right."""
    # The possible plans depend on the nodes' measurements: a kind may be missing in a turn.
    def of(kind, some):
        return [times[kind] for _, times in some if kind in times]

    measured = {kind: statistics.median(time for _, time in of(kind, turns)) for kind in KINDS if of(kind, turns)}
    line = f"{model:20} {link:13} {prompt:6} {answer:6}"
    near = count = 0
    for kind in KINDS:
        predicted = [statistics.median(time for time, _ in of(kind, some)) if of(kind, some) else None
                     for some in (turns[:1], turns[1:])]
        if kind not in measured:
            line += f"{'-':>28}"
            continue
        fresh, known = (f"{time:6.2f}" if time is not None else f"{'-':>6}" for time in predicted)
        line += f"  {measured[kind]:6.2f} s ({fresh}, {known})"
        if predicted[1] is not None:
            near += abs(predicted[1] / measured[kind] - 1) <= 0.15
            count += 1
    rights = []
    for taken, _ in (turns[0], turns[-1]):
        rights.append(taken in measured and measured[taken] <= 1.1 * min(measured.values()))
        line += f"  {KINDS.get(taken, taken)}{'' if rights[-1] else ' (slower)'}"
    print(line, flush=True)
    return near, count, rights


def print_totals(near, count, fresh, known, cells):
    print(f"Measured, and in brackets predicted. Of nodes that know their times {near} of {count} predictions are "
          f"within 15 %. The kind that auto takes is the fastest, or within a tenth of it, in {fresh} of {cells} cells "
          f"with fresh nodes and in {known} with nodes that know their times.")


def print_more_nodes(program):
    """The table on the virtual clock, and whether all its predictions and choices were right."""
    done = subprocess.run([program, "--gtest_filter=*GroupTimes*", "--gtest_brief=1"], capture_output=True, text=True)
    print(*(line for line in done.stdout.splitlines() if "ms a token" in line or " nodes" in line), sep="\n")
    what = "All predictions are within 15 %, and all choices within a tenth of the fastest"
    print(f"{what}." if done.returncode == 0 else f"Not so: {what}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--link", action="append", default=[],
                        help="loopback, or a link such as 1ms,1Gbit; repeatable")
    parser.add_argument("--more-nodes", action="store_true", help="one to four nodes on a virtual clock as well")
    parser.add_argument("--request", action="append", default=[], help="PROMPT:ANSWER in tokens; repeatable")
    parser.add_argument("--kv-memory", default="256MiB")
    parser.add_argument("--rounds", type=int, default=3, help="turns, the first with fresh nodes")
    parser.add_argument("--patience", type=float, default=600, help="seconds for a request")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds: at least 2, one with fresh nodes and one more")
    requests = [tuple(map(int, request.split(":"))) for request in options.request or ["64:48"]]
    if not options.models and not options.more_nodes:
        parser.error("give a model, or --more-nodes")
    if options.models:
        print(f"{'model':20} {'link':13} {'prompt':>6} {'answer':>6}" +
              "".join(f"  {name + ' (fresh, known)':>26}" for name in KINDS.values()) + "  auto: fresh, known")
    totals = [0, 0, 0, 0, 0]
    for model in options.models:
        options.model = model
        for link in options.link or [LOOPBACK]:
            for prompt, answer in requests:
                with awake(), pair(options.aster, "" if link == LOOPBACK else link) as (machines, folder):
                    machines.start((model, "--kv-now"), (model, "--kv-now"))
                    turns = [turn(machines, folder, options, prompt, answer) for _ in range(options.rounds)]
                near, count, rights = print_choice(pathlib.Path(model).stem, link, prompt, answer, turns)
                totals = [sum(pair_of) for pair_of in zip(totals, (near, count, rights[0], rights[1], 1))]
    if options.models:
        print_totals(*totals)
    if options.more_nodes:
        print_more_nodes(pathlib.Path(options.aster).with_name("sim_test"))


if __name__ == "__main__":
    main()
