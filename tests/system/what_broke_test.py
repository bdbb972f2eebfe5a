#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Failures that were found when unknown machines, faults and small machines were tried on a cluster, if they need whole
processes to show; docs/cluster.md lists the tests of the others, with the same numbers."""
import contextlib
import errno
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import ssl
import struct
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cluster_case import PROMPT, ClusterCase, nodes_of  # noqa: E402
from fixture import INPUT, OK, SYSTEM  # noqa: E402
from processes import DEADLINE_S, peak_of, port_to_keep, wait_for  # noqa: E402

DESCRIPTORS = 1024


def http2_frame(kind, stream, body):
    return struct.pack(">I", len(body))[1:] + bytes([kind, 0]) + struct.pack(">I", stream) + body

def place_of(machine):
    host, _, port = machine.address.rpartition(":")
    return host, int(port)


class WhatBroke(ClusterCase):
    def founder(self, *of_node, **keywords):
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(*of_node, **keywords)
        return desk

    def test_what_broke_1_strangers_take_the_control_plane_away(self):
        own, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (own, most))
        # The limit with which shells start programs.
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, most))
        desk = self.founder(self.tiny)
        self.assertEqual(resource.prlimit(desk.node.pid, resource.RLIMIT_NOFILE)[0], min(16384, most))
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # A hard limit, as if the system allowed no more.
        resource.prlimit(desk.node.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        with contextlib.ExitStack() as stack:
            for _ in range(DESCRIPTORS + 76):
                stranger = stack.enter_context(socket.socket())
                stranger.setblocking(False)
                self.assertIn(stranger.connect_ex(place_of(desk)), (0, errno.EINPROGRESS))
            # A joining machine is unauthenticated itself. On a busy machine, others may be accepted after it, and the
            # node closes the oldest unauthenticated connections first: then it tries again.
            lap = self.machine("lap")
            code = json.loads(desk.aster("cluster", "invite", "--json"))["code"]

            def has_joined():
                run = lap.start("cluster", "join", code, desk.address, "--name", "lap")
                told = run.communicate(timeout=DEADLINE_S)[1].decode()
                self.assertIn(run.returncode, (OK, SYSTEM), told)
                return run.returncode == OK

            wait_for(has_joined, "a machine that joins")
            self.await_answer(lap, "desk")
        self.assertEqual(desk.stop_node()[0], 0)

    def test_what_broke_1_tls_1_2_is_accepted(self):
        desk = self.founder()

        def version_of(newest, place):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.set_alpn_protocols(["h2"])
            context.maximum_version = newest
            with socket.create_connection(place) as plain, context.wrap_socket(plain) as protected:
                return protected.version()

        host, port = place_of(desk)
        for place in ((host, port), (host, port + 1)):
            self.assertEqual(version_of(ssl.TLSVersion.TLSv1_3, place), "TLSv1.3")
            with self.assertRaises(OSError) as refused:
                version_of(ssl.TLSVersion.TLSv1_2, place)
            # The node must refuse it, not this end.
            if not isinstance(refused.exception, ConnectionResetError):
                self.assertRegex(refused.exception.reason, "EOF|ALERT")

    def test_what_broke_1_a_stranger_sends_without_end(self):
        desk = self.founder()
        # It has measured its machine, with more memory than the caches hold.
        most_bytes = max(peak_of(desk.node.pid), 256 << 20)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        header = b"\x40\x01x\x64" + b"y" * 100
        headers, more_headers, ping = 1, 9, 6
        for first, more in ((http2_frame(headers, 1, b""), http2_frame(more_headers, 1, header * 150)),
                            (b"", http2_frame(ping, 0, b"12345678") * 1000)):
            # How much is sent before the node looks depends on the load of this machine.
            until_s = time.monotonic() + DEADLINE_S
            with self.assertRaises(OSError) as ended, socket.create_connection(place_of(desk), DEADLINE_S) as plain:
                with context.wrap_socket(plain) as protected:
                    protected.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(4, 0, b"") + first)
                    while time.monotonic() < until_s:
                        protected.sendall(more)
            self.assertNotIsInstance(ended.exception, TimeoutError)
        self.await_answer(desk, "desk")
        self.assertLessEqual(peak_of(desk.node.pid), most_bytes)

    def test_what_broke_2_a_node_that_cannot_load_makes_automatic_plans_fail(self):
        model = self.folder / "wide.gguf"
        self.machine("desk").aster("synth", model, "--layers", 4, "--embedding", 512, "--ff", 2048, "--type", "Q8_0")
        # Only lap has memory for all of it, and no place to store fetched weights.
        small = ("--memory", f"{10 + model.stat().st_size * 3 // 4 // 2**20}MiB")
        desk = self.founder(model, *small)
        lap, shed = self.invited(desk, "lap"), self.invited(desk, "shed")
        (lap.folder / "cache").write_text("a file in place of the folder")
        shed.start_node("--join", desk.address, *small)
        plan = ("plan", model, "--cluster", "--prompt", 2, "--tokens", 20, "--kv-memory", "8MiB", "--json")

        options = (model, *PROMPT, "-n", 20, "--kv-memory", "8MiB")
        said = []

        def is_left_out():
            # Each start measures again: on a busy machine lap may seem slower than the two others together.
            lap.stop_node()
            lap.start_node("--join", desk.address)
            self.await_members(desk, 3)
            if "lap" not in json.loads(desk.aster(*plan))["options"]:
                return False
            run = desk.start("run", *options, "--cluster", "--json")
            said[:] = run.communicate(timeout=DEADLINE_S)
            self.assertEqual(run.returncode, 0, said[1].decode())
            return b"left out" in said[1]

        wait_for(is_left_out, "an answer that begins with a plan with lap")
        text, note = said
        report = json.loads(text)
        self.assertEqual(report["ids"], json.loads(desk.aster("run", *options, "--json"))["ids"])
        self.assertRegex(note.decode(), "node lap is left out: node lap .*no file here is the model")
        [left_out] = report["left_out"]
        self.assertEqual(left_out["name"], "lap")
        self.assertRegex(left_out["why"], "failed: node lap .*no file here is the model")
        # One behind the other, or as a group, whichever seemed faster.
        self.assertEqual(nodes_of(report["hops"]), {"desk", "shed"})
        # A bench reports it, too, and why reachable nodes are not used.
        desk.stop_node()
        desk.start_node(self.tiny, listen=desk.address)
        self.await_members(desk, 3)
        lap.stop_node(signal.SIGKILL)
        bench = ("bench", self.tiny, "--cluster", "--prompt", 8, "--gen", 2, "--reps", 1)
        report = {}

        def is_lap_left_out():
            # On a busy machine, another node may not answer in time.
            report.update(json.loads(desk.aster(*bench, "--json")))
            return [node["name"] for node in report["left_out"]] == ["lap"]

        wait_for(is_lap_left_out, "a bench without lap alone")
        self.assertIn("does not answer", report["left_out"][0]["why"])
        self.assertTrue(any(line.startswith("shed is left out: ") for line in report["reasons"]), report)
        text = desk.aster(*bench).decode()
        self.assertIn("lap is left out: it does not answer", text)
        self.assertIn("shed is left out: ", text)

    @contextlib.contextmanager
    def small_group(self, limit_bytes):
        """Processes that are started in this context are in a control group with this memory limit."""
        groups = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
        version1 = [path for _, controllers, path in groups if "memory" in controllers.split(",")]
        root = pathlib.Path("/sys/fs/cgroup/memory" if version1 else "/sys/fs/cgroup")
        own = root / (version1 or [groups[-1][2]])[0].lstrip("/")
        group = root / f"aster-test-{os.getpid()}"
        me = str(os.getpid())

        def remove():
            with contextlib.suppress(OSError):  # the node has ended, and is still being counted
                group.rmdir()
            return not group.exists()

        try:
            group.mkdir()
            self.addCleanup(wait_for, remove, "the end of a control group")
            (group / ("memory.limit_in_bytes" if version1 else "memory.max")).write_text(str(limit_bytes))
            (group / "cgroup.procs").write_text(me)
        except OSError as error:
            self.skipTest(f"no control group with a limit can be made here: {error}")
        try:
            yield
        finally:
            # In a container the path is the host's, whose last folder is visible as the root.
            ((own if own.exists() else root) / "cgroup.procs").write_text(me)

    def test_what_broke_12_a_node_in_a_small_control_group_measures_itself(self):
        limit_bytes = 48 << 20
        with self.small_group(limit_bytes):
            desk = self.founder(self.tiny)
        self.addCleanup(desk.stop_node, signal.SIGKILL)
        node = self.await_answer(desk, "desk")
        self.assertEqual(node["memory_total_bytes"], limit_bytes)
        self.assertLess(node["memory_bytes"], limit_bytes)
        self.assertGreater(node["memory_bytes_per_s"], 0)
        options = (self.tiny, *PROMPT, "-n", 20, "--kv-memory", "8MiB")
        self.assertEqual(desk.aster("run", *options, "--cluster"), desk.aster("run", *options))

    def test_what_broke_13_via_without_a_port(self):
        # A loopback address that no other test uses, whatever the ports are.
        host = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        desk = self.founder(self.tiny, listen=host)
        self.assertEqual(desk.address, f"{host}:7424")
        lap = self.machine("lap")
        code = json.loads(desk.aster("cluster", "invite", "--json"))["code"]
        lap.aster("cluster", "join", code, host, "--name", "lap")
        options = (self.tiny, *PROMPT, "-n", 20)
        self.assertEqual(lap.aster("run", *options, "--cluster", "--via", host), desk.aster("run", *options))

    def test_what_broke_13_ipv6_alone(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest(f"there is no IPv6 here: {error}")
        place = f"[::1]:{port_to_keep()}"
        desk = self.founder(self.tiny, listen=place)
        self.assertEqual(json.loads(desk.aster("cluster", "invite", "--json"))["addresses"], [place])
        lap = self.invited(desk, "lap")
        lap.start_node(listen="[::1]:0")
        self.await_members(desk, 2)
        options = (self.tiny, *PROMPT, "-n", 20)
        self.assertEqual(lap.aster("run", *options, "--cluster", "--split", "desk=0:1,lap=2:out"),
                         desk.aster("run", *options))

    def test_what_broke_13_a_copied_folder_runs_beside_the_original(self):
        desk = self.founder(self.tiny)
        twin = self.machine("twin")
        shutil.copytree(desk.folder / "config", twin.folder / "config")
        twin.start_node("--join", desk.address)
        for machine in (desk, twin):
            self.await_log(machine, "another process runs with this node's identity")

    def test_what_broke_13_names_of_splits_and_of_other_nodes(self):
        desk = self.machine("desk")
        self.assertIn("--split and --decode use it", desk.aster("cluster", "init", "--node", "out", check=INPUT))
        desk.aster("cluster", "init", "--name", "home", "--node", "a")
        desk.start_node(self.tiny)
        code = json.loads(desk.aster("cluster", "invite", "--json"))["code"]
        join = ("cluster", "join", code, desk.address, "--name")
        lap = self.machine("lap")
        self.assertIn("a node called a is in the cluster already", lap.aster(*join, "A", check=INPUT))
        self.assertIn("--split and --decode use it", lap.aster(*join, "out", check=INPUT))
        lap.aster(*join, "b")  # the code is still valid
        words = self.folder / "words"
        words.write_text("hello")
        save = ("session", "save", "to\u202eld", self.tiny, "--prompt-file", words, "--raw")
        self.assertIn("a session cannot have that name", desk.aster(*save, check=INPUT))

    def test_what_broke_13_keys_in_a_core_dump(self):
        own, most = resource.getrlimit(resource.RLIMIT_CORE)
        if most == 0:
            self.skipTest("no process here leaves a core dump")
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, (own, most))
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        desk = self.founder()
        self.assertEqual(resource.prlimit(desk.node.pid, resource.RLIMIT_CORE)[0], 0)


if __name__ == "__main__":
    unittest.main()
