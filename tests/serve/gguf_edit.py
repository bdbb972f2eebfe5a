# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Copies of model files with additional keys and tensors: existing ones stay unchanged."""
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class Head:
    """A file's part before the data: where keys and tensors end, and what copies need of them."""

    def __init__(self, data):
        assert data[:4] == b"GGUF" and struct.unpack_from("<I", data, 4)[0] == 3
        self.data = data
        self.tensors, self.keys = struct.unpack_from("<QQ", data, 8)
        self.arch, self.align, at = None, 32, 24
        for _ in range(self.keys):
            key, at = self.text(at)
            kind = struct.unpack_from("<I", data, at)[0]
            at += 4
            if key == "general.architecture":
                self.arch = self.text(at)[0]
            if key == "general.alignment":
                self.align = struct.unpack_from("<I", data, at)[0]
            at = self.skip(at, kind)
        self.end_of_keys = at
        for _ in range(self.tensors):
            _, at = self.text(at)
            at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4 + 8
        self.end_of_tensors = at

    def text(self, at):
        length = struct.unpack_from("<Q", self.data, at)[0]
        return self.data[at + 8:at + 8 + length].decode(errors="replace"), at + 8 + length

    def skip(self, at, kind):
        if kind == 8:
            return self.text(at)[1]
        if kind != 9:
            return at + SIZES[kind]
        inner, count = struct.unpack_from("<IQ", self.data, at)
        at += 12
        if inner != 8:
            return at + count * SIZES[inner]
        for _ in range(count):
            at = self.text(at)[1]
        return at


def packed_text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def packed_value(value):
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + packed_text(value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(packed_text, value))


def with_more(source, target, keys, tensors=()):
    """`keys`: values by name, with {arch} for the file's; `tensors`: (name, dims, float32 numbers)."""
    data = source.read_bytes()
    head = Head(data)
    begin = -(-head.end_of_tensors // head.align) * head.align
    body = data[begin:]
    more_keys = b"".join(packed_text(key.replace("{arch}", head.arch)) + packed_value(value)
                         for key, value in keys.items())
    more_tensors = b""
    for name, dims, numbers in tensors:
        body += bytes(-len(body) % head.align)
        more_tensors += packed_text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, len(body))
        body += struct.pack(f"<{len(numbers)}f", *numbers)
    new = (data[:8] + struct.pack("<QQ", head.tensors + len(tensors), head.keys + len(keys))
           + data[24:head.end_of_keys] + more_keys + data[head.end_of_keys:head.end_of_tensors] + more_tensors)
    target.write_bytes(new + bytes(-len(new) % head.align) + body)


def with_pooling(source, target, pooling):
    with_more(source, target, {"{arch}.pooling_type": pooling})
