#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""How far logits are from an exact evaluation: of the same weights in double precision, written with numpy and sharing
no code with the engine. Other engines can be put beside it:

    bench/truth.py --aster build/release/bin/aster --peer llama.cpp=./their_logits model.gguf…

A peer is a program called as PROGRAM MODEL IDS OUT, which writes what `aster logits` writes: float32, a row of the
vocabulary per token id of the text file IDS. Without models, small ones of every kind are made; with --quantize a Llama
in every type that llama.cpp's llama-quantize writes and that is not among those.

For other architectures the truth is the result of --reference build/release/bin/reference_logits, the evaluation in
double precision of the project's tests; for those that numpy evaluates here it is a line of the table.
bench/truth_families.py measures all of them.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gguf_f32 import Reader  # noqa: E402

ARCHITECTURES = ("llama", "qwen2", "qwen3", "qwen3moe")
TYPES = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q2_K", "IQ2_XXS", "MXFP4")

# The types by llama-quantize's name for such a file.
THEIR_TYPES = {name: name for name in ("IQ4_XS", "IQ4_NL", "Q3_K", "Q5_0", "Q5_1", "Q4_1", "IQ3_XXS", "IQ3_S")} | {
    "IQ2_XS": "IQ2_XS",
    "IQ2_M": "IQ2_S",
    "IQ1_S": "IQ1_S",
    "IQ1_M": "IQ1_M",
}


def normalised(rows, weight, epsilon):
    return rows / numpy.sqrt(numpy.mean(rows * rows, axis=-1, keepdims=True) + epsilon) * weight


def silu(values):
    return values / (1 + numpy.exp(-values))


