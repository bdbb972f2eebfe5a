#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A GPU that is lost while the program computes: the text is the processor's, and a warning names the GPU.
losing_driver.cc replaces the Mesa driver that computes on the processor."""
import json
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fixture import ASTER, INPUT, Case, aster  # noqa: E402
from processes import DEADLINE_S, read_piece, start_held  # noqa: E402

OPTIONS = ("-p", "the rain in", "--raw", "--temp", 0.8, "--seed", 3, "-q", "-n", 1500, "--ignore-eos")


def manifest_of_mesa():
    for folder in ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"):
        for path in sorted(pathlib.Path(folder).glob("lvp_icd.*json")):
            return json.loads(path.read_text())["ICD"]
    return None


class LostGpu(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        manifest = cls.folder / "driver.json"
        manifest.write_text(json.dumps({"file_format_version": "1.0.0",
                                        "ICD": {**MESA, "library_path": os.environ["LOSING_DRIVER"]}}))
        cls.lost = cls.folder / "lost"
        cls.environment = {"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest), "ASTER_GPU": "0",
                           "LOSING_DRIVER_OF": MESA["library_path"], "LOSING_DRIVER_WHEN": str(cls.lost)}

        # With a lost GPU the self-check is short.
        cls.lost.touch()
        listed = aster("devices", "--json", check=None, environment=cls.environment)
        if listed.returncode != 0 or not json.loads(listed.stdout)["devices"]:
            raise unittest.SkipTest("the loader does not take the driver of this test")

    def run_and_lose(self, *options):
        """The output of a run whose GPU is lost when it has begun to write."""
        run = start_held((ASTER, "run", self.tiny, *OPTIONS, *options), env={**os.environ, **self.environment})
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        begun = read_piece(run)
        self.lost.touch()
        rest, complaint = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, 0, complaint.decode())
        return begun + rest, complaint.decode()

    def test_the_processor_goes_on(self):
        alone = aster("run", self.tiny, *OPTIONS).stdout
        for options in (("--gpu-layers", "auto"), ("--local-nodes", 2, "--gpu-layers", 1)):
            self.lost.unlink(missing_ok=True)
            text, complaint = self.run_and_lose(*options)
            self.assertEqual(text, alone, complaint)
            self.assertIn("a GPU was lost", complaint)

    def test_one_that_is_lost_before_it_is_used(self):
        alone = aster("run", self.tiny, *OPTIONS).stdout
        self.lost.touch()
        for layers in ("auto", 2):
            run = aster("run", self.tiny, *OPTIONS, "--gpu-layers", layers, environment=self.environment)
            self.assertEqual(run.stdout, alone)
            self.assertIn(b"no GPU is used: ", run.stderr)
        # A machine without a GPU is a different case.
        nothing = {**self.environment, "ASTER_GPU": "7"}
        aster("run", self.tiny, *OPTIONS, "--gpu-layers", 2, environment=nothing, check=INPUT)


if __name__ == "__main__":
    MESA = manifest_of_mesa()
    if MESA is None or not os.path.exists(os.environ.get("LOSING_DRIVER", "")):
        print("skipped: no driver of Mesa that computes on the processor" if MESA is None else
              "skipped: LOSING_DRIVER does not name the driver of this test")
        sys.exit(77)
    unittest.main()
