# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A DeepSeek-V4-shaped model in PyTorch: streams mixed by hyper-connections, attention over a window and over
compressed rows, experts chosen by token or by score, and a block that predicts the token after the next.

tests/train compares it with an independent implementation in numpy. Two things are for training only: the indexer
learns to rank the rows as attention weighs them, and the bias of experts that are used too little grows.
"""

import math

import torch
from torch.nn import functional

_BLOCK = 128  # texts are padded to whole blocks: of queries, and of the longest compression
_EXPERT_ROWS = 256
_NEXT_NEXT_WEIGHT = 0.3
_INDEXER_WEIGHT = 0.1
_BIAS_STEP = 1e-3


def _rms(x, weight=None, epsilon=1e-6):
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
    return y if weight is None else y * weight


class _Mix(torch.autograd.Function):
    """weights [..., outputs, inputs] times streams [..., inputs, embedding], which are too small for matrix
    products."""

    @staticmethod
    def forward(ctx, weights, streams):
        ctx.save_for_backward(weights, streams)
        return _mixed(weights, streams)

    @staticmethod
    def backward(ctx, gradient):
        weights, streams = ctx.saved_tensors
        weight_gradient = torch.empty_like(weights)
        for output in range(weights.shape[-2]):
            for source in range(weights.shape[-1]):
                product = gradient[..., output, :] * streams[..., source, :]
                weight_gradient[..., output, source] = product.sum(-1)
        return weight_gradient, _mixed(weights.transpose(-1, -2), gradient)


def _mixed(weights, streams):
    mixed = streams.new_zeros(*weights.shape[:-1], streams.shape[-1])
    for output in range(weights.shape[-2]):
        for source in range(weights.shape[-1]):
            mixed[..., output, :].addcmul_(streams[..., source, :], weights[..., output, source].unsqueeze(-1))
    return mixed


class Sparse(torch.nn.Module):
    """The model. Parameters have the names of the tensors in a model file, with / instead of the dots."""

    def __init__(self, vocab_size, embedding, ratios, heads, head_dim, rope_dim, q_rank, output_groups, output_rank,
                 window, indexer_heads, indexer_dim, indexer_top, experts, used, feed_forward, hash_layers,
                 expert_scale=1.5, clamp=10.0, streams=4, sinkhorn=20, rope_base=10000.0,
                 compressed_rope_base=160000.0, yarn_factor=16.0, yarn_context=65536, context=8192, mtp=True,
                 epsilon=1e-6, precision=torch.float32):
        super().__init__()
        assert window <= _BLOCK
        for name, value in locals().items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)
        self.layers = len(ratios)
        self.select = True  # whether ratio-4 layers attend only to what their indexers choose
        self.tensors = torch.nn.ParameterDict()
        self.register_buffer("plain_angles", self._angles(False), persistent=False)
        self.register_buffer("compressed_angles", self._angles(True), persistent=False)
        self._add_all()
        self.used_counts = {}

    # Parameters.

    def _add(self, name, *shape, scale=None):
        if len(shape) == 1:
            value = torch.ones(shape) if scale is None else torch.full(shape, float(scale))
        else:
            value = torch.randn(shape) * (scale or 1 / math.sqrt(shape[-1]))
        self.tensors[name.replace(".", "/")] = torch.nn.Parameter(value)

    def _add_all(self):
        wide = self.streams * self.embedding
        self._add("token_embd.weight", self.vocab_size, self.embedding, scale=0.5)
        self._add("output_norm.weight", self.embedding)
        self._add("output.weight", self.vocab_size, self.embedding, scale=0.02)
        self._add_head("output_hc_")
        for layer in range(self.layers + bool(self.mtp)):
            ratio = self.ratios[layer] if layer < self.layers else 0
            self._add_attention(f"blk.{layer}.", ratio)
            self._add_feed_forward(f"blk.{layer}.", layer)
            for part in ("attn", "ffn"):
                count = 2 * self.streams + self.streams ** 2
                self._add(f"blk.{layer}.hc_{part}_fn.weight", count, wide, scale=0.02)
                self._add(f"blk.{layer}.hc_{part}_scale.weight", 3, scale=0.1)
                self._add(f"blk.{layer}.hc_{part}_base.weight", count, scale=0)
                # At first every stream feeds the block equally, and streams are hardly mixed.
                base = self.tensors[f"blk/{layer}/hc_{part}_base/weight"].data
                base[:self.streams] = -math.log(self.streams - 1)
                base[2 * self.streams:] = 3 * torch.eye(self.streams).flatten()
        if self.mtp:
            prefix = f"blk.{self.layers}.nextn."
            self._add(prefix + "eh_proj.weight", self.embedding, 2 * self.embedding)
            for norm in ("enorm", "hnorm", "shared_head_norm"):
                self._add(f"{prefix}{norm}.weight", self.embedding)
            self._add_head(prefix + "hc_head_")

    def _add_head(self, prefix):
        self._add(prefix + "fn.weight", self.streams, self.streams * self.embedding, scale=0.02)
        self._add(prefix + "scale.weight", 1, scale=0.1)
        self._add(prefix + "base.weight", self.streams, scale=-math.log(self.streams - 1))

    def _add_attention(self, prefix, ratio):
        group = self.heads * self.head_dim // self.output_groups
        self._add(prefix + "attn_norm.weight", self.embedding)
        self._add(prefix + "attn_sinks.weight", self.heads, scale=0)
        self._add(prefix + "attn_q_a.weight", self.q_rank, self.embedding)
        self._add(prefix + "attn_q_a_norm.weight", self.q_rank)
        self._add(prefix + "attn_q_b.weight", self.heads * self.head_dim, self.q_rank)
        self._add(prefix + "attn_kv.weight", self.head_dim, self.embedding)
        self._add(prefix + "attn_kv_a_norm.weight", self.head_dim)
        self._add(prefix + "attn_output_a.weight", self.output_groups * self.output_rank, group)
        self._add(prefix + "attn_output_b.weight", self.embedding, self.output_groups * self.output_rank)
        if ratio:
            self._add_compressor(prefix + "attn_compressor_", ratio, self.head_dim)
        if ratio == 4:
            self._add(prefix + "indexer.attn_q_b.weight", self.indexer_heads * self.indexer_dim, self.q_rank)
            self._add(prefix + "indexer.proj.weight", self.indexer_heads, self.embedding)
            self._add_compressor(prefix + "indexer_compressor_", ratio, self.indexer_dim)

    def _add_compressor(self, prefix, ratio, width):
        columns = width * (2 if ratio == 4 else 1)
        self._add(prefix + "kv.weight", columns, self.embedding)
        self._add(prefix + "gate.weight", columns, self.embedding, scale=0.02)
        self._add(prefix + "ape.weight", ratio, columns, scale=0.02)
        self._add(prefix + "norm.weight", width)

    def _add_feed_forward(self, prefix, layer):
        self._add(prefix + "ffn_norm.weight", self.embedding)
        self._add(prefix + "ffn_gate_inp.weight", self.experts, self.embedding)
        if layer < self.hash_layers:
            # Every expert gets the same number of tokens, give or take one.
            generator = torch.Generator().manual_seed(layer)
            choice = torch.stack([torch.randperm(self.experts, generator=generator)[:self.used]
                                  for _ in range(self.vocab_size)])
            self.register_buffer(f"table_{layer}", choice)
        else:
            self.register_buffer(f"bias_{layer}", torch.zeros(self.experts))
        for kind, shape in (("gate", (self.feed_forward, self.embedding)), ("up", (self.feed_forward, self.embedding)),
                            ("down", (self.embedding, self.feed_forward))):
            self._add(f"{prefix}ffn_{kind}_exps.weight", self.experts, *shape)
            self._add(f"{prefix}ffn_{kind}_shexp.weight", *shape)

    def file_tensors(self):
        """Names and values as in a model file."""
        for name, value in self.tensors.items():
            yield name.replace("/", "."), value.detach()
        for layer in range(self.layers + bool(self.mtp)):
            if layer < self.hash_layers:
                yield f"blk.{layer}.ffn_gate_tid2eid.weight", getattr(self, f"table_{layer}")
            else:
                yield f"blk.{layer}.exp_probs_b.bias", getattr(self, f"bias_{layer}")

    def load_file_tensors(self, values):
        """The reverse: values by name."""
        for name, value in self.file_tensors():
            value.copy_(torch.as_tensor(values[name]))

    def _of(self, name):
        return self.tensors[name.replace(".", "/")]

    def _linear(self, name, x):
        return functional.linear(x.to(self.precision), self._of(name + ".weight").to(self.precision)).float()

    def _exactly(self, name, x):
        """A product in float32, for what must not be rounded: routing, hyper-connections, compressors."""
        return functional.linear(x, self._of(name + ".weight"))

    # Rotary positions.

    def _angles(self, compressed):
        base = self.compressed_rope_base if compressed else self.rope_base
        half = torch.arange(0, self.rope_dim, 2, dtype=torch.float64)
        theta = base ** (-half / self.rope_dim)
        if compressed and self.yarn_factor > 1:
            def border(turns):
                return self.rope_dim * math.log(self.yarn_context / (turns * 2 * math.pi)) / (2 * math.log(base))
            low, high = max(0, math.floor(border(32))), min(self.rope_dim - 1, math.ceil(border(1)))
            ramp = 1 - ((torch.arange(self.rope_dim // 2) - low) / max(0.001, high - low)).clamp(0, 1)
            theta = theta / self.yarn_factor * (1 - ramp) + theta * ramp
        return torch.outer(torch.arange(self.context + _BLOCK, dtype=torch.float64), theta)

    def _rotate(self, x, compressed, positions, inverse=False):
        """Turns the last rope_dim values of [batch, length, ..., dim]; pairs are neighbours."""
        angles = (self.compressed_angles if compressed else self.plain_angles)[positions]
        angles = angles.view(len(positions), *[1] * (x.ndim - 3), -1)
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        sines = -sines if inverse else sines
        still, turning = x[..., :-self.rope_dim], x[..., -self.rope_dim:]
        left, right = turning[..., 0::2], turning[..., 1::2]
        turned = torch.stack([left * cosines - right * sines, left * sines + right * cosines], -1).flatten(-2)
        return torch.cat([still, turned], -1)

    # Hyper-connections.

    def _mix(self, name, x):
        """The block's input from the streams [batch, length, streams, embedding], and the weights with which its output
        is added to them."""
        count, flat = self.streams, x.flatten(-2)
        mixed = self._exactly(name + "_fn", flat) * torch.rsqrt(flat.square().mean(-1, keepdim=True) + 1e-6)
        scale, base = self._of(name + "_scale.weight"), self._of(name + "_base.weight")
        before = torch.sigmoid(mixed[..., :count] * scale[0] + base[:count]) + self.epsilon
        after = 2 * torch.sigmoid(mixed[..., count:2 * count] * scale[1] + base[count:2 * count])
        square = mixed[..., 2 * count:] * scale[2] + base[2 * count:]
        # Positions are the last dimension, so that sums over the short dimensions are fast.
        square = square.permute(2, 0, 1).reshape(count, count, *square.shape[:2])
        square = torch.softmax(square, 1) + self.epsilon
        square = square / (square.sum(0, keepdim=True) + self.epsilon)
        for _ in range(self.sinkhorn - 1):
            square = square / (square.sum(1, keepdim=True) + self.epsilon)
            square = square / (square.sum(0, keepdim=True) + self.epsilon)
        return _Mix.apply(before.unsqueeze(-2), x).squeeze(-2), after, square.permute(2, 3, 1, 0)

    @staticmethod
    def _unmix(y, after, square, x):
        return after.unsqueeze(-1) * y.unsqueeze(-2) + _Mix.apply(square, x)

    def _merge(self, prefix, x):
        flat = x.flatten(-2)
        mixed = self._exactly(prefix + "fn", flat) * torch.rsqrt(flat.square().mean(-1, keepdim=True) + 1e-6)
        weights = torch.sigmoid(mixed * self._of(prefix + "scale.weight") + self._of(prefix + "base.weight"))
        return _Mix.apply((weights + self.epsilon).unsqueeze(-2), x).squeeze(-2)

    # Attention.

    def _compress(self, prefix, x, ratio, width):
        """One row for each `ratio` positions: [batch, rows, width]."""
        batch, length, _ = x.shape
        values, scores = self._exactly(prefix + "kv", x), self._exactly(prefix + "gate", x)
        values = values.view(batch, length // ratio, ratio, -1)
        scores = scores.view(batch, length // ratio, ratio, -1) + self._of(prefix + "ape.weight")
        if ratio == 4:
            # Each row also sees the four positions before its own, through the first half of the columns.
            none = torch.zeros_like(values[:, :1, :, :width])
            values = torch.cat([torch.cat([none, values[:, :-1, :, :width]], 1), values[..., width:]], 2)
            none = torch.full_like(none, float("-inf"))
            scores = torch.cat([torch.cat([none, scores[:, :-1, :, :width]], 1), scores[..., width:]], 2)
        rows = _rms((torch.softmax(scores, 2) * values).sum(2), self._of(prefix + "norm.weight"))
        return self._rotate(rows, True, torch.arange(0, length, ratio, device=x.device))

    def _ranks(self, prefix, x, low_rank, positions):
        """The indexer's score of each compressed row for each position: [batch, length, rows]."""
        batch, length, _ = x.shape
        rows = self._compress(prefix + "indexer_compressor_", x, 4, self.indexer_dim)
        queries = self._linear(prefix + "indexer.attn_q_b", low_rank)
        queries = self._rotate(queries.view(batch, length, self.indexer_heads, self.indexer_dim), True, positions)
        weights = self._exactly(prefix + "indexer.proj", x) / math.sqrt(self.indexer_heads * self.indexer_dim)
        ranks = 0
        for head in range(self.indexer_heads):
            ranks = ranks + torch.relu(queries[:, :, head] @ rows.transpose(1, 2)) * weights[:, :, head:head + 1]
        return ranks

    def _window_scores(self, queries, keys):
        """Scores of each query with the keys of its own block and the one before: [batch, heads, length, 2 blocks]."""
        batch, heads, length, dim = queries.shape
        blocks = length // _BLOCK
        keys = keys.view(batch, blocks, _BLOCK, dim)
        before = torch.cat([torch.zeros_like(keys[:, :1]), keys[:, :-1]], 1)
        both = torch.cat([before, keys], 2)
        split = queries.view(batch, heads, blocks, _BLOCK, dim).transpose(1, 2)
        split = split.reshape(batch, blocks, heads * _BLOCK, dim)
        scores = (split @ both.transpose(-1, -2)).float().view(batch, blocks, heads, _BLOCK, 2 * _BLOCK)
        distance = _BLOCK + torch.arange(_BLOCK).unsqueeze(1) - torch.arange(2 * _BLOCK)
        hidden = ((distance < 0) | (distance >= self.window)).to(queries.device).expand(blocks, _BLOCK, -1).clone()
        hidden[0, :, :_BLOCK] = True
        scores = scores.masked_fill(hidden.unsqueeze(1), float("-inf"))
        return scores.transpose(1, 2).reshape(batch, heads, length, 2 * _BLOCK), both

    def _attend(self, prefix, x, ratio):
        """The attention block on normalised x, and the loss of its indexer's ranking (zero if it has no indexer)."""
        batch, length, _ = x.shape
        positions = torch.arange(length, device=x.device)
        low_rank = _rms(self._linear(prefix + "attn_q_a", x), self._of(prefix + "attn_q_a_norm.weight"))
        queries = _rms(self._linear(prefix + "attn_q_b", low_rank).view(batch, length, self.heads, self.head_dim))
        queries = self._rotate(queries, bool(ratio), positions) / math.sqrt(self.head_dim)
        keys = _rms(self._linear(prefix + "attn_kv", x), self._of(prefix + "attn_kv_a_norm.weight"))
        keys = self._rotate(keys, bool(ratio), positions).to(self.precision)
        queries = queries.transpose(1, 2).to(self.precision)
        scores, both = self._window_scores(queries, keys)
        parts, indexer_loss = [scores], x.new_zeros(())
        if ratio:
            rows = self._compress(prefix + "attn_compressor_", x, ratio, self.head_dim).to(self.precision)
            hidden = torch.arange(length // ratio, device=x.device) >= ((positions + 1) // ratio).unsqueeze(1)
            hidden = hidden.expand(batch, -1, -1)
            if ratio == 4:
                ranks = self._ranks(prefix, x.detach(), low_rank.detach(), positions).masked_fill(hidden, float("-inf"))
                if self.select and length // ratio > self.indexer_top:
                    best = ranks.detach().topk(self.indexer_top, -1).indices
                    hidden = hidden | torch.ones_like(hidden).scatter(-1, best, False)
            parts.append((queries @ rows.unsqueeze(1).transpose(-1, -2)).float().masked_fill(
                hidden.unsqueeze(1), float("-inf")))
        sinks = self._of(prefix + "attn_sinks.weight").view(1, -1, 1, 1).expand(batch, -1, length, 1)
        weights = torch.softmax(torch.cat(parts + [sinks], -1), -1)
        near = weights[..., :2 * _BLOCK].to(self.precision)
        near = near.view(batch, self.heads, length // _BLOCK, _BLOCK, 2 * _BLOCK)
        mixed = (near @ both.unsqueeze(1)).flatten(2, 3).float()
        if ratio:
            far = weights[..., 2 * _BLOCK:-1]
            mixed = mixed + (far.to(self.precision) @ rows.unsqueeze(1)).float()
            if ratio == 4 and self.training:
                indexer_loss = self._indexer_loss(ranks, far.detach().sum(1), hidden)
        mixed = self._rotate(mixed.transpose(1, 2), bool(ratio), positions, inverse=True)
        mixed = mixed.reshape(batch, length, self.output_groups, -1).to(self.precision)
        first = self._of(prefix + "attn_output_a.weight").to(self.precision)
        first = first.view(self.output_groups, self.output_rank, -1)
        mixed = torch.einsum("btgd,grd->btgr", mixed, first).flatten(2)
        return self._linear(prefix + "attn_output_b", mixed), indexer_loss

    @staticmethod
    def _indexer_loss(ranks, weights, hidden):
        """The distance of the indexer's choice from the attention weights, over the rows that attention sees."""
        total = weights.sum(-1, keepdim=True)
        sees = (total > 1e-4) & (~hidden).any(-1, keepdim=True)
        wanted = weights / total.clamp_min(1e-4)
        logs = torch.log_softmax(ranks.masked_fill(hidden, -1e4), -1)
        return -((wanted * logs).sum(-1, keepdim=True) * sees).sum() / sees.sum().clamp_min(1)

    # Experts.

    def _glu(self, x, gate, up, down):
        gate, up = functional.linear(x, gate).float(), functional.linear(x, up).float()
        hidden = functional.silu(gate.clamp(max=self.clamp)) * up.clamp(-self.clamp, self.clamp)
        return functional.linear(hidden.to(self.precision), down).float()

    def _feed_forward(self, layer, x, ids):
        prefix = f"blk.{layer}.ffn_"
        flat = x.flatten(0, -2)
        scores = functional.softplus(self._exactly(prefix + "gate_inp", flat)).sqrt()
        if layer < self.hash_layers:
            chosen = getattr(self, f"table_{layer}")[ids.flatten()]
        else:
            chosen = (scores.detach() + getattr(self, f"bias_{layer}")).topk(self.used, -1).indices
            if self.training:
                counts = torch.bincount(chosen.flatten(), minlength=self.experts)
                self.used_counts[layer] = self.used_counts.get(layer, 0) + counts
        weights = scores.gather(1, chosen)
        weights = self.expert_scale * weights / weights.sum(1, keepdim=True)
        flat = flat.to(self.precision)
        shared = [self._of(f"{prefix}{kind}_shexp.weight").to(self.precision) for kind in ("gate", "up", "down")]
        experts = [self._of(f"{prefix}{kind}_exps.weight").to(self.precision) for kind in ("gate", "up", "down")]
        output = self._glu(flat, *shared)
        for expert in range(self.experts):
            tokens, place = (chosen == expert).nonzero(as_tuple=True)
            shares = weights[tokens, place]
            # Products have few different sizes, because code is generated for each new one. Padding has weight zero.
            tokens, shares = (functional.pad(values, (0, -len(values) % _EXPERT_ROWS)) for values in (tokens, shares))
            part = self._glu(flat[tokens], *(matrix[expert] for matrix in experts))
            output = output.index_add(0, tokens, part * shares.unsqueeze(1))
        return output.view(x.shape)

    @torch.no_grad()
    def balance(self):
        """Makes experts that were used too little since the last call a little more likely to be chosen."""
        for layer, counts in self.used_counts.items():
            counts = counts.float()
            getattr(self, f"bias_{layer}").add_(_BIAS_STEP * torch.sign(counts.mean() - counts))
        self.used_counts.clear()

    # The whole model.

    def _layer(self, layer, x, ids):
        prefix, ratio = f"blk.{layer}.", self.ratios[layer] if layer < self.layers else 0
        y, after, square = self._mix(prefix + "hc_attn", x)
        y, indexer_loss = self._attend(prefix, _rms(y, self._of(prefix + "attn_norm.weight")), ratio)
        x = self._unmix(y, after, square, x)
        y, after, square = self._mix(prefix + "hc_ffn", x)
        y = self._feed_forward(layer, _rms(y, self._of(prefix + "ffn_norm.weight")), ids)
        return self._unmix(y, after, square, x), indexer_loss

    def streams_of(self, ids):
        """[batch, length] ids, padded to whole blocks, to the streams after the last layer."""
        x = functional.embedding(ids, self._of("token_embd.weight"))
        x = x.unsqueeze(2).expand(-1, -1, self.streams, -1)
        indexer_loss = 0
        for layer in range(self.layers):
            x, loss = self._layer(layer, x, ids)
            indexer_loss = indexer_loss + loss
        return x, indexer_loss

    def _next_streams(self, x, next_ids):
        """The block that predicts the token after the next, from the streams of each position and the next token."""
        prefix = f"blk.{self.layers}.nextn."
        embedded = functional.embedding(next_ids, self._of("token_embd.weight"))
        embedded = _rms(embedded, self._of(prefix + "enorm.weight"))
        hidden = _rms(x, self._of(prefix + "hnorm.weight"))
        joined = torch.cat([embedded.unsqueeze(2).expand_as(hidden), hidden], -1)
        return self._layer(self.layers, self._linear(prefix + "eh_proj", joined), next_ids)[0]

    def _padded(self, ids):
        return functional.pad(ids, (0, -ids.shape[1] % _BLOCK))

    @torch.no_grad()
    def logits(self, ids):
        x, _ = self.streams_of(self._padded(ids))
        merged = _rms(self._merge("output_hc_", x), self._of("output_norm.weight"))
        return self._linear("output", merged)[:, :ids.shape[1]]

    @torch.no_grad()
    def step(self, ids, cache):
        """Like Dense.step, but slow: everything is computed again for every token."""
        cache[:] = [torch.cat(cache + [ids])]
        return self.logits(cache[0].unsqueeze(0))[0, -1]

    @torch.no_grad()
    def next_logits(self, ids):
        """The logits for the token after the next, at every position but the last."""
        x, _ = self.streams_of(self._padded(ids))
        return self._linear("output", self._next_hidden(x, self._padded(ids[:, 1:])))[:, :ids.shape[1] - 1]

    def _next_hidden(self, x, next_ids):
        prefix = f"blk.{self.layers}.nextn."
        x = self._next_streams(x[:, :next_ids.shape[1]], next_ids)
        return _rms(self._merge(prefix + "hc_head_", x), self._of(prefix + "shared_head_norm.weight"))

    def _cross_entropy(self, hidden, targets, weights):
        logits = self._linear("output", hidden)
        losses = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        return (losses * weights.flatten()).sum()

    def loss(self, ids, weights):
        """The weighted sum of the losses of all tokens but the first of each row, and of the losses for training
        only."""
        length = ids.shape[1] - 1
        inputs = self._padded(ids[:, :-1])
        x, indexer_loss = self.streams_of(inputs)
        merged = _rms(self._merge("output_hc_", x[:, :length]), self._of("output_norm.weight"))
        total = self._cross_entropy(merged, ids[:, 1:], weights[:, 1:])
        if self.training and self.mtp:
            hidden = self._next_hidden(x, self._padded(ids[:, 1:]))[:, :length - 1]
            total = total + _NEXT_NEXT_WEIGHT * self._cross_entropy(hidden, ids[:, 2:], weights[:, 2:])
        if self.training:
            total = total + _INDEXER_WEIGHT * weights[:, 1:].sum() * indexer_loss
        return total
