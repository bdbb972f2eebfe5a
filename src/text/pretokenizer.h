// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// How a byte-level BPE tokenizer cuts a text into pieces, within which it merges. The names are
// those of tokenizer.ggml.pre in files; docs/tokenizers.md says how to add one. Must not know
// vocabularies.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/result.h"
#include "text/unicode.h"

namespace aster::text {

// Receives the end of each piece; it begins where the one before ended.
using PieceSink = FunctionRef<void(size_t end)>;

// Cuts one piece into smaller ones that together are the whole. The time is linear in the piece,
// whatever its content.
using SplitStep = void (*)(const Piece& piece, PieceSink sink);

struct Pretokenizer {
  std::string_view name;
  // Each step cuts the pieces of the step before.
  std::span<const SplitStep> steps;
  // A piece that is a token becomes that token, even if merges would not lead there.
  bool whole_pieces_first = false;
  // Whether a text begins with the beginning-of-text token if the file does not say.
  bool adds_bos = false;
};

// Null if the name is unknown.
const Pretokenizer* FindPretokenizer(std::string_view name);
// All names, separated by commas, in alphabetical order.
std::string PretokenizerNames();

// Calls `sink` with each piece of the text, in order; together they are the text.
void Split(const Pretokenizer& pretokenizer, std::string_view text,
           FunctionRef<void(std::string_view piece)> sink);

}  // namespace aster::text