class Model:
    """The forward pass as a textbook has it, all tokens at once."""

    def __init__(self, reader):
        self.reader = reader
        self.arch = reader.metadata["general.architecture"]
        if self.arch not in ARCHITECTURES:
            raise ValueError(f"{self.arch}: there is no evaluation of this architecture here")
        self.layers = self.get("block_count")
        self.heads = self.get("attention.head_count")
        self.kv_heads = self.get("attention.head_count_kv", self.heads)
        self.epsilon = self.get("attention.layer_norm_rms_epsilon")
        self.head_dim = self.get("attention.key_length", self.get("embedding_length") // self.heads)
        self.base = self.get("rope.freq_base", 10000.0)
        if self.get("rope.scaling.type", "none") != "none":
            raise ValueError("scaled rope: there is no evaluation of it here")

    def get(self, key, default=None):
        value = self.reader.metadata.get(f"{self.arch}.{key}", default)
        if value is None:
            raise ValueError(f"{self.arch}.{key} is missing")
        return value

    def layer(self, index, name):
        return self.reader.tensor(f"blk.{index}.{name}")

    def angles(self, count):
        pairs = self.head_dim // 2
        frequencies = self.base ** (-numpy.arange(pairs) / pairs)
        if self.reader.has("rope_freqs.weight"):
            frequencies = frequencies / self.reader.tensor("rope_freqs.weight")
        return numpy.arange(count)[:, None] * frequencies[None, :]

    def turned(self, heads, angles):
        cosine, sine = numpy.cos(angles)[:, None, :], numpy.sin(angles)[:, None, :]
        if self.arch == "llama":
            a, b = heads[..., 0::2], heads[..., 1::2]
            return numpy.stack((a * cosine - b * sine, a * sine + b * cosine), axis=-1).reshape(heads.shape)
        a, b = numpy.split(heads, 2, axis=-1)
        return numpy.concatenate((a * cosine - b * sine, a * sine + b * cosine), axis=-1)

    def project(self, index, name, rows, heads):
        out = rows @ self.layer(index, name + ".weight").T
        if self.arch == "qwen2":
            out = out + self.layer(index, name + ".bias")
        out = out.reshape(len(rows), heads, self.head_dim)
        if self.arch.startswith("qwen3") and name != "attn_v":
            out = normalised(out, self.layer(index, name + "_norm.weight"), self.epsilon)
        return out

    def attention(self, index, rows, angles):
        query = self.turned(self.project(index, "attn_q", rows, self.heads), angles)
        key = self.turned(self.project(index, "attn_k", rows, self.kv_heads), angles)
        value = self.project(index, "attn_v", rows, self.kv_heads)
        hidden = numpy.triu(numpy.full((len(rows), len(rows)), -numpy.inf), 1)
        if window := self.get("attention.sliding_window", 0):
            hidden += numpy.tril(numpy.full(hidden.shape, -numpy.inf), -window)
        out = numpy.empty_like(query)
        for head in range(self.heads):
            kv = head // (self.heads // self.kv_heads)
            scores = query[:, head] @ key[:, kv].T / numpy.sqrt(self.head_dim) + hidden
            shares = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            out[:, head] = shares / shares.sum(axis=1, keepdims=True) @ value[:, kv]
        return out.reshape(len(rows), -1) @ self.layer(index, "attn_output.weight").T

    def feed_forward(self, index, rows):
        if self.arch != "qwen3moe":
            gate, up, down = (self.layer(index, f"ffn_{part}.weight") for part in ("gate", "up", "down"))
            return (silu(rows @ gate.T) * (rows @ up.T)) @ down.T
        scores = rows @ self.layer(index, "ffn_gate_inp.weight").T
        gate, up, down = (self.layer(index, f"ffn_{part}_exps.weight") for part in ("gate", "up", "down"))
        out = numpy.zeros_like(rows)
        for at, row in enumerate(rows):
            chosen = numpy.argsort(-scores[at], kind="stable")[: self.get("expert_used_count")]
            shares = numpy.exp(scores[at][chosen] - scores[at].max())
            for expert, share in zip(chosen, shares / shares.sum()):
                out[at] += share * ((silu(row @ gate[expert].T) * (row @ up[expert].T)) @ down[expert].T)
        return out

    def logits(self, tokens):
        embedding = self.reader.tensor("token_embd.weight")
        rows = embedding[tokens]
        angles = self.angles(len(tokens))
        for index in range(self.layers):
            attention_norm, network_norm = (self.layer(index, f"{part}_norm.weight") for part in ("attn", "ffn"))
            rows = rows + self.attention(index, normalised(rows, attention_norm, self.epsilon), angles)
            rows = rows + self.feed_forward(index, normalised(rows, network_norm, self.epsilon))
        rows = normalised(rows, self.reader.tensor("output_norm.weight"), self.epsilon)
        head = self.reader.tensor("output.weight") if self.reader.has("output.weight") else embedding
        return rows @ head.T


def log_softmax(logits):
    logits = logits - logits.max(axis=1, keepdims=True)
    return logits - numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))


class Distance:
    """The distance of logits from the true ones."""

    def __init__(self, logits, truth):
        centred = truth - truth.mean(axis=1, keepdims=True)
        self.error = numpy.sqrt(numpy.mean((logits - truth) ** 2) / numpy.mean(centred**2))
        expected, found = log_softmax(truth), log_softmax(logits)
        self.median = numpy.median(numpy.sqrt(numpy.mean((logits - truth) ** 2, axis=1)) / centred.std())
        self.divergence = numpy.mean((numpy.exp(expected) * (expected - found)).sum(axis=1))
        self.agreement = numpy.mean(logits.argmax(axis=1) == truth.argmax(axis=1))

    def __str__(self):
        return f"{self.error:.2e} | {self.divergence:.2e} | {100 * self.agreement:.1f} %"


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr.decode()}")


def plain_model(aster, model, folder):
    """A model of any type in F32, with the values of its weights."""
    plain = folder / "f32.gguf"
    run(aster, "quantize", model, plain, "--type", "F32", "--pure")
    return plain


