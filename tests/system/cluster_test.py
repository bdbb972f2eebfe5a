#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A cluster of several machines, each a folder of settings and processes on this one: from the first invitation to an
answer that many compute, and failures of machines."""
import json
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cluster_case import PROMPT, ClusterCase  # noqa: E402
from fixture import INPUT, OK, SYSTEM  # noqa: E402
from multicast import discovery_port  # noqa: E402
from processes import DEADLINE_S, catches, let_go, port_to_keep, read_piece, wait_for  # noqa: E402
from run_test import PROMPT as READY_FOR_MORE, Conversation  # noqa: E402
from valve import Valve  # noqa: E402

HOSTS = ("127.0.0.1", "127.0.0.2")
READY = b"\x1b[?2004h" + READY_FOR_MORE


class Clusters(ClusterCase):
    """desk has the model's file and the authority; lap has no file."""

    def test_one_model_on_two_machines(self):
        desk, lap = self.two()
        alone = desk.aster("run", self.tiny, *PROMPT, "-n", 40)
        for split in ("auto", "desk=0:1,lap=2:out", "lap=0:0,desk=1:out", "lap=0:out", "here=0:1,lap=2:out",
                      "lap=0:1,here=2:out", "desk+lap=0:out", "group"):
            text = desk.aster("run", self.tiny, *PROMPT, "-n", 40, "--cluster", "--split", split)
            self.assertEqual(text, alone, split)
        # lap fetched what it needed and keeps it; it can ask, too.
        self.assertTrue(any((lap.folder / "cache").rglob("*")))
        self.assertEqual(lap.aster("run", self.tiny, *PROMPT, "-n", 40, "--cluster"), alone)
        self.verify(desk, 100, "lap")

    def verify(self, desk, tokens, name):
        """All ways are equal, and one of them has this in its name."""
        def is_among_the_ways():
            # On a busy machine, a node may not answer in time.
            report = json.loads(desk.aster("verify", self.tiny, "--cluster", "--tokens", tokens, "--json"))
            self.assertTrue(report["equal"])
            return any(name in way["name"] for way in report["ways"])

        wait_for(is_among_the_ways, f"a way with {name}")

    def test_what_is_fetched_has_a_name(self):
        desk, lap = self.two()
        chat = Conversation(self.tiny, self.folder, "-n", 4, "--cluster", "--split", "desk=0:1,lap=2:out",
                            environment=desk.environment)
        self.addCleanup(chat.stop)
        chat.until(READY)
        self.assertNotIn("error", chat.ask("hello"))
        slices = {name: [(each["model"], each["layer_begin"], each["layer_end"])
                         for each in self.await_answer(lap, name)["slices"]] for name in ("desk", "lap")}
        self.assertEqual(slices, {"desk": [("tiny", 0, 2)], "lap": [("tiny", 2, 4)]})

    def test_a_front_end_needs_no_file(self):
        desk, lap = self.two()
        name = self.tiny.stem
        alone = desk.aster("run", self.tiny, *PROMPT, "-n", 40)
        # The model is named by its name, with the suffix, and by its path on another machine.
        for called in (name, f"{name}.gguf", f"/nowhere/{name}.gguf"):
            self.assertEqual(lap.aster("run", called, *PROMPT, "-n", 40, "--cluster"), alone, called)
        # A saved conversation, which continues without naming its model.
        words = self.folder / "said"
        words.write_text("the rain in spain falls mainly in the plain " * 12)
        lap.aster("session", "save", "told", name, "--prompt-file", words, "--raw", "--cluster", "-q")
        more = ("-p", "the rain", "--raw", "--temp", 0, "-n", 16, "-q")
        told = lap.aster("run", "--session", "told", *more, "--cluster")
        self.assertEqual(told, desk.aster("run", self.tiny, "-p", words.read_text() + "the rain", *more[2:]))
        for called, split, wanted in (("nobody", "auto", f"there is {name}"),
                                      (name, "here", "cannot compute layers of it")):
            complaint = lap.aster("run", called, *PROMPT, "--cluster", "--split", split, check=3)
            self.assertIn(wanted, complaint)
        desk.stop_node()
        lap.stop_node()
        self.assertIn(f"{name} is no file here", lap.aster("run", name, *PROMPT, "--cluster", check=5))

    def test_a_machine_that_goes_and_comes_back(self):
        desk, lap = self.two()
        options = (self.tiny, *PROMPT, "-n", 1500, "--ignore-eos")
        alone = desk.aster("run", *options)
        for how in (signal.SIGKILL, signal.SIGSTOP):
            run = desk.start_held("run", *options, "--cluster", "--split", "desk=0:1,lap=2:out")
            begun = read_piece(run)
            lap.node.send_signal(how)
            rest, complaint = run.communicate(timeout=DEADLINE_S)
            self.assertEqual((run.returncode, begun + rest), (0, alone), complaint.decode())
            lap.stop_node(signal.SIGKILL)
            lap.start_node()  # it knows the others' addresses
            self.await_answer(desk, "lap")
        self.assertEqual(desk.aster("run", *options, "--cluster", "--split", "desk=0:1,lap=2:out"), alone)

    def test_prefill_and_decode_nodes_differ(self):
        desk, lap = self.two()
        words = self.folder / "words"
        words.write_text("the rain in spain falls mainly in the plain " * 12)
        options = (self.tiny, "--prompt-file", words, "--raw", "--temp", 0.8, "--seed", 3, "-q", "-n", 40)
        alone = desk.aster("run", *options)
        for reads, answers in (("desk=0:1,lap=2:out", "lap"), ("lap=0:1,desk=2:out", "lap"), ("lap", "desk"),
                               ("lap", "front"), ("desk:0-1,front:2-out", "here")):
            text = desk.aster("run", *options, "--cluster", "--prefill", reads, "--decode", answers)
            self.assertEqual(text, alone, (reads, answers))
        self.verify(desk, 150, "decode lap")

    def test_ctrl_c_ends_the_wait_of_a_drain(self):
        desk, lap = self.two()
        run = desk.start_held("run", self.tiny, "--cluster", "--split", "lap=0:out", *PROMPT, "-n", 1500,
                              "--ignore-eos")
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        self.assertTrue(read_piece(run))  # it stays on lap until all is read
        drain = desk.start("cluster", "drain", "lap")
        self.addCleanup(drain.kill)
        wait_for(lambda: self.await_answer(desk, "lap")["drained"], "the drain")
        wait_for(lambda: catches(drain.pid, signal.SIGINT), "the wait of the drain")
        drain.send_signal(signal.SIGINT)
        said = drain.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertIn("gets no new work, but a front end", said)
        self.assertEqual(drain.returncode, 130)

    def test_a_session_moves(self):
        desk, lap = self.two()
        asked = ("-p", "and then", "--raw", "--temp", 0, "-n", 20, "--ignore-eos", "-q")
        words = self.folder / "words-of-a-session"
        words.write_text("the rain in spain falls mainly in the plain " * 12)
        desk.aster("session", "save", "rules", self.tiny, "--prompt-file", words)
        expected = desk.aster("run", self.tiny, "--session", "rules", *asked)
        desk.aster("session", "move", "rules", "lap", "--keep", "--as", "laws")
        desk.aster("session", "move", "rules", "lap")
        self.assertIn("no such session", desk.aster("session", "show", "rules", check=INPUT))
        for name in ("rules", "laws"):
            self.assertEqual(lap.aster("run", self.tiny, "--session", name, *asked), expected)
        # And back, where the name is taken; nothing is lost.
        desk.aster("session", "save", "rules", self.tiny, "--prompt-file", words, "--raw")
        self.assertIn("--as", lap.aster("session", "move", "rules", "desk", check=INPUT))
        lap.aster("session", "show", "rules")
        lap.aster("session", "move", "rules", "desk", "--as", "old rules")
        self.assertEqual(desk.aster("run", self.tiny, "--session", "old rules", *asked), expected)
        for wrong, why in ((("laws", "attic"), "there are: "), (("laws", "lap"), "this machine"),
                           (("../laws", "desk"), "name is needed"), (("laws", "desk", "--as", "../x"), "slash"),
                           (("none", "desk"), "no such session")):
            self.assertIn(why, lap.aster("session", "move", *wrong, check=INPUT), wrong)
        # The other node has failed: the session stays here.
        desk.stop_node(signal.SIGKILL)
        run = lap.start("session", "move", "laws", "desk")
        _, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertNotEqual(run.returncode, 0, complaint)
        lap.aster("session", "show", "laws")
        self.assertEqual([path.name for path in (lap.folder / "data").rglob(".outgoing-*")], [])

    def test_a_session_in_a_folder_that_both_see_is_never_lost(self):
        desk, lap = self.two()
        lap.stop_node()
        lap.environment["XDG_DATA_HOME"] = desk.environment["XDG_DATA_HOME"]  # like a shared home
        lap.start_node()
        self.await_answer(desk, "lap")
        words = self.folder / "words-of-a-shared-session"
        words.write_text("the rain in spain falls mainly in the plain " * 30)
        desk.aster("session", "save", "rules", self.tiny, "--prompt-file", words)
        asked = (self.tiny, "-p", "and then", "--raw", "--temp", 0, "-n", 20, "--ignore-eos", "-q")
        expected = desk.aster("run", "--session", "rules", *asked)
        self.assertIn("already", desk.aster("session", "move", "rules", "lap", check=INPUT))
        # With another name the session moves; it has come there with that name before, and is the only copy.
        desk.aster("session", "move", "rules", "lap", "--as", "laws")
        self.assertIn("no such session", desk.aster("session", "show", "rules", check=INPUT))
        for _ in range(2):
            self.assertIn("already", desk.aster("session", "move", "laws", "lap", check=INPUT))
            self.assertEqual(desk.aster("run", "--session", "laws", *asked), expected)
            lap.stop_node()
            lap.start_node()  # it does not know what it has received
            self.await_answer(desk, "lap")
        desk.aster("session", "move", "laws", "lap", "--as", "rules")
        desk.aster("session", "move", "rules", "lap", "--as", "laws")
        self.assertEqual(lap.aster("run", "--session", "laws", *asked), expected)
        self.assertEqual([each["name"] for each in json.loads(desk.aster("session", "list", "--json"))], ["laws"])

    def test_a_conversation_outlives_its_only_node(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny)
        options = ("-n", 12, "--temp", 0, "-q")
        alone = Conversation(self.tiny, self.folder, *options)
        self.addCleanup(alone.stop)
        chat = Conversation(self.tiny, self.folder, *options, "--cluster", environment=desk.environment)
        self.addCleanup(chat.stop)
        for each in (alone, chat):
            each.until(READY)
        self.assertEqual(chat.ask("hello"), alone.ask("hello"))
        desk.stop_node(signal.SIGKILL)
        self.assertIn("layers 0 to", chat.ask("and then?"))
        # Nothing is lost: once the node is back, the same question has the same answer.
        desk.start_node(self.tiny, listen=desk.address)
        answer = alone.ask("and then?")
        until = time.monotonic() + DEADLINE_S
        while (said := chat.ask("and then?")) != answer:
            self.assertIn("error", said)
            self.assertLess(time.monotonic(), until, said)
            time.sleep(0.5)

    def test_a_node_that_lost_its_connection_is_as_good_as_ever(self):
        valve = Valve()
        self.addCleanup(valve.close)
        place = port_to_keep(HOSTS)
        for port in (place, place + 1):
            valve.open(port)
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny, "--advertise", "127.0.0.2", listen=f"127.0.0.1:{place}")
        # A node counts as restarted for this long.
        wait_for(lambda: self.await_answer(desk, "desk")["uptime_ms"] > 20_000,
                 "a node that is up for a while")
        options = (self.tiny, *PROMPT, "-n", 1500, "--ignore-eos")
        run = desk.start_held("run", *options, "--cluster")
        begun = read_piece(run)
        valve.cut()
        rest, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertEqual((run.returncode, begun + rest), (0, desk.aster("run", *options)), complaint.decode())
        # Its messages after it resumes do not count as activity while it was stalled.
        options = ("-n", 12, "--temp", 0, "-q")
        alone = Conversation(self.tiny, self.folder, *options)
        self.addCleanup(alone.stop)
        chat = Conversation(self.tiny, self.folder, *options, "--cluster", environment=desk.environment)
        self.addCleanup(chat.stop)
        for each in (alone, chat):
            each.until(READY)
        self.assertEqual(chat.ask("hello"), alone.ask("hello"))
        desk.node.send_signal(signal.SIGSTOP)
        self.assertIn("layers 0 to", chat.ask("and then?"))
        desk.node.send_signal(signal.SIGCONT)
        self.await_answer(desk, "desk")
        self.assertEqual(chat.ask("and then?"), alone.ask("and then?"))

    def test_a_request_waits_while_no_node_is_heard(self):
        """The link of the asking machine fails for a while, as if its cable was pulled out and put back."""
        desk, lap = self.two()
        options = ("-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-n", 1500, "--ignore-eos")
        run = desk.start_held("run", self.tiny, *options, "-q", "--log-level", "info", "--cluster", "--split",
                              "desk=0:0,lap=1:out")
        begun = read_piece(run)
        nodes = (desk.node, lap.node)
        for node in nodes:
            node.send_signal(signal.SIGSTOP)
        let_go(run)
        said = b""
        while b"another route takes over" not in said:
            line = run.stderr.readline()
            self.assertTrue(line, said.decode())
            said += line
        for node in nodes:
            node.send_signal(signal.SIGCONT)
        rest, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertEqual((run.returncode, begun + rest), (0, desk.aster("run", self.tiny, *options)),
                         (said + complaint).decode())

    def test_layers_that_a_node_has_are_shared(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny, "--memory", "50MiB")
        error = desk.aster("run", self.tiny, *PROMPT, "--cluster", check=SYSTEM)
        self.assertIn("1.00 GiB are for the KV cache", error)
        self.assertIn("--kv-memory 32MiB would do", error)
        share = ("--cluster", "--kv-memory", "40MiB")  # too large for two
        chat = Conversation(self.tiny, self.folder, "-n", 4, *share, environment=desk.environment)
        self.addCleanup(chat.stop)
        chat.until(READY)
        self.assertNotIn("error", chat.ask("hello"))
        self.assertEqual(desk.aster("run", self.tiny, *PROMPT, "-n", 9, *share),
                         desk.aster("run", self.tiny, *PROMPT, "-n", 9))
        less = ("--cluster", "--kv-memory", "39MiB", "--split", "desk")
        error = desk.aster("run", self.tiny, *PROMPT, *less, check=SYSTEM)
        self.assertIn("with a KV cache of 40.0 MiB: ask for the same size with --kv-memory", error)

    def test_slices_that_nobody_uses_make_room(self):
        desk, lap = self.two()
        lap.stop_node()
        # The KV cache does not fit twice.
        lap.start_node("--memory", "30MiB")
        self.await_answer(desk, "lap")
        options = (self.tiny, *PROMPT, "-n", 4, "--kv-memory", "20MiB")
        alone = desk.aster("run", *options)
        for first in (2, 3, 1):
            split = f"desk=0:{first - 1},lap={first}:out"
            self.assertEqual(desk.aster("run", *options, "--cluster", "--split", split), alone, split)
        much = ("--cluster", "--kv-memory", "40MiB", "--split", "lap")
        error = desk.aster("run", self.tiny, *PROMPT, *much, check=SYSTEM)
        self.assertIn("do not fit into 30.0 MiB of memory", error)
        self.assertNotIn("fetching", error)

    def test_failed_nodes_are_named_where_the_rest_is_too_small(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        model = self.folder / "wide.gguf"
        desk.aster("synth", model, "--layers", 4, "--embedding", 512, "--ff", 2048, "--type", "Q8_0")
        small = (model, "--memory", f"{8 + model.stat().st_size * 3 // 4 // 2**20}MiB")
        desk.start_node(*small)
        lap = self.invited(desk, "lap")
        lap.start_node("--join", desk.address, *small)
        self.await_members(desk, 2)
        run = desk.start_held("run", model, *PROMPT, "-n", 1500, "--ignore-eos", "--kv-memory", "8MiB", "--cluster",
                              "--split", "desk=0:1,lap=2:out")
        read_piece(run)
        lap.stop_node(signal.SIGKILL)
        complaint = run.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertEqual(run.returncode, SYSTEM, complaint)
        self.assertIn("layers 2 to 3 and the head are missing: node lap (", complaint)
        self.assertIn("the other nodes cannot take over: the model takes", complaint)

    def test_nodes_fetch_from_the_machine_that_asks(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node()
        lap = self.invited(desk, "lap")
        lap.start_node("--join", desk.address)
        self.await_members(desk, 2)
        alone = desk.aster("run", self.tiny, *PROMPT, "-n", 20)
        for split in ("lap=0:1,desk=2:out", "auto"):
            self.assertEqual(desk.aster("run", self.tiny, *PROMPT, "-n", 20, "--cluster", "--split", split), alone)
        self.assertTrue(any(lap.folder.rglob("weights/*")))

    def test_the_only_holder_dies_and_the_machine_that_asks_has_the_file(self):
        desk, lap = self.two()
        shed = self.invited(desk, "shed")  # without a node
        options = (self.tiny, *PROMPT, "-n", 1500, "--ignore-eos")
        alone = shed.aster("run", *options)
        run = shed.start_held("run", *options, "--cluster", "--split", "desk=0:out")
        begun = read_piece(run)
        self.assertEqual([*lap.folder.rglob("weights/*")], [])
        desk.stop_node(signal.SIGKILL)
        rest, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertEqual((run.returncode, begun + rest), (0, alone), complaint.decode())
        self.assertTrue(any(lap.folder.rglob("weights/*")))
        # No machine has the file.
        self.assertIn("is no file here", shed.aster("run", self.tiny.stem, *PROMPT, "--cluster", check=INPUT))

    def test_wrong_options_of_a_node(self):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        self.assertIn("--via HOST:PORT", desk.aster("run", self.tiny, *PROMPT, "--cluster", check=INPUT))
        node = ("node", "--listen", "127.0.0.1:0")
        for wrong, why in ((("--join", ":0"), "not the name or number of a host"), (("--join", "desk:0"), "port 0"),
                           (("--memory", "0"), "computes nothing")):
            self.assertIn(why, desk.aster(*node, *wrong, check=INPUT))
        desk.start_node("--join", "127.0.0.1:1")
        self.await_log(desk, "no node of the cluster answers there")
        self.assertIn("runs already", desk.aster(*node, check=INPUT))
        # The node has computed no request yet.
        lap = self.invited(desk, "lap")
        lap.start_node("--join", desk.address)
        self.await_members(desk, 2)

        def shows_the_link():
            # On a busy machine, a node may not answer in time.
            status = desk.aster("cluster", "status", "--once").decode()
            return "desk → lap" in status and "down" not in status

        wait_for(shows_the_link, "the link of both nodes in the table")

    def test_several_models_on_one_node(self):
        desk, lap = self.two()
        other = self.folder / "other.gguf"
        desk.aster("synth", other, "--arch", "qwen3", "--layers", 3, "--type", "Q8_0", "--seed", 9)
        lap.stop_node()
        lap.start_node("--join", desk.address, "--model", self.tiny, "--model", other)
        self.await_members(desk, 2)
        runs = []
        for model, count in ((self.tiny, 4), (other, 3)):
            options = (model, *PROMPT, "-n", 300, "--ignore-eos")
            split = f"lap=0:{count - 2},lap={count - 1}:out"
            runs.append((desk.aster("run", *options), desk.start("run", *options, "--cluster", "--split", split)))
        for alone, run in runs:
            text, complaint = run.communicate(timeout=DEADLINE_S)
            self.assertEqual((run.returncode, text), (0, alone), complaint.decode())

    def discovering(self, *names):
        """Machines whose nodes find each other, and no others."""
        port = discovery_port()
        machines = [self.machine(name) for name in names]
        for machine in machines:
            machine.environment["ASTER_DISCOVERY"] = str(port)
        return machines

    def forget_addresses(self, *machines):
        """Removes known addresses, as if all machines had got others while they were off."""
        for machine in machines:
            for name in ("peers", "seeds"):
                (machine.folder / "config/cluster" / name).unlink(missing_ok=True)

    def test_machines_find_each_other_without_addresses(self):
        desk, lap, shed = self.discovering("desk", "lap", "shed")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny)
        for machine in (lap, shed):
            code = json.loads(desk.aster("cluster", "invite", "--json"))["code"]
            machine.aster("cluster", "join", code, "--name", machine.name)
        self.forget_addresses(lap, shed)
        # A command finds one that answers, too.
        alone = desk.aster("run", self.tiny, *PROMPT, "-n", 20)

        def finds_one():
            # A command seeks for two seconds, in which a busy node may not answer.
            status, text, complaint = lap.run("run", self.tiny, *PROMPT, "-n", 20, "--cluster")
            self.assertIn((status, text), ((OK, alone), (SYSTEM, b"")), complaint)
            return status == OK

        wait_for(finds_one, "a node that a command finds")
        for machine in (lap, shed):
            self.forget_addresses(machine)
            machine.start_node()
        for machine in (desk, lap, shed):
            self.await_members(machine, 3)
        # All of them are off, and no address is known any more.
        for machine in (desk, lap, shed):
            machine.stop_node()
        self.forget_addresses(desk, lap, shed)
        desk.start_node(self.tiny)
        lap.start_node()
        shed.start_node("--no-discovery")
        self.await_members(desk, 2)
        self.assertEqual(len(self.await_members(shed, 1)), 1)

    def test_a_node_that_comes_back_elsewhere_is_found_by_all(self):
        desk, lap, shed = self.discovering("desk", "lap", "shed")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(self.tiny)
        for machine in (self.invited(desk, "lap"), self.invited(desk, "shed")):
            machine.start_node()
        for machine in (desk, lap, shed):
            self.await_members(machine, 3)
        lap.stop_node(signal.SIGKILL)
        self.forget_addresses(lap)
        lap.start_node(listen="127.0.0.2:0")  # an address that no other node has
        self.assertEqual(lap.address.partition(":")[0], "127.0.0.2")
        for machine in (desk, shed):
            self.await_answer(machine, "lap")
        for machine in (desk, lap, shed):
            self.await_members(machine, 3)

    def test_a_goodbye_is_known_at_once(self):
        desk, lap = self.two()
        status, complaint = lap.stop_node()
        self.assertEqual(status, 0, complaint)
        self.await_members(desk, 1)
        error = desk.aster("run", self.tiny, *PROMPT, "--cluster", "--split", "desk=0:1,lap=2:out", check=SYSTEM)
        self.assertIn("node lap does not answer (left)", error)
        error = desk.aster("run", self.tiny, *PROMPT, "--cluster", "--split", "desk=0:1,attic=2:out", check=INPUT)
        self.assertIn('no node is called "attic"', error)

    def test_a_machine_that_is_revoked(self):
        desk, lap = self.two()
        desk.aster("cluster", "revoke", "lap")
        self.await_members(desk, 1)
        lap.aster("run", self.tiny, *PROMPT, "--cluster", "--via", desk.address, check=SYSTEM)
        self.await_log(lap, "this node was revoked")
        self.assertEqual(desk.aster("run", self.tiny, *PROMPT, "-n", 20, "--cluster"),
                         desk.aster("run", self.tiny, *PROMPT, "-n", 20))

    def test_strangers(self):
        desk, _ = self.two()
        stranger = self.machine("stranger")
        self.assertIn("aster cluster", stranger.aster("run", self.tiny, *PROMPT, "--cluster", check=INPUT))
        stranger.aster("cluster", "init", "--name", "elsewhere")
        error = stranger.aster("run", self.tiny, *PROMPT, "--cluster", "--via", desk.address, check=SYSTEM)
        self.assertIn(desk.address, error)
        self.await_members(desk, 2)

    def test_a_node_needs_a_cluster(self):
        error = self.machine("nobody").aster("node", check=INPUT)
        self.assertIn("aster cluster init", error)


if __name__ == "__main__":
    unittest.main()
