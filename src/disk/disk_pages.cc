// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/disk_pages.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "disk/page_file.h"
#include "disk/page_folder.h"

namespace aster::disk {
namespace {

// The folder is scanned for files of other processes at most this often, and for at most 1 /
// kScanShare of the time.
constexpr int64_t kScanIntervalNs = kNsPerSecond;
constexpr int64_t kScanShare = 50;
// Eviction looks at all files, so it frees this part of the bound at once.
constexpr uint64_t kEvictionShare = 16;
// The longest wait of the writing thread without being woken.
constexpr int64_t kLongestWaitNs = kNsPerSecond;

PageFileName NameOf(const kv::PageSet& set) {
  return {.prefix_at_end = set.prefix_at_end,
          .prefix_at_begin = set.prefix_at_begin,
          .begin = set.begin,
          .end = set.begin + set.layout->page_positions(),
          .layers = set.layers,
          .columns = set.layout->columns()};
}

// Whether less than half of its rows are needed: then they are copied as plain rows at once. Other
// pages are copied as they are, and the writing thread makes plain rows of them.
bool IsSparse(const kv::StoredPage& page) { return page.first_row > page.codec->page_rows() / 2; }

uint64_t WaitingBytes(const kv::StoredPage& page) {
  const kv::PageCodec& codec = *page.codec;
  return IsSparse(page) ? (codec.page_rows() - page.first_row) * codec.row_bytes()
                        : codec.page_bytes();
}

// The needed rows of a page at `data`.
std::vector<uint8_t> PlainRows(const kv::StoredPage& page, const uint8_t* data) {
  const uint32_t count = page.codec->page_rows() - page.first_row;
  std::vector<uint8_t> rows(count * page.codec->row_bytes());
  page.codec->ReadRows(data, page.first_row, count, rows.data());
  return rows;
}

}  // namespace

Result<std::unique_ptr<DiskPages>> DiskPages::Open(DiskPagesOptions options, Clock& clock) {
  TRY(MakeDirectories(options.folder));
  RemoveLeftovers(options.folder, clock.WallNs());
  // tidy: allow(ownership) the constructor is private
  std::unique_ptr<DiskPages> pages(new DiskPages(std::move(options), clock));
  // Reads the folder, and evicts files if the bound has become smaller.
  TRY(ListPageFiles(pages->options_.folder));
  pages->Scan();
  pages->MakeRoom(0);
  pages->thread_ = std::thread([raw = pages.get()] { raw->Work(); });
  return pages;
}

DiskPages::~DiskPages() {
  if (!thread_.joinable()) return;
  // Writes the waiting pages, as many as possible in this time.
  Flush(options_.flush_timeout_ns);
  {
    MutexLock lock(mu_);
    is_ending_ = true;
    work_.NotifyAll();
  }
  thread_.join();
}

bool DiskPages::Contains(const kv::PageKey& key, const kv::Columns& columns) {
  MutexLock lock(mu_);
  ++counts_.looked_for;
  if (!index_.Find(key.prefix, key.layer, columns).empty()) {
    ++counts_.found;
    return true;
  }
  // Another process may have written it since.
  WantScan();
  return false;
}

void DiskPages::WantScan() {
  if (wants_scan_ || clock_.NowNs() < next_scan_ns_) return;
  wants_scan_ = true;
  work_.NotifyOne();
}

std::vector<kv::LayerRange> DiskPages::LayersOf(const Hash128& prefix_at_end) {
  MutexLock lock(mu_);
  std::vector<kv::LayerRange> layers = index_.LayersOf(prefix_at_end);
  if (layers.empty()) WantScan();
  return layers;
}

Result<std::vector<uint8_t>> DiskPages::ReadChunk(const Hash128& prefix_at_end,
                                                  kv::LayerRange layers) {
  std::optional<PageFileName> name;
  {
    MutexLock lock(mu_);
    name = index_.Find(prefix_at_end, layers.begin);
  }
  if (!name || !name->layers.Contains(layers)) return NotFound("the page was evicted");
  // Without the lock: the computing thread must not wait for the disk.
  const auto read = [&]() -> Result<std::vector<uint8_t>> {
    const PageFile file = TRY(PageFile::Open(options_.folder, *name));
    const std::vector<uint8_t> whole = TRY(file.ReadAll());
    return kv::CutKvChunk(TRY(kv::ParseKvChunk(whole)), layers);
  };
  Result<std::vector<uint8_t>> chunk = read();
  if (!chunk.ok()) {
    GiveUp(*name, chunk.error());
    return chunk;
  }
  // The writing thread marks the file as used, for other processes and later runs.
  MutexLock lock(mu_);
  index_.Touch(*name, clock_.WallNs());
  used_.push_back(*name);
  work_.NotifyOne();
  return chunk;
}

bool DiskPages::Load(const Hash128& prefix_at_end, const kv::Columns& columns,
                     std::span<const kv::StoredPage> pages) {
  // Files may hold different ranges of layers: each is read once, for all of its pages.
  const int64_t start_ns = clock_.NowNs();
  std::vector<WantedPage> wanted;
  for (const kv::StoredPage& page : pages) wanted.push_back({page, columns, {}});
  for (size_t i = 0; i < pages.size(); ++i) {
    if (wanted[i].is_loaded) continue;
    std::vector<PageFileName> names;
    {
      MutexLock lock(mu_);
      names = index_.Find(prefix_at_end, pages[i].layer, columns);
      if (!names.empty() && i == 0) counts_.loaded_positions += names[0].end - names[0].begin;
    }
    if (names.empty() || !LoadFromAll(names, wanted, i)) return false;
  }
  for (const WantedPage& each : wanted) {
    const kv::PageCodec& codec = *each.page.codec;
    codec.WriteRows(each.page.data, each.page.first_row, codec.page_rows() - each.page.first_row,
                    each.rows.data());
  }
  MutexLock lock(mu_);
  counts_.loaded_pages += pages.size();
  counts_.loading_ns += clock_.NowNs() - start_ns;
  return true;
}

bool DiskPages::LoadFromAll(std::span<const PageFileName> names, std::span<WantedPage> wanted,
                            size_t first) {
  for (WantedPage& each : wanted) each.files = 0;
  for (const PageFileName& name : names) {
    const size_t before = wanted[first].files;
    Status loaded = LoadFrom(name, wanted);
    if (loaded.ok() && wanted[first].files == before)
      loaded = DataLoss(name.ToText() + ": lacks a layer of its");
    if (!loaded.ok()) {
      GiveUp(name, loaded.error());
      return false;
    }
    MutexLock lock(mu_);
    index_.Touch(name, clock_.WallNs());
    used_.push_back(name);
    work_.NotifyOne();
  }
  for (WantedPage& each : wanted) each.is_loaded = each.is_loaded || each.files == names.size();
  return true;
}

Status DiskPages::LoadFrom(const PageFileName& name, std::span<WantedPage> wanted) {
  PageFile file = TRY(PageFile::Open(options_.folder, name));
  const auto find = [&](uint32_t layer, uint32_t stream) {
    return std::ranges::find_if(wanted, [&](const WantedPage& each) {
      return !each.is_loaded && each.page.layer == layer && each.page.stream == stream;
    });
  };
  uint64_t bytes = 0;
  TRY(file.Read(
      [&](uint32_t layer, uint32_t stream) { return find(layer, stream) != wanted.end(); },
      [&](const kv::Block& block) -> Status {
        WantedPage& into = *find(block.layer, block.stream);
        const kv::PageCodec& codec = *into.page.codec;
        // The block has rows up to the page's end, and at least the needed ones.
        const uint32_t begin = into.page.first_row;
        const uint32_t first = block.first_row % codec.page_rows();
        if (first > begin || block.row_count != codec.page_rows() - first ||
            kv::RowBytesOf(into.columns, name.columns, block.row_bytes) != codec.row_bytes()) {
          return DataLoss(name.ToText() + ": its rows are of another shape");
        }
        const uint32_t count = codec.page_rows() - begin;
        into.rows.resize(count * codec.row_bytes());
        kv::CopyColumns(
            {name.columns, block.row_bytes, block.rows.data() + (begin - first) * block.row_bytes},
            count, {into.columns, codec.row_bytes(), into.rows.data()});
        ++into.files;
        bytes += block.rows.size();
        return Ok();
      }));
  MutexLock lock(mu_);
  counts_.loaded_bytes += bytes;
  return Ok();
}

// The file cannot be used: removes it from the index, and from the folder if it is damaged.
void DiskPages::GiveUp(const PageFileName& name, const Error& why) {
  const bool is_damaged = why.code() == Code::kDataLoss;
  if (is_damaged) RemovePageFile(options_.folder, name);
  MutexLock lock(mu_);
  index_.Remove(name);
  // Another process may have evicted it: no failure.
  if (why.code() == Code::kNotFound) return;
  ++(is_damaged ? counts_.damaged_files : counts_.failed_files);
  counts_.last_failure = why.message();
}

bool DiskPages::Has(const kv::PageSet& set) {
  if (pending_.contains(NameOf(set))) return true;
  for (uint32_t layer = set.layers.begin; layer < set.layers.end; ++layer) {
    if (index_.Find(set.prefix_at_end, layer, set.layout->columns()).empty()) return false;
  }
  return true;
}

bool DiskPages::Keep(const kv::PageSet& set) {
  Waiting waiting;
  for (const kv::StoredPage& page : set.pages) waiting.bytes += WaitingBytes(page);
  {
    MutexLock lock(mu_);
    // Refused if the disk is slower than the computation: the table offers the page again later.
    if (!Has(set) && queued_bytes_ + waiting.bytes > options_.queue_bytes) {
      if (!set.was_refused) ++counts_.dropped_files;
      return false;
    }
    if (set.was_refused && counts_.dropped_files > 0) --counts_.dropped_files;
    if (Has(set)) return true;
  }
  // Copied without the lock, on the computing thread: the pages may change when this returns.
  waiting.header = {
      .version = kv::KvChunkVersionFor(*set.layout),
      .digest = set.layout->digest(),
      .layers = set.layers,
      .begin = set.begin,
      .end = set.begin + set.layout->page_positions(),
      .reach = set.begin + set.layout->page_positions(),
      .columns = set.layout->columns(),
      .block_count = 0,
      .prefix_at_begin = set.prefix_at_begin,
      .prefix_at_end = set.prefix_at_end,
      .description = set.layout->Describe(set.layers).substr(0, kv::kMaxDescriptionBytes),
      .tokens = {set.tokens.begin(), set.tokens.end()}};
  for (const kv::StoredPage& page : set.pages) {
    waiting.pages.push_back({page, {}});
    std::vector<uint8_t>& data = waiting.pages.back().data;
    if (IsSparse(page)) {
      data = PlainRows(page, page.data);
    } else {
      data.assign(page.data, page.data + page.codec->page_bytes());
    }
  }
  MutexLock lock(mu_);
  queued_bytes_ += waiting.bytes;
  pending_.insert(NameOf(set));
  queue_.push_back(std::move(waiting));
  work_.NotifyOne();
  return true;
}

bool DiskPages::Flush(int64_t timeout_ns) {
  const int64_t deadline_ns = clock_.NowNs() + timeout_ns;
  MutexLock lock(mu_);
  while (!queue_.empty() || !used_.empty() || is_working_) {
    if (clock_.NowNs() >= deadline_ns) return false;
    clock_.WaitUntil(idle_, mu_, deadline_ns);
  }
  return true;
}

DiskPagesCounts DiskPages::counts() const {
  MutexLock lock(mu_);
  DiskPagesCounts counts = counts_;
  counts.file_count = index_.size();
  counts.total_bytes = index_.total_bytes();
  counts.size_bytes = options_.size_bytes;
  return counts;
}

// The writing thread. Pages in the queue at the end of the program are not written.
void DiskPages::Work() {
  for (;;) {
    Waiting waiting;
    std::vector<PageFileName> used;
    bool wants_scan = false;
    {
      MutexLock lock(mu_);
      is_working_ = false;
      // Idle: Flush waits for this.
      while (queue_.empty() && used_.empty() && !wants_scan_ && !is_ending_) {
        idle_.NotifyAll();
        clock_.WaitUntil(work_, mu_, clock_.NowNs() + kLongestWaitNs);
      }
      if (is_ending_) return;
      is_working_ = true;
      used = std::exchange(used_, {});
      wants_scan = std::exchange(wants_scan_, false);
      if (!queue_.empty()) {
        waiting = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    // The disk is used without the lock.
    const int64_t now_ns = clock_.WallNs();
    for (const PageFileName& name : used) MarkUsed(options_.folder, name, now_ns);
    if (wants_scan) Scan();
    if (waiting.pages.empty()) continue;
    Write(waiting);
    MutexLock lock(mu_);
    queued_bytes_ -= waiting.bytes;
    pending_.erase(NameOf(waiting.header));
  }
}

void DiskPages::Write(const Waiting& waiting) {
  // Plain rows as blocks; their size is known before anything is written.
  std::vector<std::vector<uint8_t>> rows;
  std::vector<kv::Block> blocks;
  uint64_t bytes = kv::kHeaderStartBytes + sizeof(waiting.header.reach) +
                   sizeof(waiting.header.columns) + waiting.header.description.size() +
                   waiting.header.tokens.size() * sizeof(int32_t) + sizeof(uint64_t);
  for (const Waiting::Page& page : waiting.pages) {
    const kv::PageCodec& codec = *page.page.codec;
    const uint32_t page_rows = codec.page_rows();
    const std::vector<uint8_t>& plain =
        rows.emplace_back(IsSparse(page.page) ? page.data : PlainRows(page.page, page.data.data()));
    const uint32_t stride = (waiting.header.end - waiting.header.begin) / page_rows;
    blocks.push_back({.layer = page.page.layer,
                      .stream = page.page.stream,
                      .first_row = waiting.header.begin / stride + page.page.first_row,
                      .row_count = page_rows - page.page.first_row,
                      .row_bytes = static_cast<uint32_t>(codec.row_bytes()),
                      .rows = plain});
    bytes += kv::kBlockHeadBytes + plain.size();
  }
  // A file larger than the bound would evict everything.
  if (bytes > options_.size_bytes) {
    MutexLock lock(mu_);
    ++counts_.oversized_files;
    return;
  }
  MakeRoom(bytes);
  // Only a complete file gets into the index.
  const Result<uint64_t> written = WritePageFile(options_.folder, waiting.header, blocks);
  MutexLock lock(mu_);
  if (!written.ok()) {
    ++counts_.failed_files;
    counts_.last_failure = written.error().message();
    return;
  }
  ++counts_.kept_files;
  counts_.kept_bytes += *written;
  index_.Add({.name = NameOf(waiting.header), .bytes = *written, .used_ns = clock_.WallNs()});
}

// Evicts the least recently used files until one of `bytes` fits.
void DiskPages::MakeRoom(uint64_t bytes) {
  const uint64_t limit = options_.size_bytes - std::min(options_.size_bytes, bytes);
  {
    MutexLock lock(mu_);
    if (index_.total_bytes() <= limit) return;
  }
  // Other processes write and evict as well: the folder counts, not the index.
  Scan();
  std::vector<PageFileName> oldest;
  {
    MutexLock lock(mu_);
    if (index_.total_bytes() <= limit) return;
    oldest = index_.Oldest(limit - std::min(limit, options_.size_bytes / kEvictionShare));
  }
  for (const PageFileName& name : oldest) {
    const bool is_gone = RemovePageFile(options_.folder, name);
    MutexLock lock(mu_);
    index_.Remove(name);
    ++(is_gone ? counts_.evicted_files : counts_.failed_files);
  }
}

// Rebuilds the index from the folder.
void DiskPages::Scan() {
  const int64_t start_ns = clock_.NowNs();
  const auto files = ListPageFiles(options_.folder);
  MutexLock lock(mu_);
  const int64_t now_ns = clock_.NowNs();
  next_scan_ns_ = now_ns + std::max(kScanIntervalNs, (now_ns - start_ns) * kScanShare);
  if (!files.ok()) return;
  index_ = PageIndex();
  for (const IndexedFile& file : *files) index_.Add(file);
}

}  // namespace aster::disk
