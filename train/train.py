# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Trains a built-in model, from the beginning or from its last checkpoint.

  /usr/bin/python3 train/train.py nova --data DIR --out DIR [--threads N] [--stop-at HH:MM] [--pause-file PATH]

The corpus must exist (prepare.py). DIR/checkpoint.pt is written every few minutes and at the end; DIR/loss.csv has the
loss curve. The same command continues an interrupted run. On SIGTERM a checkpoint is written first.
"""

import argparse
import csv
import datetime
import math
import os
import signal
import sys
import time

with open("/proc/cpuinfo", encoding="utf-8") as processors:
    if "avx512vl" in processors.read():
        os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")

import torch  # noqa: E402

import batches  # noqa: E402
import muon  # noqa: E402
import networks  # noqa: E402
import vocab  # noqa: E402
from models import MODELS  # noqa: E402

SEED = 1
_HELD_OUT_WINDOWS = 96
# Long windows are seen only after this share of the run: they build on what short ones teach faster.
_SHORT_UNTIL = 0.4
# The share of the run in which the learning rate falls.
_DESCENT = 0.25


class Run:
    """A model in training: the content of a checkpoint, and how to make a step."""

    def __init__(self, options, recipe=None):
        self.options = options
        self.model = MODELS[options.model]
        self.training = dict(recipe or self.model.training)
        if options.tokens:
            self.training["tokens"] = int(options.tokens * 1e6)
        self.steps = self.training["tokens"] // self.training["batch"]
        self.micros = self.training["batch"] // self.training["micro"]
        torch.manual_seed(SEED)
        self.words = vocab.load(os.path.join(options.data, "vocab.json"))
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.precision = torch.bfloat16 if options.precision == "bf16" else torch.float32
        self.network = self.build().to(self.device)
        self.optimizers = optimizers(self.network, self.training["decay"], self.precision)
        self.stop_at = deadline(options.stop_at)
        self.step = 0
        self.seen = {str(length): 0 for length in batches.LENGTHS}
        self.seconds = 0.0
        self.train_data = batches.Documents(os.path.join(options.data, "train.npz"), SEED)
        self.held_out = batches.Documents(os.path.join(options.data, "held-out.npz"), SEED)

    def build(self):
        return networks.build(self.model, len(self.words.tokens), self.precision)

    def path(self, name):
        return os.path.join(self.options.out, name)

    def save(self):
        state = {"model": self.network.state_dict(), "optimizers": [each.state_dict() for each in self.optimizers],
                 "step": self.step, "seen": self.seen, "seconds": self.seconds}
        torch.save(state, self.path("checkpoint.pt.part"))
        os.replace(self.path("checkpoint.pt.part"), self.path("checkpoint.pt"))

    def resume(self):
        if not os.path.exists(self.path("checkpoint.pt")):
            return
        state = torch.load(self.path("checkpoint.pt"), map_location=self.device)
        self.network.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        self.step, self.seen, self.seconds = state["step"], state["seen"], state["seconds"]

    def rate(self):
        """The learning rate rises, stays, and falls to little in the last quarter; so a run can be extended until it
        falls."""
        high, low, warmup = (self.training[key] for key in ("rate", "final_rate", "warmup"))
        left = (self.steps - self.step) / (self.steps * self.training.get("descent", _DESCENT))
        return min(high * (self.step + 1) / warmup, high, low + (high - low) * max(0.0, left))

    def loss_of(self, tokens, weights):
        """The weighted sum of the losses, and the sum of the weights."""
        loss = self.network.loss(torch.from_numpy(tokens).to(self.device), torch.from_numpy(weights).to(self.device))
        return loss, float(weights[:, 1:].sum())

    def make_step(self):
        """The weighted mean loss of a token."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate()
        total = count = 0.0
        is_long = self.step >= self.steps * _SHORT_UNTIL
        self.network.train().select = is_long
        for micro in range(self.micros):
            length = batches.LENGTHS[0]
            if is_long:
                length = batches.length_of(SEED, self.step * self.micros + micro, self.training["shares"])
            tokens, weights = self.train_data.batch(length, self.seen[str(length)], self.training["micro"])
            self.seen[str(length)] += len(tokens)
            loss, counted = self.loss_of(tokens, weights)
            loss.backward()
            total += loss.item()
            count += counted
            pause(self.options.pause_file, self.stop_at)
        for parameter in self.network.parameters():
            parameter.grad /= count
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.network.balance()
        self.step += 1
        return total / count

    @torch.no_grad()
    def held_out_loss(self):
        total = count = 0.0
        self.network.eval()
        windows = self.training["micro"] // batches.LENGTHS[0]
        for first in range(0, _HELD_OUT_WINDOWS, windows):
            tokens, weights = self.held_out.batch(batches.LENGTHS[0], first, self.training["micro"])
            loss, counted = self.loss_of(tokens, weights)
            total += loss.item()
            count += counted
        return total / count


