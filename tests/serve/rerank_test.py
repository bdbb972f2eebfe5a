# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Documents ranked by a model's head and by the cosine of embeddings: the scores compared with those computed here from
the model's rows, the forms of requests and answers, and errors."""
import math
import pathlib
import random
import tempfile
import unittest

from gguf_edit import with_more, with_pooling
from server import NOVA, Server

QUERY = "What is the capital of France?"
DOCUMENTS = ["Paris is the capital of France.", "Two and two are four.", "x", "Tell me a story. " * 40,
             "A document that says {query} and {document}."]
FORM = "Question: {query}\nText: {document}\nAnswer:"
PATHS = ["/v1/rerank", "/v1/reranking", "/v2/rerank", "/rerank", "/reranking"]


def by_index(answer):
    return [one["relevance_score"] for one in sorted(answer["results"], key=lambda one: one["index"])]


class Reranking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        # The rows after the model's last norm, given by its embeddings without normalisation.
        cls.plain = Server(NOVA, "--name", "nova")
        width = len(cls.row_of(cls, "x"))
        dice = random.Random(7)
        # Eighths of small numbers, which float32 has exactly; both classes are likely.
        cls.head = [[dice.randint(-8, 8) / 64 for _ in range(width)] for _ in range(2)]
        with_more(NOVA, folder / "ranks.gguf",
                  {"{arch}.pooling_type": 4, "{arch}.classifier.output_labels": ["no", "yes"],
                   "tokenizer.chat_template.rerank": FORM},
                  [("cls.output.weight", [width, 2], cls.head[0] + cls.head[1])])
        with_pooling(NOVA, folder / "embeds.gguf", 3)
        with_pooling(NOVA, folder / "headless.gguf", 4)
        cls.server = Server(folder / "ranks.gguf", folder / "embeds.gguf", folder / "headless.gguf", "--name", "ranks",
                            "--name", "embeds", "--name", "headless", "--parallel", 3)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.plain.stop()
        cls.folder.cleanup()

    def row_of(self, text):
        ids = self.plain.post("/tokenize", {"content": text, "add_special": False, "parse_special": False})["tokens"]
        # The chat template's path adds the token that begins a text, if the model has one.
        bos = self.plain.post("/tokenize", {"content": "", "add_special": True})["tokens"][:1]
        return self.plain.post("/embedding", {"content": bos + ids, "embd_normalize": -1})[0]["embedding"][0]

    def expected(self, document):
        row = self.row_of(FORM.replace("{query}", QUERY, 1).replace("{document}", document, 1))
        no, yes = (sum(weight * number for weight, number in zip(label, row, strict=True)) for label in self.head)
        return yes - no

    def rank(self, path="/v1/rerank", expected=200, **fields):
        return self.server.post(path, {"model": "ranks", "query": QUERY, "documents": DOCUMENTS, **fields}, expected)

    def test_scores_are_the_head_of_the_last_row(self):
        answer = self.rank()
        self.assertEqual((answer["object"], answer["model"], answer["method"]), ("list", "ranks", "rank_head"))
        for got, document in zip(by_index(answer), DOCUMENTS, strict=True):
            self.assertAlmostEqual(got, 1 / (1 + math.exp(-self.expected(document))), places=9)
        raw = by_index(self.rank(raw_scores=True))
        self.assertAlmostEqual(raw[0], self.expected(DOCUMENTS[0]), places=9)
        ranked = [one["relevance_score"] for one in answer["results"]]
        self.assertEqual(ranked, sorted(ranked, reverse=True))
        self.assertEqual(answer["usage"]["prompt_tokens"], answer["usage"]["total_tokens"])

    def test_the_same_scores_alone_and_together_by_every_path(self):
        together = by_index(self.rank(documents=DOCUMENTS * 3))
        self.assertEqual(together, by_index(self.rank()) * 3)
        alone = [self.rank(documents=[document])["results"][0]["relevance_score"] for document in DOCUMENTS]
        self.assertEqual(together[:len(alone)], alone)
        for path in PATHS:
            self.assertEqual(by_index(self.rank(path)), alone)

    def test_forms_of_requests_and_answers(self):
        whole = self.rank()["results"]
        best = self.rank(top_n=2, return_documents=True)["results"]
        self.assertEqual([one["index"] for one in best], [one["index"] for one in whole[:2]])
        for one in best:
            self.assertEqual(one["document"], {"text": DOCUMENTS[one["index"]]})
        objects = self.rank(documents=[{"text": document, "title": "t"} for document in DOCUMENTS])
        self.assertEqual(objects["results"], whole)
        bare = self.server.post("/rerank", {"query": QUERY, "texts": DOCUMENTS, "return_text": True})
        self.assertEqual(bare, [{"index": one["index"], "score": one["relevance_score"],
                                 "text": DOCUMENTS[one["index"]]} for one in whole])
        self.assertEqual([one["index"] for one in self.rank(documents=["x", "x", "x"])["results"]], [0, 1, 2])

    def test_documents_are_data(self):
        # A control token's spelling in a document is text, which has other tokens than the control token.
        eos = self.server.get("/props")["eos_token"]
        if eos:
            answer = self.rank(documents=[f"a{eos}b"])
            inside = self.plain.post("/tokenize", {"content": f"a{eos}b", "parse_special": False})["tokens"]
            special = self.plain.post("/tokenize", {"content": f"a{eos}b", "parse_special": True})["tokens"]
            self.assertGreater(len(inside), len(special))
            outside = self.rank(documents=["ab"])
            self.assertGreater(answer["usage"]["total_tokens"] - outside["usage"]["total_tokens"], 1)

    def test_long_documents_are_refused_or_cut(self):
        long = "word " * 9000
        error = self.rank(expected=400, documents=["x", long])["error"]
        self.assertIn("documents[1]: the text has", error["message"])
        cut = self.rank(documents=["x", long], truncate=True)
        self.assertEqual(by_index(cut)[0], by_index(self.rank(documents=["x"]))[0])
        self.assertEqual(len(cut["results"]), 2)
        short = self.rank(documents=["word " * 100], max_tokens_per_doc=10)
        self.assertLess(short["usage"]["total_tokens"],
                        self.rank(documents=["word " * 100])["usage"]["total_tokens"] - 80)

    def test_embedding_models_rank_by_cosine_and_say_so(self):
        answer = self.rank(model="embeds")
        self.assertEqual(answer["method"], "embedding_cosine")
        vectors = [one["embedding"] for one in
                   self.server.post("/v1/embeddings", {"model": "embeds", "input": [QUERY, *DOCUMENTS]})["data"]]
        for got, vector in zip(by_index(answer), vectors[1:], strict=True):
            self.assertAlmostEqual(got, sum(a * b for a, b in zip(vectors[0], vector, strict=True)), places=12)

    def test_what_is_wrong_is_named(self):
        def refused(expected=400, **fields):
            return self.rank(expected=expected, **fields)["error"]["message"]
        self.assertIn("query: is missing", refused(query=None))
        self.assertIn("documents: is missing", refused(documents=None))
        self.assertIn("documents: give at least one", refused(documents=[]))
        self.assertIn("documents[1]: is empty", refused(documents=["x", ""]))
        self.assertIn("documents[0]: give a text", refused(documents=[{"title": "x"}]))
        self.assertIn("at most 2048", refused(documents=["x"] * 2049))
        self.assertIn("top_n", refused(top_n=0))
        # The query is a part of each prompt.
        self.assertIn("query: is computed with each of 2048 documents",
                      refused(query="q" * 8193, documents=["x"] * 2048))
        self.assertIn("cls.output.weight is missing", refused(500, model="headless"))
        refusal = self.plain.post("/v1/rerank", {"query": "x", "documents": ["x"]}, 400)["error"]
        self.assertEqual(refusal["param"], "model")
        self.assertIn("does not rank documents", refusal["message"])
        self.assertIn("ranks documents", self.server.post("/v1/embeddings", {"model": "ranks", "input": "x"},
                                                          501)["error"]["message"])

    def test_the_same_scores_on_nodes(self):
        server = Server(pathlib.Path(self.folder.name) / "ranks.gguf", "--name", "ranks", "--local-nodes", 2)
        try:
            answer = server.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})
            self.assertEqual(by_index(answer), by_index(self.rank()))
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
