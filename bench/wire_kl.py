#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The cost of sending rows between nodes in fewer bits (--wire): the divergence (KL) of the distributions of the next
token from the exact ones, and how often the most likely token is the same. With --kv the same for KV rows (--kv-wire):
a prefill node computes the first half of the text, and the decode node continues from its rows; the second half is
compared. With --kv-types the same for types of the KV cache (--kv-type), on one machine, beside f16.

    bench/wire_kl.py --aster build/release/bin/aster --text models/held-out.txt --nodes 2,3 nova
    bench/wire_kl.py --aster build/release/bin/aster --text models/held-out.txt --kv --tokens 2048 nova
    bench/wire_kl.py --aster build/release/bin/aster --text models/held-out.txt --kv-types bf16,q8,q8i nova
"""
import argparse
import pathlib
import subprocess
import tempfile

import numpy


def logits(options, model, ids, *more):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "logits"
        subprocess.run([options.aster, "logits", model, "--ids", ids, "--out", out, *map(str, more)], check=True,
                       capture_output=True)
        rows = numpy.fromfile(out, numpy.float32).astype(numpy.float64)
    return rows.reshape(options.tokens, -1)


def log_probabilities(rows):
    rows = rows - rows.max(axis=1, keepdims=True)
    return rows - numpy.log(numpy.exp(rows).sum(axis=1, keepdims=True))


# The number of nodes, the encoding of rows, and the options for it.
def ways(options):
    if options.kv_types:
        for rows in options.kv_types.split(","):
            yield 1, rows, ("--kv-type", rows)
        return
    if options.kv:
        for rows in ("exact", "q8"):
            yield 2, rows, ("--split", "node-1", "--decode", "node-2", "--kv-wire", rows)
        return
    for nodes in options.nodes.split(","):
        for rows in ("f32", "bf16", "q8"):
            yield nodes, rows, ("--wire", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--aster", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--nodes", default="2")
    parser.add_argument("--kv", action="store_true")
    parser.add_argument("--kv-types")
    options = parser.parse_args()
    text = pathlib.Path(options.text).read_bytes()
    print(f"{'model':24} {'nodes':>5} {'rows':>5} {'KL':>10} {'same choice':>12}")
    for model in options.models:
        found = subprocess.run([options.aster, "tokenize", model, "--ids"], input=text, capture_output=True, check=True)
        with tempfile.NamedTemporaryFile("w", suffix=".ids") as ids:
            ids.write(" ".join(found.stdout.decode().split()[:options.tokens]))
            ids.flush()
            exact = log_probabilities(logits(options, model, ids.name))
            first = options.tokens // 2 if options.kv else 0
            for nodes, rows, how in ways(options):
                where = () if nodes == 1 else ("--local-nodes", nodes)
                other = log_probabilities(logits(options, model, ids.name, *where, *how))[first:]
                divergence = (numpy.exp(exact[first:]) * (exact[first:] - other)).sum(axis=1).mean()
                same = (exact[first:].argmax(axis=1) == other.argmax(axis=1)).mean()
                print(f"{pathlib.Path(model).name:24} {nodes:>5} {rows:>5} {divergence:10.2e} {same:12.1%}")


if __name__ == "__main__":
    main()
