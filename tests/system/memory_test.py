#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A node holds the tensors of its slice, and hardly anything else."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cluster_case import PROMPT, ClusterCase  # noqa: E402
from fixture import ASTER, aster  # noqa: E402
from processes import children_of, memory_of, resident_of  # noqa: E402

LAYERS = 16
# Relative to the slice's tensors. Every process has some 12 MB in addition: the program and its libraries, the
# vocabulary, buffers, and KV pages.
MOST = 1.05


class Memory(ClusterCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.folder / "large.gguf"
        aster("synth", cls.model, "--preset", "llama-1b", "--layers", LAYERS, "--embedding", 1536, "--ff", 5120,
              "--heads", 24, "--kv-heads", 4, "--head-dim", 64, "--vocab", 32000, "--untied", "--type", "Q8_0")
        parts = json.loads(aster("inspect", cls.model, "--json").stdout)["parts"]
        cls.embedding = parts["embedding"]["bytes"]
        cls.head = parts["head"]["bytes"]
        cls.layers = [layer["bytes"] for layer in parts["layers"]]
        assert cls.embedding + cls.head + sum(cls.layers) > 400e6

    def nodes_of(self, split):
        """The memory of each node of a run while it answers, with its share of libraries."""
        command = [ASTER, "run", self.model, "-p", "the rain", "--raw", "--temp", 0, "-n", 100000, "--ignore-eos",
                   "--local-nodes", 2, "--split", split]
        run = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            run.stdout.read(100)
            nodes = children_of(run.pid)
            self.assertEqual(len(nodes), 2)
            return [memory_of(pid) for pid in nodes]
        finally:
            run.kill()
            run.stdout.close()
            run.wait()

    def test_a_node_holds_its_slice(self):
        for last in (LAYERS // 2 - 1, 0, LAYERS - 2):
            first, second = self.nodes_of(f"0:{last},{last + 1}:out")
            layers = sum(self.layers[:last + 1])
            # Of the embedding only the used rows are read, from the file itself.
            self.assertGreater(first["Pss"], layers, f"layers 0 to {last}")
            self.assertLess(first["Pss"], MOST * (layers + self.embedding), f"layers 0 to {last}")
            behind = sum(self.layers[last + 1:]) + self.head
            self.assertGreater(second["Pss"], behind, f"layers from {last + 1}")
            # One layer is too small compared with the memory of every process.
            room = 10e6 if last == LAYERS - 2 else 0
            self.assertLess(second["Pss"], MOST * behind + room, f"layers from {last + 1}")

    def test_the_node_that_sends_weights_unmaps_them(self):
        desk, _ = self.two(self.model)
        before = resident_of(desk.node.pid)
        desk.aster("run", self.model, *PROMPT, "-n", 2, "--kv-memory", "16MiB", "--cluster", "--split", "lap")
        # Buffers of messages are kept for a while.
        self.assertLess(resident_of(desk.node.pid) - before, self.model.stat().st_size / 4)


if __name__ == "__main__":
    unittest.main()
