#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Rates of models on each GPU of this machine, beside the processor's in the same run.

    bench/gpu.py --all                                  every device that passes the self-check, the shapes below
    bench/gpu.py --device 0 --model M.gguf --prompt 512 --batch 1
    bench/gpu.py --all --llama-bench …/llama-bench      and llama.cpp's Vulkan build, on the same files
    bench/gpu.py --all --bandwidth 3350                 and decode as a share of that many GB/s

First `aster verify` on the device: a rate of other bits says nothing. Then rounds in turns, and medians. Without a
model, files with random weights are written in the shape of a Llama of 1.2 B parameters, as Q8_0 and Q4_K. A driver
that computes on the processor proves that this runs, not how fast a GPU is: it is taken with --device only.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TYPES = ("Q8_0", "Q4_K")


def run(program, *arguments, **environment):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


class Bench:
    def __init__(self, options):
        self.options = options

    def devices(self):
        listed = json.loads(run(self.options.aster, "devices", "--json"))["devices"]
        if self.options.device is not None:
            return [device for device in listed if device["index"] == self.options.device]
        return [device for device in listed if device["kind"] != "processor"]

    def models(self, folder):
        if self.options.model:
            return self.options.model
        files = []
        for type_name in TYPES:
            files.append(pathlib.Path(folder) / f"llama-1b-{type_name}.gguf")
            run(self.options.aster, "synth", files[-1], "--preset", "llama-1b", "--type", type_name)
        return files

    def rates(self, model, device):
        """By case: prefill of each prompt; decode of each batch behind each prompt."""
        prompts = ",".join(map(str, self.options.prompt))
        layers, environment = ("0", {}) if device is None else ("auto", {"ASTER_GPU": str(device["index"])})
        report = json.loads(run(self.options.aster, "bench", model, "--prompt", prompts, "--gen", self.options.gen,
                                "--depth", "0", "--batch", ",".join(map(str, self.options.batch)), "--reps", 1,
                                "--gpu-layers", layers, "--json", **environment))
        return {(result["kind"], result["tokens"], result["batch"]): result["tokens_per_s"]
                for result in report["results"]}

    def peer(self, model):
        if not self.options.llama_bench:
            return {}
        rows = json.loads(run(self.options.llama_bench, "-m", model, "-ngl", 99, "-fa", 1, "-r", 1, "-o", "json",
                              "-p", ",".join(map(str, self.options.prompt)), "-n", self.options.gen))
        return {("prefill", row["n_prompt"], 1) if row["n_prompt"] else ("decode", row["n_gen"], 1): row["avg_ts"]
                for row in rows}

    def compare(self, model, device):
        report = json.loads(run(self.options.aster, "verify", model, "--tokens", 32, "--gpu-layers", "auto", "--json",
                                ASTER_GPU=str(device["index"])))
        print(f"\n{device['name']} ({device['driver']}), {pathlib.Path(model).name}: "
              f"{len(report['ways'])} ways equal", flush=True)
        rounds = [(self.rates(model, device), self.rates(model, None), self.peer(model))
                  for _ in range(self.options.rounds)]
        read_bytes = pathlib.Path(model).stat().st_size
        for case in rounds[0][0]:
            kind, tokens, batch = case
            gpu, cpu = (statistics.median(one[side][case] for one in rounds) for side in (0, 1))
            line = f"  {kind:8} {tokens:6} x {batch:<3} {gpu:10.1f} tokens/s   {gpu / cpu:6.2f} times the processor"
            peers = [one[2][case] for one in rounds if case in one[2]]
            if peers:
                line += f"   {gpu / statistics.median(peers):5.2f} times llama.cpp"
            if kind == "decode" and self.options.bandwidth:
                line += f"   {100 * gpu / batch * read_bytes / self.options.bandwidth / 1e9:5.1f} % of the bandwidth"
            print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", default="build/release/bin/aster")
    parser.add_argument("--all", action="store_true", help="every GPU")
    parser.add_argument("--device", type=int, help="number in `aster devices`")
    parser.add_argument("--model", action="append", metavar="GGUF")
    parser.add_argument("--prompt", type=int, nargs="+", default=[512, 4096, 32768])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bandwidth", type=float, help="of the device's memory, in GB/s")
    parser.add_argument("--llama-bench", help="program of llama.cpp's Vulkan build")
    options = parser.parse_args()
    if not options.all and options.device is None:
        parser.error("give --all, or --device N")
    bench = Bench(options)
    devices = bench.devices()
    if not devices:
        sys.exit("no such GPU: `aster devices` lists what there is")
    with tempfile.TemporaryDirectory() as folder:
        for model in bench.models(folder):
            for device in devices:
                bench.compare(model, device)


if __name__ == "__main__":
    main()
