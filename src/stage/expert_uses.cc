// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/expert_uses.h"

#include <fmt/format.h>

#include "base/files.h"

namespace aster::stage {
namespace {

constexpr size_t kMostFileBytes = size_t{16} << 20;

}  // namespace

std::string ExpertUses::PathOf(const std::string& model) const {
  return fmt::format("{}/{}.experts", folder_, model);
}

// The counts of a model, from its file at first; a missing or damaged file counts as empty.
ExpertUses::Counted& ExpertUses::Find(const std::string& model) {
  const auto [found, is_new] = counted_.try_emplace(model);
  Counted& counted = found->second;
  if (!is_new || folder_.empty()) return counted;
  const Result<std::string> text = ReadFile(PathOf(model), kMostFileBytes);
  if (!text.ok()) return counted;
  auto use = model::ExpertUse::Parse(*text);
  if (!use.ok()) return counted;
  counted.use = *std::move(use);
  counted.saved_choices = counted.use->choices();
  return counted;
}

std::shared_ptr<model::ExpertUse> ExpertUses::Of(const Hash128& fingerprint,
                                                 const model::Shape& shape) {
  const MutexLock lock(mu_);
  std::shared_ptr<model::ExpertUse>& use = Find(fingerprint.ToHex()).use;
  if (!use || use->layers() != shape.layer_count || use->experts() != shape.experts.count)
    use = std::make_shared<model::ExpertUse>(shape.layer_count, shape.experts.count);
  return use;
}

std::vector<uint16_t> ExpertUses::Replicated(const Hash128& fingerprint, uint32_t count) {
  const MutexLock lock(mu_);
  const std::string model = fingerprint.ToHex();
  const auto [found, is_new] = replicated_.try_emplace({model, count});
  const auto& use = Find(model).use;
  if (is_new && use) found->second = use->MostUsed(count);
  return found->second;
}

void ExpertUses::Save() {
  if (folder_.empty()) return;
  const MutexLock lock(mu_);
  for (auto& [model, counted] : counted_) {
    if (!counted.use) continue;
    const uint64_t choices = counted.use->choices();
    if (choices == counted.saved_choices) continue;
    const std::string text = counted.use->ToText();
    if (WriteFileAtomically(PathOf(model), AsBytes(text)).ok()) counted.saved_choices = choices;
  }
}

}  // namespace aster::stage
