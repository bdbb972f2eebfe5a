# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Files that each hold some tensors of a model, with all of its keys."""
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
ALIGNMENT = 32  # of files that do not say otherwise


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


def write_slices(path, outputs):
    """`outputs`: of each new file its path, and whether it holds the tensor of a name."""
    data = path.read_bytes()
    cursor = _Cursor(data)
    magic, version, tensor_count, key_count = cursor.take("4sIQQ")
    keys_begin = cursor.at
    for _ in range(key_count):
        cursor.string()
        cursor.skip_value(cursor.take("I")[0])
    keys = data[keys_begin:cursor.at]
    tensors = []  # name, what stands before the offset, offset
    for _ in range(tensor_count):
        begin = cursor.at
        name = cursor.string().decode()
        (dimensions,) = cursor.take("I")
        cursor.take(f"{dimensions}QI")
        info = data[begin:cursor.at]
        tensors.append((name, info, cursor.take("Q")[0]))
    start = -(-cursor.at // ALIGNMENT) * ALIGNMENT
    ends = sorted(offset for _, _, offset in tensors) + [len(data) - start]
    for output, is_in in outputs:
        infos, content, count = b"", b"", 0
        for name, info, offset in tensors:
            if not is_in(name):
                continue
            end = next(one for one in ends if one > offset)
            infos += info + struct.pack("<Q", len(content))
            content += data[start + offset:start + end]
            content += bytes(-len(content) % ALIGNMENT)
            count += 1
        head = struct.pack("<4sIQQ", magic, version, count, key_count) + keys + infos
        output.write_bytes(head + bytes(-len(head) % ALIGNMENT) + content)
