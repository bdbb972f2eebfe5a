#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What it brings that some nodes read and another one answers: times of whole requests under different plans.

    bench/hand_over.py --aster build/release/bin/aster model.gguf --pair 2048:64 --pair 8192:256
    bench/hand_over.py --aster build/release/bin/aster model.gguf --pair 2048:64 --slow node-2=0.5

Nodes are processes with a core each. Plans take turns, and ratios are medians of those within a turn:

    one node        reads and answers alone
    pooled          two nodes have half of the layers each, for everything
    hand-over       both read, the second answers alone
    offload         the first reads alone, the second answers alone

With --slow a node gets only that part of its core's time: it is stopped and goes on again a hundred times a second.
Nodes stay loaded for all repetitions of a plan. Tokens read a second are counted until the first token of the answer is
there, so they bear what is exposed of handing over; `aster run` tells that by itself. With --single every request is an
`aster run` of its own, on nodes that have just been loaded: for prompts that take minutes. Beside the time of a plan
stands what the formula in docs/hand-over.md says, from the times of the others: reading as its readers do, answering as
one node does.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "system"))
from processes import children_of  # noqa: E402

PLANS = {
    "one node": (1, ()),
    "pooled": (2, ()),
    "hand-over": (2, ("--decode", "node-2")),
    "offload": (2, ("--prefill", "node-1", "--decode", "node-2")),
}


# Whose time of reading and whose time of answering a plan should have, without what is exposed of handing over.
FORMULA = {"hand-over": ("pooled", "one node"), "offload": ("one node", "one node")}


class Throttle(threading.Thread):
    """Lets a process run for a part of the time."""

    PERIOD_S = 0.01

    def __init__(self, parent, index, part):
        super().__init__(daemon=True)
        self.parent, self.index, self.part = parent, index, part

    def run(self):
        try:
            while len(children_of(self.parent)) <= self.index:
                time.sleep(0.05)
            victim = children_of(self.parent)[self.index]
            while True:
                os.kill(victim, signal.SIGCONT)
                time.sleep(self.PERIOD_S * self.part)
                os.kill(victim, signal.SIGSTOP)
                time.sleep(self.PERIOD_S * (1 - self.part))
        except (ProcessLookupError, IndexError):
            return


def report_of(options, plan, *command):
    """What a command of the program says in JSON, run under a plan."""
    nodes, more = PLANS[plan]
    command = [options.aster, *command, "--json", "--threads", 1, "--local-nodes", nodes, "--pin", *more,
               *(("--link", options.link) if options.link else ())]
    run = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for slow in options.slow:
        name, _, part = slow.partition("=")
        Throttle(run.pid, int(name.removeprefix("node-")) - 1, float(part)).start()
    out, err = run.communicate()
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{err}")
    return json.loads(out)


def measure(options, plan, prompt, answer):
    """Seconds until the first token, and seconds for the rest."""
    if options.single:
        with tempfile.NamedTemporaryFile("w", suffix=".ids") as ids:
            ids.write(" ".join(str((7 * i * i + 13 * i + 5) % 2000) for i in range(prompt)))
            ids.flush()
            timings = report_of(options, plan, "run", options.model, "--ids", ids.name, "--ignore-eos", "-n", answer,
                                "--temp", 0)["timings"]
        return timings["prefill_s"], timings["decode_s"]
    results = report_of(options, plan, "bench", options.model, "--prompt", prompt, "--depth", f"0,{prompt}",
                        "--gen", answer, "--reps", options.reps)["results"]
    rates = {(case["kind"], case["depth"]): case["tokens_per_s"] for case in results}
    return prompt / rates["prefill", 0], answer / rates["decode", prompt]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--pair", action="append", help="prompt:answer in tokens; repeatable (2048:64 where not given)")
    parser.add_argument("--plan", action="append", choices=PLANS, help="only these")
    parser.add_argument("--slow", action="append", default=[], metavar="NODE=PART")
    parser.add_argument("--link", help="such as 1ms,1Gbit")
    parser.add_argument("--reps", type=int, default=3, help="of each case, on nodes that stay loaded")
    parser.add_argument("--single", action="store_true", help="one request on fresh nodes instead")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    plans = options.plan or list(PLANS)
    for pair in options.pair or ["2048:64"]:
        prompt, answer = map(int, pair.split(":"))
        rounds = [{plan: measure(options, plan, prompt, answer) for plan in plans} for _ in range(options.rounds)]
        print(f"{prompt} tokens read, {answer} written")
        for plan in plans:
            read, wrote = (statistics.median(turn[plan][i] for turn in rounds) for i in (0, 1))
            first = statistics.median(sum(turn[plans[0]]) / sum(turn[plan]) for turn in rounds)
            readers, writer = FORMULA.get(plan, (plan, plan))
            said = ""
            if readers in plans and writer in plans and plan in FORMULA and not options.slow:
                said = f"  formula {statistics.median(turn[readers][0] + turn[writer][1] for turn in rounds):8.2f} s"
            print(f"  {plan:10} {prompt / read:8.1f} tokens/s read  {answer / wrote:8.1f} tokens/s written"
                  f"  {read + wrote:8.2f} s  {first:5.2f}×{said}", flush=True)


if __name__ == "__main__":
    main()
