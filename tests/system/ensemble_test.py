#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""An ensemble whose members are computed on nodes of their own: it gives the answers of one machine."""
import json
import pathlib
import shutil
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cli"), str(HERE.parent / "serve")]
from cluster_case import ClusterCase  # noqa: E402
from fixture import INPUT, ROOT  # noqa: E402
from processes import DEADLINE_S, read_piece  # noqa: E402
from server import Server  # noqa: E402

NOVA = ROOT / "models/nova.gguf"
PULSAR = ROOT / "models/pulsar.gguf"
PROGRAM = "What does this program print?\nx = 5\nn = x * 8\nprint(n)"
TALE = "Tell me about the village."
# Members are slow on a busy machine: one is missing only if its node is.
WAIT = ("--ensemble-wait", DEADLINE_S)
ASKED = ("-p", PROGRAM, "--temp", 0, "--threads", 1)


class Ensembles(ClusterCase):
    """desk has one member's file, lap the other's."""

    def answer(self, machine, members, *options):
        report = json.loads(machine.aster("run", "--ensemble", members, *WAIT, *options, *ASKED, "--json"))
        told = report["ensemble"]
        return report["ids"], told["author"], told["candidates"], told.get("spans")

    def models(self, machine, name):
        return {each["model"] for each in self.await_answer(machine, name)["slices"]}

    def test_each_member_has_its_node(self):
        desk, _ = self.two(NOVA, PULSAR)
        here = self.answer(desk, f"{NOVA},{PULSAR}")
        self.assertEqual(here[1], "pulsar")
        self.assertEqual(self.answer(desk, f"{NOVA}@desk,{PULSAR}@lap", "--cluster"), here)
        self.assertEqual(self.answer(desk, f"{NOVA}@here,{PULSAR}@lap", "--cluster"), here)
        # A model twice equals that model, on two machines too.
        alone = json.loads(desk.aster("run", NOVA, *ASKED, "--json"))["ids"]
        self.assertEqual(self.answer(desk, f"{NOVA}@desk,{NOVA}@lap", "--cluster")[0], alone)
        apart = f"{NOVA}@desk,{PULSAR}@lap"
        for policy in "spans", "bytes":
            self.assertEqual(self.answer(desk, apart, "--cluster", "--policy", policy),
                             self.answer(desk, f"{NOVA},{PULSAR}", "--policy", policy))
        verified = json.loads(desk.aster("verify", "--ensemble", apart, "--cluster", "--tokens", 4, "--threads", 1,
                                         "--json"))
        self.assertTrue(verified["equal"])
        self.assertIn("spans: on nodes", [way["name"] for way in verified["ways"]])
        for members, options, why in ((f"{NOVA}@desk,{PULSAR}", (), "give --cluster"),
                                      (f"{NOVA}@desk,{PULSAR}@moon", ("--cluster",), "moon")):
            self.assertIn(why, desk.aster("run", "--ensemble", members, *options, *ASKED, check=INPUT))

    def two_with_a_file_each(self):
        """Only lap has pulsar."""
        only_there = self.folder / "pulsar-of-lap.gguf"
        shutil.copy(PULSAR, only_there)
        return self.two(NOVA, only_there)

    def begin_spans(self, desk, tokens, wait_s=DEADLINE_S):
        """Begins a long answer of both, which is written span by span, and returns once its first span is read."""
        run = desk.start_held("run", "--cluster", "--ensemble", f"{NOVA}@desk,pulsar-of-lap@lap", "--policy", "spans",
                              "--ensemble-wait", wait_s, "--ignore-eos", "-n", tokens, "--explain", "-p", TALE,
                              "--temp", 0, "--threads", 1)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.kill)
        self.assertTrue(read_piece(run))
        return run

    def alone_in_spans(self, run):
        """Whether each span was written without lap."""
        explained = run.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertEqual(run.returncode, 0, explained)
        self.assertRegex(explained, r"absent +pulsar-of-lap: .* \(\d+ of \d+ spans\)")
        return [": alone " in line for line in explained.splitlines() if line.startswith("taken")]

    def test_a_member_is_killed_amid_an_answer(self):
        desk, lap = self.two_with_a_file_each()
        run = self.begin_spans(desk, 300)
        lap.stop_node(signal.SIGKILL)
        alone = self.alone_in_spans(run)
        self.assertEqual((alone[0], alone[-1]), (False, True))

    def alone_where_lap_stalls(self, desk, lap, wait_s):
        run = self.begin_spans(desk, 3000, wait_s)
        lap.node.send_signal(signal.SIGSTOP)
        for _ in range(40):
            self.assertTrue(read_piece(run))  # the other one continues
        lap.node.send_signal(signal.SIGCONT)
        # The answer is read slowly until the member has computed at many of its spans: first what it missed.
        frames, times = {}, 0
        while times < 30 and read_piece(run):
            nodes = json.loads(desk.aster("cluster", "status", "--json"))["nodes"]
            now = frames | {each["route"]: each["frames"] for node in nodes for each in node.get("slices", ())
                            if each["model"] != "nova"}
            times += now != frames
            frames = now
        return self.alone_in_spans(run)

    def test_a_member_that_stalled_is_back_within_the_answer(self):
        desk, lap = self.two_with_a_file_each()
        # On a busy machine a member may take longer, and would be missing before it stalls.
        for wait_s in 0.3, 3, DEADLINE_S:
            alone = self.alone_where_lap_stalls(desk, lap, wait_s)
            if not alone[0]:
                break
        self.assertEqual((alone[0], True in alone), (False, True))
        self.assertIn(False, alone[alone.index(True):])

    def server(self, machine, members):
        """A server, and a function that asks its ensemble, or one of its models."""
        server = Server("--cluster", "--ensemble", f"both={members}", *WAIT, environment=machine.environment)
        self.addCleanup(server.stop)

        def ask(model):
            choice, = server.post("/v1/chat/completions", {
                "model": model, "messages": [{"role": "user", "content": PROGRAM}], "temperature": 0})["choices"]
            return choice["message"]["content"], choice.get("ensemble")

        return ask

    def test_a_member_goes_on_elsewhere_where_the_server_has_its_file(self):
        desk, lap = self.two(NOVA, PULSAR)
        ask = self.server(desk, f"{NOVA}@desk,{PULSAR}@lap")
        whole, told = ask("both")
        self.assertEqual(told["author"], "pulsar")
        self.assertEqual([self.models(desk, name) for name in ("desk", "lap")], [{"nova"}, {"pulsar"}])
        lap.stop_node(signal.SIGKILL)
        self.assertEqual(ask("both")[0], whole)
        self.assertEqual(self.models(desk, "desk"), {"nova", "pulsar"})

    def expect_answers_to_continue(self, lose, bring_back):
        """A server answers without a machine until that is back."""
        desk, lap = self.two_with_a_file_each()
        ask = self.server(desk, f"{NOVA}@desk,pulsar-of-lap@lap")
        whole, told = ask("both")
        self.assertEqual(told["author"], "pulsar-of-lap")
        lose(lap)
        without, told = ask("both")
        self.assertEqual((without, told["author"]), (ask("nova")[0], "nova"))
        self.assertIn("absence", told["members"][1])
        bring_back(lap)
        until = time.monotonic() + DEADLINE_S
        while (said := ask("both"))[1]["author"] != "pulsar-of-lap":
            self.assertEqual(said[0], without)
            self.assertLess(time.monotonic(), until, said)
            time.sleep(0.5)
        self.assertEqual(said[0], whole)

    def test_a_server_goes_on_without_a_machine_that_was_killed(self):
        self.expect_answers_to_continue(lambda lap: lap.stop_node(signal.SIGKILL),
                             lambda lap: lap.start_node(self.folder / "pulsar-of-lap.gguf", listen=lap.address))

    def test_a_server_goes_on_without_a_stalled_machine(self):
        self.expect_answers_to_continue(lambda lap: lap.node.send_signal(signal.SIGSTOP),
                             lambda lap: lap.node.send_signal(signal.SIGCONT))

    def test_one_model_has_one_place_in_a_server(self):
        desk = self.machine("desk")
        refused = desk.aster("serve", f"{NOVA}@desk", "--cluster", "--ensemble", f"both={NOVA}@lap,{PULSAR}",
                             "--port", 0, check=INPUT)
        self.assertIn("nova cannot be at desk and at lap", refused)


if __name__ == "__main__":
    unittest.main()
