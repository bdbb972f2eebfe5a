#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Plans on a cluster of processes: kinds that are compared, and nodes that a server begins to use while it runs."""
import json
import pathlib
import signal
import sys
import time
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("cli", "serve")]
from cluster_case import PROMPT, ClusterCase, nodes_of  # noqa: E402
from processes import wait_for  # noqa: E402
from server import Server  # noqa: E402


class Plans(ClusterCase):
    def test_kinds_of_plan_are_compared(self):
        desk, _ = self.two()
        told = json.loads(desk.aster("plan", self.tiny, "--cluster", "--prompt", 300, "--tokens", 20, "--json"))
        plans = told["alternatives"]
        self.assertEqual([plan["kind"] for plan in plans],
                         ["one node alone", "a pipeline", "a group", "a pipeline with groups",
                          "prefill and decode apart"])
        self.assertEqual([plan["options"] for plan in plans if plan["taken"]], [told["options"]])
        self.assertEqual(plans[3]["why"], "there are too few nodes")
        text = desk.aster("plan", self.tiny, "--cluster").decode()
        self.assertIn("A prompt of 512 tokens and an answer of 256 are predicted to take:", text)
        # Each of them writes the same, and a request reports its prediction.
        alone = desk.aster("run", self.tiny, *PROMPT, "-n", 20)
        for plan in plans:
            if "options" in plan:
                said = desk.aster("run", self.tiny, *PROMPT, "-n", 20, "--cluster", *plan["options"].split())
                self.assertEqual(said, alone, plan)
        told = json.loads(desk.aster("run", self.tiny, *PROMPT, "-n", 20, "--cluster", "--explain", "--json"))
        self.assertEqual(sum(plan["taken"] for plan in told["plans"]), 1)

    def large(self):
        """A model that takes so long to compute that plans differ, whatever the load of this machine is."""
        model = self.folder / "large.gguf"
        self.machine("desk").aster("synth", model, "--layers", 8, "--embedding", 512, "--ff", 2048, "--type", "Q4_K")
        return model

    def test_what_nodes_have_in_their_kv_caches_is_part_of_a_plan(self):
        model = self.large()
        desk, _ = self.two(model)
        ids = self.folder / "prompt.ids"
        ids.write_text(" ".join(str(number * 7 % 250) for number in range(300)))
        asked = ("--ids", ids, "--cluster")
        self.assertNotIn("KV rows", desk.aster("plan", model, *asked).decode())
        alone = desk.aster("run", model, *asked, "--split", "desk=0:out", "-n", 1, "--temp", 0, "-q")

        # A node that does not reply within half a second, as on a busy machine, is taken to hold none.
        def is_planned_with_them():
            plans = json.loads(desk.aster("plan", model, *asked, "--tokens", 1, "--json"))["alternatives"]
            return 256 in [plan.get("held_tokens") for plan in plans]

        def is_answered_with_them():
            told = json.loads(desk.aster("run", model, *asked, "-n", 1, "--temp", 0, "--explain", "--json"))
            self.assertEqual(told["text"].encode(), alone.rstrip(b"\n"))
            return 256 in [plan.get("held_tokens") for plan in told["plans"]]

        wait_for(is_planned_with_them, "a plan with the KV rows of a node")
        wait_for(is_answered_with_them, "an answer planned with the KV rows of a node")

    def test_a_node_on_standby_takes_over_from_the_only_one_with_the_file(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny)
        lap = self.invited(desk, "lap")
        # The model is given by name, as the server has no file either.
        server = Server(self.tiny.stem, "--cluster", "--kv-memory", "64MiB", environment=lap.environment)
        self.addCleanup(server.stop)
        ask = {"prompt": "the rain in", "max_tokens": 12, "temperature": 0, "ignore_eos": True}
        alone = server.post("/v1/completions", ask)["choices"][0]["text"]
        lap.start_node("--join", desk.address, "--standby", "--log-level", "info")
        self.await_log(lap, "keeps weights that one other node has")
        desk.stop_node(signal.SIGKILL)
        self.assertEqual(server.post("/v1/completions", ask)["choices"][0]["text"], alone)
        self.assertEqual({hop["node"] for hop in server.get("/v1/status")["models"][0]["hops"]}, {"lap"})

    def test_a_server_takes_in_a_node_that_joins(self):
        model = self.large()
        desk, lap = self.machine("desk"), None
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(model)
        server = Server(model, "--cluster", "--kv-memory", "64MiB", environment=desk.environment)
        self.addCleanup(server.stop)
        ask = {"prompt": "the rain in", "max_tokens": 12, "temperature": 0, "ignore_eos": True}

        def answer():
            return server.post("/v1/completions", ask)["choices"][0]["text"]

        def nodes():
            # One behind the other, or as a group, whichever seems faster.
            return nodes_of(server.get("/v1/status")["models"][0]["hops"])

        alone = answer()
        self.assertEqual(nodes(), {"desk"})
        lap = self.invited(desk, "lap")
        lap.start_node("--join", desk.address)
        joined = time.monotonic()
        wait_for(lambda: nodes() == {"desk", "lap"}, "a route over both nodes")
        took_s = time.monotonic() - joined
        # It takes two to four seconds on an idle machine.
        print(f"used {took_s:.1f} s after it was ready", file=sys.stderr)
        self.assertEqual(answer(), alone)
        # The node fails.
        lap.stop_node(signal.SIGKILL)
        self.assertEqual(answer(), alone)
        self.assertEqual(nodes(), {"desk"})


if __name__ == "__main__":
    unittest.main()