def referred_logits(reference, plain, tokens, folder):
    """The program's logits in double precision."""
    ids, out = folder / "ids.txt", folder / "true_logits"
    ids.write_text(" ".join(str(token) for token in tokens))
    run(reference, plain, ids, out)
    return numpy.fromfile(out, dtype=numpy.float64).reshape(len(tokens), -1)


def true_logits(aster, model, tokens, folder):
    return Model(Reader(plain_model(aster, model, folder))).logits(tokens)


def measure(model, tokens, engines, folder, aster, reference):
    """The distance of every engine's logits, by the engine's name."""
    ids, out = folder / "ids.txt", folder / "logits"
    ids.write_text(" ".join(str(token) for token in tokens))
    plain = plain_model(aster, model, folder)
    reader = Reader(plain)
    is_known = reader.metadata["general.architecture"] in ARCHITECTURES
    referred = referred_logits(reference, plain, tokens, folder) if reference else None
    truth = referred if reference and not is_known else Model(reader).logits(tokens)
    distances = {"reference": Distance(referred, truth)} if reference and is_known else {}
    for name, command in engines.items():
        run(*command(model, ids, out))
        logits = numpy.fromfile(out, dtype=numpy.float32).astype(numpy.float64).reshape(truth.shape)
        distances[name] = Distance(logits, truth)
    return distances


def small_models(aster, folder):
    for arch in ARCHITECTURES:
        for kind in TYPES if arch == "llama" else ("F16", "Q8_0", "Q4_K"):
            path = folder / f"{arch}-{kind}.gguf"
            experts = ("--experts", 8, "--experts-used", 2, "--expert-ff", 256) if arch == "qwen3moe" else ()
            run(aster, "synth", path, "--preset", "tiny", "--arch", arch, "--type", kind, *experts)
            yield path
            path.unlink()


def write_importance(model, path):
    """All columns are equally important, in the file that llama-quantize reads: it needs one for some types."""
    matrices = {name: shape for name, (shape, *_) in Reader(model).infos.items() if len(shape) == 2}
    with path.open("wb") as out:
        out.write(struct.pack("<i", len(matrices)))
        for name, (_, columns) in matrices.items():
            out.write(struct.pack(f"<i{len(name)}sii", len(name), name.encode(), 1, columns))
            out.write(numpy.ones(columns, dtype=numpy.float32).tobytes())


def their_models(aster, quantize, folder):
    plain, importance = folder / "plain.gguf", folder / "importance.dat"
    run(aster, "synth", plain, "--preset", "tiny", "--type", "F32")
    write_importance(plain, importance)
    for file_type, kind in THEIR_TYPES.items():
        path = folder / f"llama-{kind}.gguf"
        run(quantize, "--imatrix", importance, "--pure", plain, path, file_type, 1)
        yield path
        path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--aster", required=True, help="the program")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM", help="another engine")
    parser.add_argument("--reference", help="the program that evaluates all architectures")
    parser.add_argument("--quantize", help="llama.cpp's program that writes types")
    parser.add_argument("--tokens", type=int, default=192, help="how many positions (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    engines = {"aster": lambda model, ids, out: (arguments.aster, "logits", model, "--ids", ids, "--out", out)}
    for peer in arguments.peer:
        name, program = peer.split("=", 1)
        engines[name] = lambda model, ids, out, program=program: (program, model, ids, out)

    print("| model | engine | error of logits | KL | same first choice |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = arguments.models or (
            their_models(arguments.aster, arguments.quantize, folder)
            if arguments.quantize
            else small_models(arguments.aster, folder)
        )
        for model in models:
            tokens = numpy.random.default_rng(arguments.seed).integers(0, 1000, arguments.tokens)
            distances = measure(model, tokens, engines, folder, arguments.aster, arguments.reference)
            for name, distance in distances.items():
                print(f"| {model.name} | {name} | {distance} |", flush=True)


if __name__ == "__main__":
    main()
