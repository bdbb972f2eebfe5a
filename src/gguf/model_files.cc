// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/mapped_file.h"
#include "gguf/block_file.h"
#include "gguf/model_keys.h"
#include "gguf/split_name.h"

namespace aster::gguf {
namespace {

// Far more layers than any model has, and still fast to count.
constexpr uint32_t kMaxLayers = 65536;
// Of two copies of a tensor at a time; their pages are released afterwards.
constexpr size_t kComparedBytes = size_t{4} << 20;

// A file's keys about its split.
struct Split {
  uint32_t index = 0;
  uint32_t count = 1;
  std::optional<uint64_t> tensor_count;  // of all parts together
};

Result<Split> SplitOf(const File& file) {
  const Metadata& metadata = file.metadata();
  Split split;
  split.count = TRY(metadata.GetOr<uint32_t>(kSplitCountKey, 1).In(file.path()));
  if (split.count <= 1) return Split();
  if (split.count > kMaxSplitCount) {
    return DataLoss(fmt::format("{}: {} is {}; at most {} parts are possible", file.path(),
                                kSplitCountKey, split.count, kMaxSplitCount));
  }
  split.index = TRY(metadata.Get<uint32_t>(kSplitIndexKey).In(file.path()));
  split.tensor_count = TRY(metadata.GetIfPresent<uint64_t>(kSplitTensorCountKey).In(file.path()));
  if (split.index >= split.count) {
    return DataLoss(fmt::format("{}: {} is {}, but there are only {} parts", file.path(),
                                kSplitIndexKey, split.index, split.count));
  }
  return split;
}

// The layer that a tensor belongs to, if any: N of blk.N.anything.
std::optional<uint32_t> LayerOf(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint32_t layer = 0;
  const auto [end, error] = std::from_chars(name.begin(), name.end(), layer);
  if (error != std::errc() || end == name.end() || *end != '.') return std::nullopt;
  return layer;
}

bool SameValue(const Value& a, const Value& b) {
  return a.type() == b.type() && std::ranges::equal(a.payload(), b.payload());
}

bool SameKind(const Tensor& a, const Tensor& b) { return a.type == b.type && a.dims == b.dims; }

std::string KindText(const Tensor& tensor) {
  return fmt::format("{} {}", TensorTypeName(tensor.type), ShapeText(tensor));
}

// Opens files, each once, and finds the other parts of split models.
class Collector {
 public:
  Status Add(const std::string& path) {
    File file = TRY(File::Open(path));
    if (IsOpen(file)) return Ok();
    const Split split = TRY(SplitOf(file));
    if (split.count == 1) {
      AddToSet(std::move(file));
      ++set_count_;
      return Ok();
    }
    return AddSplit(file, split);
  }

  // Files and, for each of them, the number of its split.
  std::vector<File> files;
  std::vector<size_t> set_of_file;

 private:
  bool IsOpen(const File& file) const {
    return std::ranges::any_of(files, [&](const File& other) {
      return other.mapped().identity() == file.mapped().identity();
    });
  }

  void AddToSet(File file) {
    files.push_back(std::move(file));
    set_of_file.push_back(set_count_);
  }

  Status AddSplit(const File& given, const Split& split) {
    const std::optional<SplitName> name = ParseSplitPath(given.path());
    if (!name || name->index != split.index || name->count != split.count) {
      return InvalidArgument(fmt::format(
          "{}: the file says that it is part {} of {}, but its name does not, so the other parts "
          "cannot be found; give the parts their usual names, this one NAME{}",
          given.path(), split.index + 1, split.count, SplitPath("", split.index, split.count)));
    }
    uint64_t tensor_count = 0;
    for (uint32_t i = 0; i < split.count; ++i) {
      File part = TRY(OpenPart(*name, i));
      const Split its = TRY(SplitOf(part));
      if (its.count != split.count || its.index != i) {
        return FailedPrecondition(fmt::format(
            "{}: the file says that it is part {} of {}, its name says {} of {}; these are not "
            "parts of one model",
            part.path(), its.index + 1, its.count, i + 1, split.count));
      }
      tensor_count += part.tensors().size();
      AddToSet(std::move(part));
    }
    ++set_count_;
    if (split.tensor_count && *split.tensor_count != tensor_count) {
      return FailedPrecondition(
          fmt::format("{}: the {} parts hold {} tensors together, but the model has {}; parts of "
                      "different models may be mixed up, get them all again",
                      given.path(), split.count, tensor_count, *split.tensor_count));
    }
    return Ok();
  }

