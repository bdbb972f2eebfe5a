#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What a second node brings, here and with other engines: each alone on one core, then on two cores that stand for
two machines on loopback. In turns, medians, and the ratio of two to one.

    bench/peer_nodes.py --prompt 2048 --aster build/release/bin/aster --model l1b-Q4_0.gguf \\
        --llama-cpp …/llama.cpp/build/bin \\
        --dllama …/dllama --dllama-model l1b.m --dllama-vocabulary l1b.t

llama.cpp must be built with GGML_RPC: its two servers hold the layers. distributed-llama cuts every matrix instead;
bench/peers/dllama_model.py writes it a model. An engine that is not named is left out.
"""
import argparse
import contextlib
import json
import os
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


def aster(options, nodes):
    report = json.loads(run([options.aster, "bench", options.model, "--local-nodes", nodes, "--pin", "--threads", 1,
                             "--prompt", options.prompt, "--gen", options.gen, "--reps", 1, "--json"]))
    return {case["kind"]: case["tokens_per_s"] for case in report["results"]}


def llama_cpp(options, nodes):
    bench = os.path.join(options.llama_cpp, "llama-bench")
    command = [bench, "-m", options.model, "-t", 1, "-p", options.prompt, "-n", options.gen, "-r", 1, "-o", "json"]
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
            time.sleep(2)  # it takes one connection only, and no look whether it listens
            command += ["--workers", f"127.0.0.1:{port}"]
        text = run(on_core(0, command))
    rates = re.findall(r"tokens/s: *([0-9.]+)", text)
    return {"prefill": float(rates[0]), "decode": float(rates[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompt", type=int, default=2048)
    parser.add_argument("--gen", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--aster")
    parser.add_argument("--llama-cpp")
    parser.add_argument("--dllama")
    parser.add_argument("--dllama-model")
    parser.add_argument("--dllama-vocabulary")
    options = parser.parse_args()
    engines = [engine for engine in (aster, llama_cpp, dllama) if getattr(options, engine.__name__)]
    rates = {engine: ([], []) for engine in engines}
    for _ in range(options.rounds):
        for engine in engines:
            for nodes in (1, 2):
                rates[engine][nodes - 1].append(engine(options, nodes))
    print(f"{'':12} {'':8} {'one node':>9} {'two':>9}")
    for engine in engines:
        for kind in ("prefill", "decode"):
            one, two = ([round_[kind] for round_ in rounds] for rounds in rates[engine])
            ratio = statistics.median(b / a for a, b in zip(one, two))
            print(f"{engine.__name__:12} {kind:8} {statistics.median(one):9.1f} {statistics.median(two):9.1f} "
                  f"{ratio:6.2f}×")


if __name__ == "__main__":
    main()
