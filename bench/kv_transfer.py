#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Prefill/decode disaggregation: times of whole requests under different plans.

    bench/kv_transfer.py --aster build/release/bin/aster model.gguf --pair 2048:64 --pair 8192:256
    sudo bench/kv_transfer.py --aster build/release/bin/aster llama-1b.gguf qwen3-0.6b.gguf --pair 2048:64 \\
        --pair 8192:256 --pair 32768:256:1 --link 0.2ms,10Gbit --link 1ms,1Gbit --tbf --slow node-1=0.5 \\
        --elsewhere 2048:64

Nodes are processes with a core each, connected by loopback; each given link and each slow node is measured separately,
with the pairs of --elsewhere if these are given. PROMPT:ANSWER may be followed by the number of rounds. In a round
every plan answers the request once, on freshly loaded nodes; ratios are medians of those within a round:

    one node     prefills and decodes alone
    pooled       two nodes have half of the layers each, for everything
    hand-over    both prefill, the second decodes alone
    offload      the first prefills alone, the second decodes alone
    second node  with a slow node, also what the other one does alone

A slow node gets only that part of its core's time: it is stopped and continued a hundred times a second. After the
rates and the time of the whole request comes the formula of docs/kv-transfer.md, from the times of the others: p/R + x
+ a/D. "Exposed" is the time from the end of prefill to the first token, which is the transfer of one frame's KV rows,
and a step; beside it the bytes of the KV transfer. "CPU" is processor time of all nodes and the front end from their
start to their end. With --awake no core sleeps while a link is awaited.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from nodes import awake, shaped

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "system"))
from processes import children_of  # noqa: E402

# The number of nodes, and their options.
PLANS = {
    "one node": (1, ()),
    "pooled": (2, ()),
    "hand-over": (2, ("--decode", "node-2")),
    "offload": (2, ("--prefill", "node-1", "--decode", "node-2")),
}
SECOND = "second node"
# The plan with the expected prefill rate; the second node decodes.
READS_AS = {"hand-over": "pooled", "offload": "one node"}
FRAME_TOKENS = 256


class Throttle(threading.Thread):
    """Lets a child of a process run for a part of the time, as long as it exists."""

    PERIOD_S = 0.01

    def __init__(self, parent, index, part):
        super().__init__(daemon=True)
        self.parent, self.index, self.part = parent, index, part
        self.is_over = threading.Event()

    def run(self):
        try:
            while len(children_of(self.parent)) <= self.index:
                if self.is_over.wait(0.05):
                    return
            victim = children_of(self.parent)[self.index]
            while not self.is_over.is_set():
                os.kill(victim, signal.SIGCONT)
                time.sleep(self.PERIOD_S * self.part)
                os.kill(victim, signal.SIGSTOP)
                time.sleep(self.PERIOD_S * (1 - self.part))
            os.kill(victim, signal.SIGCONT)
        except (ProcessLookupError, IndexError):
            return


def children_cpu_s():
    """Processor time of all children that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def request(options, model, plan, part, prompt, answer):
    """The program's JSON report of one request with a plan, and its processor time."""
    link, slow = part
    nodes, more = PLANS[plan] if plan != SECOND else PLANS["one node"]
    before = []
    if link and nodes > 1 and options.tbf:
        before, link = shaped(link)
    with tempfile.NamedTemporaryFile("w", suffix=".ids") as ids:
        ids.write(" ".join(str((7 * i * i + 13 * i + 5) % 1000) for i in range(prompt)))
        ids.flush()
        command = [*before, options.aster, "run", model, "--ids", ids.name, "--ignore-eos", "-n", answer, "--temp", 0,
                   "--kv-memory", options.kv_memory, "--kv-now", "--json", "--threads", 1, "--local-nodes", nodes,
                   "--pin", *more, *(("--link", link) if link and nodes > 1 else ())]
        before_s = children_cpu_s()
        run = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
        throttles = []
        for each in slow:
            name, _, share = each.partition("=")
            index = int(name.removeprefix("node-")) - 1 - (plan == SECOND)
            if 0 <= index < nodes:
                throttles.append(Throttle(run.pid, index, float(share)))
                throttles[-1].start()
        try:
            out, err = run.communicate(timeout=options.patience)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            sys.exit(f"{' '.join(map(str, command))}\nhas not ended within {options.patience} s")
        finally:
            for throttle in throttles:
                throttle.is_over.set()
                throttle.join()
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{err}")
    return json.loads(out), children_cpu_s() - before_s


class Turn:
    """The times of one request."""

    def __init__(self, told, cpu_s, prompt, answer):
        self.cpu_s = cpu_s
        self.read_s, self.write_s = told["timings"]["prefill_s"], told["timings"]["decode_s"]
        self.step_s = self.write_s / max(answer - 1, 1)
        self.total_s = self.read_s + self.write_s
        self.read_rate, self.write_rate = prompt / self.read_s, 1 / self.step_s
        transfer = told.get("kv_transfer", {"exposed_s": 0, "bytes": 0})
        self.exposed_s, self.bytes = transfer["exposed_s"], transfer["bytes"]


