#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A link of a given latency and rate between two simulated machines, each a network namespace: packets pass from one
namespace to the other through the program `link` (link.cc), which delays each as the link would. To the programs of
both sides it is a normal network, whose latency and rate they measure themselves. Needs root.

Sides have addresses 10.77.0.1 and 10.77.0.2. Packets are as large as possible, so that there are few per second.
"""
import contextlib
import ctypes
import os
import re
import subprocess
import sys
import time

ADDRESSES = ("10.77.0.1", "10.77.0.2")
MTU = 65000
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8}


def parse(link):
    """Seconds one way, and bytes per second."""
    numbers = (re.fullmatch(r"([0-9.]+)(\D+)", part).groups() for part in link.split(","))
    delay_s, bytes_per_s = (float(number) * UNITS[unit] for number, unit in numbers)
    return delay_s, bytes_per_s


@contextlib.contextmanager
def network_of(pid):
    """Sockets that this thread makes meanwhile are in the process's namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(f"/proc/{pid}/ns/net") as other:
        if libc.setns(other.fileno(), 0) != 0:
            sys.exit(f"the network of process {pid}: {os.strerror(ctypes.get_errno())}; run it as root")
        try:
            yield
        finally:
            libc.setns(own.fileno(), 0)


class Link:
    """Two namespaces, connected by the link. A side's `enter` goes before a command that must run there."""

    def __init__(self, program, link):
        self.processes = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in ADDRESSES]
        try:
            self.start(program, link)
        except BaseException:
            self.stop()
            raise

    def start(self, program, link):
        own = os.readlink("/proc/self/ns/net")
        for side in self.processes:
            while os.readlink(f"/proc/{side.pid}/ns/net") == own:
                if side.poll() is not None:
                    sys.exit("no network namespace of its own: run it as root")
                time.sleep(0.01)
        pids = [side.pid for side in self.processes]
        delay_s, bytes_per_s = parse(link)
        command = [program, round(1e9 * delay_s), round(bytes_per_s), *pids]
        self.processes.append(subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                               stdout=subprocess.PIPE, text=True))
        if self.processes[-1].stdout.readline().strip() != "ready":
            sys.exit("the link could not be made")
        for i, address in enumerate(ADDRESSES):
            for command in (f"address add {address} peer {ADDRESSES[1 - i]} dev link0",
                            f"link set link0 mtu {MTU} up", "link set lo up"):
                subprocess.run([*self.enter(i), "ip", *command.split()], check=True)

    def enter(self, side):
        return ["nsenter", "--target", str(self.processes[side].pid), "--net"]

    def network(self, side):
        return network_of(self.processes[side].pid)

    def cut(self, *directions):
        """Packets from these sides, and no others, are lost from now on."""
        self.tell("".join(map(str, directions)))

    def set_rate(self, rate):
        """`rate`: such as 4Mbit, from now on."""
        self.tell(f"={round(parse('0s,' + rate)[1])}")

    def tell(self, line):
        self.processes[-1].stdin.write(line + "\n")
        self.processes[-1].stdin.flush()

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