  static Result<File> OpenPart(const SplitName& name, uint32_t index) {
    const std::string path = SplitPath(name.prefix, index, name.count);
    Result<File> part = File::Open(path);
    if (part.ok() || part.error().code() != Code::kNotFound) return part;
    return NotFound(
        fmt::format("{}: part {} of {} of the model is missing; put it beside the others", path,
                    index + 1, name.count));
  }

  size_t set_count_ = 0;
};

// One view of all files' keys, in the order in which the files first name them, without those of an
// MTP block's file.
Result<Metadata> MergedMetadata(std::span<const File> files, std::span<const Holding> holdings) {
  if (files.size() == 1) return files[0].metadata();
  struct Located {
    const Value* value;
    size_t file_index;
    size_t order;
  };
  std::vector<Located> located;
  for (size_t i = 0; i < files.size(); ++i) {
    if (holdings[i] != Holding::kModel) continue;
    for (const Value& value : files[i].metadata()) located.push_back({&value, i, located.size()});
  }
  std::ranges::sort(located, {},
                    [](const Located& l) { return std::pair(l.value->key(), l.order); });

  size_t kept = 0;
  for (const Located& next : located) {
    if (kept == 0 || located[kept - 1].value->key() != next.value->key()) {
      located[kept++] = next;
      continue;
    }
    const Located& first = located[kept - 1];
    if (KeyMatters(next.value->key()) && !SameValue(*first.value, *next.value)) {
      return FailedPrecondition(
          fmt::format("{} and {} are not of one model: the key {} is {} in one, {} in the other",
                      files[first.file_index].path(), files[next.file_index].path(),
                      next.value->key(), ToText(*first.value), ToText(*next.value)));
    }
  }
  located.resize(kept);
  std::ranges::sort(located, {}, &Located::order);
  std::vector<Value> values;
  values.reserve(kept);
  for (const Located& l : located) values.push_back(*l.value);
  return Metadata::Of(std::move(values));
}

}  // namespace

Result<ModelFiles> ModelFiles::Open(const std::vector<std::string>& paths) {
  if (paths.empty()) return InvalidArgument("no file is given");
  Collector collector;
  for (const std::string& path : paths) TRY(collector.Add(path));
  return JoinSets(std::move(collector.files), std::move(collector.set_of_file));
}

Result<ModelFiles> ModelFiles::Join(std::vector<File> files) {
  if (files.empty()) return InvalidArgument("no file is given");
  std::vector<size_t> set_of_file(files.size());
  std::iota(set_of_file.begin(), set_of_file.end(), size_t{0});
  return JoinSets(std::move(files), std::move(set_of_file));
}

// The files of a drafter beside a model do not belong to the model.
Status ModelFiles::TakeDrafter(std::vector<Holding>& holdings, std::vector<size_t>& set_of_file) {
  std::vector<File> own, drafters;
  std::vector<Holding> own_holdings;
  std::vector<size_t> own_sets, drafter_sets;
  for (size_t i = 0; i < files_.size(); ++i) {
    const bool is_drafter = holdings[i] == Holding::kDrafter;
    (is_drafter ? drafters : own).push_back(std::move(files_[i]));
    (is_drafter ? drafter_sets : own_sets).push_back(set_of_file[i]);
    if (!is_drafter) own_holdings.push_back(holdings[i]);
  }
  files_ = std::move(own);
  holdings = std::move(own_holdings);
  set_of_file = std::move(own_sets);
  if (drafters.empty()) return Ok();
  if (std::ranges::count(drafter_sets, drafter_sets.front()) !=
      static_cast<ptrdiff_t>(drafter_sets.size())) {
    return InvalidArgument(fmt::format("{} and {} are two drafters; give one of them",
                                       drafters.front().path(), drafters.back().path()));
  }
  drafter_ = std::make_shared<const ModelFiles>(
      TRY(JoinSets(std::move(drafters), std::move(drafter_sets))));
  return Ok();
}

Result<ModelFiles> ModelFiles::JoinSets(std::vector<File> files, std::vector<size_t> set_of_file) {
  ModelFiles model;
  model.files_ = std::move(files);
  std::vector<Holding> holdings = HoldingsOf(model.files_, set_of_file);
  TRY(model.TakeDrafter(holdings, set_of_file));
  model.metadata_ = TRY(MergedMetadata(model.files_, holdings));
  for (size_t i = 0; i < model.files_.size(); ++i) {
    if (holdings[i] != Holding::kModel) TRY(CheckBlockKeys(model.files_[i], model.metadata_));
    if (holdings[i] == Holding::kCompanion) NameAsInside(model.files_[i]);
    for (const Tensor& tensor : model.files_[i].tensors()) {
      if (IsOfBlock(holdings[i], tensor.name)) model.entries_.push_back({&tensor, i});
    }
  }
  std::ranges::sort(model.entries_, {},
                    [](const Entry& e) { return std::pair(e.tensor->name, e.file_index); });
  TRY(model.SeparateRepeated(set_of_file));
  return model;
}

// Entries are sorted by name: the first of a name stays, the others are copies.
Status ModelFiles::SeparateRepeated(const std::vector<size_t>& set_of_file) {
  size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (kept == 0 || entries_[kept - 1].tensor->name != entry.tensor->name) {
      entries_[kept++] = entry;
      continue;
    }
    const Entry& first = entries_[kept - 1];
    const std::string& first_path = files_[first.file_index].path();
    const std::string& path = files_[entry.file_index].path();
    if (set_of_file[first.file_index] == set_of_file[entry.file_index]) {
      return DataLoss(
          fmt::format("{} and {} both hold the tensor {}; parts of different models "
                      "may be mixed up",
                      first_path, path, NameText(entry.tensor->name)));
    }
    if (!SameKind(*first.tensor, *entry.tensor)) {
      return FailedPrecondition(fmt::format(
          "{} and {} are not of one model: the tensor {} is {} in one, {} in the other", first_path,
          path, NameText(entry.tensor->name), KindText(*first.tensor), KindText(*entry.tensor)));
    }
    repeated_.push_back(entry);
  }
  entries_.resize(kept);
  return Ok();
}

