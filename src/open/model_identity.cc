// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/model_identity.h"

#include <algorithm>
#include <filesystem>

#include "base/machine.h"
#include "base/thread_pool.h"
#include "gguf/fingerprint.h"

namespace aster::open {
namespace {

// For smaller models hashing is so fast that a file of hashes is not worthwhile.
constexpr uint64_t kWorthCaching = uint64_t{256} << 20;

bool IsWorthCaching(const gguf::ModelFiles& files) {
  uint64_t bytes = 0;
  for (const gguf::File& file : files.files()) bytes += file.size_bytes();
  return bytes >= kWorthCaching;
}

bool AreHashesKept(const gguf::ModelFiles& files) {
  return std::ranges::all_of(files.files(), [](const gguf::File& file) {
    return gguf::LoadCachedHashes(file.path(), file.mapped().identity(), file.tensors().size(),
                                  gguf::DefaultCacheFolder())
        .has_value();
  });
}

}  // namespace

std::optional<Hash128> KnownFingerprintOf(const gguf::ModelFiles& files, Reporter& reporter) {
  const bool is_cheap = files.fingerprint() || !IsWorthCaching(files) || AreHashesKept(files);
  if (!is_cheap) return std::nullopt;
  const auto fingerprint = FingerprintOf(files, reporter);
  return fingerprint.ok() ? std::optional(*fingerprint) : std::nullopt;
}

Result<Hash128> FingerprintOf(const gguf::ModelFiles& files, Reporter& reporter) {
  if (files.fingerprint()) return *files.fingerprint();
  ThreadPool pool(UsableCpuCount());
  gguf::FingerprintOptions options;
  options.hashing.progress = reporter.StartProgress("hashing");
  options.use_cache = IsWorthCaching(files);
  const gguf::Fingerprint fingerprint = TRY(gguf::FingerprintModel(files, pool, options));
  for (const std::string& warning : fingerprint.warnings) reporter.Complain("warning", warning);
  return fingerprint.model;
}

std::string ModelName(const gguf::ModelFiles& files) {
  if (const auto name = files.metadata().Get<std::string_view>("general.name");
      name.ok() && !name->empty()) {
    return std::string(*name);
  }
  return std::filesystem::path(files.files().front().path()).stem().string();
}

}  // namespace aster::open
