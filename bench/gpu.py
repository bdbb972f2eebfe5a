#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Rates of models on each GPU of this machine, beside the processor's in the same run.

    bench/gpu.py --all                                  every device that passes the self-check, the shapes below
    bench/gpu.py --device 0 --model M.gguf --prompt 512 --batch 1
    bench/gpu.py --all --llama-bench …/llama-bench      and llama.cpp's Vulkan build, on the same files

First `aster verify` on the device: the rate of a device with other bits is meaningless. Then the device's limits, with
shaders of our own (gpu_peaks.cc): reading its memory, products of bytes, by instructions and by cooperative matrices,
and floats of 16 bits. Then rounds in turns, and medians: decode as a share of the bytes that can be read, prefill as a
share of the products and of the float operations. The shares are those of dense models: in a mixture of experts a token
needs a part of the weights. Without a model, files with random weights are written in the shape of a Llama of 1.2 B
parameters, as Q8_0 and Q4_K. A driver that computes on the processor shows that this runs, not how fast a GPU is: it is
used with --device only.
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
        """By case: prefill of each prompt; decode of each batch after each prompt."""
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

    def peaks(self, device):
        peaks = json.loads(run(pathlib.Path(self.options.aster).parent / "gpu_peaks", device["index"]))
        halves = f"{peaks['f16_tflops']:.2f} TFLOP/s in f16" if "f16_tflops" in peaks else "no f16"
        matrices = f"{peaks['matrix_int8_tops']:.2f} TOP/s of bytes" if "matrix_int8_tops" in peaks else "none"
        print(f"\n{device['name']} at most: reads {peaks['read_gb_per_s']:.1f} GB/s, {peaks['int8_tops']:.2f} TOP/s of "
              f"bytes, by matrices {matrices}, {peaks['f32_tflops']:.2f} TFLOP/s in f32, {halves}; a kernel that waits "
              f"for the one before it takes {peaks['kernel_us']:.2f} us at least", flush=True)
        return peaks

    def weights(self, model):
        """Of a dense model: the weights that a token multiplies in the layers, and the bytes that it reads with the
        head."""
        parts = json.loads(run(self.options.aster, "inspect", model, "--json"))["parts"]
        layers = parts["layers"].values() if isinstance(parts["layers"], dict) else parts["layers"]
        # A tied head is the embedding.
        head = max(parts["head"], parts["embedding"], key=lambda part: part["parameters"])
        return sum(part["parameters"] for part in layers), sum(part["bytes"] for part in layers) + head["bytes"]

    @staticmethod
    def shares(case, rate, weights, peaks):
        kind, _, batch = case
        count, read_bytes = weights
        if kind == "decode":
            return f"   {100 * rate / batch * read_bytes / peaks['read_gb_per_s'] / 1e9:5.1f} % of reading"
        operations = 2 * count * rate / 1e12
        line = f"   {100 * operations / peaks['int8_tops']:5.1f} % of bytes"
        for name, key in (("matrices", "matrix_int8_tops"), ("f16", "f16_tflops")):
            if key in peaks:
                line += f", {100 * operations / peaks[key]:5.1f} % of {name}"
        return line

    def compare(self, model, device, peaks):
        report = json.loads(run(self.options.aster, "verify", model, "--tokens", 32, "--gpu-layers", "auto", "--json",
                                ASTER_GPU=str(device["index"])))
        print(f"\n{device['name']} ({device['driver']}), {pathlib.Path(model).name}: "
              f"{len(report['ways'])} ways equal", flush=True)
        rounds = [(self.rates(model, device), self.rates(model, None), self.peer(model))
                  for _ in range(self.options.rounds)]
        weights = self.weights(model)
        for case in rounds[0][0]:
            kind, tokens, batch = case
            gpu, cpu = (statistics.median(one[side][case] for one in rounds) for side in (0, 1))
            line = f"  {kind:8} {tokens:6} x {batch:<3} {gpu:10.1f} tokens/s   {gpu / cpu:6.2f} times the processor"
            peers = [one[2][case] for one in rounds if case in one[2]]
            if peers:
                line += f"   {gpu / statistics.median(peers):5.2f} times llama.cpp"
            print(line + self.shares(case, gpu, weights, peaks), flush=True)


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
    parser.add_argument("--llama-bench", help="program of llama.cpp's Vulkan build")
    options = parser.parse_args()
    if not options.all and options.device is None:
        parser.error("give --all, or --device N")
    bench = Bench(options)
    devices = bench.devices()
    if not devices:
        sys.exit("no such GPU: `aster devices` lists what there is")
    with tempfile.TemporaryDirectory() as folder:
        models = bench.models(folder)
        for device in devices:
            peaks = bench.peaks(device)
            for model in models:
                bench.compare(model, device, peaks)


if __name__ == "__main__":
    main()
