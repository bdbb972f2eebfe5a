#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How many instructions products take on 64-bit ARM, without such a machine: qemu reports every one that it executes.

    tools/build aarch64 kernels_test && bench/arm_instructions.py build/aarch64 [--rows 1 4 32] [--types Q8_0 Q4_K]

For each type and number of rows: instructions for 16 multiply-adds, which are one `sdot` and half an `smmla`, with all
that a product needs (unpacking, scales, loads, stores, calls). It is a count and not a time: processors execute up to
eight at once, but not of every kind.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TYPES = "Q8_0 Q4_0 MXFP4 IQ4_NL Q5_1 Q2_K Q4_K Q5_K Q6_K IQ2_XXS levels".split()


def compile_program(build, folder):
    program = folder / "arm_instructions"
    libraries = [build / f"src/{name}/libaster_{name}.a" for name in ("kernels", "quant", "gguf", "base")]
    subprocess.run(["aarch64-linux-gnu-g++", "-std=c++20", "-O2", "-static", f"-I{ROOT}/src",
                    ROOT / "bench/arm_instructions.cc", *libraries, build / "libcross_fmt.a", "-lpthread",
                    "-o", program], check=True)
    return program


def executed(program, arguments, functions=None):
    """Instructions of a whole run, or of these functions."""
    command = ["qemu-aarch64-static", "-cpu", "max", "-singlestep", "-d", "nochain,exec"]
    if functions:
        command += ["-dfilter", ",".join(functions)]
    process = subprocess.Popen([*command, program, *map(str, arguments)], stderr=subprocess.PIPE)
    count = 0
    for line in process.stderr:
        count += line.startswith(b"Trace")
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}: failed")
    return count


def ranges_of_functions(program, pattern):
    """Their addresses, in qemu's form."""
    symbols = subprocess.run(["aarch64-linux-gnu-nm", "-S", program], check=True, capture_output=True, text=True)
    fields = [line.split() for line in symbols.stdout.splitlines()]
    return [f"0x{at}+0x{size}" for at, size, kind, name in (each for each in fields if len(each) == 4)
            if kind in "tTwW" and re.search(pattern, name)]


def of_one_product(program, arguments, functions):
    """The difference between a run of two products and a run of one, or the instructions of these functions."""
    if functions:
        return executed(program, (*arguments, 1), functions)
    return executed(program, (*arguments, 2)) - executed(program, (*arguments, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder of preset aarch64; with --functions a program")
    parser.add_argument("--functions", help="BUILD is another engine's program (bench/peers/ggml_instructions.cc), of "
                        "which only functions are counted whose names match this")
    parser.add_argument("--isas", nargs="+", default=["neon", "i8mm"], help="instruction sets (%(default)s)")
    parser.add_argument("--types", nargs="+", default=TYPES, help="types of weights (%(default)s)")
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 2, 4, 8, 32, 64], help="row counts (%(default)s)")
    parser.add_argument("--outputs", type=int, default=64, help="rows of the matrix (%(default)s)")
    parser.add_argument("--columns", type=int, default=1024, help="columns of the matrix (%(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        program, functions = arguments.build.resolve(), None
        if arguments.functions:
            functions = ranges_of_functions(program, arguments.functions)
        else:
            program = compile_program(program, pathlib.Path(name))
        print("| | " + " | ".join(f"{rows} row{'s' * (rows > 1)}" for rows in arguments.rows) + " |")
        print("|---" * (1 + len(arguments.rows)) + "|")
        for kind in arguments.types:
            for isa in arguments.isas:
                cells = []
                for rows in arguments.rows:
                    product = (isa, kind, arguments.outputs, arguments.columns, rows)
                    count = of_one_product(program, product, functions)
                    cells.append(f"{16 * count / (arguments.outputs * arguments.columns * rows):.2f}")
                print(f"| {kind}, {isa} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