def bytes_per_s(link):
    """The rate of "1ms,1Gbit"; None without a limit."""
    found = re.search(r",([0-9.]+)([MG])bit", link)
    return float(found[1]) * {"M": 1e6, "G": 1e9}[found[2]] / 8 if found else None


def formula_s(turns, plan, part, prompt, answer):
    """p/R + x + a/D, from the other plans' times; x includes the first token."""
    reader, writer = turns[READS_AS[plan]], turns[SECOND if part[1] else "one node"]
    rate = bytes_per_s(part[0])
    frame_s = turns[plan].bytes * min(1, FRAME_TOKENS / prompt) / rate if rate else 0
    return reader.read_s + frame_s + writer.step_s * answer


def report(part, prompt, answer, rounds):
    def median(of):
        return statistics.median(of(turns) for turns in rounds)

    link, slow = part
    print(f"{prompt} tokens read, {answer} written, {link or 'loopback'}{''.join(', ' + each for each in slow)}: "
          f"{len(rounds)} rounds")
    print(f"  {'':12} {'prefill':>8} {'decode':>9} {'whole':>10} {'of one node':>11} {'CPU':>8} {'formula':>10} "
          f"{'exposed':>10} {'KV transfer':>12}")
    first = next(iter(rounds[0]))
    for plan in rounds[0]:
        line = (f"  {plan:12} {median(lambda turns: turns[plan].read_rate):8.1f} "
                f"{median(lambda turns: turns[plan].write_rate):9.1f} "
                f"{median(lambda turns: turns[plan].total_s):8.2f} s "
                f"{median(lambda turns: turns[first].total_s / turns[plan].total_s):10.2f}× "
                f"{median(lambda turns: turns[plan].cpu_s):6.1f} s")
        needed = {READS_AS.get(plan), SECOND if slow else "one node"}
        if plan in READS_AS and needed <= set(rounds[0]):
            line += f" {median(lambda turns: formula_s(turns, plan, part, prompt, answer)):8.2f} s"
        elif plan in READS_AS:
            line += " " * 11
        if plan in READS_AS:
            line += (f" {1e3 * median(lambda turns: turns[plan].exposed_s):7.1f} ms"
                     f" {median(lambda turns: turns[plan].bytes) / 1e6:9.1f} MB")
        print(line)
    for plan, reader in READS_AS.items():
        writer = SECOND if slow else "one node"
        for what, other, rate in (("prefill", reader, "read_rate"), ("decode", writer, "write_rate")):
            if plan in rounds[0] and other in rounds[0]:
                ratios = sorted(getattr(turns[plan], rate) / getattr(turns[other], rate) for turns in rounds)
                print(f"  {plan} {what} at {statistics.median(ratios):.3f} of {other} ({ratios[0]:.3f} to "
                      f"{ratios[-1]:.3f})")
    sys.stdout.flush()


def parse_pair(text, rounds):
    prompt, answer, *more = map(int, text.split(":"))
    return prompt, answer, more[0] if more else rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--pair", action="append", metavar="PROMPT:ANSWER[:ROUNDS]",
                        help="lengths in tokens; repeatable (default: 2048:64)")
    parser.add_argument("--elsewhere", action="append", metavar="PROMPT:ANSWER[:ROUNDS]",
                        help="lengths for links and slow nodes")
    parser.add_argument("--plan", action="append", choices=PLANS, help="only these; repeatable")
    parser.add_argument("--link", action="append", default=[], help="such as 1ms,1Gbit; repeatable")
    parser.add_argument("--tbf", action="store_true", help="let the kernel limit the links' rates (as root)")
    parser.add_argument("--slow", action="append", default=[], metavar="NODE=PART",
                        help="share of a node's core, such as node-1=0.5; repeatable")
    parser.add_argument("--no-loopback", action="store_true", help="only links and slow nodes")
    parser.add_argument("--awake", action="store_true", help="let no core sleep while a link is awaited")
    parser.add_argument("--kv-memory", default="1GiB", help="KV cache of each node, allocated at its start")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=1800, help="seconds for one request")
    options = parser.parse_args()
    pairs = [parse_pair(text, options.rounds) for text in options.pair or ["2048:64"]]
    elsewhere = [parse_pair(text, options.rounds) for text in options.elsewhere or []] or pairs
    parts = [] if options.no_loopback else [(("", ()), pairs)]
    parts += [((link, ()), elsewhere) for link in options.link]
    parts += [(("", (slow,)), elsewhere) for slow in options.slow]
    with awake() if options.awake else contextlib.nullcontext():
        for model in options.models:
            print(model)
            for part, asked in parts:
                plans = [*(options.plan or PLANS), *([SECOND] if part[1] else [])]
                for prompt, answer, rounds in asked:
                    report(part, prompt, answer,
                           [{plan: Turn(*request(options, model, plan, part, prompt, answer), prompt, answer)
                             for plan in plans} for _ in range(rounds)])


if __name__ == "__main__":
    main()
