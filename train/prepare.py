# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Makes a model's vocabulary and its corpus as tokens.

  /usr/bin/python3 train/prepare.py nova --data DIR [--documents N] [--jobs N] [--vocab-of MODEL.gguf]

DIR/vocab.json is the vocabulary, DIR/train.npz and DIR/held-out.npz are the documents. Existing files are kept. A
drafter needs the vocabulary of its model's file: one that is made again differs if the corpus has changed.
"""

import argparse
import multiprocessing
import os
import sys

import numpy as np

import gguf_reader
import vocab
from models import MODELS
from world.corpus import Corpus

_CHUNK = 2000  # documents that a process makes at a time
_VOCAB_DOCUMENTS = 20000


def corpus_of(model, split):
    return Corpus(split, model.assistant, model.emphasis)


def train_vocab(model):
    corpus = corpus_of(model, "train")
    documents = (model.chat.segments(corpus.document(number)) for number in range(_VOCAB_DOCUMENTS))
    texts = ("".join(text for text, _ in segments) for segments in documents)
    return vocab.KINDS[model.vocab_kind].train(texts, model.vocab_size, model.chat.control, model.chat.visible)


def vocab_of_file(model, path):
    merges = gguf_reader.read(path)[0]["tokenizer.ggml.merges"]
    return vocab.ByteLevel([merge.split(" ") for merge in merges], model.chat.control, model.chat.visible)


def encode_documents(task):
    """Tokens, weights and lengths of some documents, concatenated."""
    name, split, path, first, count = task
    model, words = MODELS[name], vocab.load(path)
    corpus = corpus_of(model, split)
    tokens, weights, lengths = [], [], []
    for number in range(first, first + count):
        before = len(tokens)
        for text, weight in model.chat.segments(corpus.document(number)):
            ids = words.encode(text)
            tokens += ids
            weights += [weight] * len(ids)
        lengths.append(len(tokens) - before)
    return np.array(tokens, np.uint16), np.array(weights, np.uint8), np.array(lengths, np.int32)


def make_split(pool, model, split, vocab_path, path, documents):
    tasks = [(model.name, split, vocab_path, first, min(_CHUNK, documents - first))
             for first in range(0, documents, _CHUNK)]
    parts = pool.map(encode_documents, tasks, chunksize=1)
    tokens, weights, lengths = (np.concatenate(arrays) for arrays in zip(*parts))
    with open(path + ".part", "wb") as file:
        np.savez(file, tokens=tokens, weights=weights, lengths=lengths)
    os.replace(path + ".part", path)
    print(f"{path}: {documents} documents, {len(tokens) / 1e6:.1f} M tokens", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--documents", type=int, default=400_000)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--vocab-of", metavar="FILE", help="a model file whose byte-level vocabulary is taken")
    options = parser.parse_args()
    model = MODELS[options.model]
    os.makedirs(options.data, exist_ok=True)
    vocab_path = os.path.join(options.data, "vocab.json")
    if not os.path.exists(vocab_path):
        words = vocab_of_file(model, options.vocab_of) if options.vocab_of else train_vocab(model)
        words.save(vocab_path)
        print(f"{vocab_path}: {len(words.tokens)} tokens", flush=True)
    with multiprocessing.Pool(options.jobs) as pool:
        for split, documents in (("held-out", 2000), ("train", options.documents)):
            path = os.path.join(options.data, split + ".npz")
            if not os.path.exists(path):
                make_split(pool, model, split, vocab_path, path, documents)


if __name__ == "__main__":
    sys.exit(main())
