# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Trains a drafter of blocks for a built-in model, from the beginning or from its last checkpoint.

  /usr/bin/python3 train/drafter.py nova --target models/nova.gguf --data DIR --out DIR [--measure WINDOWS]

The corpus must exist in the model's own vocabulary (prepare.py --vocab-of). Everything else is as in train.py. A
drafter learns what the model predicts, not what the corpus says: rows count less if the model would not write the text.
--measure trains nothing, and prints how many draft tokens of the checkpoint the model accepts.
"""

import os
import sys

import torch
from torch.nn import functional

import batches
import gguf_reader
import networks
import train
from blocks import BlockDrafter
from models import DRAFTERS, MODELS

# The decay of weights within a block: a row matters only if all rows before it are accepted.
_DECAY = 0.25
# The weight of a row after a token that the model would not have chosen itself.
_OFF_COURSE = 0.2
_MEASURED_ANCHORS = 8


def target_of(model, path):
    """The model in a file, as a network."""
    metadata, tensors = gguf_reader.read(path)
    network = networks.build(model, len(metadata["tokenizer.ggml.tokens"]))
    for name, value in network.file_tensors():
        value.copy_(torch.from_numpy(tensors[name]))
    network.words = metadata["tokenizer.ggml.tokens"]
    return network.requires_grad_(False).eval()


def drafter_of(name, target, precision=torch.float32):
    """A drafter for the model `target`, not trained yet."""
    recipe, model = DRAFTERS[name], MODELS[name].shape
    shared = {key: model[key] for key in ("embedding", "heads", "kv_heads", "head_dim", "rope_base", "context")}
    made = BlockDrafter(target.tensors["token_embd" if target.tied else "output"].detach().clone(),
                        target.words.index(recipe["mask"]), **shared, **recipe["shape"], precision=precision)
    # Its states go through the model's head, so they begin with the length of the model's.
    made.tensors["output_norm"].data.copy_(target.tensors["output_norm"])
    return made


class Blocks:
    """Blocks at some anchors of windows, [batch, anchors, block] each: the tokens to draft there, and their weights."""

    def __init__(self, ids, weights, logits, anchors, block, separator):
        places = (anchors.unsqueeze(-1) + torch.arange(block, device=ids.device)).flatten(1)
        self.anchors, self.newest = anchors, ids.gather(1, anchors)
        self.before = self._at(ids, places, block)
        self.chosen = self._at(logits.argmax(-1), places, block)
        self.probabilities = torch.softmax(logits, -1)[torch.arange(len(ids)).unsqueeze(1), places].flatten(0, 1)
        # A block ends with its document.
        is_text = (self.before != separator) & (self._at(weights, places + 1, block) > 0)
        self.is_text = is_text.cumprod(-1)
        # Whether the model itself would have chosen the token that follows in the text.
        self.is_course = self._at(ids, places + 1, block) == self.chosen
        decay = torch.exp(-_DECAY * torch.arange(block, device=ids.device))
        self.weights = self.is_text * decay * (_OFF_COURSE + (1 - _OFF_COURSE) * behind_all(self.is_course))

    @staticmethod
    def _at(values, places, block):
        return values.gather(1, places).unflatten(1, (-1, block))


def behind_all(good):
    """For each row, whether all rows before it in its block are good."""
    return functional.pad(good.int().cumprod(-1)[..., :-1], (1, 0), value=1)


def anchors_of(weights, count, block, seed):
    """Where blocks begin: the larger the weight of the next token, the more often (replies, above all)."""
    generator = torch.Generator().manual_seed(seed)
    chances = weights[:, 1:weights.shape[1] - block].cpu() + 1e-6
    return torch.multinomial(chances, count, generator=generator).to(weights.device)


class DrafterRun(train.Run):
    """A drafter in training."""

    def __init__(self, options):
        self.target = target_of(MODELS[options.model], options.target)
        super().__init__(options, DRAFTERS[options.model]["training"])
        if self.words.tokens != self.target.words:
            sys.exit(f"{options.target} has another vocabulary than {options.data}: prepare.py --vocab-of")
        self.target.to(self.device)
        self.separator = self.words.ids[self.model.chat.separator]

    def build(self):
        return drafter_of(self.options.model, self.target, self.precision)

    def _tensors(self, tokens, weights):
        ids, weights = torch.from_numpy(tokens).to(self.device), torch.from_numpy(weights).to(self.device)
        return ids, weights, *self.target.logits_and_rows(ids, self.network.taps)

    def loss_of(self, tokens, weights):
        """The losses of the drafted tokens, and of the confidence if all earlier tokens of the block are accepted."""
        ids, weights, logits, rows = self._tensors(tokens, weights)
        seed = sum(self.seen.values()) if self.network.training else 0
        anchors = anchors_of(weights, self.training["anchors"][ids.shape[1]], self.network.block, seed)
        blocks = Blocks(ids, weights, logits, anchors, self.network.block, self.separator)
        states = self.network.states(rows, blocks.newest, anchors).flatten(0, 2)
        loss, choices, sureness = self.network.loss(states, blocks.before.flatten(), blocks.probabilities,
                                                    blocks.weights.flatten())
        is_right = choices.view(blocks.chosen.shape) == blocks.chosen
        is_asked = blocks.is_text * behind_all(is_right & blocks.is_course)
        loss = loss + functional.binary_cross_entropy_with_logits(
            sureness, is_right.flatten().float(), is_asked.flatten().float(), reduction="sum")
        return loss, blocks.weights.sum().item()

    @torch.no_grad()
    def measure(self, windows):
        """For blocks at some places of held-out windows: whether each draft token and all before it are the model's own
        choice, and the confidence in each, [blocks, block]."""
        self.network.eval()
        block, are_right, chances = self.network.block, [], []
        for first in range(windows):
            ids, weights, _, rows = self._tensors(*self.held_out.batch(batches.LENGTHS[0], first, batches.LENGTHS[0]))
            anchors = anchors_of(weights, _MEASURED_ANCHORS, block, first)
            drafts, chance = self.network.draft(rows, ids.gather(1, anchors), anchors)
            texts = ids.repeat(_MEASURED_ANCHORS, 1)
            places = anchors[0].unsqueeze(-1) + torch.arange(block, device=ids.device)
            texts.scatter_(1, places + 1, drafts[0])
            chosen = self.target.logits(texts).argmax(-1).gather(1, places)
            is_there = weights[0, anchors[0] + 1] > 0
            are_right.append((chosen == drafts[0]).int().cumprod(-1)[is_there])
            chances.append(chance[0][is_there])
        return torch.cat(are_right), torch.cat(chances)


def report(training, windows):
    are_right, chances = training.measure(windows)
    print(f"after step {training.step}, {len(are_right)} blocks of held-out text")
    print("accepted, row by row: " + " ".join(f"{share:.3f}" for share in are_right.float().mean(0).tolist()))
    expected = chances.cumprod(-1)
    print("by its confidence:    " + " ".join(f"{share:.3f}" for share in expected.mean(0).tolist()))
    lengths = are_right.sum(-1).float()
    print(f"draft tokens accepted of {training.network.block}: {lengths.mean():.2f} "
          f"(standard error {lengths.std() / len(lengths) ** 0.5:.2f}), expected {expected.sum(-1).mean():.2f}")


def main():
    parser = train.options_of(__doc__, DRAFTERS)
    parser.add_argument("--target", required=True, help="the model file that it is for")
    parser.add_argument("--measure", type=int, metavar="WINDOWS", help="only measure, on so many held-out windows")
    options = parser.parse_args()
    if not options.measure:
        train.run(DrafterRun, options)
        return
    torch.set_num_threads(options.threads or torch.get_num_threads())
    training = DrafterRun(options)
    if not os.path.exists(training.path("checkpoint.pt")):
        sys.exit(f"there is no {training.path('checkpoint.pt')}")
    training.resume()
    report(training, options.measure)


if __name__ == "__main__":
    sys.exit(main())
