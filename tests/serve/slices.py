# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Files with some tensors of a model each, and all of its keys."""
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
ALIGNMENT = 32  # of files that do not set another one


class _Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def string(self):
        (length,) = self.take("Q")
        self.at += length
        return self.data[self.at - length:self.at]

    def skip_value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            item, count = self.take("IQ")
            if item in SIZES:
                self.at += SIZES[item] * count
            else:
                for _ in range(count):
                    self.skip_value(item)
        else:
            self.at += SIZES[kind]


class Reader:
    """A file's keys, unparsed, and tensors."""

    def __init__(self, path):
        self.data = path.read_bytes()
        cursor = _Cursor(self.data)
        self.magic, self.version, tensor_count, self.key_count = cursor.take("4sIQQ")
        keys_begin = cursor.at
        self.values = {}  # type and bytes of each key's value
        for _ in range(self.key_count):
            key = cursor.string().decode()
            (kind,) = cursor.take("I")
            begin = cursor.at
            cursor.skip_value(kind)
            self.values[key] = kind, self.data[begin:cursor.at]
        self.keys = self.data[keys_begin:cursor.at]
        self.infos = []  # name, dimensions, type, the bytes before the offset, offset
        for _ in range(tensor_count):
            begin = cursor.at
            name = cursor.string().decode()
            (dimensions,) = cursor.take("I")
            dims = cursor.take(f"{dimensions}Q")
            (kind,) = cursor.take("I")
            info = self.data[begin:cursor.at]
            self.infos.append((name, dims, kind, info, cursor.take("Q")[0]))
        self.start = -(-cursor.at // ALIGNMENT) * ALIGNMENT
        self.ends = sorted(offset for *_, offset in self.infos) + [len(self.data) - self.start]

    def content(self, offset):
        end = next(one for one in self.ends if one > offset)
        return self.data[self.start + offset:self.start + end]

    def tensors(self):
        """Names, dimensions, types and bytes; the bytes may extend to the next tensor's beginning."""
        return [(name, dims, kind, self.content(offset)) for name, dims, kind, _, offset in self.infos]


def write_slices(path, outputs):
    """`outputs`: for each new file its path, and a function that chooses tensors by name."""
    reader = Reader(path)
    for output, is_in in outputs:
        infos, content, count = b"", b"", 0
        for name, _, _, info, offset in reader.infos:
            if not is_in(name):
                continue
            infos += info + struct.pack("<Q", len(content))
            content += reader.content(offset)
            content += bytes(-len(content) % ALIGNMENT)
            count += 1
        head = struct.pack("<4sIQQ", reader.magic, reader.version, count, reader.key_count) + reader.keys + infos
        output.write_bytes(head + bytes(-len(head) % ALIGNMENT) + content)


def _packed_key(key, kind, value):
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def write_split(path, prefix, count):
    """The same model as a download of several files, PREFIX-00001-of-0000N.gguf: the first has the keys, and each a
    part of the tensors. Returns the files."""
    reader = Reader(path)
    outputs = []
    for i in range(count):
        chosen = reader.infos[len(reader.infos) * i // count:len(reader.infos) * (i + 1) // count]
        keys = _packed_key("split.no", 2, struct.pack("<H", i))
        keys += _packed_key("split.count", 2, struct.pack("<H", count))
        keys += _packed_key("split.tensors.count", 5, struct.pack("<i", len(reader.infos)))
        infos, content = b"", b""
        for _, _, _, info, offset in chosen:
            infos += info + struct.pack("<Q", len(content))
            content += reader.content(offset)
            content += bytes(-len(content) % ALIGNMENT)
        head = struct.pack("<4sIQQ", reader.magic, reader.version, len(chosen), 3 + (reader.key_count if i == 0 else 0))
        head += (reader.keys if i == 0 else b"") + keys + infos
        output = prefix.with_name(f"{prefix.name}-{i + 1:05}-of-{count:05}.gguf")
        output.write_bytes(head + bytes(-len(head) % ALIGNMENT) + content)
        outputs.append(output)
    return outputs


def write_with_template(path, output, source):
    """The same model with another chat template."""
    reader = Reader(path)
    cursor, keys = _Cursor(reader.keys), b""
    for _ in range(reader.key_count):
        begin = cursor.at
        name = cursor.string()
        cursor.skip_value(cursor.take("I")[0])
        if name == b"tokenizer.chat_template":
            text = source.encode()
            keys += struct.pack("<Q", len(name)) + name + struct.pack("<IQ", STRING, len(text)) + text
        else:
            keys += reader.keys[begin:cursor.at]
    infos = b"".join(info + struct.pack("<Q", offset) for _, _, _, info, offset in reader.infos)
    head = struct.pack("<4sIQQ", reader.magic, reader.version, len(reader.infos), reader.key_count) + keys + infos
    output.write_bytes(head + bytes(-len(head) % ALIGNMENT) + reader.data[reader.start:])
