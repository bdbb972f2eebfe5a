// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/kv_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/units.h"
#include "disk/disk_pages.h"

namespace aster::open {
namespace {

// The longest wait for a node's pages to be written and its counters to arrive.
constexpr int64_t kFlushPatienceNs = 10 * kNsPerSecond;

struct PagesAndClock {
  SystemClock clock;
  std::unique_ptr<disk::DiskPages> pages;
};

}  // namespace

Result<std::shared_ptr<disk::DiskPages>> KvCacheOptions::Open() const {
  if (folder.empty()) return std::shared_ptr<disk::DiskPages>();
  disk::DiskPagesOptions options;
  options.folder = folder;
  options.size_bytes = TRY(ParseBytes(size).In("--kv-cache-size"));
  auto both = std::make_shared<PagesAndClock>();
  both->pages = TRY(disk::DiskPages::Open(std::move(options), both->clock).In("--kv-cache"));
  return std::shared_ptr<disk::DiskPages>(both, both->pages.get());
}

std::vector<std::string> KvCacheOptions::Arguments() const {
  if (folder.empty()) return {};
  return {"--kv-cache", folder, "--kv-cache-size", size};
}

disk::DiskPagesCounts CountsOf(disk::DiskPages& pages) {
  pages.Flush(kFlushPatienceNs);
  return pages.counts();
}

std::string DescribeKvCache(const disk::DiskPagesCounts& counts) {
  std::string text = fmt::format("kv cache: {} tokens from the disk", counts.loaded_positions);
  if (counts.loaded_bytes > 0) {
    text +=
        fmt::format(" ({}, {})", FormatBytes(counts.loaded_bytes),
                    FormatByteRate(static_cast<double>(counts.loaded_bytes) * 1e9 /
                                   static_cast<double>(std::max<int64_t>(counts.loading_ns, 1))));
  }
  text += fmt::format("; {} pages written ({}); {} of {} used", counts.kept_files,
                      FormatBytes(counts.kept_bytes), FormatBytes(counts.total_bytes),
                      FormatBytes(counts.size_bytes));
  const auto add = [&](uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  };
  add(counts.evicted_files, "evicted");
  add(counts.dropped_files, "not written, the disk was too slow");
  add(counts.oversized_files, "not written, each is larger than --kv-cache-size");
  add(counts.damaged_files, "damaged");
  add(counts.failed_files, "not written or read");
  if (!counts.last_failure.empty()) text += " (" + counts.last_failure + ")";
  return text;
}

nlohmann::ordered_json KvCacheToJson(const disk::DiskPagesCounts& counts) {
  return {{"loaded_tokens", counts.loaded_positions},
          {"loaded_pages", counts.loaded_pages},
          {"loaded_bytes", counts.loaded_bytes},
          {"loading_s", static_cast<double>(counts.loading_ns) * 1e-9},
          {"looked_for_pages", counts.looked_for},
          {"found_pages", counts.found},
          {"kept_files", counts.kept_files},
          {"kept_bytes", counts.kept_bytes},
          {"dropped_files", counts.dropped_files},
          {"oversized_files", counts.oversized_files},
          {"failed_files", counts.failed_files},
          {"damaged_files", counts.damaged_files},
          {"evicted_files", counts.evicted_files},
          {"files", counts.file_count},
          {"bytes", counts.total_bytes},
          {"size_bytes", counts.size_bytes}};
}

std::string KvCacheToLine(disk::DiskPages* pages) {
  return (pages == nullptr ? nlohmann::ordered_json() : KvCacheToJson(CountsOf(*pages))).dump() +
         "\n";
}

std::optional<disk::DiskPagesCounts> ParseKvCacheLine(std::string_view line) {
  const auto json = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  disk::DiskPagesCounts counts;
  counts.loaded_positions = number("loaded_tokens");
  counts.loaded_pages = number("loaded_pages");
  counts.loaded_bytes = number("loaded_bytes");
  if (const auto found = json.find("loading_s"); found != json.end() && found->is_number()) {
    constexpr double kLongestS = 1e9;
    const double seconds = std::clamp(found->get<double>(), 0.0, kLongestS);
    counts.loading_ns = static_cast<int64_t>(seconds * 1e9);
  }
  counts.looked_for = number("looked_for_pages");
  counts.found = number("found_pages");
  counts.kept_files = number("kept_files");
  counts.kept_bytes = number("kept_bytes");
  counts.dropped_files = number("dropped_files");
  counts.oversized_files = number("oversized_files");
  counts.failed_files = number("failed_files");
  counts.damaged_files = number("damaged_files");
  counts.evicted_files = number("evicted_files");
  counts.file_count = number("files");
  counts.total_bytes = number("bytes");
  counts.size_bytes = number("size_bytes");
  return counts;
}

void AddKvCache(const disk::DiskPagesCounts& other, disk::DiskPagesCounts& all) {
  // The processes have other layers of the same tokens, and may see the same folder differently.
  all.loaded_positions = std::max(all.loaded_positions, other.loaded_positions);
  all.file_count = std::max(all.file_count, other.file_count);
  all.total_bytes = std::max(all.total_bytes, other.total_bytes);
  all.size_bytes = std::max(all.size_bytes, other.size_bytes);
  all.loaded_pages += other.loaded_pages;
  all.loaded_bytes += other.loaded_bytes;
  all.loading_ns += other.loading_ns;
  all.looked_for += other.looked_for;
  all.found += other.found;
  all.kept_files += other.kept_files;
  all.kept_bytes += other.kept_bytes;
  all.dropped_files += other.dropped_files;
  all.oversized_files += other.oversized_files;
  all.failed_files += other.failed_files;
  all.damaged_files += other.damaged_files;
  all.evicted_files += other.evicted_files;
}

}  // namespace aster::open
