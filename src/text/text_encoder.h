// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Encodes text without special tokens: cuts it into pieces that no merge crosses, and encodes each.
// Must not know special tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/merge_model.h"
#include "text/piece_cache.h"
#include "text/pretokenizer.h"

namespace aster::text {

// Memory for encoding, kept between calls. Not for concurrent use.
struct EncodeScratch {
  PieceCache cache;
  MergeWorkspace workspace;
  std::vector<Symbol> symbols;
  std::string text;

  // Frees the memory of an unusually long text.
  void Trim();
};

// Constant after construction, so any number of threads may use one, each with its own scratch.
class TextEncoder {
 public:
  // The vocabulary has passed Validate.
  static std::unique_ptr<TextEncoder> Make(const Vocab& vocab);

  explicit TextEncoder(const Vocab& vocab) : model_(vocab) {}
  virtual ~TextEncoder() = default;

  // Appends the text's tokens; with `space_before`, as if a space came before it.
  virtual void Encode(std::string_view text, bool space_before, EncodeScratch& scratch,
                      std::vector<TokenId>& ids) const = 0;

  const MergeModel& model() const { return model_; }

 protected:
  // Appends the tokens of a piece, from the cache if possible.
  void EncodePiece(std::string_view piece, EncodeScratch& scratch, std::vector<TokenId>& ids) const;

 private:
  // Appends the tokens of a piece.
  virtual void EncodeNewPiece(std::string_view piece, EncodeScratch& scratch,
                              std::vector<TokenId>& ids) const = 0;

  const MergeModel model_;
};

}  // namespace aster::text
