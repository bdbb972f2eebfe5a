#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Runs aster as users and scripts do: its output, where it goes, and the exit status."""
import json
import os
import pty
import subprocess
import sys
import unittest

from fixture import ASTER, INPUT, OK, SYSTEM, UNSUPPORTED, USAGE, Case, aster

def write_what_has_no_kernels(path):
    """A model with a tensor of a type without kernels: Q4_0 with interleaved rows, of the same size."""
    aster("synth", path, "--type", "Q4_0")
    data = bytearray(path.read_bytes())
    name = b"blk.0.ffn_up.weight"
    at = data.index(name) + len(name) + 4 + 2 * 8  # after the number of dimensions and two of them
    assert data[at:at + 4] == (2).to_bytes(4, "little")
    data[at:at + 4] = (31).to_bytes(4, "little")
    path.write_bytes(data)


def on_terminal(*arguments):
    """What a user sees: all output of the program while a terminal is attached."""
    master, slave = pty.openpty()
    process = subprocess.Popen([ASTER, *map(str, arguments)], stdout=slave, stderr=slave, stdin=slave,
                               env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    return process.wait(timeout=60), seen


class Program(Case):
    def test_help_lists_every_command_and_each_explains_itself(self):
        text = aster("--help").stdout.decode()
        for command in ("run", "inspect", "synth", "plan", "quantize", "tokenize", "template",
                        "bench", "perplexity", "verify", "logits", "devices", "embed", "completion"):
            self.assertIn(command, text)
            own = aster(command, "--help").stdout.decode()
            self.assertGreater(len(own.splitlines()), 5)

    def test_version(self):
        self.assertRegex(aster("--version").stdout.decode(), r"^aster \d+\.\d+\.\d+\n$")
        self.assertEqual(aster("version").stdout, aster("--version").stdout)

    def test_help_of_a_command(self):
        self.assertEqual(aster("help").stdout, aster("--help").stdout)
        self.assertEqual(aster("help", "run").stdout, aster("run", "--help").stdout)
        self.assertEqual(aster("help", "cluster", "join").stdout, aster("cluster", "join", "--help").stdout)
        for words, told in ((("help", "srve"), "there is no command srve; did you mean serve?"),
                            (("help", "cluster", "jion"), "there is no command cluster jion; did you mean join?"),
                            (("srve", "--help"), "there is no command srve; did you mean serve?")):
            self.assertIn(told, aster(*words, check=USAGE).stderr.decode())

    def test_an_unknown_key_is_named_with_its_line(self):
        path = self.folder / "wrong.toml"
        path.write_text("# the server\n[serve]\nport = 0\nprallel = 3\n")
        told = aster("--config", path, "serve", "nova", check=USAGE).stderr.decode()
        self.assertIn(f"{path}: line 4: there is no option serve.prallel; did you mean parallel?", told)
        for text, place in (("\n[srve]\nport = 0\n", "line 2: there is no table [srve]; did you mean serve?"),
                            ("[serve]\nport = 0\n[serve\n", "line 3: [serve is no table: one is written [NAME]"),
                            ("[serve]\nport = 0\nparallel = \"x\"\n", "line 3: --parallel: give")):
            path.write_text(text)
            told = aster("--config", path, "serve", "nova", check=USAGE).stderr.decode()
            self.assertIn(f"{path}: {place}", told)
        # Typed options override the file.
        told = aster("--config", path, "serve", "nova", "--parallel", "y", check=USAGE).stderr.decode()
        self.assertIn("error: --parallel: give", told)

    def test_ranges_in_words(self):
        for option, value, told in (("--ctx", "-5", "--ctx: give a number from 0 on, not -5"),
                                    ("--temp", "warm", "--temp: give a number, not warm"),
                                    ("-n", "-3", "give 1 or more, not -3")):
            self.assertIn(told, aster("run", "nova", "-p", "x", option, value, check=USAGE).stderr.decode())

    def test_a_context_that_does_not_do(self):
        told = aster("run", self.tiny, "--raw", "-p", "one two three", "--ctx", "2", check=INPUT).stderr.decode()
        self.assertIn("allow a longer context (--ctx)", told)
        told = aster("run", self.tiny, "--raw", "-p", "one", "-n", "1", "--ctx", "5000").stderr.decode()
        self.assertIn("warning: --ctx 5000: the model was trained for 4096 tokens", told)

    def test_doctor(self):
        # Checking GPUs takes seconds, and gpu_test.py does it.
        no_gpu = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
        report = json.loads(aster("doctor", self.tiny, "--json", environment=no_gpu).stdout)
        levels = {finding["subject"]: finding["level"] for finding in report["findings"]}
        for subject in ("instruction_set", "cores", "memory", "model", "gpu", "loopback", "open_files", "firewall"):
            self.assertIn(subject, levels)
        self.assertLessEqual(set(levels.values()), {"good", "unknown", "note", "slow", "bad"})
        for finding in report["findings"]:
            has_advice = bool(finding["cost"] and finding["mend"])
            self.assertEqual(has_advice, finding["level"] in ("note", "slow", "bad"), finding)
        told = aster("doctor", "--json", environment={**no_gpu, "ASTER_ISA": "ref"}).stdout
        forced = json.loads(told)["findings"][0]
        self.assertEqual((forced["subject"], forced["level"]), ("instruction_set", "slow"))
        self.assertIn("aster doctor", aster("doctor", "--help").stdout.decode())
        aster("doctor", "no-such.gguf", check=INPUT)

    def test_a_mistyped_model(self):
        told = aster("run", "nva", "-p", "x", check=INPUT).stderr.decode()
        self.assertIn("did you mean nova?", told)
        self.assertIn("aster pull", aster("run", "llama3", "-p", "x", check=INPUT).stderr.decode())
        self.assertIn("aster pull http://a.example/m.gguf",
                      aster("run", "http://a.example/m.gguf", "-p", "x", check=INPUT).stderr.decode())

    def test_wrong_usage_is_told_apart_from_wrong_input(self):
        aster(check=USAGE)
        aster("frobnicate", check=USAGE)
        # Errors name a missing argument as the usage does, and describe it.
        for words, missing in ((("session", "rm"), "NAME is missing: names of the sessions; aster session rm --help"),
                               (("session", "export", "x"), "FILE is missing: file to write"),
                               (("pull",), "SOURCE is missing: hf:ORG/REPO")):
            self.assertIn(missing, aster(*words, check=USAGE).stderr.decode())
        aster("inspect", self.tiny, "--nonsense", check=USAGE)
        for words, meant in ((("srve",), "did you mean serve?"), (("run", "--tokns", "3"), "did you mean --tokens?"),
                             (("--color", "never", "rnu"), "did you mean run?"), (("cluster", "jion"), "join"),
                             (("run", "-n", "0"), "give 1 or more, not 0")):
            self.assertIn(meant, aster(*words, check=USAGE).stderr.decode())
        run = aster("inspect", self.folder / "none.gguf", check=INPUT)
        self.assertIn("none.gguf", run.stderr.decode())
        self.assertEqual(run.stdout, b"")

    def test_a_full_disk_is_reported(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full here")
        with open("/dev/full", "wb") as full:
            run = subprocess.run([ASTER, "inspect", str(self.tiny)], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(run.returncode, SYSTEM)
        self.assertIn(b"standard output", run.stderr)

    def test_colours_only_on_a_terminal(self):
        self.assertNotIn(b"\033[", aster("inspect", self.tiny).stdout)
        self.assertIn(b"\033[", aster("inspect", self.tiny, "--color", "always").stdout)
        status, seen = on_terminal("inspect", self.tiny)
        self.assertEqual(status, OK)
        self.assertIn(b"\033[1m", seen)
        status, seen = on_terminal("inspect", self.tiny, "--color", "never")
        self.assertNotIn(b"\033[", seen)


class Completion(Case):
    def test_each_script_names_every_command(self):
        for shell in ("bash", "zsh", "fish"):
            script = aster("completion", shell).stdout.decode()
            for word in ("inspect", "quantize", "tokenize"):
                self.assertIn(word, script)
        aster("completion", "tcsh", check=USAGE)

    def complete(self, line):
        words = line.split(" ")
        script = f"""
aster() {{ '{ASTER}' "$@"; }}
eval "$(aster completion bash)"
COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words) - 1}
_aster
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("aster insp"), ["inspect"])
        self.assertEqual(self.complete("aster inspect --js"), ["--json"])
        self.assertIn("--preset", self.complete("aster synth --p"))

    def test_bash_completes_commands_of_commands(self):
        self.assertEqual(self.complete("aster cluster jo"), ["join"])
        self.assertEqual(self.complete("aster cluster join --fo"), ["--force"])
        self.assertIn("--json", self.complete("aster --color never session list --"))

    def test_bash_completes_models(self):
        self.assertIn("nova", aster("list", "--names").stdout.decode().split())
        self.assertIn("nova", self.complete("aster run no"))
        self.assertNotIn("nova", self.complete("aster completion no"))


class Inspect(Case):
    def test_json_says_what_the_model_is(self):
        report = json.loads(aster("inspect", self.tiny, "--json", "--tensors", "--metadata").stdout)
        self.assertEqual(report["architecture"], "llama")
        self.assertEqual(report["layers"], 4)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual(report["obstacles"], [])
        self.assertEqual(report["context_length"], 4096)
        self.assertEqual(report["tensors"], len(report["tensor_list"]))
        self.assertEqual(report["bytes"], sum(tensor["bytes"] for tensor in report["tensor_list"]))
        self.assertEqual(len(report["parts"]["layers"]), 4)
        self.assertEqual(report["metadata"]["llama.embedding_length"], 256)
        self.assertEqual(report["metadata"]["tokenizer.ggml.tokens"]["size"], 1024)

    def test_the_fingerprint_follows_the_content(self):
        other = self.folder / "other.gguf"
        environment = {"XDG_CACHE_HOME": str(self.folder)}

        def fingerprint(path):
            run = aster("inspect", path, "--json", "--fingerprint", environment=environment)
            return json.loads(run.stdout)["fingerprint"]

        first = fingerprint(self.tiny)
        self.assertRegex(first, r"^[0-9a-f]{32}$")
        self.assertEqual(first, fingerprint(self.tiny))
        aster("synth", other, "--type", "Q4_K", "--name", "another name")
        self.assertEqual(first, fingerprint(other))
        aster("synth", other, "--type", "Q4_K", "--seed", 2)
        self.assertNotEqual(first, fingerprint(other))

    def test_an_unsupported_model_says_why(self):
        odd = self.folder / "odd.gguf"
        write_what_has_no_kernels(odd)
        report = json.loads(aster("inspect", odd, "--json").stdout)
        self.assertFalse(report["supported"])
        self.assertIn("Q4_0_4_4", " ".join(report["obstacles"]))
        self.assertIn("cannot run it", aster("inspect", odd).stdout.decode())

    def test_damage_is_named(self):
        damaged = self.folder / "damaged.gguf"
        damaged.write_bytes(self.tiny.read_bytes()[:5000])
        self.assertIn(b"damaged.gguf", aster("inspect", damaged, check=INPUT).stderr)
        damaged.write_bytes(b"not a model at all, just text")
        self.assertIn(b"GGUF", aster("inspect", damaged, check=INPUT).stderr)


class Synth(Case):
    def test_the_same_options_write_the_same_bytes(self):
        for threads in (1, 2):
            again = self.folder / "again.gguf"
            aster("synth", again, "--type", "Q4_K", "--threads", threads)
            self.assertEqual(again.read_bytes(), self.tiny.read_bytes())

    def test_any_shape_by_flags(self):
        path = self.folder / "shaped.gguf"
        aster("synth", path, "--arch", "qwen3moe", "--layers", 2, "--experts", 6, "--experts-used", 3,
              "--expert-ff", 256, "--vocab", 600, "--untied", "--type", "F16")
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual(report["shape"]["experts"], {"count": 6, "used": 3, "feed_forward": 256})
        self.assertFalse(report["shape"]["tied_head"])

    def test_a_gemma_3_and_what_the_real_ones_take(self):
        path = self.folder / "gemma.gguf"
        aster("synth", path, "--arch", "gemma3", "--type", "Q4_0", "--layers", 4, "--window", 32)
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual((report["shape"]["sliding_window"], report["shape"]["full_every"]), (32, 3))
        self.assertEqual(report["shape"]["window_rope_base"], 10000)
        self.assertTrue(report["shape"]["tied_head"])
        aster("synth", path, "--arch", "gemma3", "--preset", "tiny", check=INPUT)
        plan = json.loads(aster("plan", "--memory", "--preset", "gemma3-27b", "--context", "8192,131072",
                                "--json").stdout)
        # The last slice has the embedding as its head, packed; the first as rows of the file.
        total = sum(item["weight_bytes"]["Q4_0"] for item in plan["slices"])
        table = 262144 * 5376 * 2
        self.assertAlmostEqual((total - table) / 1e9, 17.2, delta=0.1)
        # Ten of 62 layers see all: at each position keys and values of 16 heads of 128.
        growth = [item["kv_bytes"]["131072"] - item["kv_bytes"]["8192"] for item in plan["slices"]]
        self.assertEqual(sum(growth), 10 * (131072 - 8192) * 2 * 16 * 128 * 2)

    def test_a_deepseek_v4_and_what_the_real_ones_take(self):
        path = self.folder / "flash.gguf"
        aster("synth", path, "--arch", "deepseek4", "--type", "Q8_0")
        report = json.loads(aster("inspect", path, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertEqual(report["shape"]["compress_ratios"], [0, 0, 4, 128, 4, 128])
        aster("synth", path, "--arch", "deepseek4", "--preset", "tiny", check=INPUT)
        plan = json.loads(aster("plan", "--memory", path, "--slices", 2, "--context", "1000,5000", "--json").stdout)
        self.assertEqual([item["layer_end"] for item in plan["slices"]][-1], 6)
        self.assertEqual(list(plan["slices"][0]["kv_bytes"]), ["1000", "5000"])
        plan = json.loads(aster("plan", "--memory", "--preset", "flash-full", "--slices", 2, "--json").stdout)
        self.assertEqual(plan["wire_bytes_per_token"], 4 * 4 * 4096)
        weights = [item["weight_bytes"]["IQ2_XXS+Q2_K"] for item in plan["slices"]]
        self.assertAlmostEqual(sum(weights) / 2 ** 30, 81, delta=4)
        self.assertLess(max(weights), 0.56 * sum(weights))
        self.assertIn("on the wire", aster("plan", "--memory", "--preset", "pro-full").stdout.decode())
        aster("plan", "--memory", check=INPUT)
        aster("plan", "--memory", path, "--slices", 9, check=INPUT)
        plan = json.loads(aster("plan", "--memory", path, "--split", "b=0:3,a=4:out", "--json").stdout)
        self.assertEqual([item["layer_end"] for item in plan["slices"]], [4, 6])
        aster("plan", "--memory", path, "--split", "0:3,5:out", check=INPUT)
        aster("plan", "--memory", path, "--split", "0:3,4:out", "--machines", "1GiB", check=INPUT)
        for context in (0, 2 ** 32 - 1):
            aster("plan", "--memory", path, "--context", context, check=INPUT)

    def test_a_plan_counts_a_drafter_beside_the_head(self):
        def weights(*arguments):
            plan = json.loads(aster("plan", "--memory", *arguments, "--json").stdout)
            return [list(item["weight_bytes"].values())[0] for item in plan["slices"]], plan.get("drafter_bytes")

        cut = ("--split", "0:1,2:out")
        alone, none = weights("nova", *cut)
        self.assertIsNone(none)
        beside, drafter = weights("nova", "nova-dspark", *cut)
        self.assertEqual(beside, [alone[0], alone[1] + drafter])
        self.assertIn("The drafter takes", aster("plan", "--memory", "nova", "nova-dspark").stdout.decode())
        # A group computes the head's layers: no drafter fits beside it.
        self.assertEqual(weights("nova", "nova-dspark", "--split", "a+b=0:out")[0],
                         weights("nova", "--split", "a+b=0:out")[0])
        refused = aster("plan", "--memory", "comet", "nova-dspark", check=INPUT)
        self.assertIn("drafter", refused.stderr.decode())

    def test_a_plan_says_what_fits(self):
        def fits(*machines):
            plan = aster("plan", "--memory", "--preset", "flash-full", "--machines", ",".join(machines), "--json")
            return json.loads(plan.stdout)["fits_with_tokens"]

        self.assertEqual(set(fits("128GiB", "128GiB").values()), {1048576})
        self.assertEqual({mix for mix, tokens in fits("64GiB", "48GiB").items() if tokens},
                         {"IQ2_XXS+Q2_K", "6 layers Q4_K"})
        self.assertEqual(set(fits("8GiB", "8GiB").values()), {0})
        # Layers on a GPU take no main memory.
        self.assertEqual(set(fits("16GiB+400GiB", "16GiB+400GiB").values()), {1048576})
        self.assertIn("does not fit", aster("plan", "--memory", "--preset", "pro-full", "--machines",
                                            "256GiB,256GiB").stdout.decode())

    def test_a_plan_says_what_nodes_of_a_group_take(self):
        def parts(split, *options):
            plan = aster("plan", "--memory", "--preset", "flash-full", "--split", split, "--json", *options)
            return json.loads(plan.stdout)

        def weights(split):
            return [item["weight_bytes"]["MXFP4"] for item in parts(split)["slices"]]

        slices = parts("a+b/experts=0:out")["slices"]
        self.assertEqual([(item["part"], item["parts"]) for item in slices], [(0, 2), (1, 2)])
        self.assertEqual([item["layer_end"] for item in slices], [43, 43])
        # Experts of 3 · 4096 · 2048 weights of 17/32 bytes, 256 of them in each of 43 layers.
        expert = 43 * 3 * 4096 * 2048 * 17 // 32
        rows, owned, more = weights("a+b=0:out"), weights("a+b/experts=0:out"), weights("a+b/experts*32=0:out")
        # The shared one, in Q8_0, is on both as a whole.
        self.assertAlmostEqual(sum(owned) - sum(rows), 43 * 3 * 4096 * 2048 * 34 // 32, delta=1)
        self.assertEqual([b - a for a, b in zip(owned, more)], 2 * [16 * expert])
        self.assertGreaterEqual(weights("3*a+b/experts=0:out")[0] - owned[0], 64 * expert)
        fits = parts("a+b/experts=0:out", "--machines", "96GiB,96GiB")["fits_with_tokens"]
        self.assertGreater(fits["MXFP4"], 0)
        aster("plan", "--memory", "--preset", "flash-full", "--split", "99*a+b/experts=0:out", check=INPUT)
        aster("plan", "--memory", self.tiny, "--split", "a+b/experts=0:out", check=INPUT)

    def test_a_plan_says_which_layers_are_on_a_gpu(self):
        def plan(machine, *options):
            return aster("plan", "--memory", self.tiny, "--machines", machine, *options).stdout

        placed = list(json.loads(plan("8GiB+600MiB", "--json"))["placements"].values())[0][0]
        layers = json.loads(plan("8GiB", "--json"))["slices"][0]["layer_end"]
        self.assertEqual([gpu["layer_end"] for gpu in placed["gpus"]], [layers])
        self.assertRegex(plan("8GiB+600MiB").decode(), r"8\.00 GiB with a GPU of 600 MiB, of which(.|\n)*"
                         r" on its GPU of 600 MiB\n")
        # In a group, the GPU has the part of its node.
        group = json.loads(plan("8GiB+600MiB,8GiB", "--split", "a+b=0:out", "--json"))
        parts = list(group["placements"].values())[0]
        self.assertEqual([[gpu["layer_end"] for gpu in part["gpus"]] for part in parts], [[layers], []])
        # The GPU has no room for a layer.
        self.assertRegex(plan("8GiB+100MiB").decode(), r"no layer on its GPU of 100 MiB: no more fit beside")
        aster("plan", "--memory", self.tiny, "--machines", "8GiB+many", check=INPUT)

    def test_what_cannot_be_made_is_refused_and_leaves_nothing(self):
        path = self.folder / "never.gguf"
        aster("synth", path, "--type", "Q9_Z", check=INPUT)
        aster("synth", path, "--preset", "gigantic", check=INPUT)
        aster("synth", path, "--kv-heads", 3, check=INPUT)
        aster("synth", path, "--experts", 4, check=INPUT)
        aster("synth", path, "--layers", "many", check=USAGE)
        self.assertFalse(path.exists())
        aster("synth", self.folder / "no" / "folder.gguf", check=INPUT)


class Verify(Case):
    def check(self, model, *options):
        report = json.loads(aster("verify", model, "--tokens", 150, *options, "--json").stdout)
        self.assertTrue(report["equal"])
        self.assertGreater(len(report["ways"]), 10)
        self.assertEqual(len({way["hash"] for way in report["ways"]}), 1)

    def test_every_way_gives_the_same_bits(self):
        self.check(self.tiny)

    def test_attention_in_integers(self):
        self.check(self.tiny, "--kv-type", "q8i")
        self.check(self.tiny, "--kv-type", "q8i", "--kv-window", 24, "--kv-sinks", 3)

    def test_what_cannot_be_run_is_told_apart(self):
        odd = self.folder / "odd.gguf"
        write_what_has_no_kernels(odd)
        self.assertIn(b"Q4_0_4_4", aster("verify", odd, check=UNSUPPORTED).stderr)
        aster("verify", self.tiny, "--tokens", 1, check=USAGE)
        aster("verify", self.tiny, "--kv-sinks", 4, check=INPUT)
        self.assertIn(b"allow more memory", aster("verify", self.tiny, "--kv-memory", "1KiB", check=SYSTEM).stderr)


class Logits(Case):
    def test_a_row_for_every_position_whatever_the_chunk(self):
        ids, out = self.folder / "ids", self.folder / "logits"
        ids.write_text("1 2 3\n4,5")
        aster("logits", self.tiny, "--ids", ids, "--out", out)
        first = out.read_bytes()
        self.assertEqual(len(first), 5 * 1024 * 4)
        aster("logits", self.tiny, "--ids", ids, "--out", out, "--chunk", 2, "--threads", 2)
        self.assertEqual(out.read_bytes(), first)

    def test_an_instruction_set_can_be_forced(self):
        ids, out = self.folder / "ids", self.folder / "logits"
        ids.write_text("7 8 9")
        aster("logits", self.tiny, "--ids", ids, "--out", out)
        first = out.read_bytes()
        aster("logits", self.tiny, "--ids", ids, "--out", out, environment={"ASTER_ISA": "ref"})
        self.assertEqual(out.read_bytes(), first)
        run = aster("logits", self.tiny, "--ids", ids, "--out", out, environment={"ASTER_ISA": "mmx"}, check=INPUT)
        self.assertIn(b"ref", run.stderr)

    def test_ids_that_are_none_are_refused(self):
        ids, out = self.folder / "ids", self.folder / "never"
        for text in ("", "1 two", "-4", "1024", "99999999999999"):
            ids.write_text(text)
            aster("logits", self.tiny, "--ids", ids, "--out", out, check=INPUT)
        self.assertFalse(out.exists())


class Quantize(Case):
    def test_a_quantised_file_is_smaller_and_still_supported(self):
        source, target = self.folder / "f16.gguf", self.folder / "q4.gguf"
        aster("synth", source, "--type", "F16")
        aster("quantize", source, target, "--type", "Q4_K_M")
        self.assertLess(target.stat().st_size, source.stat().st_size / 2)
        report = json.loads(aster("inspect", target, "--json").stdout)
        self.assertTrue(report["supported"], report["obstacles"])
        self.assertIn("Q4_K", report["types"])

    def test_wrong_requests_leave_the_old_file(self):
        target = self.folder / "kept.gguf"
        target.write_bytes(b"precious")
        aster("quantize", self.folder / "none.gguf", target, "--type", "Q8_0", check=INPUT)
        aster("quantize", self.tiny, target, "--type", "Q9_Z", check=INPUT)
        self.assertEqual(target.read_bytes(), b"precious")


class Tokenize(Case):
    def ids(self, text, *options):
        return aster("tokenize", self.tiny, "--ids", *options, stdin=text).stdout

    def test_ids_stand_on_one_line_and_lead_back(self):
        for text in (b"the rain in spain", b"", "süß 🦙\n\n".encode(), bytes(range(256))):
            ids = self.ids(text)
            self.assertEqual(ids.count(b"\n"), 1)
            back = aster("tokenize", self.tiny, "--decode", stdin=ids).stdout
            self.assertEqual(back, text)

    def test_specials_are_text_where_asked(self):
        special = self.ids(b"<|start|>", "--no-bos").split()
        plain = self.ids(b"<|start|>", "--no-bos", "--no-special").split()
        self.assertEqual(special, [b"1022"])
        self.assertGreater(len(plain), 1)

    def test_ids_that_are_none_are_refused(self):
        for ids in (b"99999", b"-1", b"1 two 3"):
            aster("tokenize", self.tiny, "--decode", stdin=ids, check=INPUT)


class Template(Case):
    def render(self, template, variables, check=OK):
        source, values = self.folder / "t.jinja", self.folder / "v.json"
        source.write_text(template)
        values.write_text(variables if isinstance(variables, str) else json.dumps(variables))
        return aster("template", source, values, check=check)

    def test_prints_the_prompt_and_nothing_else(self):
        run = self.render("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}",
                          {"messages": [{"role": "user", "content": "héllo"}]})
        self.assertEqual(run.stdout.decode(), "[user] héllo\n")
        self.assertEqual(run.stderr, b"")

    def test_a_failing_template_names_its_line(self):
        run = self.render("a\nb\n{{ raise_exception('no tools here') }}", {}, check=INPUT)
        self.assertIn("line 3", run.stderr.decode())
        self.assertIn("no tools here", run.stderr.decode())
        self.assertEqual(run.stdout, b"")
        self.assertIn("line 2", self.render("a\n{% if %}", {}, check=INPUT).stderr.decode())
        self.render("x", "{not json", check=INPUT)

    def test_a_model_file_brings_its_own(self):
        values = self.folder / "chat.json"
        values.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": True}))
        self.assertEqual(aster("template", self.tiny, values).stdout.decode(),
                         "<|start|>user\nhi<|end|>\n<|start|>assistant\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
