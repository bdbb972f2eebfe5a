#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""KV rows of a prompt that another node has computed are fetched from it; if it fails meanwhile, the rest is computed.
A busy machine may reply or send too late, and its rows are computed: then the test tries again."""
import json
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cluster_case import ClusterCase  # noqa: E402
from processes import DEADLINE_S, port_to_keep, wait_for  # noqa: E402
from valve import Valve  # noqa: E402

HOSTS = ("127.0.0.1", "127.0.0.2")
PAGE = 128  # tokens
ANSWER = ("--raw", "--temp", 0, "-n", 16, "--ignore-eos", "--json")


def whole_pages(told):
    return (told["tokens"]["prompt"] - 1) // PAGE * PAGE


def fetched_of(told):
    return [(each["node"], each["tokens"]) for each in told.get("fetched", ())]


class KvFetch(ClusterCase):
    """lap computes a prompt, then desk is asked for it."""

    def model_and_words(self, count, *options):
        """They take longer to compute than their rows take to send."""
        model, words = self.folder / f"slow-{count}.gguf", self.folder / f"words-{count}"
        self.machine("desk").aster("synth", model, "--layers", 8, "--type", "Q4_K", "--context", 4096, *options)
        words.write_text("the rain in spain falls mainly in the plain " * count)
        return model, words

    def test_kv_pages_of_another_node_are_fetched(self):
        model, words = self.model_and_words(30, "--embedding", 512, "--ff", 2048)
        desk, lap = self.two()
        kept = lap.folder / "rows"
        options = ("run", model, "--prompt-file", words, *ANSWER)
        alone = json.loads(desk.aster(*options))
        for node in (desk, lap):
            node.stop_node()
        desk.start_node(model, listen=desk.address)
        lap.start_node("--kv-cache", kept)
        self.await_answer(desk, "lap")

        def ask(split):
            told = json.loads(desk.aster(*options, "--cluster", "--split", split))
            self.assertEqual(told["ids"], alone["ids"], split)
            return told

        def start_again(*machines):
            for machine in machines:
                machine.stop_node(signal.SIGKILL)
                machine.start_node(*({desk: (model,), lap: ("--kv-cache", kept)}[machine]), listen=machine.address)
            self.await_answer(desk, "lap")

        self.assertNotIn("fetched", ask("lap=0:out"))
        whole = whole_pages(alone)

        def is_fetched(split):
            told = ask(split)
            if fetched_of(told) != [("lap", whole)]:
                start_again(desk)
                return False
            self.assertEqual(told["tokens"]["cached"], whole)
            return True

        # KV rows come from memory, then from the disk of a restarted node, and to two nodes at once.
        wait_for(lambda: is_fetched("desk=0:out"), "a fetch from memory")
        start_again(desk, lap)
        wait_for(lambda: is_fetched("desk=0:3,lap=4:out"), "a fetch from disk")

    def two_behind_a_valve(self, model):
        """Two nodes with the model that all others reach only through the valve, and a function that starts each of
        them again, with empty caches in memory."""
        desk, lap = self.two()
        valve = Valve()
        self.addCleanup(valve.close)
        places = {}
        for machine in (desk, lap):
            machine.stop_node()
            places[machine] = port_to_keep(HOSTS)
            for port in (places[machine], places[machine] + 1):
                valve.open(port)

        def start(machine, *options):
            machine.stop_node(signal.SIGKILL)
            kept = ("--kv-cache", lap.folder / "rows") if machine == lap else ()
            machine.start_node(model, *kept, *options, "--advertise", "127.0.0.2",
                               listen=f"127.0.0.1:{places[machine]}")

        start(desk)
        start(lap, "--join", desk.address)
        self.await_answer(desk, "lap")
        # Nodes measure the paths between them with other connections.
        return desk, lap, start, valve, [port + 1 for port in places.values()]

    def held_bytes(self, machine):
        nodes = json.loads(machine.aster("cluster", "status", "--json"))["nodes"]
        return sum(each["kv_held_bytes"] for node in nodes if node["name"] == machine.name and node["answered"]
                   for each in node["slices"])

    def test_the_sender_of_a_prefix_dies_in_the_middle(self):
        # Much to compute and few KV rows: they are sent, however slow the path here is.
        model, words = self.model_and_words(50, "--embedding", 1024, "--kv-heads", 1, "--ff", 4096)
        desk, lap, start, valve, ports = self.two_behind_a_valve(model)
        options = ("run", model, "--prompt-file", words, *ANSWER, "--cluster", "--split")
        alone = json.loads(desk.aster(*options, "lap=0:out"))
        whole = whole_pages(alone)
        self.assertGreater(whole, 8 * PAGE)

        def start_again(machine):
            start(machine)
            self.await_answer(desk, "lap")

        told = None

        def is_fetched():
            nonlocal told
            told = json.loads(desk.aster(*options, "desk=0:out"))
            if fetched_of(told) != [("lap", whole)]:
                start_again(desk)
                return False
            return True

        wait_for(is_fetched, "a fetch of all rows")
        whole_bytes = told["fetched"][0]["bytes"]
        for how in (signal.SIGKILL, signal.SIGSTOP):
            run = None

            def is_stopped_amid():
                nonlocal run
                start_again(desk)
                valve.stop_after(whole_bytes // 2, ports)
                run = desk.start(*options, "desk=0:out")
                wait_for(lambda: valve.has_stopped.is_set() or run.poll() is not None, "half of the rows")
                return valve.has_stopped.is_set()

            wait_for(is_stopped_amid, "a fetch that stops in the middle")
            wait_for(lambda: self.held_bytes(desk) * whole >= 2 * PAGE * whole_bytes, "rows that have come")
            self.assertIsNone(run.poll())
            lap.node.send_signal(how)
            if how == signal.SIGKILL:
                lap.node.wait(DEADLINE_S)
                valve.cut()
            out, complaint = run.communicate(timeout=DEADLINE_S)
            self.assertEqual(run.returncode, 0, complaint.decode())
            self.expect_a_part(json.loads(out), alone)
            valve.cut()
            start_again(lap)

    def expect_a_part(self, told, alone):
        """The received rows are used, the rest is computed."""
        self.assertEqual(told["ids"], alone["ids"])
        ((node, tokens),) = fetched_of(told)
        self.assertEqual(node, "lap")
        self.assertGreaterEqual(tokens, PAGE)
        self.assertGreaterEqual(told["tokens"]["cached"], tokens)
        self.assertLess(told["tokens"]["cached"], whole_pages(alone))


if __name__ == "__main__":
    unittest.main()
