// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::engine {

Sequence::Sequence(LocalModel& model) : model_(&model), table_(model.NewTable()) {}

Sequence::Sequence(LocalModel& model, std::vector<int32_t> tokens, kv::PageTable table)
    : model_(&model), tokens_(std::move(tokens)), table_(std::move(table)) {}

void Sequence::SetHistory(std::span<const int32_t> tokens) {
  const auto [own, other] = std::ranges::mismatch(tokens_, tokens);
  Rewind(static_cast<uint32_t>(own - tokens_.begin()));
  tokens_.insert(tokens_.end(), other, tokens.end());
  Adopt();
}

void Sequence::Rewind(uint32_t length) {
  CHECK(length <= tokens_.size());
  tokens_.resize(length);
  if (computed() > length) table_.Truncate(length);
}

void Sequence::Adopt() {
  if (pending().size() > 1) table_.Adopt(std::span(tokens_).first(tokens_.size() - 1));
}

void Sequence::ForgetLast() {
  if (!tokens_.empty() && pending().empty()) table_.Truncate(length() - 1);
}

void Sequence::Release() { table_.Truncate(0); }

Sequence Sequence::Fork() const { return {*model_, tokens_, table_.Fork()}; }

}  // namespace aster::engine
