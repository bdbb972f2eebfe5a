// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "gguf/model_keys.h"

namespace aster::gguf {
namespace {

// A file that changes twice within one tick of the file clock (up to 10 ms on Linux) has the same
// time both times, so files that were just written are not cached yet.
constexpr int64_t kTooFreshNs = 100 * kNsPerMs;

bool IsTooFreshToCache(const FileIdentity& identity) {
  const int64_t now_ns = SystemClock().WallNs();
  return identity.modified_ns > now_ns - kTooFreshNs && identity.modified_ns < now_ns + kTooFreshNs;
}

uint64_t TensorBytesOf(const File& file) {
  const auto tensors = file.tensors();
  return std::accumulate(tensors.begin(), tensors.end(), uint64_t{0},
                         [](uint64_t sum, const Tensor& t) { return sum + t.data.size(); });
}

Hash128 HashMetadata(const Metadata& metadata) {
  std::vector<const Value*> values;
  for (const Value& value : metadata) {
    if (KeyMatters(value.key())) values.push_back(&value);
  }
  std::ranges::sort(values, {}, [](const Value* v) { return v->key(); });
  Hasher hasher;
  hasher.AddText("asterism metadata 1");
  hasher.AddValue<uint64_t>(values.size());
  for (const Value* value : values) {
    hasher.AddText(value->key());
    hasher.AddValue(static_cast<uint32_t>(value->type()));
    hasher.AddText(AsText(value->payload()));
  }
  return hasher.Digest();
}

Hash128 HashModel(const ModelFiles& model, const Fingerprint& fingerprint) {
  Hasher hasher;
  hasher.AddText("asterism model 1");
  hasher.AddText(fingerprint.metadata.ToHex());
  hasher.AddValue<uint64_t>(model.entries().size());
  for (size_t i = 0; i < model.entries().size(); ++i) {
    const Tensor& tensor = *model.entries()[i].tensor;
    hasher.AddText(tensor.name);
    hasher.AddValue(static_cast<uint32_t>(tensor.type));
    for (const uint64_t dim : tensor.dims) hasher.AddValue(dim);
    hasher.AddText(fingerprint.contents[i].ToHex());
  }
  return hasher.Digest();
}

// Hashes the files of a model one after another, each with all threads.
class FileHasher {
 public:
  FileHasher(const ModelFiles& model, ThreadPool& pool, const FingerprintOptions& options)
      : pool_(pool), options_(options) {
    for (const File& file : model.files()) total_bytes_ += TensorBytesOf(file);
  }

  Result<std::vector<Hash128>> Hash(const File& file) {
    const FileIdentity& identity = file.mapped().identity();
    if (options_.use_cache) {
      auto cached =
          LoadCachedHashes(file.path(), identity, file.tensors().size(), options_.cache_folder);
      if (cached) {
        done_bytes_ += TensorBytesOf(file);
        if (options_.hashing.progress) options_.hashing.progress(done_bytes_, total_bytes_);
        return *std::move(cached);
      }
    }
    std::vector<Hash128> hashes = TRY(HashContent(file));
    if (TRY(IdentifyFile(file.path())) != identity) {
      return Error(Code::kAborted, file.path() + ": the file changed while it was read; try again");
    }
    if (options_.use_cache && !IsTooFreshToCache(identity)) Store(file, hashes);
    return hashes;
  }

  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }

 private:
  Result<std::vector<Hash128>> HashContent(const File& file) {
    HashingOptions hashing = {.progress = nullptr, .stop = options_.hashing.stop};
    if (options_.hashing.progress) {
      hashing.progress = [&](uint64_t done, uint64_t) {
        options_.hashing.progress(done_bytes_ + done, total_bytes_);
      };
    }
    std::vector<Hash128> hashes = TRY(HashTensors(file, pool_, hashing));
    done_bytes_ += TensorBytesOf(file);
    return hashes;
  }

  void Store(const File& file, const std::vector<Hash128>& hashes) {
    const CachedHashes cached = {.identity = file.mapped().identity(), .hashes = hashes};
    const Status stored = StoreCachedHashes(file.path(), cached, options_.cache_folder);
    if (stored.ok()) return;
    warnings_.push_back(
        fmt::format("{}: the content hashes cannot be kept, so they will be computed again next "
                    "time ({})",
                    file.path(), stored.error().message()));
  }

  ThreadPool& pool_;
  const FingerprintOptions& options_;
  uint64_t total_bytes_ = 0;
  uint64_t done_bytes_ = 0;  // of the files before the current one
  std::vector<std::string> warnings_;
};

}  // namespace

Result<Fingerprint> FingerprintModel(const ModelFiles& model, ThreadPool& pool,
                                     const FingerprintOptions& options) {
  FileHasher hasher(model, pool, options);
  std::vector<std::vector<Hash128>> by_file;
  for (const File& file : model.files()) by_file.push_back(TRY(hasher.Hash(file)));
  Fingerprint fingerprint = TRY(FingerprintOfContents(model, by_file));
  fingerprint.warnings = hasher.TakeWarnings();
  return fingerprint;
}

Result<Fingerprint> FingerprintOfContents(const ModelFiles& model,
                                          const std::vector<std::vector<Hash128>>& by_file) {
  CHECK(by_file.size() == model.files().size());
  for (size_t i = 0; i < by_file.size(); ++i) {
    CHECK(by_file[i].size() == model.files()[i].tensors().size());
  }
  const auto content_of = [&](const ModelFiles::Entry& entry) {
    const Tensor* first = model.files()[entry.file_index].tensors().data();
    return by_file[entry.file_index][static_cast<size_t>(entry.tensor - first)];
  };

  Fingerprint fingerprint;
  fingerprint.metadata = HashMetadata(model.metadata());
  fingerprint.contents.reserve(model.entries().size());
  for (const auto& entry : model.entries()) fingerprint.contents.push_back(content_of(entry));
  for (const auto& copy : model.repeated()) {
    const ModelFiles::Entry* original = model.FindEntry(copy.tensor->name);
    CHECK(original != nullptr);
    if (content_of(copy) == content_of(*original)) continue;
    return FailedPrecondition(
        fmt::format("{} and {} are not of one model: the tensor {} differs in its content",
                    model.files()[original->file_index].path(),
                    model.files()[copy.file_index].path(), NameText(copy.tensor->name)));
  }
  fingerprint.model = HashModel(model, fingerprint);
  return fingerprint;
}

}  // namespace aster::gguf