Status ModelFiles::CompareCopies() const {
  for (const Entry& copy : repeated_) {
    const Entry* const first = FindEntry(copy.tensor->name);
    CHECK(first != nullptr);
    const Tensor& a = *first->tensor;
    const Tensor& b = *copy.tensor;
    for (size_t at = 0; at < std::min(a.data.size(), b.data.size()); at += kComparedBytes) {
      const size_t size = std::min({kComparedBytes, a.data.size() - at, b.data.size() - at});
      const bool same = std::memcmp(a.data.data() + at, b.data.data() + at, size) == 0;
      files_[first->file_index].mapped().DontNeed(a.offset + at, size);
      files_[copy.file_index].mapped().DontNeed(b.offset + at, size);
      if (same) continue;
      return FailedPrecondition(fmt::format(
          "{} and {} are not of one model: the tensor {} differs in its content",
          files_[first->file_index].path(), files_[copy.file_index].path(), NameText(a.name)));
    }
  }
  return Ok();
}

const ModelFiles::Entry* ModelFiles::FindEntry(std::string_view name) const {
  const auto found =
      std::ranges::lower_bound(entries_, name, {}, [](const Entry& e) { return e.tensor->name; });
  return found != entries_.end() && found->tensor->name == name ? &*found : nullptr;
}

const Tensor* ModelFiles::FindTensor(std::string_view name) const {
  const Entry* entry = FindEntry(name);
  return entry != nullptr ? entry->tensor : nullptr;
}

Result<std::vector<std::string>> ModelFiles::MissingParts() const {
  const std::string architecture = TRY(metadata_.Get<std::string>("general.architecture"));
  const auto layer_count = TRY(metadata_.Get<uint32_t>(architecture + ".block_count"));
  // MTP blocks come after the other layers, often in a file of their own.
  const auto draft_layer_count =
      TRY(metadata_.GetOr<uint32_t>(architecture + ".nextn_predict_layers", 0));
  if (layer_count > kMaxLayers) {
    return DataLoss(fmt::format("{}.block_count is {}; at most {} layers are possible",
                                architecture, layer_count, kMaxLayers));
  }
  std::vector<bool> present(layer_count, false);
  for (const Entry& entry : entries_) {
    const std::optional<uint32_t> layer = LayerOf(entry.tensor->name);
    if (layer && *layer < layer_count) present[*layer] = true;
  }
  std::vector<uint32_t> absent;
  for (uint32_t i = 0; i < layer_count - std::min(layer_count, draft_layer_count); ++i) {
    if (!present[i]) absent.push_back(i);
  }
  std::vector<std::string> missing;
  if (!absent.empty()) {
    missing.push_back((absent.size() == 1 ? "layer " : "layers ") + NumberRanges(absent));
  }
  for (const char* name : {"token_embd.weight", "output_norm.weight"}) {
    if (FindTensor(name) == nullptr) missing.emplace_back(name);
  }
  return missing;
}

std::string NumberRanges(std::span<const uint32_t> numbers) {
  std::string text;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - begin == 1 ? fmt::format("{}", numbers[begin])
                             : fmt::format("{}-{}", numbers[begin], numbers[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace aster::gguf
