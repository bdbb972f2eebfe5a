# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A cluster of two machines on this one: desk and lap, each with settings of its own and a core for its node. They are
connected by loopback, or by a simulated link (link.py)."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from link import ADDRESSES, Link

PATIENCE_S = 60  # for everything but computing


def prompt_ids(count, number=0):
    """Tokens that any vocabulary has; texts with different numbers have no common beginning."""
    return [(7 * i * i + (13 + number) * i + 5 + number) % 1000 for i in range(count)]


class Machine:
    """A folder of settings, and a node that is pinned to a core. `enter` goes before its commands."""

    def __init__(self, aster, folder, name, core, address="127.0.0.1", enter=()):
        self.aster, self.folder, self.name, self.core = aster, folder / name, name, core
        self.address, self.enter, self.node = address, enter, None
        self.environment = os.environ | {variable: str(self.folder / part) for variable, part in (
            ("ASTER_CONFIG", "config"), ("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data"))}

    def begin(self, *words):
        command = [*self.enter, self.aster, *map(str, words)]
        return subprocess.Popen(command, env=self.environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def end(self, run, patience_s=PATIENCE_S):
        """Its output."""
        out, err = run.communicate(timeout=patience_s)
        if run.returncode != 0:
            sys.exit(f"{self.name}: {' '.join(run.args)}\n{err}")
        return out

    def run(self, *words, patience_s=PATIENCE_S):
        return self.end(self.begin(*words), patience_s)

    def start(self, *words):
        """Its node's address."""
        command = [*self.enter, "taskset", "-c", self.core, self.aster, "node", "--threads", 1, "--listen",
                   f"{self.address}:0", *words]
        self.node = subprocess.Popen([str(word) for word in command], env=self.environment, stdout=subprocess.PIPE,
                                     text=True)
        line = self.node.stdout.readline().split()
        if not line:
            sys.exit(f"{self.name}: its node did not start")
        return line[-1]

    def stop(self):
        if self.node is not None:
            self.node.send_signal(signal.SIGKILL)
            self.node.wait()
            self.node.stdout.close()
            self.node = None


class Pair:
    """desk and lap, in one cluster. Their nodes start with the given options; lap's may have no file."""

    def __init__(self, aster, folder, link=None):
        self.link = link
        cores = sorted(os.sched_getaffinity(0))
        self.desk, self.lap = (Machine(aster, folder, name, cores[i % len(cores)],
                                       *((ADDRESSES[i], link.enter(i)) if link else ()))
                               for i, name in enumerate(("desk", "lap")))
        self.desk.run("cluster", "init", "--name", "bench", "--node", "desk")
        address = self.desk.start()
        code = json.loads(self.desk.run("cluster", "invite", "--json"))["code"]
        self.lap.run("cluster", "join", code, address, "--name", "lap")
        self.stop()

    def start(self, desk, lap):
        address = self.desk.start(*desk)
        self.lap.start("--join", address, *lap)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            nodes = json.loads(self.desk.run("cluster", "status", "--json"))["nodes"]
            if sum(node["answered"] for node in nodes) == 2:
                return
            time.sleep(0.2)
        sys.exit("the nodes did not find each other")

    def stop(self):
        self.desk.stop()
        self.lap.stop()


@contextlib.contextmanager
def pair(aster, link=""):
    """`link`: such as 1ms,1Gbit; empty: loopback."""
    folder = pathlib.Path(tempfile.mkdtemp())
    between, machines = None, None
    try:
        between = Link(pathlib.Path(aster).with_name("link"), link) if link else None
        machines = Pair(aster, folder, between)
        yield machines, folder
    finally:
        if machines is not None:
            machines.stop()
        if between is not None:
            between.stop()
        shutil.rmtree(folder)