def optimizers(network, decay, precision):
    """An optimiser for the matrices of layers, and one for tables, vectors, routers and mixers."""
    matrices, tables, vectors = [], [], []
    for name, parameter in network.named_parameters():
        if parameter.ndim == 1:
            vectors.append(parameter)
        elif ("blk" in name or name.endswith(".fc")) and not any(part in name for part in ("hc_", "gate_inp", "ape")):
            matrices.append(parameter)
        else:
            tables.append(parameter)
    return [muon.Muon(matrices, decay=decay, precision=precision),
            torch.optim.AdamW([{"params": tables, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}],
                              lr=1.0, betas=(0.9, 0.98))]


def pause(path, until):
    """Waits while the pause file exists, so that the machine can be used for something else."""
    while path and os.path.exists(path) and time.time() < until:
        time.sleep(1)


class Log:
    """loss.csv, with a line for every few steps. Lines after the checkpoint that the run resumes from are dropped."""

    FIELDS = ["step", "tokens", "loss", "held_out_loss", "rate", "seconds"]

    def __init__(self, path, step):
        lines = []
        if os.path.exists(path):
            with open(path, newline="", encoding="utf-8") as file:
                lines = [line for line in csv.DictReader(file) if int(line["step"]) <= step]
        self.path = path
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.FIELDS)
            writer.writeheader()
            writer.writerows(lines)

    def add(self, **values):
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self.FIELDS).writerow(values)
        print(" ".join(f"{key} {value}" for key, value in values.items()), flush=True)


def deadline(text):
    """The next time that the clock (UTC) shows HH:MM, in seconds since 1970; infinity for an empty text."""
    if not text:
        return math.inf
    now = datetime.datetime.now(datetime.timezone.utc)
    hour, minute = map(int, text.split(":"))
    then = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return (then if then > now else then + datetime.timedelta(days=1)).timestamp()


def run(make, options):
    """Trains the Run that `make(options)` returns, from its last checkpoint to its end."""
    os.makedirs(options.out, exist_ok=True)
    if options.threads:
        torch.set_num_threads(options.threads)
    training = make(options)
    training.resume()
    log = Log(training.path("loss.csv"), training.step)
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    saved = time.monotonic()
    while training.step < training.steps and not stopping and time.time() < training.stop_at:
        begin = time.monotonic()
        loss = training.make_step()
        training.seconds += time.monotonic() - begin
        if training.step % options.log_every == 0 or training.step == training.steps:
            held_out = ""
            if training.step % (10 * options.log_every) == 0 or training.step == training.steps:
                held_out = f"{training.held_out_loss():.4f}"
            log.add(step=training.step, tokens=training.step * training.training["batch"], loss=f"{loss:.4f}",
                    held_out_loss=held_out, rate=f"{training.rate():.6f}", seconds=f"{training.seconds:.0f}")
        if time.monotonic() - saved > options.save_every_s:
            training.save()
            saved = time.monotonic()
    training.save()
    word = "done" if training.step == training.steps else "stopped"
    print(f"{word} after step {training.step} of {training.steps}", flush=True)
    return training


def options_of(description, models):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=models)
    parser.add_argument("--data", required=True, help="where prepare.py has put the corpus")
    parser.add_argument("--out", required=True, help="where checkpoints and the loss curve go")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as PyTorch likes")
    parser.add_argument("--tokens", type=float, metavar="MILLIONS", help="length of the whole run, if not the recipe's")
    parser.add_argument("--precision", choices=["bf16", "f32"], default="bf16", help="of matrix products")
    parser.add_argument("--stop-at", default="", metavar="HH:MM", help="save and stop at this time (UTC)")
    parser.add_argument("--pause-file", default="", help="wait while this file exists")
    parser.add_argument("--save-every-s", type=float, default=240)
    parser.add_argument("--log-every", type=int, default=10, help="steps")
    return parser


def main():
    run(Run, options_of(__doc__, MODELS).parse_args())


if __name__ == "__main__":
    sys.exit(main())
