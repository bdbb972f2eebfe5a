#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Writes a model with random weights and a vocabulary in the formats of distributed-llama, in the shape of
`aster synth --preset llama-1b`, so that the two can be measured side by side:

    bench/peers/dllama_model.py model.m vocabulary.t

The rates do not depend on the weights. Every printable character is a token, so that a prompt has as many tokens as
characters.
"""
import argparse
import struct

import numpy

SHAPE = {"dim": 2048, "hidden": 8192, "layers": 16, "heads": 32, "kv_heads": 8, "words": 128256, "positions": 131072}
F32, Q40 = 0, 2
BLOCK = 32
LLAMA = 0xABCD00
MODEL_MAGIC, VOCABULARY_MAGIC = 0xA00ABCD, 0x567124
FIRST_CHARACTER, LAST_CHARACTER = 32, 126


def pairs(magic, fields):
    body = b"".join(struct.pack("<ii", key, value) for key, value in fields)
    return struct.pack("<ii", magic, 8 + len(body)) + body


def write_q40(file, random, rows, columns):
    """Blocks of a half-precision scale and 32 weights of four bits."""
    count = rows * columns // BLOCK
    blocks = numpy.empty((count, 2 + BLOCK // 2), numpy.uint8)
    blocks[:, :2] = numpy.frombuffer(numpy.float16(0.002).tobytes(), numpy.uint8)
    blocks[:, 2:] = random.integers(0, 256, (count, BLOCK // 2), numpy.uint8)
    file.write(blocks.tobytes())


def write_f32(file, values):
    file.write(values.astype(numpy.float32).tobytes())


def write_model(path):
    s = SHAPE
    random = numpy.random.default_rng(1)
    keys_width = s["dim"] // s["heads"] * s["kv_heads"]
    norm = numpy.ones(s["dim"])
    with open(path, "wb") as file:
        file.write(pairs(MODEL_MAGIC, [(0, 1), (1, LLAMA), (2, s["dim"]), (3, s["hidden"]), (4, s["layers"]),
                                       (5, s["heads"]), (6, s["kv_heads"]), (7, 0), (8, 0), (9, s["words"]),
                                       (10, s["positions"]), (11, 1), (12, 500000), (13, Q40)]))
        write_f32(file, random.standard_normal(s["words"] * s["dim"], numpy.float32) * 0.02)
        for _ in range(s["layers"]):
            for rows, columns in ((s["dim"], s["dim"]), (keys_width, s["dim"]), (keys_width, s["dim"]),
                                  (s["dim"], s["dim"]), (s["hidden"], s["dim"]), (s["dim"], s["hidden"]),
                                  (s["hidden"], s["dim"])):
                write_q40(file, random, rows, columns)
            write_f32(file, norm)
            write_f32(file, norm)
        write_f32(file, norm)
        write_q40(file, random, s["words"], s["dim"])


def write_vocabulary(path):
    words = [bytes([c]) for c in range(FIRST_CHARACTER, LAST_CHARACTER + 1)]
    words += [b"<%d>" % i for i in range(len(words), SHAPE["words"] - 2)]
    begin = len(words)
    words += [b"<begin>", b"<end>"]
    with open(path, "wb") as file:
        file.write(pairs(VOCABULARY_MAGIC, [(3, begin), (0, 1), (1, len(words)), (2, max(map(len, words))), (9, 1),
                                            (10, 1)]))
        file.write(struct.pack("<i", begin + 1))
        for word in words:
            file.write(struct.pack("<fI", 0.0, len(word)) + word)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("vocabulary")
    options = parser.parse_args()
    write_model(options.model)
    write_vocabulary(options.vocabulary)


if __name__ == "__main__":
    main()
