# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The metadata of GGUF files as bytes: keys and their values."""

import struct

_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


class Unsigned(list):
    """Integers that a file stores as unsigned; those of other lists are signed."""


def string(text):
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _element_type(values):
    first = values[0]
    if isinstance(values, Unsigned):
        return _UINT32
    return _STRING if isinstance(first, str) else _BOOL if isinstance(first, bool) else \
        _FLOAT32 if isinstance(first, float) else _INT32


def _value(value):
    """The type's number and the bytes of a value. Lists hold values of one type."""
    if isinstance(value, bool):
        return _BOOL, struct.pack("<B", value)
    if isinstance(value, int):
        return _UINT32, struct.pack("<I", value)
    if isinstance(value, float):
        return _FLOAT32, struct.pack("<f", value)
    if isinstance(value, str):
        return _STRING, string(value)
    kind = _element_type(value)
    pack = {_STRING: string, _BOOL: lambda x: struct.pack("<B", x), _FLOAT32: lambda x: struct.pack("<f", x),
            _INT32: lambda x: struct.pack("<i", x), _UINT32: lambda x: struct.pack("<I", x)}[kind]
    return _ARRAY, struct.pack("<IQ", kind, len(value)) + b"".join(pack(element) for element in value)


def entry(key, value):
    """A key with its value, as in a file."""
    kind, data = _value(value)
    return string(key) + struct.pack("<I", kind) + data
