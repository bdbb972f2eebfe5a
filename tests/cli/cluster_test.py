#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""aster cluster: machines, each a folder of settings, join a cluster and leave it, with the program's own processes."""
import contextlib
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

from fixture import ASTER, INPUT, NO, OK, SYSTEM, USAGE, aster
from multicast import discovery_port

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from processes import DEADLINE_S, port_to_keep  # noqa: E402

CODE = re.compile(r"\b(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}\b")


class Machine:
    """A folder of settings stands for a machine."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"ASTER_CONFIG": str(folder)}

    def aster(self, *arguments, check=OK, stdin=""):
        run = aster("cluster", *arguments, check=check, environment=self.environment, stdin=stdin.encode())
        return run.stdout.decode() if check == OK else run.stderr.decode()

    def show(self):
        return json.loads(self.aster("show", "--json"))

    @contextlib.contextmanager
    def inviting(self, *options):
        """A process that waits for a machine to join; yields it, the code and the address."""
        address = f"127.0.0.1:{port_to_keep()}"
        with subprocess.Popen([ASTER, "cluster", "invite", "--wait", "--listen", address, "--json", *map(str, options)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **self.environment}) as process:
            try:
                text = b""
                while not text.endswith(b"}\n"):
                    line = process.stdout.readline()
                    if not line:
                        raise AssertionError(process.stderr.read().decode())
                    text += line
                invitation = json.loads(text)
                yield process, invitation["code"], invitation["addresses"][0]
            finally:
                process.kill()

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())


def end_of(process):
    process.wait(timeout=DEADLINE_S)
    return process.returncode, process.stdout.read().decode(), process.stderr.read().decode()


class Cluster(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)

    def machine(self, name):
        return Machine(self.root / name)

    def founder(self):
        machine = self.machine("desk")
        machine.aster("init", "--name", "attic", "--node", "desk")
        return machine

    def joined(self, desk, name, folder=None):
        machine = self.machine(folder or name)
        with desk.inviting() as (process, code, address):
            machine.aster("join", code, address, "--name", name)
            end_of(process)
        return machine

    def test_a_cluster_of_three(self):
        desk = self.founder()
        with desk.inviting() as (process, code, address):
            lap = self.machine("lap")
            text = lap.aster("join", code.lower().replace("-", ""), address, "--name", "lap")
            self.assertIn("the cluster attic", text)
            status, text, note = end_of(process)
            self.assertEqual((status, text), (OK, ""))
            self.assertIn("lap has joined the cluster attic", note)
        shed = self.joined(desk, "shed")
        at_desk, at_lap, at_shed = desk.show(), lap.show(), shed.show()
        self.assertEqual({view["cluster"]["authority_sha256"] for view in (at_desk, at_lap, at_shed)},
                         {at_desk["cluster"]["authority_sha256"]})
        self.assertTrue(at_desk["cluster"]["authority_here"])
        self.assertFalse(at_lap["cluster"]["authority_here"])
        self.assertEqual({other["name"]: other["id"] for other in at_desk["others"]},
                         {"lap": at_lap["node"]["id"], "shed": at_shed["node"]["id"]})
        self.assertEqual(at_lap["seeds"], [address])
        self.assertEqual(at_desk["open_invitations"], 0)
        text = desk.aster("show")
        for part in ("attic", "desk", "lap", "shed", at_lap["node"]["id"]):
            self.assertIn(part, text)
        self.assertEqual(lap.files(), ["cluster.lock", "cluster/ca.pem", "cluster/node.key", "cluster/node.pem",
                                       "cluster/seeds"])
        for machine in (desk, lap, shed):
            for path in machine.folder.rglob("*"):
                self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)

    def test_a_machine_may_have_the_name_of_its_cluster(self):
        desk = self.machine("desk")
        desk.aster("init", "--name", "attic", "--node", "attic")
        self.assertEqual(desk.show()["node"]["name"], "attic")
        other = self.machine("other")
        other.aster("init", "--name", "cellar", "--node", "desk")
        self.assertEqual(self.joined(other, "cellar").show()["node"]["name"], "cellar")

    def test_what_is_printed_is_what_to_type(self):
        desk = self.founder()
        text = desk.aster("invite")
        command = next(line.split() for line in text.splitlines() if line.startswith("    aster cluster join"))
        self.assertRegex(command[3], CODE)
        self.assertIn("Within 10 minutes", text)
        self.assertIn("No node runs on this machine to answer", text)
        self.assertEqual(desk.show()["open_invitations"], 1)
        invitation = json.loads(desk.aster("invite", "--minutes", 1, "--json"))
        self.assertEqual(invitation["command"].split()[3], invitation["code"])
        self.assertFalse(invitation["answered"])

    def test_codes_that_are_wrong_used_or_expired(self):
        desk = self.founder()
        lap = self.machine("lap")
        self.assertIn("20", lap.aster("join", "ABC", "127.0.0.1", check=INPUT))
        with desk.inviting() as (process, code, address):
            wrong = code[:-1] + ("2" if code[-1] != "2" else "3")
            self.assertIn("mistyped", lap.aster("join", wrong, address, check=INPUT))
            other = json.loads(self.other_cluster().aster("invite", "--json"))["code"]
            self.assertIn("no such invitation", lap.aster("join", other, address, check=INPUT))
            self.assertEqual(lap.files(), [])
            lap.aster("join", code, address, "--name", "lap")
            end_of(process)
        with desk.inviting() as (process, _, address):
            error = self.machine("shed").aster("join", code, address, check=INPUT)
            self.assertIn("it was used", error)
            process.send_signal(signal.SIGINT)
            self.assertEqual(end_of(process)[0], 130)
        self.assertEqual(desk.show()["open_invitations"], 0)
        # An ended invitation, by the file.
        invitation = json.loads(desk.aster("invite", "--json"))
        path = desk.folder / "cluster/invitations"
        path.write_text(path.read_text().replace(str(invitation["end_s"]), "1700000000"))
        with desk.inviting() as (_, _, address):
            error = self.machine("shed").aster("join", invitation["code"], address, check=INPUT)
            self.assertIn("has expired", error)

    def other_cluster(self):
        other = self.machine("other")
        other.aster("init", "--name", "elsewhere", "--node", "other")
        return other

    def test_an_invitation_expires(self):
        desk = self.founder()
        with desk.inviting("--minutes", 1) as (process, code, _):
            path = desk.folder / "cluster/invitations"
            path.write_text(re.sub(r" \d{10} ", " 1700000000 ", path.read_text()))
            status, _, error = end_of(process)
        self.assertEqual(status, NO)
        self.assertIn("void", error)

    def test_joining_twice_and_names_that_are_taken(self):
        desk = self.founder()
        lap = self.joined(desk, "lap")
        before = lap.show()
        with desk.inviting() as (process, code, address):
            self.assertIn("belongs to a cluster already", lap.aster("join", code, address, check=INPUT))
            error = self.machine("twin").aster("join", code, address, "--name", "lap", check=INPUT)
            self.assertIn("a node called lap is in the cluster already", error)
            self.assertIn("--name", error)
            self.assertEqual(lap.show(), before)
            # The code is still valid.
            lap.aster("join", code, address, "--name", "lap2", "--force")
            self.assertEqual(end_of(process)[0], OK)
        self.assertNotEqual(lap.show()["node"]["id"], before["node"]["id"])
        self.assertTrue(any(".old-" in name for name in lap.files()))

    def test_revoking(self):
        desk = self.founder()
        lap = self.joined(desk, "lap")
        shed = self.joined(desk, "shed")
        ident = lap.show()["node"]["id"]
        self.assertIn("where the cluster was made", lap.aster("revoke", "shed", check=INPUT))
        error = desk.aster("revoke", "nobody", check=INPUT)
        self.assertIn(f"lap ({ident})", error)
        self.assertIn("aster cluster leave", desk.aster("revoke", "desk", check=INPUT))
        self.assertIn(f"lap ({ident[:8]})", desk.aster("revoke", "lap"))
        view = desk.show()
        self.assertEqual([revoked["id"] for revoked in view["revoked"]], [ident])
        self.assertEqual([other["name"] for other in view["others"]], ["shed"])
        self.assertIn("revoked before", desk.aster("revoke", ident, check=INPUT))
        # A node is revoked by the beginning of its id, and an id that no node has seen can be revoked.
        desk.aster("revoke", shed.show()["node"]["id"][:8])
        desk.aster("revoke", "ab" * 16)
        self.assertEqual(len(desk.show()["revoked"]), 3)
        # The name is free again, and joining machines learn of that.
        again = self.joined(desk, "lap", folder="lap-anew")
        self.assertEqual(len(again.show()["revoked"]), 3)
        self.assertIn(ident, again.aster("show"))

    def test_leaving(self):
        desk = self.founder()
        lap = self.joined(desk, "lap")
        self.assertIn("aster cluster revoke lap", lap.aster("leave"))
        self.assertEqual(lap.files(), ["cluster.lock"])
        self.assertIn("aster cluster init", lap.aster("leave", check=INPUT))
        self.assertIn("aster cluster init", lap.aster("show", check=INPUT))
        self.assertIn("--force", desk.aster("leave", check=INPUT))
        desk.aster("leave", "--force")
        self.assertEqual(desk.files(), ["cluster.lock"])

    def test_what_broke_9_a_second_holder_of_the_key(self):
        desk = self.founder()
        lap, shed = self.joined(desk, "lap"), self.joined(desk, "shed")
        kept = self.root / "attic.key"
        exported = json.loads(desk.aster("authority", "export", kept, "--json"))
        self.assertEqual(exported["command"], f"aster cluster authority import {kept}")
        self.assertEqual(stat.S_IMODE(kept.stat().st_mode), 0o600)
        key = (desk.folder / "cluster/ca.key").read_text()
        self.assertNotIn(key.splitlines()[1], kept.read_text())
        self.assertIn("there is such a file", desk.aster("authority", "export", kept, check=INPUT))
        self.assertIn("authority import", lap.aster("authority", "export", self.root / "other", check=INPUT))
        # The command refuses another code, a damaged one, and the file of another cluster.
        other = json.loads(desk.aster("authority", "export", self.root / "second.key", "--json"))["code"]
        self.assertIn("not the one of this file", lap.aster("authority", "import", kept, stdin=other, check=INPUT))
        self.assertIn("letters and digits", lap.aster("authority", "import", kept, stdin="ABC", check=INPUT))
        elsewhere = self.other_cluster()
        error = elsewhere.aster("authority", "import", kept, stdin=exported["code"], check=INPUT)
        self.assertIn("this machine has the key already", error)
        elsewhere.aster("leave", "--force")
        error = elsewhere.aster("authority", "import", kept, stdin=exported["code"], check=INPUT)
        self.assertIn("aster cluster init", error)
        self.assertFalse(lap.show()["cluster"]["authority_here"])

        text = lap.aster("authority", "import", kept, stdin=exported["code"].lower() + "\n")
        self.assertIn("lap, now invites and revokes for the cluster attic", text)
        self.assertTrue(lap.show()["cluster"]["authority_here"])
        # The machine that made the cluster is lost: the other one replaces it.
        attic = self.joined(lap, "attic")
        self.assertEqual(attic.show()["cluster"], {**shed.show()["cluster"]})
        lap.aster("revoke", desk.show()["node"]["id"])
        self.assertEqual(len(self.joined(lap, "desk", folder="desk-anew").show()["revoked"]), 1)

    def test_initialising_twice_and_bad_names(self):
        desk = self.founder()
        before = desk.show()
        self.assertIn("belongs to a cluster already", desk.aster("init", check=INPUT))
        self.assertEqual(desk.show(), before)
        desk.aster("init", "--name", "cellar", "--force")
        self.assertEqual(desk.show()["cluster"]["name"], "cellar")
        fresh = self.machine("fresh")
        for option in ("--name", "--node"):
            self.assertIn(option, fresh.aster("init", option, "two words", check=INPUT))
        fresh.aster(check=USAGE)
        fresh.aster("frobnicate", check=USAGE)
        fresh.aster("join", check=USAGE)
        fresh.aster("invite", check=INPUT)
        self.assertEqual(fresh.files(), [])
        # The host's own name works, too.
        fresh.aster("init")
        self.assertRegex(fresh.show()["node"]["name"], r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")

    def test_a_machine_joins_without_an_address(self):
        port = discovery_port()
        desk, lap, other = self.founder(), self.machine("lap"), self.other_cluster()
        for machine in (desk, lap, other):
            machine.environment["ASTER_DISCOVERY"] = str(port)
        with desk.inviting() as (process, code, address), other.inviting() as (_, of_other, _):
            text = lap.aster("join", code, "--name", "lap")
            self.assertIn("the cluster attic", text)
            self.assertEqual(end_of(process)[0], OK)
            self.assertEqual(lap.show()["seeds"], [address])
            # The invitation was used, so no machine has it; the code of another cluster is for another machine.
            self.assertIn("aster cluster join CODE HOST", self.machine_at(port).aster("join", code, check=SYSTEM))
            self.assertIn("elsewhere", self.machine_at(port).aster("join", of_other, "--name", "shed"))

    def machine_at(self, port):
        machine = self.machine("at-port")
        machine.environment["ASTER_DISCOVERY"] = str(port)
        return machine

    def test_where_discovery_is_off(self):
        lap = self.machine("lap")
        code = json.loads(self.founder().aster("invite", "--json"))["code"]
        self.assertIn("address of the inviting machine", lap.aster("join", code, check=INPUT))
        for wrong in ("on", "70000"):
            lap.environment["ASTER_DISCOVERY"] = wrong
            self.assertIn("ASTER_DISCOVERY", lap.aster("join", code, check=INPUT))

    def test_no_node_there_and_another_cluster_there(self):
        lap = self.machine("lap")
        code = json.loads(self.founder().aster("invite", "--json"))["code"]
        error = lap.aster("join", code, f"127.0.0.1:{port_to_keep()}", check=SYSTEM)
        self.assertIn("aster cluster invite --wait", error)
        self.assertIn("nonsense", lap.aster("join", code, "nonsense:x", check=INPUT))
        # A machine of another cluster cannot pass for the right one.
        with self.other_cluster().inviting() as (_, _, address):
            self.assertIn("no such invitation", lap.aster("join", code, address, check=INPUT))
        self.assertEqual(lap.files(), [])


if __name__ == "__main__":
    unittest.main()
