#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""--gpu-layers: a GPU computes the processor's bits, here, in sessions and on nodes. Any driver will do: the first that
`aster devices` lists, which may be one that computes on the processor. That one compiles its shaders for every process,
for most of a minute of a core: so each way is tested once."""
import json
import sys
import unittest

from fixture import INPUT, Case, aster

STORY = ("-p", "Tell me a story about a rabbit.", "-n", 40, "--temp", 0, "--ignore-eos", "-q")


def devices():
    """They are not checked here: one that fails its self-check fails the tests."""
    run = aster("devices", "--json", check=None, environment={"ASTER_GPU": "off"})
    if run.returncode != 0:
        return [], run.stderr.decode().strip()
    return json.loads(run.stdout)["devices"], "no driver lists a device"


class Gpu(Case):
    def on_gpu(self, *arguments, check=0):
        return aster(*arguments, check=check, environment={"ASTER_GPU": "0", **self.home}, timeout=900)

    def setUp(self):
        self.home = {"XDG_DATA_HOME": str(self.folder / "data")}

    def test_every_way_has_the_same_bits(self):
        rows = ("--kv-type", "q8", "--kv-window", 8, "--kv-sinks", 3)
        report = json.loads(self.on_gpu("verify", self.tiny, "--tokens", 14, "--gpu-layers", "auto", *rows, "--json")
                            .stdout)
        self.assertTrue(report["equal"], report)
        self.assertGreaterEqual(len([way for way in report["ways"] if "GPU" in way["name"]]), 11)

    def test_every_way_of_deepseek_v41_has_the_same_bits(self):
        """V4.1 has all kinds of rows that V4 has, and more; engine/gpu/gpu_test.cc tests those of V4."""
        model = self.folder / "latent.gguf"
        aster("synth", model, "--preset", "flash41-shape-tiny", "--type", "Q8_0")
        report = json.loads(self.on_gpu("verify", model, "--tokens", 5, "--gpu-layers", "auto", "--json").stdout)
        self.assertTrue(report["equal"], report)
        self.assertGreaterEqual(len([way for way in report["ways"] if "GPU" in way["name"]]), 11)

    def test_an_answer_is_the_same_with_some_layers(self):
        """Some layers are on the GPU; the next test has all of them there."""
        plain = aster("run", self.tiny, *STORY).stdout
        self.assertEqual(self.on_gpu("run", self.tiny, *STORY, "--gpu-layers", 1).stdout, plain)

    def test_drafts_of_a_gpu_change_nothing(self):
        story = ("-p", "Tell me a story about a rabbit.", "-n", 40, "--temp", 0, "--json")
        plain = json.loads(aster("run", "nova", *story).stdout)
        drafted = json.loads(self.on_gpu("run", "nova", "nova-dspark", "--draft", "mtp", "--draft-max", 7, *story,
                                         "--gpu-layers", 3).stdout)
        self.assertEqual(drafted["ids"], plain["ids"])
        self.assertGreater(drafted["draft"]["accepted"], 0)

    def test_a_session_moves_to_the_gpu_and_back(self):
        text = self.folder / "text"
        text.write_text("the rain in spain falls mainly in the plain " * 14)  # more than a page of rows
        ask = ("-p", "and then it", "--raw", *STORY[2:])
        sides = {"cpu": (), "gpu": ("--gpu-layers", "auto")}
        answers = set()
        for saved, resumed in (("cpu", "gpu"), ("gpu", "cpu")):
            self.on_gpu("session", "save", saved, self.tiny, "--prompt-file", text, *sides[saved])
            answers.add(self.on_gpu("run", self.tiny, "--session", saved, *ask, *sides[resumed]).stdout)
        self.assertEqual(len(answers), 1)

    def test_a_node_with_a_gpu(self):
        plain = aster("run", self.tiny, *STORY).stdout
        nodes = ("--local-nodes", 1, "--gpu-layers", 1)
        self.assertEqual(self.on_gpu("run", self.tiny, *STORY, *nodes).stdout, plain)

    def test_a_group_whose_nodes_have_gpus(self):
        plain = aster("run", self.tiny, *STORY).stdout
        nodes = ("--local-nodes", 2, "--split", "group", "--gpu-layers", 1)
        self.assertEqual(self.on_gpu("run", self.tiny, *STORY, *nodes).stdout, plain)

    def test_what_cannot_be_is_refused(self):
        none = aster("run", self.tiny, *STORY, "--gpu-layers", 2, environment={"ASTER_GPU": "off"}, check=INPUT)
        self.assertIn(b"--gpu-layers: ASTER_GPU=off", none.stderr)
        run = aster("run", self.tiny, *STORY, "--gpu-layers", "auto", environment={"ASTER_GPU": "off"})
        self.assertEqual(run.stdout, aster("run", self.tiny, *STORY).stdout)
        many = aster("run", self.tiny, *STORY, "--gpu-layers", "many", check=INPUT)
        self.assertIn(b'"many" is no number of layers; give one, or auto', many.stderr)


if __name__ == "__main__":
    found, why_none = devices()
    if not found:
        print(f"skipped: {why_none}")
        sys.exit(77)
    unittest.main()
