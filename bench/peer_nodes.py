#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The gain of a second node, here and with other engines: each alone on one core, then on two cores that stand for two
machines on loopback. In turns, medians, and the ratio of two to one.

    bench/peer_nodes.py --aster build/release/bin/aster --model l1b-Q8_0.gguf --model l1b-Q4_K.gguf \\
        --split auto --split group --llama-cpp …/llama.cpp/build/bin \\
        --dllama …/dllama --dllama-model l1b.m --dllama-vocabulary l1b.t

llama.cpp must be built with GGML_RPC: its two servers hold the layers. distributed-llama cuts every matrix instead;
bench/peers/dllama_model.py writes it a model of 4 bits, in Q40. An engine that is not given is left out. --split says
how two nodes of aster divide a model: as a pipeline, or as a group, which cuts every matrix, too.
"""
import argparse
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

PATIENCE_S = 60


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}\n{done.stderr[-500:]}")
    return done.stdout


def on_core(core, command):
    return ["taskset", "-c", core, *command]


@contextlib.contextmanager
def server(core, command, port):
    """A server that listens."""
    process = subprocess.Popen([str(part) for part in on_core(core, command)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            if time.monotonic() > until or process.poll() is not None:
                sys.exit(f"{command[0]} does not listen at {port}")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def aster(options, model, split, nodes):
    report = json.loads(run([options.aster, "bench", model, "--local-nodes", nodes, "--pin", "--threads", 1,
                             "--prompt", options.prompt, "--gen", options.gen, "--reps", 1, "--json",
                             *(("--split", split) if nodes > 1 else ())]))
    return {case["kind"]: case["tokens_per_s"] for case in report["results"]}


def llama_cpp(options, model, nodes):
    bench = os.path.join(options.llama_cpp, "llama-bench")
    command = [bench, "-m", model, "-t", 1, "-p", options.prompt, "-n", options.gen, "-r", 1, "-o", "json"]
    with contextlib.ExitStack() as servers:
        if nodes == 1:
            command = on_core(0, command)
        else:
            ports = [50152 + core for core in range(nodes)]
            for core, port in enumerate(ports):
                program = os.path.join(options.llama_cpp, "ggml-rpc-server")
                servers.enter_context(server(core, [program, "-p", port, "-t", 1], port))
            command += ["--rpc", ",".join(f"127.0.0.1:{port}" for port in ports), "-ngl", 99]
        results = json.loads(run(command))
    return {"prefill" if case["n_prompt"] > 0 else "decode": case["avg_ts"] for case in results}


def dllama(options, nodes):
    port = 50160
    steps = options.prompt + options.gen
    command = [options.dllama, "inference", "--model", options.dllama_model, "--tokenizer", options.dllama_vocabulary,
               "--buffer-float-type", "q80", "--nthreads", 1, "--max-seq-len", steps + 8, "--steps", steps,
               "--temperature", 0, "--prompt", "a" * (options.prompt - 1)]
    with contextlib.ExitStack() as servers:
        if nodes > 1:
            worker = [options.dllama, "worker", "--port", port, "--nthreads", 1]
            process = subprocess.Popen([str(part) for part in on_core(1, worker)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            servers.callback(process.wait)
            servers.callback(process.kill)
            time.sleep(2)  # it accepts one connection only, so a test connection is impossible
            command += ["--workers", f"127.0.0.1:{port}"]
        text = run(on_core(0, command))
    rates = re.findall(r"tokens/s: *([0-9.]+)", text)
    return {"prefill": float(rates[0]), "decode": float(rates[1])}


def engines_of(options):
    """By name: the function that measures a number of nodes. aster's nodes are measured alone only once per model."""
    engines = {}
    for model in options.model:
        name = pathlib.Path(model).stem
        for i, split in enumerate(options.split or ["auto"]) if options.aster else ():
            measure = functools.partial(aster, options, model, split)
            engines[f"aster {split}, {name}"] = (measure, f"aster, {name}", i == 0)
        if options.llama_cpp:
            engines[f"llama.cpp, {name}"] = (functools.partial(llama_cpp, options, model), f"llama.cpp, {name}", True)
    if options.dllama:
        engines["distributed-llama, Q40"] = (functools.partial(dllama, options), "distributed-llama", True)
    return engines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", default=[], help="model file for aster and llama.cpp; repeatable")
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--gen", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--aster")
    parser.add_argument("--split", action="append", default=[], help="auto (the default) or group; repeatable")
    parser.add_argument("--llama-cpp")
    parser.add_argument("--dllama")
    parser.add_argument("--dllama-model")
    parser.add_argument("--dllama-vocabulary")
    options = parser.parse_args()
    engines = engines_of(options)
    alone, together = collections.defaultdict(list), collections.defaultdict(list)
    for _ in range(options.rounds):
        for name, (measure, alone_name, is_first) in engines.items():
            if is_first:
                alone[alone_name].append(measure(1))
            together[name].append(measure(2))
    width = max(map(len, engines))
    print(f"{'':{width}} {'':8} {'one node':>9} {'two':>9}")
    for name, (_, alone_name, _) in engines.items():
        for kind in ("prefill", "decode"):
            one, two = ([round_[kind] for round_ in rounds] for rounds in (alone[alone_name], together[name]))
            ratio = statistics.median(b / a for a, b in zip(one, two))
            print(f"{name:{width}} {kind:8} {statistics.median(one):9.1f} {statistics.median(two):9.1f} {ratio:6.2f}×")


if __name__ == "__main__":
    main()
