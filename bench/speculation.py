#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Speculative decoding: rates of the same answers with and without draft tokens, on one node and on several.

    bench/speculation.py build/release/bin/aster --rounds 5
    bench/speculation.py build/release/bin/aster quasar:mtp:3 big.gguf:small.gguf:4
    bench/speculation.py build/release/bin/aster --nodes 1,2 --link 0.2ms,10Gbit nova:comet:4
    bench/speculation.py build/release/bin/aster --nodes 1,2 --expect L1B.gguf:70%:8

A case is MODEL:DRAFTER:MOST, the options --draft and --draft-max of `aster bench`. A drafter such as 70% is simulated:
draft tokens are those of the answer itself, except 30 of 100 (--draft-right), which shows the gain for an acceptance
rate.

Each process answers six short questions with draft tokens and without, in turns. With several numbers of nodes, each of
which is a process with a core of its own, each round measures all of them, and ratios are formed within a round: to the
same nodes without draft tokens, and to one node without. With several nodes, draft tokens are also sent one frame at a
time, each checked before the next one is sent, for comparison with frames in flight. Medians of the rounds are printed,
with the least and the most.

--expect also prints the expected rate for a drafter that takes no time, by the formula of conduct/draft_pace.h, with
the acceptance rate. On one node the times of steps with several rows are those of texts whose draft tokens are all
right. On several they are the times of that very run's stages for frames with several rows (--trace), averages of each
stage, so that a difference is not due to the machine: nodes of one machine compute more slowly while others do, too.
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile

CASES = ["quasar:mtp:1", "quasar:mtp:3", "quasar:ngram:4", "nova:comet:2", "nova:comet:4", "nova:ngram:4"]
MOST_FRAMES = 32  # engine::kMostDrafts


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(options, case, nodes):
    """With frames in flight, and on several nodes also one at a time."""
    model, who, most = case.rsplit(":", 2)
    drafter = ["--draft-right", who[:-1]] if who.endswith("%") else ["--draft", who]
    command = [options.aster, "bench", model, *drafter, "--draft-max", most, "--gen", options.gen, "--reps",
               options.reps, "--threads", options.threads, "--json"]
    if nodes > 1:
        command += ["--local-nodes", nodes, "--pin"]
        if options.link:
            command += ["--link", options.link]
        command += ["--draft-frames", f"{MOST_FRAMES},1"]
    if not options.expect or nodes == 1:
        report = run(command)
        return [{**way, "right": report.get("right")} for way in report["ways"]]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        report = run([*command, "--trace", trace])
        frames = frame_times(trace, int(most))
    return [{**way, "right": report.get("right"), "frames": frames} for way in report["ways"]]


def between(points, most):
    """For all numbers of rows up to `most`, from the measured ones."""
    points = sorted(points)
    if len(points) == 1:
        return {rows: points[0][1] for rows in range(1, most + 1)}
    times = {}
    for rows in range(1, most + 1):
        upper = next((i for i in range(1, len(points) - 1) if points[i][0] >= rows), len(points) - 1)
        (x0, y0), (x1, y1) = points[upper - 1:upper + 1]
        more = y0 + (y1 - y0) * (rows - x0) / (x1 - x0)
        times[rows] = max(more, times.get(rows - 1, 0))
    return times


def frame_times(trace, most):
    """Seconds of a frame at all stages together and at the slowest, by its number of rows."""
    seen = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(trace, encoding="utf-8") as file:
        for event in json.load(file):
            is_stage = event["ph"] == "X" and event["pid"] > 1
            if is_stage and event["name"] in ("answer", "draft tokens ahead"):
                seen[event["pid"]][event["args"]["tokens"]].append(event["dur"] / 1e6)
    few = 3  # fewer measurements of a number of rows do not count
    stages = [between([(rows, statistics.fmean(each)) for rows, each in of.items() if len(each) >= few], most + 1)
              for of in seen.values()]
    return {rows: (sum(stage[rows] for stage in stages), max(stage[rows] for stage in stages))
            for rows in range(1, most + 2)}


