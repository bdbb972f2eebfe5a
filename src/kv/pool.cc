// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "base/large_pages.h"
#include "base/units.h"
#include "kv/page_codec.h"

namespace aster::kv {
namespace {

// Pages that are mapped together at least, so that their memory comes in few large pieces.
constexpr size_t kPagesPerBlock = 16;

// Whether the block has no used pages, and can only be freed as a whole.
bool IsEmptyOnDevice(const PageBlock& block) {
  return block.used_pages == 0 && block.memory->host() == nullptr;
}

}  // namespace

Pool::Pool(uint64_t budget_bytes, PageStore* store, PageMemory& memory)
    : store_(store), memory_(memory) {
  usage_.budget_bytes = budget_bytes;
}

Pool::~Pool() { CHECK_NOTE(usage_.held_bytes == 0, "a page reference outlives its pool"); }

Result<PageRef> Pool::Allocate(size_t page_bytes) {
  const uint64_t bytes = AlignedPageBytes(page_bytes);
  PageSize& size = sizes_[bytes];
  size.page_bytes = bytes;
  // Takes a blank page of this size; else, within the budget, memory that was never used; else
  // makes room by dropping blank pages of any size and then evicting the oldest cached page.
  while (size.blank.empty()) {
    const uint64_t taken = usage_.held_bytes + usage_.cached_bytes + usage_.blank_bytes;
    if (taken + bytes <= usage_.budget_bytes) {
      if (size.bare.empty()) TRY(MapBlock(size));
      return Take(size.bare);
    }
    if (!TRY(DropBlank()) && !EvictOldest()) {
      return ResourceExhausted(fmt::format(
          "the KV cache needs {}, and {} of {} are free: allow more memory", FormatBytes(bytes),
          FormatBytes(usage_.available_bytes()), FormatBytes(usage_.budget_bytes)));
    }
  }
  usage_.blank_bytes -= bytes;
  PageRef page = Take(size.blank);
  // Rows of another sequence must not enter sums, not even multiplied by zero: they may be
  // infinite.
  TRY(page.address().block->Zero(page.address().offset, bytes));
  return page;
}

void Pool::TakeNow(std::span<const size_t> page_bytes) {
  // Allocates pages until the budget is used up, writes them so that the system really maps them,
  // and then releases all at once.
  std::vector<PageRef> taken;
  bool is_any_left = true;
  while (is_any_left) {
    is_any_left = false;
    for (const size_t bytes : page_bytes) {
      if (usage_.held_bytes + AlignedPageBytes(bytes) > usage_.budget_bytes) continue;
      Result<PageRef> page = Allocate(bytes);
      if (!page.ok()) continue;  // the system has no more
      const PageAddress at = page->address();
      if (!at.block->Zero(at.offset, AlignedPageBytes(bytes)).ok()) continue;
      taken.push_back(std::move(*page));
      is_any_left = true;
    }
  }
}

PageRef Pool::Take(std::vector<Page*>& free_pages) {
  Page& page = *free_pages.back();
  free_pages.pop_back();
  usage_.held_bytes += page.size->page_bytes;
  ++page.block->used_pages;
  page.references = 1;
  page.goes_first = false;
  page.first_row = 0;
  page.store_reply = StoreReply::kNothing;
  return PageRef(&page);
}

Status Pool::MapBlock(PageSize& size) {
  // Whole huge pages, unless the budget is only a few of them.
  const uint64_t wanted =
      std::max(kPagesPerBlock * size.page_bytes,
               std::min<uint64_t>(kLargePageBytes, usage_.budget_bytes / kPagesPerBlock));
  const uint64_t unit = wanted < kLargePageBytes ? kPageAlignment : kLargePageBytes;
  const uint64_t bytes = DivideUp(wanted, unit) * unit;
  auto memory = memory_.Map(bytes);
  if (!memory.ok() && FreeEmptyBlocks()) memory = memory_.Map(bytes);
  const size_t count = bytes / size.page_bytes;
  PageBlock& block =
      size.blocks.emplace_back(TRY(std::move(memory)), std::make_unique<Page[]>(count));
  Page* const pages = block.pages.get();
  // Last first, so that they are taken in ascending order.
  for (size_t i = count; i-- > 0;) {
    pages[i].block = &block;
    pages[i].offset = i * size.page_bytes;
    pages[i].pool = this;
    pages[i].size = &size;
    size.bare.push_back(&pages[i]);
  }
  return Ok();
}

// Frees a block without used pages.
void Pool::FreeBlock(PageSize& size, PageBlock& block) {
  const auto is_inside = [&](const Page* page) { return page->block == &block; };
  usage_.blank_bytes -= std::erase_if(size.blank, is_inside) * size.page_bytes;
  std::erase_if(size.bare, is_inside);
  size.blocks.remove_if([&](const PageBlock& other) { return &other == &block; });
}

// Frees all blocks on a device without used pages; false if there are none.
bool Pool::FreeEmptyBlocks() {
  bool is_any_freed = false;
  for (auto& [page_bytes, size] : sizes_) {
    for (auto at = size.blocks.begin(); at != size.blocks.end();) {
      PageBlock& block = *at++;
      if (!IsEmptyOnDevice(block)) continue;
      FreeBlock(size, block);
      is_any_freed = true;
    }
  }
  return is_any_freed;
}

Result<bool> Pool::DropBlank() {
  // Returns a page's memory to the system, so that it can be used for pages of another size.
  for (auto& [page_bytes, size] : sizes_) {
    if (size.blank.empty()) continue;
    Page* const page = size.blank.back();
    if (IsEmptyOnDevice(*page->block)) {
      FreeBlock(size, *page->block);
      return true;
    }
    TRY(page->block->memory->GiveBack(page->offset, page_bytes));
    size.blank.pop_back();
    size.bare.push_back(page);
    usage_.blank_bytes -= page_bytes;
    return true;
  }
  return false;
}

bool Pool::EvictOldest() {
  // Pages outside a sliding window first, then the page that was released longest ago.
  const std::list<Page*>& list = slid_out_.empty() ? cached_ : slid_out_;
  if (list.empty()) return false;
  // Without its key the page becomes blank when the reference ends.
  Page& page = *list.front();
  Acquire(page);
  ForgetKey(page);
  PageRef released(&page);
  ++usage_.evicted_pages;
  return true;
}

void Pool::Publish(PageRef& page, const PageKey& key) {
  const auto [entry, is_new] = index_.try_emplace(key, page.page_);
  if (!is_new) {
    if (entry->second == page.page_) return;
    // Another sequence has published the same rows: the page with more of them stays, so that equal
    // prefixes share their memory.
    Acquire(*entry->second);
    PageRef other(entry->second);
    if (other.first_row() <= page.first_row()) {
      page = std::move(other);
      return;
    }
    other.page_->published = false;
    entry->second = page.page_;
  }
  // A page has one key: that of its newest content.
  if (page.page_->published) index_.erase(page.page_->key);
  page.page_->published = true;
  page.page_->key = key;
}

void Pool::ReleaseSlidOut(PageRef& page) {
  if (!page.shared()) page.page_->goes_first = true;
  page = {};
}

void Pool::Unpublish(const PageRef& page) {
  page.page_->store_reply = StoreReply::kNothing;
  if (page.published()) ForgetKey(*page.page_);
}

bool Pool::Contains(const PageKey& key, uint32_t first_row) const {
  const auto entry = index_.find(key);
  return entry != index_.end() && entry->second->first_row <= first_row;
}

PageRef Pool::Find(const PageKey& key, uint32_t first_row) {
  const auto entry = index_.find(key);
  if (entry == index_.end() || entry->second->first_row > first_row) return {};
  Acquire(*entry->second);
  return PageRef(entry->second);
}

// The first reference takes a page out of the cache; the last one (Release) puts it there if it has
// a key, or makes it blank.
void Pool::Acquire(Page& page) {
  if (page.references++ > 0) return;
  ListOf(page).erase(page.cached_at);
  page.goes_first = false;
  usage_.cached_bytes -= page.size->page_bytes;
  usage_.held_bytes += page.size->page_bytes;
}

void Pool::Release(Page& page) {
  usage_.held_bytes -= page.size->page_bytes;
  if (page.published) {
    usage_.cached_bytes += page.size->page_bytes;
    std::list<Page*>& list = ListOf(page);
    page.cached_at = list.insert(list.end(), &page);
  } else {
    usage_.blank_bytes += page.size->page_bytes;
    page.size->blank.push_back(&page);
    --page.block->used_pages;
    // Keeps one empty block for the next pages.
    if (IsEmptyOnDevice(*page.block) &&
        std::ranges::count_if(page.size->blocks, IsEmptyOnDevice) > 1)
      FreeBlock(*page.size, *page.block);
  }
}

void Pool::ForgetKey(Page& page) {
  index_.erase(page.key);
  page.published = false;
}

}  // namespace aster::kv
