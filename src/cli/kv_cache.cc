// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/kv_cache.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/units.h"
#include "disk/disk_pages.h"

namespace aster::cli {
namespace {

// Nobody wants to wait longer to be told what was kept.
constexpr int64_t kFlushPatienceNs = 10 * kNsPerSecond;

struct PagesAndClock {
  SystemClock clock;
  std::unique_ptr<disk::DiskPages> pages;
};

}  // namespace

void KvCacheOptions::Declare(CLI::App& app) {
  CLI::Option* where =
      app.add_option(
             "--kv-cache", folder,
             "Keep keys and values in this folder, and take what is there: for prompts that "
             "begin alike, now and later")
          ->type_name("DIR");
  app.add_option("--kv-cache-size", size, "The most that the folder may take (8GiB)")
      ->needs(where)
      ->type_name("SIZE");
}

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

std::string DescribeKvCache(disk::DiskPages& pages) {
  pages.Flush(kFlushPatienceNs);
  const disk::DiskPagesCounts counts = pages.counts();
  std::string text = fmt::format("kv cache: {} tokens from the disk", counts.loaded_positions);
  if (counts.loaded_bytes > 0) {
    text +=
        fmt::format(" ({}, {})", FormatBytes(counts.loaded_bytes),
                    FormatByteRate(static_cast<double>(counts.loaded_bytes) * 1e9 /
                                   static_cast<double>(std::max<int64_t>(counts.loading_ns, 1))));
  }
  text += fmt::format("; {} pages kept ({}); {} of {} taken", counts.kept_files,
                      FormatBytes(counts.kept_bytes), FormatBytes(counts.total_bytes),
                      FormatBytes(counts.size_bytes));
  const auto add = [&](uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  };
  add(counts.evicted_files, "gave way");
  add(counts.dropped_files, "not kept, the disk was too slow");
  add(counts.damaged_files, "damaged");
  add(counts.failed_files, "not written or read");
  if (!counts.last_failure.empty()) text += " (" + counts.last_failure + ")";
  return text;
}

nlohmann::ordered_json KvCacheToJson(disk::DiskPages& pages) {
  pages.Flush(kFlushPatienceNs);
  const disk::DiskPagesCounts counts = pages.counts();
  return {{"loaded_tokens", counts.loaded_positions},
          {"loaded_pages", counts.loaded_pages},
          {"loaded_bytes", counts.loaded_bytes},
          {"loading_s", static_cast<double>(counts.loading_ns) * 1e-9},
          {"looked_for_pages", counts.looked_for},
          {"found_pages", counts.found},
          {"kept_files", counts.kept_files},
          {"kept_bytes", counts.kept_bytes},
          {"dropped_files", counts.dropped_files},
          {"failed_files", counts.failed_files},
          {"damaged_files", counts.damaged_files},
          {"evicted_files", counts.evicted_files},
          {"files", counts.file_count},
          {"bytes", counts.total_bytes},
          {"size_bytes", counts.size_bytes}};
}

}  // namespace aster::cli
