#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How long a long prompt's first token takes: when nobody knows it, from another node, from memory and from the disk.

    bench/first_token.py --aster build/release/bin/aster model.gguf --prompt 16384

Two nodes of a cluster, a core each, on this machine; the first has the model's file. In a round the second one reads
the prompt (cold), the first one asks and gets what the second remembers (another node), asks again (memory), starts
anew and finds it in its --kv-cache (disk, through the system's cache of pages). Medians of the rounds.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60  # for whatever does not compute


class Machine:
    """A folder of settings, and a node that is pinned to a core."""

    def __init__(self, aster, folder, name, core):
        self.aster, self.folder, self.name, self.core, self.node = aster, folder / name, name, core, None
        self.environment = os.environ | {variable: str(self.folder / part) for variable, part in (
            ("ASTER_CONFIG", "config"), ("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data"))}

    def run(self, *words, patience_s=PATIENCE_S):
        done = subprocess.run([self.aster, *map(str, words)], env=self.environment, capture_output=True, text=True,
                              timeout=patience_s)
        if done.returncode != 0:
            sys.exit(f"{self.name}: aster {' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout

    def start(self, *words):
        self.node = subprocess.Popen(["taskset", "-c", str(self.core), self.aster, "node", "--threads", "1", "--listen",
                                      "127.0.0.1:0", *map(str, words)], env=self.environment, stdout=subprocess.PIPE,
                                     text=True)
        line = self.node.stdout.readline().split()
        if not line:
            sys.exit(f"{self.name}: its node did not start")
        return line[-1]

    def stop(self):
        if self.node is not None:
            self.node.send_signal(signal.SIGKILL)
            self.node.wait()
            self.node.stdout.close()
            self.node = None


def await_both(machine):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        nodes = json.loads(machine.run("cluster", "status", "--json"))["nodes"]
        if sum(node["answered"] for node in nodes) == 2:
            return
        time.sleep(0.2)
    sys.exit("the nodes did not find each other")


def one_round(options, folder, ids):
    """Seconds by where it came from."""
    cores = sorted(os.sched_getaffinity(0))
    desk, lap = (Machine(options.aster, folder, name, cores[i % len(cores)]) for i, name in enumerate(("desk", "lap")))
    cache = ("--kv-cache", folder / "rows")
    took = {}

    def ask(node, what):
        told = json.loads(desk.run("run", options.model, "--ids", ids, "-n", 1, "--temp", 0, "--ignore-eos", "--json",
                                   "--kv-memory", options.kv_memory, "--cluster", "--split", f"{node}=0:out",
                                   patience_s=options.patience))
        took[what] = told["timings"]["prefill_s"]
        return told

    try:
        desk.run("cluster", "init", "--name", "bench", "--node", "desk")
        address = desk.start(options.model, *cache)
        code = json.loads(desk.run("cluster", "invite", "--json"))["code"]
        lap.run("cluster", "join", code, address, "--name", "lap")
        lap.start("--join", address)
        await_both(desk)
        cold = ask("lap", "cold")
        fetched = ask("desk", "another node")
        again = ask("desk", "memory")
        desk.stop()
        lap.stop()
        address = desk.start(options.model, *cache)
        lap.start("--join", address)
        await_both(desk)
        kept = ask("desk", "disk")
    finally:
        desk.stop()
        lap.stop()
    if cold["tokens"]["cached"] != 0 or [each["node"] for each in fetched.get("fetched", [])] != ["lap"]:
        sys.exit(f"not what was to be measured: {cold['tokens']} {fetched.get('fetched')}")
    if again["tokens"]["cached"] == 0 or kept["tokens"]["cached"] == 0 or "fetched" in again:
        sys.exit(f"not what was to be measured: {again['tokens']} {kept['tokens']}")
    took["bytes"] = fetched["fetched"][0]["bytes"]
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--prompt", type=int, default=16384, help="tokens")
    parser.add_argument("--kv-memory", default="3GiB", help="of each node")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1800, help="seconds for one request")
    options = parser.parse_args()
    rounds = []
    for _ in range(options.rounds):
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            ids = folder / "prompt.ids"
            ids.write_text(" ".join(str((7 * i * i + 13 * i + 5) % 1000) for i in range(options.prompt)))
            rounds.append(one_round(options, folder, ids))
        finally:
            shutil.rmtree(folder)
    megabytes = statistics.median(turn["bytes"] for turn in rounds) / 1e6
    print(f"{options.prompt} tokens, {megabytes:.1f} MB from another node")
    for what in ("cold", "another node", "disk", "memory"):
        print(f"  {what:14} {statistics.median(turn[what] for turn in rounds):8.3f} s")


if __name__ == "__main__":
    main()
