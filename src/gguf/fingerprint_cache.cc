// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/fingerprint_cache.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/files.h"

namespace aster::gguf {
namespace {

constexpr std::string_view kFirstLine = "asterism fingerprint 1";
constexpr std::string_view kSuffix = ".fingerprint";
constexpr size_t kHexDigits = 32;

// Reads a cache file line by line. Every line ends with a line feed.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  size_t offset() const { return offset_; }
  size_t left() const { return text_.size() - offset_; }

  Result<std::string_view> Line() {
    const size_t end = text_.find('\n', offset_);
    if (end == std::string_view::npos) return DataLoss("the cache file was cut off");
    const std::string_view line = text_.substr(offset_, end - offset_);
    offset_ = end + 1;
    return line;
  }

  // Reads the number of a line "name number".
  template <typename T>
  Result<T> Number(std::string_view name) {
    std::string_view line = TRY(Line());
    T value = 0;
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      line.remove_prefix(name.size() + 1);
      const auto [end, error] = std::from_chars(line.begin(), line.end(), value);
      if (error == std::errc() && end == line.end()) return value;
    }
    return DataLoss(fmt::format("the cache file has no {} where it should be", name));
  }

 private:
  std::string_view text_;
  size_t offset_ = 0;
};

Result<uint64_t> ParseHex(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, 16);
  if (error == std::errc() && end == digits.end()) return value;
  return DataLoss("the cache file has something else where a hash should be");
}

Result<Hash128> ParseHash(std::string_view line) {
  if (line.size() != kHexDigits) return DataLoss("the cache file has a hash of another length");
  const uint64_t high = TRY(ParseHex(line.substr(0, kHexDigits / 2)));
  return Hash128{.low = TRY(ParseHex(line.substr(kHexDigits / 2))), .high = high};
}

std::string CheckLine(std::string_view text) {
  return fmt::format("check {}\n", Hash128Of(AsBytes(text)).ToHex());
}

// The largest size of a cache file of `tensor_count` tensors.
size_t MaxCacheBytes(size_t tensor_count) {
  constexpr size_t kMaxOtherBytes = 1024;
  return kMaxOtherBytes + tensor_count * (kHexDigits + 1);
}

}  // namespace

std::string FormatCachedHashes(const CachedHashes& cached) {
  std::string text =
      fmt::format("{}\nsize_bytes {}\nmodified_ns {}\ndevice {}\ninode {}\ntensors {}\n",
                  kFirstLine, cached.identity.size_bytes, cached.identity.modified_ns,
                  cached.identity.device, cached.identity.inode, cached.hashes.size());
  for (const Hash128& hash : cached.hashes) text += hash.ToHex() + "\n";
  return text + CheckLine(text);
}

Result<CachedHashes> ParseCachedHashes(std::string_view text) {
  LineReader reader(text);
  if (TRY(reader.Line()) != kFirstLine) return DataLoss("this is not a fingerprint cache");
  CachedHashes cached;
  cached.identity.size_bytes = TRY(reader.Number<uint64_t>("size_bytes"));
  cached.identity.modified_ns = TRY(reader.Number<int64_t>("modified_ns"));
  cached.identity.device = TRY(reader.Number<uint64_t>("device"));
  cached.identity.inode = TRY(reader.Number<uint64_t>("inode"));
  const auto count = TRY(reader.Number<uint64_t>("tensors"));
  if (count > reader.left() / (kHexDigits + 1)) return DataLoss("the cache file was cut off");
  cached.hashes.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view line = TRY(reader.Line());
    cached.hashes.push_back(TRY(ParseHash(line)));
  }
  if (text.substr(reader.offset()) != CheckLine(text.substr(0, reader.offset()))) {
    return DataLoss("the cache file is damaged");
  }
  return cached;
}

std::string DefaultCacheFolder() {
  const Result<std::string> folder = CacheDirectory();
  return folder.ok() ? *folder : "";
}

std::vector<std::string> CachePaths(const std::string& path, const std::string& cache_folder) {
  std::vector<std::string> paths = {fmt::format("{}{}", path, kSuffix)};
  if (cache_folder.empty()) return paths;
  // Files with the same name in different folders must not share a cache.
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  const std::string name = error ? path : real.string();
  paths.push_back(fmt::format("{}/{}-{:016x}{}", cache_folder,
                              std::filesystem::path(path).filename().string(),
                              Hash64Of(AsBytes(name)), kSuffix));
  return paths;
}

std::optional<std::vector<Hash128>> LoadCachedHashes(const std::string& path,
                                                     const FileIdentity& identity,
                                                     size_t tensor_count,
                                                     const std::string& cache_folder) {
  for (const std::string& cache_path : CachePaths(path, cache_folder)) {
    const auto text = ReadFile(cache_path, MaxCacheBytes(tensor_count));
    if (!text.ok()) continue;
    Result<CachedHashes> cached = ParseCachedHashes(*text);
    if (cached.ok() && cached->identity == identity && cached->hashes.size() == tensor_count) {
      return std::move(cached->hashes);
    }
  }
  return std::nullopt;
}

Status StoreCachedHashes(const std::string& path, const CachedHashes& cached,
                         const std::string& cache_folder) {
  const std::string text = FormatCachedHashes(cached);
  const std::vector<std::string> places = CachePaths(path, cache_folder);
  Status stored = WriteFileAtomically(places[0], AsBytes(text));
  if (stored.ok() || places.size() == 1) return stored;
  TRY(MakeDirectories(cache_folder));
  return WriteFileAtomically(places[1], AsBytes(text));
}

}  // namespace aster::gguf
