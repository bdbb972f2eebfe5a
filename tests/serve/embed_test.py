# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Embeddings in every API and on the command line: the same numbers whatever is computed at the same time, and in any
pieces; and errors that name the wrong part of a request."""
import base64
import json
import math
import pathlib
import struct
import subprocess
import tempfile
import unittest

from gguf_edit import with_pooling
from server import ASTER, NOVA, Server

TEXTS = ["The capital of France is Paris.", "Two and two are four.", "x", "Tell me a story. " * 60]


def float32(numbers):
    return [struct.unpack("<f", struct.pack("<f", number))[0] for number in numbers]


class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(NOVA, "--name", "nova", "--parallel", 3)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def embed(self, expected=200, **fields):
        return self.server.post("/v1/embeddings", fields, expected)

    def vectors(self, *texts, **fields):
        answer = self.embed(model="nova", input=list(texts), **fields)
        self.assertEqual([one["index"] for one in answer["data"]], list(range(len(texts))))
        return [one["embedding"] for one in answer["data"]]

    def test_the_same_numbers_alone_and_together(self):
        alone = [self.vectors(text)[0] for text in TEXTS]
        self.assertEqual(self.vectors(*TEXTS), alone)
        # After text that is in the KV cache by now, and more of them than are computed at once.
        self.assertEqual(self.vectors(*(TEXTS * 3)), alone * 3)
        for vector in alone:
            self.assertEqual(len(vector), len(alone[0]))
            self.assertAlmostEqual(math.hypot(*vector), 1, places=5)
        self.assertNotEqual(alone[0], alone[1])

    def test_the_same_numbers_as_the_command_line(self):
        expected = self.vectors(*TEXTS)
        run = subprocess.run([ASTER, "embed", NOVA, "--json", *TEXTS], capture_output=True, check=True)
        told = json.loads(run.stdout)
        self.assertEqual(told["pooling"], "last")
        self.assertEqual([one["embedding"] for one in told["embeddings"]], expected)
        lines = subprocess.run([ASTER, "embed", NOVA, "--dimensions", "3"], capture_output=True, check=True,
                               input="\n".join(TEXTS).encode() + b"\n\n").stdout.decode().splitlines()
        self.assertEqual([float32(map(float, line.split())) for line in lines], self.vectors(*TEXTS, dimensions=3))

    def test_tokens_are_texts(self):
        ids = self.server.post("/tokenize", {"content": TEXTS[0], "add_special": True})["tokens"]
        answer = self.embed(input=[ids, ids])
        self.assertEqual([one["embedding"] for one in answer["data"]], self.vectors(TEXTS[0]) * 2)
        self.assertEqual(answer["usage"], {"prompt_tokens": 2 * len(ids), "total_tokens": 2 * len(ids)})
        self.assertEqual(self.embed(input=ids)["data"][0], answer["data"][0])

    def test_base64_and_dimensions(self):
        whole = self.vectors(TEXTS[0])[0]
        coded = self.embed(input=TEXTS[0], encoding_format="base64")["data"][0]["embedding"]
        self.assertEqual(list(struct.unpack(f"<{len(whole)}f", base64.b64decode(coded))), whole)
        short = self.vectors(TEXTS[0], dimensions=5)[0]
        length = math.hypot(*whole[:5])
        for got, number in zip(short, whole[:5], strict=True):
            self.assertAlmostEqual(got, number / length, places=6)

    def test_the_other_apis_say_the_same(self):
        expected = self.vectors(*TEXTS)
        ollama = self.server.post("/api/embed", {"model": "nova:latest", "input": TEXTS})
        self.assertEqual(ollama["embeddings"], expected)
        self.assertGreater(ollama["prompt_eval_count"], len(TEXTS))
        self.assertEqual(self.server.post("/api/embed", {"input": []})["embeddings"], [])
        for path in ("/embedding", "/embeddings"):
            llama = self.server.post(path, {"content": TEXTS})
            self.assertEqual([one["embedding"][0] for one in llama], expected)
        raw = self.server.post("/embedding", {"content": TEXTS[0], "embd_normalize": -1})[0]["embedding"][0]
        self.assertEqual(self.server.post("/api/embeddings", {"prompt": TEXTS[0]})["embedding"], raw)
        length = math.hypot(*raw)
        for got, number in zip(expected[0], raw, strict=True):
            self.assertAlmostEqual(got, number / length, places=6)

    def test_clients_of_ollama_load_a_model_by_an_empty_request(self):
        for fields in ({}, {"input": ""}, {"input": []}):
            self.assertEqual(self.server.post("/api/embed", fields)["embeddings"], [])
        for fields in ({}, {"prompt": ""}):
            self.assertEqual(self.server.post("/api/embeddings", fields), {"embedding": []})

    def test_what_is_wrong_is_named(self):
        def refused(path="/v1/embeddings", status=400, **fields):
            error = self.server.post(path, fields, status)["error"]
            return error if isinstance(error, str) else error["message"]
        self.assertIn("input: is missing", refused())
        self.assertIn("input: give at least one text", refused(input=[]))
        self.assertIn("input[1]: is empty", refused(input=["x", ""]))
        self.assertIn("input[0]", refused(input=[{"text": "x"}]))
        self.assertIn("a token that this model does not have", refused(input=[1, 1 << 30]))
        self.assertIn("dimensions", refused(input="x", dimensions=1 << 20))
        self.assertIn("encoding_format", refused(input="x", encoding_format="int8"))
        self.assertIn("embd_normalize", refused("/embedding", content="x", embd_normalize=1))
        self.assertIn("at most 2048", refused(input=["x"] * 2049))
        refused(status=404, model="none", input="x")
        long = "word " * 9000
        self.assertIn("tokens, and", refused(input=long))
        self.assertIn("tokens, and", refused("/api/embed", input=long, truncate=False))
        self.assertEqual(len(self.server.post("/api/embed", {"input": long})["embeddings"]), 1)

    def test_pooling_as_the_file_says(self):
        with tempfile.TemporaryDirectory() as holder:
            path = pathlib.Path(holder) / "pooled.gguf"
            told = {}
            for pooling, name in ((1, "mean"), (2, "cls"), (3, "last")):
                with_pooling(NOVA, path, pooling)
                runs = [json.loads(subprocess.run([ASTER, "embed", path, "--json", *texts], capture_output=True,
                                                  check=True).stdout) for texts in (TEXTS, TEXTS[::-1])]
                self.assertEqual(runs[0]["pooling"], name)
                self.assertEqual(runs[0]["embeddings"], runs[1]["embeddings"][::-1])
                told[name] = [one["embedding"] for one in runs[0]["embeddings"]]
            self.assertEqual(told["last"], self.vectors(*TEXTS))
            self.assertNotEqual(told["mean"][0], told["last"][0])
            # A single token is all of them at once, if the file adds none around it.
            self.assertEqual(told["mean"][2] == told["last"][2], told["cls"][2] == told["last"][2])
            with_pooling(NOVA, path, 4)
            server = Server(path, "--name", "ranks")
            try:
                error = server.post("/v1/embeddings", {"input": "x"}, 501)["error"]["message"]
                self.assertIn("ranks documents", error)
            finally:
                server.stop()

    def test_the_same_numbers_on_nodes(self):
        expected = self.vectors(*TEXTS)
        with tempfile.TemporaryDirectory() as holder:
            mean = pathlib.Path(holder) / "mean.gguf"
            with_pooling(NOVA, mean, 1)
            for model in (NOVA, mean):
                told = [subprocess.run([ASTER, "embed", model, "--json", *nodes, *TEXTS], capture_output=True,
                                       check=True).stdout for nodes in ([], ["--local-nodes", "2"])]
                self.assertEqual(told[1], told[0])
        server = Server(NOVA, "--name", "nova", "--local-nodes", 2)
        try:
            for texts, vectors in ((TEXTS, expected), (TEXTS[1:] * 2, expected[1:] * 2)):
                answer = server.post("/v1/embeddings", {"input": texts})
                self.assertEqual([one["embedding"] for one in answer["data"]], vectors)
            self.assertEqual(server.post("/api/embed", {"model": "nova", "input": TEXTS})["embeddings"], expected)
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
