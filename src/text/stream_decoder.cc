// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace aster::text {
namespace {

// How many bytes at the end are an incomplete character: 0 to 3.
size_t IncompleteSuffixBytes(std::string_view text) {
  for (size_t size = std::min<size_t>(3, text.size()); size > 0; --size) {
    if (IsUtf8Start(text.substr(text.size() - size))) return size;
  }
  return 0;
}

}  // namespace

Status StreamDecoder::Push(TokenId id, std::string& out) {
  TRY(tokenizer_.CheckId(id));
  pending_ += tokenizer_.DecodedBytes(id, options_.skip_control, after_special_);
  const size_t ready = pending_.size() - IncompleteSuffixBytes(pending_);
  out.append(pending_, 0, ready);
  pending_.erase(0, ready);
  return Ok();
}

void StreamDecoder::Finish(std::string& out) {
  out += pending_;
  pending_.clear();
  after_special_ = options_.begins_text;
}

}  // namespace aster::text
