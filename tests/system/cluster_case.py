# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Machines of a cluster, each a folder of settings and processes on this one."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fixture import ASTER, Case  # noqa: E402
from processes import DEADLINE_S, port_to_keep, start_held, wait_for  # noqa: E402

PROMPT = ("-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-q")
# A node that the command names for layers has not answered within the seconds that commands wait.
NOT_IN_TIME = re.compile(rb"^aster: error: --\w+: node \w+ does not answer(: .* in time| \(dead\))", re.MULTILINE)


def nodes_of(hops):
    """The names of all nodes: those of a group are joined, with shares that may differ ("2*desk+shed/experts")."""
    return {name.split("*")[-1] for hop in hops for name in hop["node"].split("/")[0].split("+")}


class Machine:
    """Stands for a computer: its own settings and caches, and perhaps a running node."""

    def __init__(self, folder, name):
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.node = None
        self.address = None
        self.enter = ()  # goes before its commands
        self.environment = os.environ | {"ASTER_CONFIG": str(self.folder / "config"),
                                         "XDG_CACHE_HOME": str(self.folder / "cache"),
                                         "XDG_DATA_HOME": str(self.folder / "data")}

    def start(self, *command):
        return subprocess.Popen([str(part) for part in (*self.enter, ASTER, *command)], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)

    def start_held(self, *command):
        """A command that cannot end before the test reads what it writes."""
        return start_held((*self.enter, ASTER, *command), env=self.environment)

    def run(self, *command):
        """Status, output and errors of a command. On a busy machine, a node may answer later than the command waits:
        then it is run again."""
        until = time.monotonic() + DEADLINE_S
        while True:
            run = self.start(*command)
            try:
                out, err = run.communicate(timeout=DEADLINE_S)
            finally:
                run.kill()
            if not NOT_IN_TIME.search(err) or time.monotonic() > until:
                return run.returncode, out, err.decode()

    def aster(self, *command, check=0):
        status, out, err = self.run(*command)
        assert status == check, f"{command}: status {status}\n{out!r}\n{err}"
        return out if check == 0 else err

    def start_node(self, *options, listen=None):
        """Returns when the node prints its address."""
        listen = listen or f"127.0.0.1:{port_to_keep()}"
        self.node = self.start("node", "--listen", listen, "--threads", 1, *options)
        words = self.node.stdout.readline().decode().split()
        if not words:
            raise AssertionError(f"{self.name}: {self.node.communicate(timeout=DEADLINE_S)[1].decode()}")
        self.address = words[-1]

    def stop_node(self, how=signal.SIGTERM):
        if self.node is None:
            return None
        self.node.send_signal(how)
        self.node.send_signal(signal.SIGCONT)
        try:
            _, complaint = self.node.communicate(timeout=DEADLINE_S)
        finally:
            self.node.kill()
        status, self.node = self.node.returncode, None
        return status, complaint.decode()


class ClusterCase(Case):
    """desk has the model's file and the authority; others have none, unless the test gives them one."""

    def setUp(self):
        super().setUp()
        self.machines = {}
        self.addCleanup(lambda: [machine.stop_node(signal.SIGKILL) for machine in self.machines.values()])

    def machine(self, name):
        if name not in self.machines:
            self.machines[name] = Machine(self.folder / self.id().rpartition(".")[2], name)
        return self.machines[name]

    def invited(self, desk, name):
        """Another machine that has joined the cluster of desk."""
        machine = self.machine(name)
        code = json.loads(desk.aster("cluster", "invite", "--json"))["code"]
        machine.aster("cluster", "join", code, desk.address, "--name", name)
        return machine

    def two(self, model=None, *of_lap):
        """Both running, with these files."""
        desk = self.machine("desk")
        desk.aster("cluster", "init", "--name", "home", "--node", "desk")
        desk.start_node(model or self.tiny)
        lap = self.invited(desk, "lap")
        lap.start_node(*of_lap, "--join", desk.address)
        self.await_members(desk, 2)
        return desk, lap

    def await_members(self, machine, count):
        until = time.monotonic() + DEADLINE_S
        while True:
            nodes = json.loads(machine.aster("cluster", "status", "--json"))["nodes"]
            if sum(node["state"] == "alive" for node in nodes) == count:
                return nodes
            self.assertLess(time.monotonic(), until, nodes)
            time.sleep(0.2)

    def await_answer(self, machine, name):
        """What the node says of itself. On a busy machine, an answer may take longer than `cluster status` waits."""
        until = time.monotonic() + DEADLINE_S
        while True:
            nodes = json.loads(machine.aster("cluster", "status", "--json"))["nodes"]
            for node in nodes:
                if node["name"] == name and node["answered"]:
                    return node
            self.assertLess(time.monotonic(), until, nodes)
            time.sleep(0.2)

    def await_log(self, machine, text):
        """Waits until its node writes the text to standard error."""
        os.set_blocking(machine.node.stderr.fileno(), False)
        said = b""

        def has_logged():
            nonlocal said
            said += machine.node.stderr.read() or b""
            return text.encode() in said

        wait_for(has_logged, text)
