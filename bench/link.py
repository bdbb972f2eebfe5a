#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A link of a given latency and rate between two machines of this one, each a network namespace: packets pass from one
namespace to the other through this program, which keeps each for as long as the link would. To the programs of both
sides it is a network like any other, whose latency and rate they measure for themselves. Takes root.

    bench/link.py 0.2ms,10Gbit PID PID     PID: of a process in each namespace

A line on standard input says which directions are cut: 0 (from the first side), 1, 01, or none. Sides have addresses
10.77.0.1 and 10.77.0.2. A packet is as large as packets can be, so that few pass in a second.
"""
import collections
import contextlib
import ctypes
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import time

ADDRESSES = ("10.77.0.1", "10.77.0.2")
MTU = 65000
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8}


def parse(link):
    """Seconds one way, and bytes a second."""
    numbers = (re.fullmatch(r"([0-9.]+)(\D+)", part).groups() for part in link.split(","))
    delay_s, bytes_per_s = (float(number) * UNITS[unit] for number, unit in numbers)
    return delay_s, bytes_per_s


@contextlib.contextmanager
def network_of(pid):
    """Sockets and devices that this thread makes meanwhile are in the process's namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as own, open(f"/proc/{pid}/ns/net") as other:
        if libc.setns(other.fileno(), 0) != 0:
            sys.exit(f"the network of process {pid}: {os.strerror(ctypes.get_errno())}; run it as root")
        try:
            yield
        finally:
            libc.setns(own.fileno(), 0)


def open_device(pid):
    """A network device in the process's namespace, at whose other end is this file."""
    with network_of(pid):
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        set_interface, tun, without_header = 0x400454CA, 0x0001, 0x1000
        fcntl.ioctl(device, set_interface, struct.pack("16sH22x", b"link0", tun | without_header))
    return device


class Way:
    """One direction: packets wait until the last byte would have come."""

    def __init__(self, source, target, delay_s, bytes_per_s):
        self.source, self.target, self.delay_s, self.bytes_per_s = source, target, delay_s, bytes_per_s
        self.free_s = 0.0  # when the link has sent everything before
        self.waiting = collections.deque()
        self.is_cut = False

    def take(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = os.read(self.source, MTU + 100)
                if self.is_cut:
                    continue
                self.free_s = max(self.free_s, time.monotonic()) + len(packet) / self.bytes_per_s
                self.waiting.append((self.free_s + self.delay_s, packet))

    def deliver(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            with contextlib.suppress(OSError):  # a side that is down or full loses packets, as anywhere
                os.write(self.target, self.waiting.popleft()[1])


def relay(link, pids):
    devices = [open_device(pid) for pid in pids]
    ways = [Way(devices[i], devices[1 - i], *parse(link)) for i in (0, 1)]
    # It has little to do, and that at once.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: wake up when it was said
    print("ready", flush=True)
    while True:
        due = [way.waiting[0][0] for way in ways if way.waiting]
        timeout = max(0.0, min(due) - time.monotonic()) if due else None
        ready, _, _ = select.select([*devices, sys.stdin], [], [], timeout)
        if sys.stdin in ready:
            cut = sys.stdin.readline()
            if not cut:
                return
            for i, way in enumerate(ways):
                way.is_cut = str(i) in cut
        for way in ways:
            way.take()
            way.deliver()


class Link:
    """Two namespaces, connected so. A side's `enter` goes before a command that is to run there."""

    def __init__(self, link):
        self.processes = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in ADDRESSES]
        try:
            self.start(link)
        except BaseException:
            self.stop()
            raise

    def start(self, link):
        own = os.readlink("/proc/self/ns/net")
        for side in self.processes:
            while os.readlink(f"/proc/{side.pid}/ns/net") == own:
                if side.poll() is not None:
                    sys.exit("no network namespace of its own: run it as root")
                time.sleep(0.01)
        pids = [str(side.pid) for side in self.processes]
        self.processes.append(subprocess.Popen([sys.executable, __file__, link, *pids], stdin=subprocess.PIPE,
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
        """Packets from these sides are lost from now on, and no others."""
        self.processes[-1].stdin.write("".join(map(str, directions)) + "\n")
        self.processes[-1].stdin.flush()

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    relay(sys.argv[1], sys.argv[2:])
