// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace aster::engine {

class Sequence::TableMemory final : public SequenceMemory {
 public:
  TableMemory(LocalModel& model, kv::PageTable table) : model_(model), table_(std::move(table)) {}

  uint32_t length() const override { return table().length(); }
  void Truncate(uint32_t length) override { table().Truncate(length); }
  void Adopt(std::span<const int32_t> tokens) override { table().Adopt(tokens); }
  std::unique_ptr<SequenceMemory> Fork() const override {
    return std::make_unique<TableMemory>(model_, table().Fork());
  }

  LocalModel& model() const { return model_; }
  // Empty if a GPU with its pages was lost.
  kv::PageTable& table() const {
    if (std::exchange(replacements_, model_.replacements()) != model_.replacements())
      table_ = model_.NewTable();
    return table_;
  }

 private:
  LocalModel& model_;
  mutable kv::PageTable table_;
  mutable uint64_t replacements_ = model_.replacements();  // of the model when the table was made
};

Sequence::Sequence(LocalModel& model)
    : Sequence(std::make_unique<TableMemory>(model, model.NewTable())) {}

Sequence::Sequence(std::unique_ptr<TableMemory> memory) : local_(memory.get()) {
  memory_ = std::move(memory);
}

Sequence::Sequence(std::unique_ptr<SequenceMemory> memory)
    : memory_(std::move(memory)), local_(nullptr) {}

Sequence::Sequence(std::vector<int32_t> tokens, std::unique_ptr<SequenceMemory> memory,
                   TableMemory* local)
    : tokens_(std::move(tokens)), memory_(std::move(memory)), local_(local) {}

LocalModel& Sequence::model() const {
  CHECK(is_local());
  return local_->model();
}

kv::PageTable& Sequence::table() {
  CHECK(is_local());
  return local_->table();
}

const kv::PageTable& Sequence::table() const {
  CHECK(is_local());
  return local_->table();
}

void Sequence::SetHistory(std::span<const int32_t> tokens) {
  // Rows of the common beginning stay; the rest is looked up by its prefix hashes.
  const auto [own, other] = std::ranges::mismatch(tokens_, tokens);
  Rewind(static_cast<uint32_t>(own - tokens_.begin()));
  tokens_.insert(tokens_.end(), other, tokens.end());
  Adopt(kv::AdoptFrom::kMemory);
}

void Sequence::Rewind(uint32_t length) {
  CHECK(length <= tokens_.size());
  tokens_.resize(length);
  if (computed() > length) memory_->Truncate(length);
}

void Sequence::Adopt(kv::AdoptFrom from) {
  // The last token is computed, as its logits are needed.
  if (pending().size() <= 1) return;
  const auto tokens = std::span<const int32_t>(tokens_).first(tokens_.size() - 1);
  if (is_local()) {
    table().Adopt(tokens, from);
  } else {
    memory_->Adopt(tokens);
  }
}

void Sequence::ForgetLast() {
  if (!tokens_.empty() && pending().empty()) memory_->Truncate(length() - 1);
}

void Sequence::Release() { memory_->Truncate(0); }

Sequence Sequence::Fork() const {
  std::unique_ptr<SequenceMemory> memory = memory_->Fork();
  TableMemory* const local = is_local() ? static_cast<TableMemory*>(memory.get()) : nullptr;
  return {tokens_, std::move(memory), local};
}

}  // namespace aster::engine
