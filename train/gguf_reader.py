# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Reads GGUF files like those of the built-in models: numbers, texts and lists; tensors in float32, float16 and
Q8_0."""

import struct

import numpy as np

import gguf

_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9


class _Bytes:
    def __init__(self, data):
        self.data, self.place = data, 0

    def number(self, form):
        value, = struct.unpack_from(form, self.data, self.place)
        self.place += struct.calcsize(form)
        return value

    def string(self):
        length = self.number("<Q")
        self.place += length
        return self.data[self.place - length:self.place].decode("utf-8")

    def value(self, kind):
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            element, count = self.number("<I"), self.number("<Q")
            return [self.value(element) for _ in range(count)]
        return self.number(_FORMATS[kind])


def _decode(data, offset, kind, count):
    if kind == gguf.Q8_0:
        blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("quants", "i1", 32)]), count // 32, offset)
        return (blocks["scale"].astype(np.float32)[:, None] * blocks["quants"]).reshape(-1)
    return np.frombuffer(data, {gguf.F32: "<f4", gguf.F16: "<f2"}[kind], count, offset).astype(np.float32)


def read(path):
    """Metadata, and tensors by name in float32."""
    with open(path, "rb") as file:
        source = _Bytes(file.read())
    if source.data[:8] != b"GGUF" + struct.pack("<I", 3):
        raise ValueError(f"{path} is not a GGUF file of version 3")
    source.place = 8
    tensor_count, value_count = source.number("<Q"), source.number("<Q")
    metadata = {}
    for _ in range(value_count):
        key = source.string()
        metadata[key] = source.value(source.number("<I"))
    entries = []
    for _ in range(tensor_count):
        name = source.string()
        shape = [source.number("<Q") for _ in range(source.number("<I"))][::-1]
        entries.append((name, shape, source.number("<I"), source.number("<Q")))
    alignment = metadata.get("general.alignment", gguf.ALIGNMENT)
    begin = -(-source.place // alignment) * alignment
    return metadata, {name: _decode(source.data, begin + offset, kind, int(np.prod(shape))).reshape(shape)
                      for name, shape, kind, offset in entries}
