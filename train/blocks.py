# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A drafter of blocks (DSpark: DFlash, with what a token adds to the next one's logits, and a confidence).

It drafts several tokens at once for one model, from rows behind some layers of that model for the text so far (its
context), and uses the model's embedding and head. Row i of a block at position n is about the token at n + 1 + i.
"""

import math

import torch
from torch.nn import functional

from dense import Layers

_LOSS_ROWS = 1024


class _TeacherLoss(torch.autograd.Function):
    """The weighted sum of the cross entropies with the model's probabilities, and the most likely token of each row.

    Gradients are computed at once, so that logits are never kept. The head is the model's, and gets no gradients.
    """

    @staticmethod
    def forward(ctx, states, before, head, follow, wanted, weights):
        gradients = torch.empty_like(states), torch.empty_like(before), torch.zeros_like(follow)
        total = torch.zeros((), device=states.device)
        choices = torch.empty(len(states), dtype=torch.long, device=states.device)
        for begin in range(0, len(states), _LOSS_ROWS):
            rows = slice(begin, begin + _LOSS_ROWS)
            logits = torch.addmm(states[rows] @ head.t(), before[rows], follow.t())
            choices[rows] = logits.argmax(-1)
            log_probabilities = torch.log_softmax(logits, -1)
            total -= ((log_probabilities * wanted[rows]).sum(-1) * weights[rows]).sum()
            gradient = log_probabilities.exp_().sub_(wanted[rows]).mul_(weights[rows].unsqueeze(1))
            gradients[0][rows] = gradient @ head
            gradients[1][rows] = gradient @ follow
            gradients[2].addmm_(gradient.t(), before[rows])
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(choices)
        return total, choices

    @staticmethod
    def backward(ctx, gradient, _):
        states, before, follow = ctx.saved_tensors
        return states * gradient, before * gradient, None, follow * gradient, None, None


class BlockDrafter(Layers):
    """The drafter's network; `table` is the model's embedding and head."""

    def __init__(self, table, mask, taps, block, pair_rank, **shape):
        super().__init__("qwen3", **shape)
        self.taps, self.block, self.mask = taps, block, mask
        self.register_buffer("table", table, persistent=False)
        self._add("fc", self.embedding, len(taps) * self.embedding)
        self._add("enc_output_norm", self.embedding)
        for layer in range(self.layers):
            self._add_layer(f"blk_{layer}_")
        self._add("output_norm", self.embedding)
        self._add("markov_w1", len(table), pair_rank)
        self._add("markov_w2", len(table), pair_rank, deviation=0.02)
        self._add("conf_proj", 1, self.embedding + pair_rank, deviation=0.02)
        self._add("conf_proj_bias", 1)

    def file_tensors(self):
        for name, value in super().file_tensors():
            yield {"enc_output_norm.weight": "enc.output_norm.weight",
                   "conf_proj_bias.weight": "conf_proj.bias"}.get(name, name), value

    def _context(self, rows):
        """Keys and values for each layer, from the model's rows [batch, length, taps * embedding]."""
        rows = self._norm("enc_output_norm", self._linear("fc", rows))
        positions = slice(0, rows.shape[1])
        return [self._keys_values(f"blk_{layer}_", rows, positions) for layer in range(self.layers)]

    def _attend(self, prefix, x, positions, context):
        """x [batch, anchors, block, embedding]: each row sees all positions before its block, and its whole block."""
        batch, anchors, block, _ = x.shape
        length, group = context[0].shape[1], self.heads // self.kv_heads
        queries = self._queries(prefix, x, positions) / math.sqrt(self.head_dim)
        # [batch, kv heads, anchors, group, block, head_dim]
        queries = queries.unflatten(-2, (self.kv_heads, group)).permute(0, 3, 1, 4, 2, 5)
        keys, values = (t.transpose(1, 2) for t in context)
        own_keys, own_values = (t.permute(0, 3, 1, 2, 4) for t in self._keys_values(prefix, x, positions))
        before = queries.flatten(2, 4) @ keys.transpose(-1, -2)
        is_later = torch.arange(length, device=x.device) >= positions[:, :, :1]
        before = before.view(batch, self.kv_heads, anchors, group * block, length)
        before = before.masked_fill(is_later[:, None, :, None], float("-inf"))
        own = queries.flatten(3, 4) @ own_keys.transpose(-1, -2)
        weights = torch.softmax(torch.cat([own, before], -1), -1)
        mixed = (weights[..., block:].flatten(2, 3) @ values).view(queries.flatten(3, 4).shape)
        mixed = mixed + weights[..., :block] @ own_values
        mixed = mixed.unflatten(3, (group, block)).permute(0, 2, 4, 1, 3, 5).flatten(3)
        return self._linear(prefix + "attn_output", mixed)

    def states(self, rows, newest, anchors):
        """The head's inputs, [batch, anchors, block, embedding], from the model's rows [batch, length, ...] and the
        newest tokens with their positions, [batch, anchors]."""
        context = self._context(rows)
        positions = anchors.unsqueeze(-1) + torch.arange(self.block, device=anchors.device)
        ids = torch.full_like(positions, self.mask)
        ids[..., 0] = newest
        x = functional.embedding(ids, self.table)
        for layer in range(self.layers):
            prefix = f"blk_{layer}_"
            x = x + self._attend(prefix, self._norm(prefix + "attn_norm", x), positions, context[layer])
            x = x + self._feed_forward(prefix, self._norm(prefix + "ffn_norm", x))
        return self._norm("output_norm", x)

    def _sureness(self, states, before):
        """The confidence before the sigmoid. It learns from its inputs, and sends them no gradients."""
        told = torch.cat([states.detach(), before.detach()], -1)
        return (self._linear("conf_proj", told) + self.tensors["conf_proj_bias"]).squeeze(-1)

    def loss(self, states, before, wanted, weights):
        """From the states [rows, embedding], the tokens before the drafted ones and the model's probabilities: the
        weighted sum of the losses, the drafted tokens, and the confidence before the sigmoid."""
        pair = functional.embedding(before, self.tensors["markov_w1"])
        loss, choices = _TeacherLoss.apply(states, pair, self.table, self.tensors["markov_w2"], wanted, weights)
        return loss, choices, self._sureness(states, pair)

    @torch.no_grad()
    def draft(self, rows, newest, anchors):
        """Tokens [batch, anchors, block], each chosen after the one before, and the probability that each is right."""
        states, token = self.states(rows, newest, anchors), newest
        tokens, chances = [], []
        for i in range(self.block):
            pair = functional.embedding(token, self.tensors["markov_w1"])
            chances.append(torch.sigmoid(self._sureness(states[:, :, i], pair)))
            token = (states[:, :, i] @ self.table.t() + pair @ self.tensors["markov_w2"].t()).argmax(-1)
            tokens.append(token)
        return torch.stack(tokens, -1), torch.stack(chances, -1)
