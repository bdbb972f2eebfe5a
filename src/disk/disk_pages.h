// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The KV cache on disk: a folder of pages that several processes share, at the same time and after
// restarts, found by the prefix hash of a history, bounded in size. Files appear complete or not at
// all; after any error of the folder, a file or the disk, pages count as missing. docs/kv-cache.md
// describes the folder. Must not know models.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "disk/page_index.h"
#include "kv/chunk.h"
#include "kv/page_chunks.h"
#include "kv/page_store.h"

namespace aster::disk {

struct DiskPagesOptions {
  std::string folder;  // made if it is missing
  uint64_t size_bytes = uint64_t{8} << 30;
  // Copies of pages that wait to be written; further ones are offered again later.
  uint64_t queue_bytes = uint64_t{256} << 20;
  // How long the end of the process waits for unwritten pages.
  int64_t flush_timeout_ns = 30 * kNsPerSecond;
};

// Since it was opened, except the last three.
struct DiskPagesCounts {
  uint64_t looked_for = 0;  // pages that were not in memory
  uint64_t found = 0;       // of these
  uint64_t loaded_pages = 0;
  uint64_t loaded_positions = 0;
  uint64_t loaded_bytes = 0;
  int64_t loading_ns = 0;
  uint64_t kept_files = 0;
  uint64_t kept_bytes = 0;
  uint64_t dropped_files = 0;    // because the queue was full, and not kept since
  uint64_t oversized_files = 0;  // not kept either: larger than the bound
  uint64_t failed_files = 0;     // could not be written or read
  uint64_t damaged_files = 0;    // detected and removed
  uint64_t evicted_files = 0;
  std::string last_failure;  // the last error about a failed or damaged file
  uint64_t file_count = 0;   // that this process knows
  uint64_t total_bytes = 0;
  uint64_t size_bytes = 0;  // the bound
};

// Contains, Load and Keep belong to one thread at a time, as kv::PageStore says; the rest is safe
// for concurrent use. It writes on a thread of its own.
class DiskPages final : public kv::PageStore, public kv::PageChunks {
 public:
  // An error only if the folder cannot be made or read. The clock outlives it.
  static Result<std::unique_ptr<DiskPages>> Open(DiskPagesOptions options, Clock& clock);
  ~DiskPages() override;
  DiskPages(const DiskPages&) = delete;
  DiskPages& operator=(const DiskPages&) = delete;

  bool Contains(const kv::PageKey& key, const kv::Columns& columns) override EXCLUDES(mu_);
  bool Load(const Hash128& prefix_at_end, const kv::Columns& columns,
            std::span<const kv::StoredPage> pages) override EXCLUDES(mu_);
  bool Keep(const kv::PageSet& set) override EXCLUDES(mu_);

  // For other machines.
  std::vector<kv::LayerRange> LayersOf(const Hash128& prefix_at_end) override EXCLUDES(mu_);
  Result<std::vector<uint8_t>> ReadChunk(const Hash128& prefix_at_end,
                                         kv::LayerRange layers) override EXCLUDES(mu_);

  // Waits until all pages kept so far are written or dropped; false if that takes longer.
  bool Flush(int64_t timeout_ns) EXCLUDES(mu_);
  DiskPagesCounts counts() const EXCLUDES(mu_);

 private:
  // A set that waits to be written.
  struct Waiting {
    kv::KvChunkHeader header;
    struct Page {
      kv::StoredPage page;        // its data is below
      std::vector<uint8_t> data;  // the page, or only its rows
    };
    std::vector<Page> pages;
    uint64_t bytes = 0;
  };

  // A page that is loaded: its rows come from one file or, with some columns each, from several.
  struct WantedPage {
    const kv::StoredPage& page;
    const kv::Columns& columns;
    std::vector<uint8_t> rows;  // [needed rows, row bytes]
    size_t files = 0;           // that have contributed their part
    bool is_loaded = false;
  };

  DiskPages(DiskPagesOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // Other processes may have written the missing files.
  void WantScan() REQUIRES(mu_);
  bool Has(const kv::PageSet& set) REQUIRES(mu_);
  // Loads the wanted pages that the file at `name` has.
  Status LoadFrom(const PageFileName& name, std::span<WantedPage> wanted);
  // Loads from files that together have the pages, beginning with that at `first`.
  bool LoadFromAll(std::span<const PageFileName> names, std::span<WantedPage> wanted, size_t first)
      EXCLUDES(mu_);
  void GiveUp(const PageFileName& name, const Error& why) EXCLUDES(mu_);

  void Work() EXCLUDES(mu_);
  void Write(const Waiting& waiting) EXCLUDES(mu_);
  void MakeRoom(uint64_t bytes) EXCLUDES(mu_);
  void Scan() EXCLUDES(mu_);

  const DiskPagesOptions options_;
  Clock& clock_;

  mutable Mutex mu_;
  CondVar work_;  // there is work
  CondVar idle_;  // there is none
  PageIndex index_ GUARDED_BY(mu_);
  std::deque<Waiting> queue_ GUARDED_BY(mu_);
  // Waiting to be written, or being written.
  std::unordered_set<PageFileName, NameHasher> pending_ GUARDED_BY(mu_);
  uint64_t queued_bytes_ GUARDED_BY(mu_) = 0;
  std::vector<PageFileName> used_ GUARDED_BY(mu_);  // to be marked on the disk
  bool is_working_ GUARDED_BY(mu_) = false;
  bool wants_scan_ GUARDED_BY(mu_) = false;
  bool is_ending_ GUARDED_BY(mu_) = false;
  int64_t next_scan_ns_ GUARDED_BY(mu_) = 0;  // earliest next scan
  DiskPagesCounts counts_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aster::disk
