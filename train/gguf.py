# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes GGUF files, version 3 (docs/gguf.md): float32, float16 and 8-bit blocks. The program makes the other types."""

import os
import struct

import numpy as np

_ALIGNMENT = 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
F32, F16, Q8_0, I32 = 0, 1, 8, 26


def _string(text):
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _element_type(values):
    first = values[0]
    return _STRING if isinstance(first, str) else _BOOL if isinstance(first, bool) else \
        _FLOAT32 if isinstance(first, float) else _INT32


def _value(value):
    """The type's number and the bytes of a value. Lists hold values of one type; whole numbers in them are signed."""
    if isinstance(value, bool):
        return _BOOL, struct.pack("<B", value)
    if isinstance(value, int):
        return _UINT32, struct.pack("<I", value)
    if isinstance(value, float):
        return _FLOAT32, struct.pack("<f", value)
    if isinstance(value, str):
        return _STRING, _string(value)
    kind = _element_type(value)
    pack = {_STRING: _string, _BOOL: lambda x: struct.pack("<B", x), _FLOAT32: lambda x: struct.pack("<f", x),
            _INT32: lambda x: struct.pack("<i", x)}[kind]
    return _ARRAY, struct.pack("<IQ", kind, len(value)) + b"".join(pack(element) for element in value)


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
    """tensors: (name, array, type). The file appears when it is whole."""
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, value in metadata.items():
        kind, data = _value(value)
        head += [_string(key), struct.pack("<I", kind), data]
    offset, datas = 0, []
    for name, array, kind in tensors:
        data = encode(array, kind)
        shape = array.shape[::-1]
        head += [_string(name), struct.pack("<I", len(shape)), struct.pack(f"<{len(shape)}Q", *shape),
                 struct.pack("<IQ", kind, offset)]
        datas.append(data + b"\0" * (-len(data) % _ALIGNMENT))
        offset += len(datas[-1])
    head = b"".join(head)
    with open(path + ".part", "wb") as file:
        file.write(head + b"\0" * (-len(head) % _ALIGNMENT))
        file.writelines(datas)
    os.replace(path + ".part", path)
