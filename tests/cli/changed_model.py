# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes a model's file again with changed keys or tensors: as other programs write it, or broken."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from slices import ALIGNMENT, ARRAY, STRING, Reader  # noqa: E402

LAYOUTS = {"u16": (2, "H"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "u64": (10, "Q")}


class ChangedModel:
    """The content of a model's file. Keys by name: type and bytes. Tensors: name, dimensions, type, bytes."""

    def __init__(self, path):
        reader = Reader(path)
        self.values = dict(reader.values)
        self.tensors = reader.tensors()

    def set(self, key, kind, value):
        """`kind`: one of LAYOUTS, or an array of them with [] after it; or string."""
        if kind == "string":
            self.values[key] = STRING, struct.pack("<Q", len(value)) + value.encode()
        elif kind.endswith("[]"):
            number, letter = LAYOUTS[kind[:-2]]
            items = struct.pack(f"<{len(value)}{letter}", *value)
            self.values[key] = ARRAY, struct.pack("<IQ", number, len(value)) + items
        else:
            number, letter = LAYOUTS[kind]
            self.values[key] = number, struct.pack("<" + letter, value)
        return self

    def number(self, key):
        kind, value = self.values[key]
        return struct.unpack("<" + {number: letter for number, letter in LAYOUTS.values()}[kind], value)[0]

    def drop_keys(self, prefix):
        self.values = {key: value for key, value in self.values.items() if not key.startswith(prefix)}
        return self

    def keep(self, is_kept):
        self.tensors = [tensor for tensor in self.tensors if is_kept(tensor[0])]
        return self

    def rename(self, new_name):
        self.tensors = [(new_name(name), *rest) for name, *rest in self.tensors]
        return self

    def copy(self, wanted, new_name):
        self.tensors += [(new_name, *rest) for name, *rest in self.tensors if name == wanted]
        return self

    def fill(self, wanted, four_bytes):
        """Fills a tensor of 32-bit numbers with one value."""
        self.tensors = [(name, dims, kind, four_bytes * (len(content) // 4) if name == wanted else content)
                        for name, dims, kind, content in self.tensors]
        return self

    def write(self, path):
        keys = b"".join(struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value
                        for key, (kind, value) in self.values.items())
        infos, contents = b"", []
        at = 0
        for name, dims, kind, content in self.tensors:
            infos += struct.pack("<Q", len(name)) + name.encode()
            infos += struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, at)
            contents.append(content + bytes(-len(content) % ALIGNMENT))
            at += len(contents[-1])
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.values)) + keys + infos
        path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + b"".join(contents))
        return path
