# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes GGUF files, version 3 (docs/gguf.md): float32, float16 and 8-bit blocks. The program makes the other types."""

import os
import struct

import numpy as np

from gguf_values import entry, string

ALIGNMENT = 32
F32, F16, Q8_0, I32 = 0, 1, 8, 26


def _eight_bits(values):
    """Blocks of 32: a scale as float16, and 32 signed bytes."""
    blocks = values.reshape(-1, 32).astype(np.float32)
    scales = (np.abs(blocks).max(1) / np.float32(127)).astype(np.float32)
    inverse = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    scaled = blocks * inverse[:, None]
    quants = (np.sign(scaled) * np.floor(np.abs(scaled) + np.float32(0.5))).astype(np.int8)
    packed = np.empty((len(blocks), 34), np.uint8)
    packed[:, :2] = scales.astype(np.float16)[:, None].view(np.uint8)
    packed[:, 2:] = quants.view(np.uint8)
    return packed.tobytes()


def encode(values, kind):
    if kind == Q8_0:
        return _eight_bits(values)
    return np.ascontiguousarray(values).astype({F32: "<f4", F16: "<f2", I32: "<i4"}[kind]).tobytes()


def write(path, metadata, tensors):
    """`tensors`: (name, array, type). The file gets its name when it is complete."""
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    head += [entry(key, value) for key, value in metadata.items()]
    offset, datas = 0, []
    for name, array, kind in tensors:
        data = encode(array, kind)
        shape = array.shape[::-1]
        head += [string(name), struct.pack("<I", len(shape)), struct.pack(f"<{len(shape)}Q", *shape),
                 struct.pack("<IQ", kind, offset)]
        datas.append(data + b"\0" * (-len(data) % ALIGNMENT))
        offset += len(datas[-1])
    head = b"".join(head)
    with open(path + ".part", "wb") as file:
        file.write(head + b"\0" * (-len(head) % ALIGNMENT))
        file.writelines(datas)
    os.replace(path + ".part", path)