def step_times(options, model, most):
    """Seconds of a step on one node, by its number of rows: those of texts whose draft tokens are all right."""
    seen = []
    for drafts in (max(1, most // 4), most):
        report, = measure(options, f"{model}:100%:{drafts}", 1)
        seen.append((report["tokens_per_step"], report["tokens_per_step"] / report["draft_tokens_per_s"]))
        plain = 1 / report["plain_tokens_per_s"]
    times = between([(1, plain), *seen], most + 1)
    return {rows: (seconds, seconds) for rows, seconds in times.items()}


def expected(times, extra, accepted, in_flight):
    """Tokens per second with the best number of rows; `extra`: seconds that nodes add to a token's time."""
    best = 1 / (times[1][0] + extra)
    for rows, (seconds, slowest) in times.items():
        whole = accepted ** rows
        first = seconds + extra
        best = max(best, (1 - whole) / (1 - accepted) / first)
        if in_flight:
            best = max(best, 1 / (1 - accepted) / (first + slowest * whole / (1 - whole)))
    return best


def spread(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def report(options, case):
    model, who, most = case.rsplit(":", 2)
    rounds = [{nodes: measure(options, case, nodes) for nodes in options.nodes} for _ in range(options.rounds)]
    steps = (model, int(most))
    if options.expect and 1 in options.nodes and steps not in options.times:
        options.times[steps] = step_times(options, *steps)
    name = model.rsplit("/", 1)[-1]
    for nodes, index in [(nodes, index) for nodes in options.nodes for index in range(2 if nodes > 1 else 1)]:
        of = [rates[nodes][index] for rates in rounds]
        accepted = sum(one["accepted"] for one in of) / max(1, sum(one["drafted"] for one in of))
        line = (f"{name:<14}{who:<8}{most:>5}{nodes:>6}  {'one frame' if index else 'in flight':<11}"
                f"{100 * accepted:>7.1f} %{statistics.median(one['tokens_per_step'] for one in of):>13.2f}"
                f"{statistics.median(one['plain_tokens_per_s'] for one in of):>9.1f}"
                f"{statistics.median(one['draft_tokens_per_s'] for one in of):>9.1f}"
                f"  {spread([one['ratio'] for one in of]):<24}")
        if 1 in options.nodes and nodes > 1:
            beside = [rates[nodes][index]["draft_tokens_per_s"] / rates[1][0]["plain_tokens_per_s"]
                      for rates in rounds]
            line += f"{spread(beside):<24}"
        if options.expect:
            gains = []
            for one in of:
                times = one["frames"] if nodes > 1 else options.times[steps]
                plain = one["plain_tokens_per_s"]
                extra = max(0, 1 / plain - times[1][0]) if nodes > 1 else 0
                rate = expected(times, extra, one["right"] or accepted, nodes > 1 and not index)
                gains.append(rate / plain if nodes > 1 else rate * times[1][0])
            line += f"expected {spread(gains)}"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aster")
    parser.add_argument("cases", nargs="*", default=CASES, metavar="MODEL:DRAFTER:MOST")
    parser.add_argument("--threads", type=int, default=1, help="of each node")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", type=int, default=1, help="of a process")
    parser.add_argument("--gen", type=int, default=128)
    parser.add_argument("--nodes", type=lambda text: [int(n) for n in text.split(",")], default=[1],
                        help="numbers of nodes, such as 1,2")
    parser.add_argument("--link", help="between the nodes, such as 0.2ms,10Gbit")
    parser.add_argument("--expect", action="store_true")
    parser.set_defaults(times={})  # of steps, by model and most draft tokens
    options = parser.parse_intermixed_args()
    if options.link and max(options.nodes) < 2:
        parser.error("--link is between nodes: give --nodes")
    print(f"{'model':<14}{'drafter':<8}{'most':>5}{'nodes':>6}  {'drafts':<11}{'accepted':>9}{'tokens/step':>13}"
          f"{'plain':>9}{'drafted':>9}  {'ratio':<24}{'beside one plain node' if len(options.nodes) > 1 else ''}")
    for case in options.cases or CASES:
        report(options, case)


if __name__ == "__main__":
    main()
