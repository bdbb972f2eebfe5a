#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The gain of a second node: rates of one node on one core, and of two on a core each.

    bench/nodes.py --aster build/release/bin/aster model.gguf --prompt 2048,8192
    bench/nodes.py --aster build/release/bin/aster model.gguf --link 0.2ms,10Gbit --link 1ms,1Gbit
    bench/nodes.py --aster build/release/bin/aster model.gguf --split auto --split group --limit
    sudo bench/nodes.py --aster build/release/bin/aster model.gguf --link 1ms,1Gbit --tbf

The two cores stand for two machines. They are connected by loopback, and then by each given link, which the program
simulates: a proxy that delays every byte each way and limits the rate. With --tbf the kernel limits the rate instead
(tc's token bucket filter in a network namespace of its own, which needs root), and the proxy only delays. The one node
is always on loopback. Every round measures one node, then two over each link; the ratios are medians of those within a
round. --split says how the nodes divide the model, as a pipeline or as a group; each split is measured over each link.
--awake is for links on virtual machines. With more than one sequence, a route's stages work on different ones at the
same time.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys


def shaped(link):
    """The command prefix that makes loopback as slow as the link, and the rest for the proxy."""
    delay, rate = link.split(",")
    number, unit = re.fullmatch(r"([0-9.]+)(\D+)", rate).groups()
    # Each byte passes loopback twice: to the proxy, and from it.
    limit = f"{2 * float(number):g}{unit.lower()}"
    script = (f"ip link set lo up && tc qdisc add dev lo root tbf rate {limit} burst 1mb latency 100ms && "
              'exec "$@"')
    return ["unshare", "--net", "sh", "-c", script, "shaped"], f"{delay},1000Gbit"


def measure(options, nodes, split, link):
    """Rates by case."""
    before = []
    if link and options.tbf:
        before, link = shaped(link)
    command = [*before, options.aster, "bench", options.model, "--local-nodes", nodes, "--pin", "--threads", 1,
               "--prompt", options.prompt, "--gen", options.gen, "--depth", options.depth, "--batch", options.batch,
               "--reps", options.reps, "--kv-now", "--json", *(("--split", split) if split else ()),
               *(("--link", link) if link else ())]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return {(case["kind"], case["tokens"], case["depth"], case["batch"]): case["tokens_per_s"]
            for case in json.loads(done.stdout)["results"]}


def limit(options, what):
    """How much more two independent programs do at once, a core each, than one."""
    def start(core):
        command = [options.aster, "bench", options.model, "--threads", 1, *what, "--depth", 0, "--batch", 1,
                   "--reps", 1, "--json"]
        return subprocess.Popen(["taskset", "-c", str(core), *map(str, command)], stdout=subprocess.PIPE, text=True)

    def rate(run):
        return json.loads(run.communicate()[0])["results"][0]["tokens_per_s"]

    alone = rate(start(0))
    together = [start(core) for core in (0, 1)]
    return sum(rate(run) for run in together) / alone


def turns(options):
    """The speed-up of a token's layers that alternate between two cores, without nodes and links, over one core."""
    program = pathlib.Path(options.aster).with_name("turns")
    done = subprocess.run([program, options.model, str(options.gen), str(8 * options.rounds)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}")
    rates = [[float(rate) for rate in line.split()] for line in done.stdout.splitlines()]
    return statistics.median(two / one for one, two in rates)


def report(ways, rounds):
    """Medians, and for two nodes the ratio to one; for several sequences also the ratio to one sequence."""
    def median(of):
        return statistics.median(of(one, more) for one, more in rounds)

    print(f"{'':8} {'tokens':>7} {'depth':>6} {'sequences':>9} {'one node':>9}" +
          "".join(f"  {' '.join((split, link or 'loopback')).strip():>22}" for split, link in ways))
    for case in rounds[0][0]:
        kind, tokens, depth, batch = case
        line = f"{kind:8} {tokens:7} {depth:6} {batch:9} {median(lambda one, _: one[case]):9.1f}"
        for way in ways:
            line += f"  {median(lambda _, more: more[way][case]):9.1f}"
            line += f" {median(lambda one, more: more[way][case] / one[case]):5.2f}×"
            alone = (kind, tokens, depth, 1)
            several = kind == "decode" and batch > 1 and alone in rounds[0][0]
            line += f" {median(lambda _, more: more[way][case] / more[way][alone]):5.2f}×" if several else " " * 7
        print(line)
    print("Behind each rate: its ratio to one node's, and of several sequences the one to a single sequence's.")


@contextlib.contextmanager
def awake():
    """Keeps every core busy with low priority: a virtual machine whose cores all sleep while a link is awaited wakes up
    late and slowly; two real machines do not sleep together."""
    spinners = []
    try:
        for core in sorted(os.sched_getaffinity(0)):
            spinners.append(subprocess.Popen(["taskset", "-c", str(core), "chrt", "--idle", "0", sys.executable, "-c",
                                              "while True: pass"]))
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--prompt", default="512,2048", help="lengths of prompts")
    parser.add_argument("--gen", type=int, default=64, help="length of answers")
    parser.add_argument("--depth", default="0", help="tokens before the measured ones")
    parser.add_argument("--batch", default="1,2", help="sequences answered at once")
    parser.add_argument("--link", action="append", default=[], help="such as 1ms,1Gbit; repeatable")
    parser.add_argument("--split", action="append", default=[], help="such as auto or group; repeatable")
    parser.add_argument("--limit", action="store_true", help="also measure what two cores do at once, and in turns")
    parser.add_argument("--tbf", action="store_true", help="let the kernel limit the links' rates (as root)")
    parser.add_argument("--awake", action="store_true", help="let no core sleep while a link is awaited")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", type=int, default=1, help="repetitions of each case in a round; their median counts")
    options = parser.parse_args()
    ways = [(split, link) for split in options.split or [""] for link in ("", *options.link)]
    rounds = []
    with awake() if options.awake else contextlib.nullcontext():
        for _ in range(options.rounds):
            one = measure(options, 1, "", "")
            rounds.append((one, {way: measure(options, options.nodes, *way) for way in ways}))
    report(ways, rounds)
    if options.limit:
        prompt = options.prompt.split(",")[0]
        for verb, tokens, what in (("read", int(prompt), ("--prompt", prompt, "--gen", 0)),
                                   ("write", options.gen, ("--prompt", 0, "--gen", 4 * options.gen))):
            if tokens == 0:
                continue
            ratio = statistics.median(limit(options, what) for _ in range(options.rounds))
            print(f"Two programs at once, each with the whole model and a core of its own, {verb} {ratio:.2f} times as "
                  "much as one.")
        if options.gen and not options.split:
            print(f"One program, half of whose layers are on another core, writes at {turns(options):.2f} of its rate.")


if __name__ == "__main__":
    main()
