#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Machines on several networks: the fastest path is used, and another one when it fails; they find each other by
multicast. Each machine is a network namespace; where the system allows none, the tests are skipped."""
import json
import signal
import unittest

from cluster_case import PROMPT, ClusterCase
from networks import Networks
from processes import DEADLINE_S, read_piece, wait_for

SPLIT = ("--cluster", "--split", "desk=0:1,lap=2:out")
SLOW_BYTES_PER_S = 20e6 / 8


class Paths(ClusterCase):
    def setUp(self):
        super().setUp()
        self.networks = Networks(self)
        for side, name in enumerate(("desk", "lap")):
            machine = self.machine(name)
            machine.enter = self.networks.enter(side)
            machine.environment.pop("ASTER_DISCOVERY", None)

    def found(self):
        """Both running, without a typed address; at all addresses of their machines."""
        desk, lap = self.machine("desk"), self.machine("lap")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny, listen=":7424")
        code = json.loads(desk.aster("cluster", "invite", "--json"))["code"]
        lap.aster("cluster", "join", code, "--name", "lap")
        lap.start_node(self.tiny, listen=":7424")
        self.await_members(desk, 2)
        return desk, lap

    def await_rates(self, machine, least):
        """Waits until the rates that both nodes have measured of the link between them are above this."""
        def is_measured():
            nodes = json.loads(machine.aster("cluster", "status", "--json"))["nodes"]
            rates = [link["bytes_per_s"] for node in nodes for link in node.get("links", [])]
            return len(rates) == 2 and min(rates) > least
        wait_for(is_measured, "measured paths")

    def await_answers(self, machine):
        for name in ("desk", "lap"):
            self.await_answer(machine, name)

    def used(self, before):
        return [self.networks.sent_bytes(0, network) - sent for network, sent in enumerate(before)]

    def sent(self):
        return [self.networks.sent_bytes(0, network) for network in range(2)]

    def cut_amid(self, network, machine, options):
        """An answer during which a network is cut silently, and the bytes that each network sent from then on."""
        run = machine.start_held("run", *options, *SPLIT)
        first = read_piece(run)
        run.send_signal(signal.SIGSTOP)
        self.networks.cut(network)
        before = self.sent()
        run.send_signal(signal.SIGCONT)
        rest, told = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 0, told.decode())
        return first + rest, self.used(before)

    def test_the_fastest_path_is_used_and_another_when_it_fails(self):
        # The first address of each machine is in the slow network.
        self.networks.slow_down(0, "20mbit")
        desk, lap = self.found()
        [addresses] = [node["addresses"] for node in json.loads(desk.aster("cluster", "status", "--json"))["nodes"]
                       if node["name"] == "lap"]
        self.assertEqual([address.rpartition(":")[0] for address in addresses], ["10.79.0.2", "10.79.1.2"])
        self.await_rates(desk, 2 * SLOW_BYTES_PER_S)
        options = (self.tiny, *PROMPT, "-n", 4000, "--ignore-eos")
        alone = desk.aster("run", *options)

        def fast_one_is_used():
            # A minute after the first measurement, and perhaps again later, as many bytes as those of the answer are
            # sent over each network to measure it: not during every answer.
            before = self.sent()
            self.assertEqual(desk.aster("run", *options, *SPLIT), alone)
            slow, fast = self.used(before)
            return fast > 4 * slow

        wait_for(fast_one_is_used, "an answer over the fast network")

        answer, (slow, fast) = self.cut_amid(1, desk, options)
        self.assertEqual(answer, alone)
        self.assertGreater(slow, fast, "the other network was not used")
        # New work, and requests at the same time, use the remaining network.
        self.assertEqual(desk.aster("run", *options, *SPLIT), alone)
        self.await_answers(desk)

        # The cut network works again, and the other one fails.
        self.networks.heal(1)
        answer, (slow, fast) = self.cut_amid(0, lap, options)
        self.assertEqual(answer, alone)
        self.assertGreater(fast, slow, "the healed network was not used")
        self.await_answers(desk)

    def test_no_discovery(self):
        desk, lap = self.found()
        for side, machine in enumerate((desk, lap)):
            self.assertTrue(self.networks.listens_for_discovery(side))
            machine.stop_node()
            for name in ("peers", "seeds"):
                (machine.folder / "config/cluster" / name).unlink(missing_ok=True)
        lap.start_node(self.tiny, "--no-discovery", listen=":7424")
        desk.start_node(self.tiny, listen=":7424")
        self.assertFalse(self.networks.listens_for_discovery(1))
        # Waits as long as two nodes that look for each other need, and neither knows the other.
        lap.aster("cluster", "status", "--json")
        self.assertEqual(len(self.await_members(desk, 1)), 1)
        lap.stop_node()
        lap.start_node(self.tiny, listen=":7424")
        self.await_members(desk, 2)


if __name__ == "__main__":
    unittest.main()
