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
The time of a request is p/R + x + a/D: tokens read at the rate R of who reads, what is exposed of handing over, and
tokens written at the rate D of who answers.
"""
import argparse
import json
import os
import pathlib
import random
import re
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


def measure(options, plan, ids, answer):
    """Seconds until the first token, seconds for the rest, and what of handing over was exposed."""
    nodes, more = PLANS[plan]
    command = [options.aster, "run", options.model, "--ids", ids, "-n", answer, "--ignore-eos", "--temp", 0, "--json",
               "--ctx", 65536, "--threads", 1, "--local-nodes", nodes, "--pin", *more,
               *(("--link", options.link) if options.link else ())]
    run = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for slow in options.slow:
        name, _, part = slow.partition("=")
        Throttle(run.pid, int(name.removeprefix("node-")) - 1, float(part)).start()
    out, err = run.communicate()
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{err}")
    report = json.loads(out)
    exposed = re.search(r"first token (\S+) (\S+) after a prompt was read", err)
    return report["timings"]["prefill_s"], report["timings"]["decode_s"], exposed and " ".join(exposed.groups())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--pair", action="append", help="prompt:answer in tokens; repeatable (2048:64 where not given)")
    parser.add_argument("--plan", action="append", choices=PLANS, help="only these")
    parser.add_argument("--slow", action="append", default=[], metavar="NODE=PART")
    parser.add_argument("--link", help="such as 1ms,1Gbit")
    parser.add_argument("--vocab", type=int, default=1000, help="ids of the prompt are below that")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    plans = options.plan or list(PLANS)
    for pair in options.pair or ["2048:64"]:
        prompt, answer = map(int, pair.split(":"))
        with tempfile.NamedTemporaryFile("w", suffix=".ids") as ids:
            draw = random.Random(prompt)
            ids.write(" ".join(str(draw.randrange(3, options.vocab)) for _ in range(prompt)))
            ids.flush()
            rounds = [{plan: measure(options, plan, ids.name, answer) for plan in plans} for _ in range(options.rounds)]
        print(f"{prompt} tokens read, {answer} written")
        for plan in plans:
            read, wrote = (statistics.median(turn[plan][i] for turn in rounds) for i in (0, 1))
            first = statistics.median(sum(turn[plans[0]][:2]) / sum(turn[plan][:2]) for turn in rounds)
            print(f"  {plan:10} {prompt / read:8.1f} tokens/s read  {(answer - 1) / wrote:8.1f} tokens/s written"
                  f"  {read + wrote:8.2f} s  {first:5.2f}×  exposed {rounds[-1][plan][2] or '-'}", flush=True)


if __name__ == "__main__":
    main()
