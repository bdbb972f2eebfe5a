# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Qwen3- and Llama-shaped models in PyTorch, written for training on processors.

Matrices multiply in `precision` (bfloat16 is four times as fast as float32 where the processor has it); the residual,
the norms and the loss are float32. The hand-written gradients below store less and run fewer passes than what autograd
derives.
"""

import math

import torch
from torch.nn import functional

# Rows of queries computed at once: whole blocks above the diagonal are left out.
_QUERY_BLOCK = 128
_LOSS_ROWS = 2048


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, epsilon, precision):
        x32 = x.float()
        scale = torch.rsqrt(torch.linalg.vector_norm(x32, dim=-1, keepdim=True).square_() / x.shape[-1] + epsilon)
        ctx.save_for_backward(x, weight, scale)
        return ((x32 * scale) * weight).to(precision)

    @staticmethod
    def backward(ctx, gradient):
        x, weight, scale = ctx.saved_tensors
        gradient = gradient.float()
        normal = x.float() * scale
        weight_gradient = (gradient * normal).flatten(0, -2).sum(0)
        gradient = gradient * weight
        along = (gradient * normal).mean(-1, keepdim=True)
        return ((gradient - normal * along) * scale).to(x.dtype), weight_gradient, None, None


class _CausalAttention(torch.autograd.Function):
    """queries [batch * kv heads, group, length, dim], keys and values [batch * kv heads, length, dim]."""

    @staticmethod
    def forward(ctx, queries, keys, values):
        batch, group, length, dim = queries.shape
        scale = 1 / math.sqrt(dim)
        output = torch.empty_like(queries)
        weights = []
        for begin in range(0, length, _QUERY_BLOCK):
            end = min(begin + _QUERY_BLOCK, length)
            block = (queries[:, :, begin:end] * scale).reshape(batch, group * (end - begin), dim)
            scores = torch.bmm(block, keys[:, :end].transpose(1, 2)).view(batch, group, end - begin, end)
            above = torch.ones(end - begin, end - begin, dtype=torch.bool, device=scores.device).triu(1)
            scores[..., begin:].masked_fill_(above, float("-inf"))
            weights.append(torch.softmax(scores, -1).view(batch, group * (end - begin), end))
            output[:, :, begin:end] = torch.bmm(weights[-1], values[:, :end]).view(batch, group, end - begin, dim)
        ctx.save_for_backward(queries, keys, values, *weights)
        return output

    @staticmethod
    def backward(ctx, gradient):
        queries, keys, values, *weights = ctx.saved_tensors
        batch, group, length, dim = queries.shape
        scale = 1 / math.sqrt(dim)
        query_gradient = torch.empty_like(queries)
        key_gradient = torch.zeros(keys.shape, dtype=torch.float32, device=keys.device)
        value_gradient = torch.zeros_like(key_gradient)
        for begin, weight in zip(range(0, length, _QUERY_BLOCK), weights):
            end = min(begin + _QUERY_BLOCK, length)
            rows = group * (end - begin)
            part = gradient[:, :, begin:end].reshape(batch, rows, dim)
            value_gradient[:, :end] += torch.bmm(weight.transpose(1, 2), part)
            scores = torch.bmm(part, values[:, :end].transpose(1, 2))
            scores = torch._softmax_backward_data(scores, weight, -1, weight.dtype)
            block = (queries[:, :, begin:end] * scale).reshape(batch, rows, dim)
            part = torch.bmm(scores, keys[:, :end]) * scale
            query_gradient[:, :, begin:end] = part.view(batch, group, end - begin, dim)
            key_gradient[:, :end] += torch.bmm(scores.transpose(1, 2), block)
        return query_gradient, key_gradient.to(keys.dtype), value_gradient.to(values.dtype)


class _WeightedLoss(torch.autograd.Function):
    """The weighted sum of the cross entropies, with its gradients computed at once, so that logits are never kept."""

    @staticmethod
    def forward(ctx, hidden, head, targets, weights):
        hidden_gradient = torch.empty_like(hidden)
        head_gradient = torch.zeros(head.shape, dtype=torch.float32, device=head.device)
        total = torch.zeros((), dtype=torch.float32, device=head.device)
        for begin in range(0, hidden.shape[0], _LOSS_ROWS):
            rows = slice(begin, begin + _LOSS_ROWS)
            log_probabilities = torch.log_softmax((hidden[rows] @ head.t()).float(), -1)
            wanted = targets[rows].unsqueeze(1)
            total -= (log_probabilities.gather(1, wanted).squeeze(1) * weights[rows]).sum()
            gradient = log_probabilities.exp_()
            gradient.scatter_add_(1, wanted, torch.full(wanted.shape, -1.0, device=head.device))
            gradient = (gradient * weights[rows].unsqueeze(1)).to(hidden.dtype)
            hidden_gradient[rows] = gradient @ head
            head_gradient += gradient.t() @ hidden[rows]
        ctx.save_for_backward(hidden_gradient, head_gradient)
        return total

    @staticmethod
    def backward(ctx, gradient):
        hidden_gradient, head_gradient = ctx.saved_tensors
        return hidden_gradient * gradient, head_gradient * gradient, None, None


class Layers(torch.nn.Module):
    """Code that models and drafters of blocks share. Parameters have the names of the tensors in a model file."""

    def __init__(self, arch, embedding, layers, heads, kv_heads, head_dim, feed_forward, rope_base, context,
                 epsilon=1e-6, precision=torch.float32):
        super().__init__()
        self.arch, self.embedding, self.layers = arch, embedding, layers
        self.heads, self.kv_heads, self.head_dim, self.feed_forward = heads, kv_heads, head_dim, feed_forward
        self.rope_base, self.context, self.epsilon = rope_base, context, epsilon
        self.precision = precision
        self.tensors = torch.nn.ParameterDict()
        angles = torch.outer(torch.arange(context, dtype=torch.float64),
                             rope_base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim))
        self.register_buffer("cosines", angles.cos().float(), persistent=False)
        self.register_buffer("sines", angles.sin().float(), persistent=False)

    def _add(self, name, *shape, deviation=None):
        if len(shape) == 1:
            value = torch.ones(shape)
        else:
            value = torch.randn(shape) * (deviation or 1 / math.sqrt(shape[1]))
        self.tensors[name] = torch.nn.Parameter(value)

    def _add_layer(self, prefix):
        wide = self.heads * self.head_dim
        # The residual grows with every layer, so the layers' outputs are smaller at the start of training.
        shrink = 1 / math.sqrt(2 * self.layers)
        self._add(prefix + "attn_norm", self.embedding)
        self._add(prefix + "attn_q", wide, self.embedding)
        self._add(prefix + "attn_k", self.kv_heads * self.head_dim, self.embedding)
        self._add(prefix + "attn_v", self.kv_heads * self.head_dim, self.embedding)
        if self.arch == "qwen3":
            self._add(prefix + "attn_q_norm", self.head_dim)
            self._add(prefix + "attn_k_norm", self.head_dim)
        self._add(prefix + "attn_output", self.embedding, wide, deviation=shrink / math.sqrt(wide))
        self._add(prefix + "ffn_norm", self.embedding)
        self._add(prefix + "ffn_gate", self.feed_forward, self.embedding)
        self._add(prefix + "ffn_up", self.feed_forward, self.embedding)
        self._add(prefix + "ffn_down", self.embedding, self.feed_forward,
                  deviation=shrink / math.sqrt(self.feed_forward))

    def file_tensors(self):
        """Names and values as in a model file."""
        for name, value in self.tensors.items():
            parts = name.split("_", 2)
            yield (f"blk.{parts[1]}.{parts[2]}.weight" if parts[0] == "blk" else f"{name}.weight"), value.detach()

    def _linear(self, name, x):
        return functional.linear(x, self.tensors[name].to(self.precision))

    def _norm(self, name, x, precision=None):
        return _RmsNorm.apply(x, self.tensors[name], self.epsilon, precision or self.precision)

    def _rotate(self, x, positions):
        """Rotary positions on [..., heads, head_dim]; pairs are half a head apart, or neighbours in llama."""
        cosines, sines = self.cosines[positions].unsqueeze(-2), self.sines[positions].unsqueeze(-2)
        x = x.float()
        if self.arch == "qwen3":
            left, right = x.chunk(2, -1)
            turned = torch.cat([left * cosines - right * sines, right * cosines + left * sines], -1)
        else:
            left, right = x[..., 0::2], x[..., 1::2]
            turned = torch.stack([left * cosines - right * sines, right * cosines + left * sines], -1).flatten(-2)
        return turned.to(self.precision)

    def _queries(self, prefix, x, positions):
        queries = self._linear(prefix + "attn_q", x).unflatten(-1, (self.heads, self.head_dim))
        if self.arch == "qwen3":
            queries = self._norm(prefix + "attn_q_norm", queries, torch.float32)
        return self._rotate(queries, positions)

    def _keys_values(self, prefix, x, positions):
        keys = self._linear(prefix + "attn_k", x).unflatten(-1, (self.kv_heads, self.head_dim))
        values = self._linear(prefix + "attn_v", x).unflatten(-1, (self.kv_heads, self.head_dim))
        if self.arch == "qwen3":
            keys = self._norm(prefix + "attn_k_norm", keys, torch.float32)
        return self._rotate(keys, positions), values

    def _feed_forward(self, prefix, x):
        gate, up = self._linear(prefix + "ffn_gate", x), self._linear(prefix + "ffn_up", x)
        return self._linear(prefix + "ffn_down", functional.silu(gate) * up)

    def balance(self):
        """Does nothing, as there are no experts."""


class Dense(Layers):
    """A model of one of the two architectures."""

    def __init__(self, arch, vocab_size, tied, **shape):
        super().__init__(arch, **shape)
        self.vocab_size, self.tied = vocab_size, tied
        self._add("token_embd", vocab_size, self.embedding, deviation=0.02)
        for layer in range(self.layers):
            self._add_layer(f"blk_{layer}_")
        self._add("output_norm", self.embedding)
        if not tied:
            self._add("output", vocab_size, self.embedding, deviation=0.02)

    def _attend(self, prefix, x):
        batch, length, _ = x.shape
        positions = slice(0, length)
        queries, (keys, values) = self._queries(prefix, x, positions), self._keys_values(prefix, x, positions)
        group = self.heads // self.kv_heads
        queries = queries.view(batch, length, self.kv_heads, group, self.head_dim).permute(0, 2, 3, 1, 4)
        keys, values = (t.transpose(1, 2).reshape(batch * self.kv_heads, length, self.head_dim) for t in (keys, values))
        queries = queries.reshape(batch * self.kv_heads, group, length, self.head_dim)
        mixed = _CausalAttention.apply(queries, keys, values)
        mixed = mixed.view(batch, self.heads, length, self.head_dim).transpose(1, 2).reshape(batch, length, -1)
        return self._linear(prefix + "attn_output", mixed)

    def rows(self, ids):
        """[batch, length] ids to the residual after each layer, one after the other."""
        x = functional.embedding(ids, self.tensors["token_embd"])
        for layer in range(self.layers):
            prefix = f"blk_{layer}_"
            x = x + self._attend(prefix, self._norm(prefix + "attn_norm", x))
            x = x + self._feed_forward(prefix, self._norm(prefix + "ffn_norm", x))
            yield x

    def hidden(self, ids):
        """[batch, length] ids to the inputs of the head."""
        for x in self.rows(ids):
            last = x
        return self._norm("output_norm", last)

    def _head(self):
        return self.tensors["token_embd" if self.tied else "output"].to(self.precision)

    def loss(self, ids, weights):
        """The weighted sum of the losses of all tokens but the first of each row."""
        hidden = self.hidden(ids[:, :-1]).flatten(0, 1)
        return _WeightedLoss.apply(hidden, self._head(), ids[:, 1:].flatten(), weights[:, 1:].flatten())

    @torch.no_grad()
    def logits(self, ids):
        return functional.linear(self.hidden(ids), self._head()).float()

    @torch.no_grad()
    def logits_and_rows(self, ids, taps):
        """The logits, and the residuals after those layers (counted from 1) side by side."""
        rows = list(self.rows(ids))
        logits = functional.linear(self._norm("output_norm", rows[-1]), self._head()).float()
        return logits, torch.cat([rows[tap - 1] for tap in taps], -1)

    @torch.no_grad()
    def step(self, ids, cache):
        """The logits after the last of some more tokens of a text. `cache` is a list, empty at the beginning."""
        first = cache[0][0].shape[1] if cache else 0
        x = functional.embedding(ids.unsqueeze(0), self.tensors["token_embd"])
        positions = slice(first, first + len(ids))
        for layer in range(self.layers):
            prefix = f"blk_{layer}_"
            normal = self._norm(prefix + "attn_norm", x)
            queries, (keys, values) = self._queries(prefix, normal, positions), \
                self._keys_values(prefix, normal, positions)
            if layer < len(cache):
                keys, values = (torch.cat(pair, 1) for pair in zip(cache[layer], (keys, values)))
                cache[layer] = (keys, values)
            else:
                cache.append((keys, values))
            x = x + self._attend_cached(prefix, queries, keys, values, first)
            x = x + self._feed_forward(prefix, self._norm(prefix + "ffn_norm", x))
        return functional.linear(self._norm("output_norm", x[:, -1]), self._head()).float()[0]

    def _attend_cached(self, prefix, queries, keys, values, first):
        length, total = queries.shape[1], keys.shape[1]
        group = self.heads // self.kv_heads
        queries = queries.view(length, self.kv_heads, group, self.head_dim).permute(1, 2, 0, 3)
        keys, values = keys[0].transpose(0, 1).unsqueeze(1), values[0].transpose(0, 1).unsqueeze(1)
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(self.head_dim)
        later = torch.arange(total).unsqueeze(0) > torch.arange(first, total).unsqueeze(1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), -1)
        mixed = (weights @ values).permute(2, 0, 1, 3).reshape(1, length, -1)
        return self._linear(prefix + "attn_output", mixed)
