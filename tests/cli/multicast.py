# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A port at which only the programs of one test find each other, by multicast on loopback."""
import socket
import struct
import unittest

GROUP, LOOPBACK = socket.inet_aton("224.0.0.251"), socket.inet_aton("127.0.0.1")


def discovery_port():
    """Skips the test if a machine cannot multicast to itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("224.0.0.251", 0))
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, GROUP + LOOPBACK)
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("4s4si", GROUP, LOOPBACK, 0))
            probe.settimeout(2)
            port = probe.getsockname()[1]
            probe.sendto(b"heard?", ("224.0.0.251", port))
            probe.recv(16)
        except OSError as error:
            raise unittest.SkipTest(f"no multicast on loopback here: {error}") from error
        return port
