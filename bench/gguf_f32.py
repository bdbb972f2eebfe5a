# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Reads GGUF files whose tensors are all F32 or tables of integers, as `aster quantize --type F32` writes them."""
import struct

import numpy

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
NUMBERS = {0: (numpy.float32, numpy.float64), 26: (numpy.int32, numpy.int32)}  # by type: in the file, and as returned


class Reader:
    def __init__(self, path):
        self.data = numpy.memmap(path, dtype=numpy.uint8, mode="r")
        self.at = 0
        magic, version = self.unpack("4sI")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError(f"{path} is not a GGUF file of version 2 or 3")
        tensor_count, key_count = self.unpack("QQ")
        self.metadata = {}
        for _ in range(key_count):
            key = self.string()
            (kind,) = self.unpack("I")
            self.metadata[key] = self.value(kind)
        infos = [self.tensor_info() for _ in range(tensor_count)]
        alignment = self.metadata.get("general.alignment", 32)
        self.start = -(-self.at // alignment) * alignment
        self.infos = {name: rest for name, *rest in infos}

    def unpack(self, layout):
        size = struct.calcsize("<" + layout)
        values = struct.unpack("<" + layout, self.data[self.at : self.at + size].tobytes())
        self.at += size
        return values

    def string(self):
        (length,) = self.unpack("Q")
        (text,) = self.unpack(f"{length}s")
        return text.decode("utf-8", "replace")

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind != ARRAY:
            return self.unpack(SCALARS[kind])[0]
        item, count = self.unpack("IQ")
        if item in SCALARS:
            return list(self.unpack(f"{count}{SCALARS[item]}"))
        return [self.value(item) for _ in range(count)]

    def tensor_info(self):
        name = self.string()
        (dimensions,) = self.unpack("I")
        shape = self.unpack(f"{dimensions}Q")
        kind, offset = self.unpack("IQ")
        if kind not in NUMBERS:
            raise ValueError(f"{name} is not F32: write the model with aster quantize --type F32 first")
        return name, tuple(reversed(shape)), offset, NUMBERS[kind]

    def has(self, name):
        return name in self.infos

    def tensor(self, name):
        """The tensor as float64 or int32, outermost dimension first."""
        shape, offset, (stored, given) = self.infos[name]
        begin = self.start + offset
        count = int(numpy.prod(shape))
        values = self.data[begin : begin + 4 * count].view(stored)
        return values.astype(given).reshape(shape)
