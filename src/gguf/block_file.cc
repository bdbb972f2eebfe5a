// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/block_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace aster::gguf {
namespace {

constexpr std::string_view kLayers = "blk.";
constexpr std::string_view kApartPrefix = "mtp.0.";
constexpr std::array<std::string_view, 2> kMergeNames = {"output_hc_", "hc_head_"};

// The only keys that are compared: published files count layers and name their architecture in
// different ways. Any other mismatch shows in the tensors' shapes.
constexpr std::array<std::string_view, 3> kSameKeys = {"embedding_length", "attention.head_count",
                                                       "expert_count"};

// blk.N. of the last layer by a file's keys, if they have a number of layers.
std::optional<std::string> LastLayer(const File& file) {
  const auto architecture = file.metadata().Get<std::string>("general.architecture");
  if (!architecture.ok()) return std::nullopt;
  const auto count = file.metadata().Get<uint32_t>(*architecture + ".block_count");
  if (!count.ok() || *count == 0) return std::nullopt;
  return fmt::format("{}{}.", kLayers, *count - 1);
}

// The kind of a file, or of the parts of one split, the first of which has the keys.
Holding HoldingOfSet(std::span<const File* const> files) {
  const auto architecture =
      files.front()->metadata().GetOr<std::string_view>("general.architecture", "");
  if (architecture.ok() && *architecture == kDrafterArchitecture) return Holding::kDrafter;
  std::vector<std::string_view> names;
  for (const File* file : files) {
    names.insert(names.end(), file->listed_names().begin(), file->listed_names().end());
  }
  const auto begins = [](std::string_view prefix) {
    return [prefix](std::string_view name) { return name.starts_with(prefix); };
  };
  if (names.empty()) return Holding::kModel;
  if (std::ranges::all_of(names, begins(kApartPrefix))) return Holding::kApart;

  const std::optional<std::string> last = LastLayer(*files.front());
  if (!last || std::ranges::none_of(names, begins(*last + "nextn."))) return Holding::kModel;
  if (std::ranges::any_of(names, [&](std::string_view name) {
        return name.starts_with(kLayers) && !name.starts_with(*last);
      })) {
    return Holding::kModel;
  }
  // A slice may end with the block and the model's head, but does not need the embedding.
  const bool nothing_else = std::ranges::all_of(names, begins(*last));
  const bool has_embedding = std::ranges::any_of(names, begins("token_embd."));
  return nothing_else || has_embedding ? Holding::kCompanion : Holding::kModel;
}

}  // namespace

std::vector<Holding> HoldingsOf(std::span<const File> files, std::span<const size_t> set_of_file) {
  std::vector<Holding> holdings;
  for (size_t i = 0; i < files.size(); ++i) {
    std::vector<const File*> set;
    for (size_t j = 0; j < files.size(); ++j) {
      if (set_of_file[j] == set_of_file[i]) set.push_back(&files[j]);
    }
    holdings.push_back(HoldingOfSet(set));
  }
  if (std::ranges::find(holdings, Holding::kModel) == holdings.end()) {
    std::ranges::fill(holdings, Holding::kModel);
  }
  return holdings;
}

void NameAsInside(File& companion) {
  const std::optional<std::string> last = LastLayer(companion);
  if (!last) return;
  for (const std::string_view part : {"fn", "scale", "base"}) {
    std::string inside = fmt::format("{}nextn.hc_head_{}.weight", *last, part);
    for (const std::string_view merge : kMergeNames) {
      if (std::ranges::find(companion.listed_names(), inside) != companion.listed_names().end()) {
        break;
      }
      companion.Rename(fmt::format("{}{}.weight", merge, part), inside);
    }
  }
}

bool IsOfBlock(Holding holding, std::string_view tensor) {
  return holding != Holding::kCompanion || tensor.starts_with(kLayers);
}

Status CheckBlockKeys(const File& block, const Metadata& model) {
  const auto architecture = model.Get<std::string>("general.architecture");
  if (!architecture.ok()) return Ok();
  for (const std::string_view name : kSameKeys) {
    const std::string key = fmt::format("{}.{}", *architecture, name);
    const Value* const own = block.metadata().Find(key);
    const Value* const wanted = model.Find(key);
    if (own == nullptr || wanted == nullptr) continue;
    const auto own_number = own->As<uint64_t>();
    const auto wanted_number = wanted->As<uint64_t>();
    // Numbers per layer are compared by the tensors' shapes.
    if (!own_number.ok() || !wanted_number.ok() || *own_number == *wanted_number) continue;
    return FailedPrecondition(
        fmt::format("{}: this MTP block is of another model: the key {} is {} in it, and {} in the "
                    "model; leave it out, or give the model's own",
                    block.path(), key, *own_number, *wanted_number));
  }
  return Ok();
}

}  // namespace aster::gguf
