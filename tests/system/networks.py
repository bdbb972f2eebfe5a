# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Two machines on two networks of their own: each machine is a network namespace, each network a pair of devices."""
import os
import pathlib
import subprocess
import time
import unittest

DEADLINE_S = 30


def tool(*words, enter=()):
    """Skips the test if the system does not permit it."""
    try:
        done = subprocess.run([*enter, *words], capture_output=True, text=True)
    except FileNotFoundError as error:
        raise unittest.SkipTest(f"there is no {error.filename} here") from error
    if done.returncode != 0:
        raise unittest.SkipTest(f"{' '.join(words)}: {done.stderr.strip()}")


class Networks:
    """Side i has the address 10.79.N.(i + 1) in network N, at its device netN."""

    def __init__(self, test, count=2):
        self.is_root = os.geteuid() == 0
        self.pids = []
        for _ in range(2):
            # Both sides of a user other than root are in the same user namespace.
            own = () if self.is_root else ("--map-root-user",)
            command = ("unshare", *(own if not self.pids else ()), "--net", "sleep", "infinity")
            tool("unshare", *own, "--net", "true")
            holder = subprocess.Popen([*(self.enter(0, net=False) if self.pids else ()), *command])
            test.addCleanup(holder.wait)
            test.addCleanup(holder.kill)
            self.await_own_network(holder.pid)
            self.pids.append(holder.pid)
        for network in range(count):
            device = f"net{network}"
            self.ip(0, "link", "add", device, "type", "veth", "peer", "name", device, "netns", str(self.pids[1]))
            for side in range(2):
                self.ip(side, "address", "add", f"{self.address(side, network)}/24", "dev", device)
                self.ip(side, "link", "set", device, "up")
        for side in range(2):
            self.ip(side, "link", "set", "lo", "up")

    def await_own_network(self, pid):
        own, end = os.readlink("/proc/self/ns/net"), time.monotonic() + DEADLINE_S
        while os.readlink(f"/proc/{pid}/ns/net") == own or pathlib.Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            assert time.monotonic() < end, "no network namespace"
            time.sleep(0.01)

    def enter(self, side, net=True):
        """The prefix of a command that must run there."""
        user = () if self.is_root else ("--user", "--preserve-credentials")
        return ("nsenter", "--target", str(self.pids[side]), *user, *(("--net",) if net else ()))

    def ip(self, side, *words):
        tool("ip", *words, enter=self.enter(side))

    @staticmethod
    def address(side, network):
        return f"10.79.{network}.{side + 1}"

    def slow_down(self, network, rate):
        for side in range(2):
            tool("tc", "qdisc", "add", "dev", f"net{network}", "root", "tbf", "rate", rate, "burst", "64k", "latency",
                 "400ms", enter=self.enter(side))

    def cut(self, network):
        """Drops packets without notice to either side."""
        for side in range(2):
            self.ip(side, "neighbour", "replace", self.address(1 - side, network), "lladdr", "02:00:00:00:00:99",
                    "nud", "permanent", "dev", f"net{network}")

    def heal(self, network):
        for side in range(2):
            self.ip(side, "neighbour", "delete", self.address(1 - side, network), "dev", f"net{network}")

    def sent_bytes(self, side, network):
        for line in pathlib.Path(f"/proc/{self.pids[side]}/net/dev").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name.strip() == f"net{network}":
                return int(rest.split()[8])
        raise AssertionError(f"no device net{network}")

    def listens_for_discovery(self, side):
        """Whether something on that side has a socket at the port of multicast DNS."""
        lines = pathlib.Path(f"/proc/{self.pids[side]}/net/udp").read_text().splitlines()[1:]
        return any(int(line.split()[1].rpartition(":")[2], 16) == 5353 for line in lines)
