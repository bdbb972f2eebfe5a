# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Byte-pair encoding over counted words: learns merges, the most frequent pair first."""

from collections import Counter


def learn(word_counts, max_merges, can_merge=lambda left, right: True, min_count=2):
    """Merges in their order, as pairs of strings.

    word_counts maps words, as tuples of symbols, to how often they occur. Of equally frequent pairs the alphabetically
    first one is merged, so that the result depends on the counts only.
    """
    words = [[list(symbols), count] for symbols, count in sorted(word_counts.items())]
    pairs, where = Counter(), {}
    for index, (symbols, count) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
            where.setdefault(pair, set()).add(index)
    merges = []
    while len(merges) < max_merges:
        possible = [(-count, pair) for pair, count in pairs.items() if count >= min_count and can_merge(*pair)]
        if not possible:
            break
        best = min(possible)[1]
        merges.append(best)
        for index in where.pop(best):
            _join_in_word(words[index], best, pairs, where, index)
        del pairs[best]
    return merges


def _join_in_word(word, pair, pairs, where, index):
    symbols, count = word
    for old in zip(symbols, symbols[1:]):
        pairs[old] -= count
    symbols[:] = join(symbols, pair)
    for new in zip(symbols, symbols[1:]):
        pairs[new] += count
        where.setdefault(new, set()).add(index)


def join(symbols, pair):
    """The symbols with every occurrence of the pair, from the left, merged."""
    result, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            result.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


def apply(symbols, rank_of):
    """Merges neighbours, lowest rank first and from the left, until none can be. rank_of(left, right) may be None."""
    symbols = list(symbols)
    while len(symbols) > 1:
        ranked = [(rank, i) for i in range(len(symbols) - 1)
                  if (rank := rank_of(symbols[i], symbols[i + 1])) is not None]
        if not ranked:
            break
        _, i = min(ranked)
        symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols
