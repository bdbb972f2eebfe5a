#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The bytes per token of DeepSeek V4's KV cache in transfers, for a model with the rows of Flash and everything else
small:

    bench/leaving_rows.py --aster build/release/bin/aster
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

SMALL = ("--embedding", 256, "--heads", 4, "--output-groups", 2, "--query-rank", 64, "--output-rank", 32,
         "--experts", 8, "--experts-used", 2, "--expert-ff", 256, "--vocab", 1024)
PATIENCE_S = 600


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--prompt", type=int, default=1024, help="tokens (%(default)s)")
    options = parser.parse_args()

    def aster(*command):
        return subprocess.run([options.aster, *map(str, command)], stdout=subprocess.PIPE, check=True,
                              timeout=PATIENCE_S).stdout

    with tempfile.TemporaryDirectory() as holder:
        folder = pathlib.Path(holder)
        model, ids, cache = folder / "model.gguf", folder / "prompt.ids", folder / "cache"
        aster("synth", model, "--preset", "flash-full", *SMALL)
        ids.write_text(" ".join(str((7 * i * i + 13 * i + 5) % 1000) for i in range(options.prompt)))
        run = ("run", model, "--ids", ids, "--temp", 0, "-n", 4, "--ignore-eos", "--json")
        handed_over = json.loads(aster(*run, "--local-nodes", 2, "--decode", "node-2"))["kv_transfer"]["bytes"]
        aster(*run, "--kv-cache", cache)
        on_disk = sum(path.stat().st_size for path in cache.rglob("*.rows"))
        loaded = json.loads(aster(*run, "--kv-cache", cache))["kv_cache"]["loaded_bytes"]
    told = {"page files": on_disk, "read again": loaded, "KV transfer from one of two prefill nodes": handed_over}
    for what, count in told.items():
        print(f"{what:42} {count / options.prompt:10,.0f} bytes a token")


if __name__ == "__main__":
    main()
