// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The memory of the KV cache: a budget in bytes for pages, reference counts, and an index of full
// pages by their contents (prefix caching). KV cache eviction: a published page that no sequence
// refers to stays until its memory is needed; pages that slid out of a sliding window are evicted
// first, and of either kind the least recently used. Must not know streams, codecs or sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "kv/page_memory.h"

namespace aster::kv {

class PageStore;
class Pool;
struct Page;

// The one possible content of a page: the prefix hash at its end names model, layout and tokens.
struct PageKey {
  Hash128 prefix;
  uint32_t layer = 0;
  uint32_t stream = 0;

  bool operator==(const PageKey&) const = default;
};

struct PageKeyHash {
  size_t operator()(const PageKey& key) const {
    return key.prefix.low ^ (key.prefix.high + key.layer * 0x9e3779b97f4a7c15u + key.stream);
  }
};

enum class StoreSaid : uint8_t { kNothing, kNotNow, kYes };

// A reference to a page of a pool, or to none. As long as it exists the page stays where it is. Not
// for concurrent use: references are counted on the compute thread only.
class PageRef {
 public:
  PageRef() = default;
  PageRef(const PageRef& other);
  PageRef(PageRef&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  PageRef& operator=(PageRef other) noexcept {
    std::swap(page_, other.page_);
    return *this;
  }
  ~PageRef();

  explicit operator bool() const { return page_ != nullptr; }
  PageAddress address() const;  // of no page if it refers to none
  // Whether the page has other references.
  bool shared() const;
  // Whether the index names it. It must not be written then, nor when shared.
  bool published() const;
  // What the store said when it was offered this content.
  StoreSaid store_said() const;
  void set_store_said(StoreSaid said);
  // The first row that is there. Those before it never were: a row that is not needed any more is
  // not brought from elsewhere.
  uint32_t first_row() const;
  void set_first_row(uint32_t row);

 private:
  friend class Pool;
  explicit PageRef(Page* page) : page_(page) {}

  Page* page_ = nullptr;
};

// A page of a pool; others see it through a PageRef.
struct Page {
  struct PageBlock* block = nullptr;
  size_t offset = 0;
  Pool* pool = nullptr;
  struct PageSize* size = nullptr;
  uint32_t references = 0;
  bool published = false;
  bool goes_first = false;  // in which of the two lists it is, or will be
  StoreSaid store_said = StoreSaid::kNothing;
  uint32_t first_row = 0;
  PageKey key;                           // if published
  std::list<Page*>::iterator cached_at;  // if published and not referred to
};

// Memory that was mapped at once.
struct PageBlock {
  std::unique_ptr<MemoryBlock> memory;
  std::unique_ptr<Page[]> pages;
  size_t used_pages = 0;  // referred to or cached
};

// Pages of one size, in memory mapped for them.
struct PageSize {
  uint64_t page_bytes = 0;
  std::list<PageBlock> blocks;
  std::vector<Page*> blank;  // free, with memory
  std::vector<Page*> bare;   // free, without: zeros when touched
};

// A page's memory goes back to the system by itself where the processor has it. On a device it goes
// by the block: one without used pages is freed where another of its size is empty too, where pages
// of another size need its share of the budget, and where the device has no more memory.
//
// Everything here, PageRefs included, belongs to one thread: the one that computes. (Other threads
// may read and write the bytes of pages while that thread waits for them.) Outlives its PageRefs.
class Pool {
 public:
  struct Usage {
    uint64_t budget_bytes = 0;
    uint64_t held_bytes = 0;     // of pages that are referred to
    uint64_t cached_bytes = 0;   // of pages that only the index names
    uint64_t blank_bytes = 0;    // of memory kept for the next pages
    uint64_t evicted_pages = 0;  // since the pool was made

    // What pages can still be allocated from, if everything cached is evicted.
    uint64_t available_bytes() const { return budget_bytes - held_bytes; }
  };

  // Below its memory may be a store (page_store.h), which outlives it, as the memory does.
  explicit Pool(uint64_t budget_bytes, PageStore* store = nullptr,
                PageMemory& memory = HostPages());
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A page of zeros (AlignedPageBytes of them). Evicts cached pages if it must; ResourceExhausted,
  // with what is missing, if that does not help.
  Result<PageRef> Allocate(size_t page_bytes);

  // Takes all memory of the budget from the system now, so that no request waits for it later: in
  // turns for pages of these sizes.
  void TakeNow(std::span<const size_t> page_bytes);

  // Puts a page into the index whose rows from first_row() on are there up to its end. If they are
  // in the index already, `page` becomes a reference to that, and its own memory is given up; a
  // page with fewer rows loses its name to it.
  void Publish(PageRef& page, const PageKey& key);
  // Drops a reference to a page that slid out of a window. Without other references it is among the
  // first to be evicted.
  void LetGo(PageRef& page);
  // Takes it out again: before it is written, or because it will not be looked for. Fine if it is
  // not there.
  void Unpublish(const PageRef& page);

  // Whether a page with that content is there, from its row `first_row` on; a reference to it, or
  // to none.
  bool Contains(const PageKey& key, uint32_t first_row = 0) const;
  PageRef Find(const PageKey& key, uint32_t first_row = 0);

  const Usage& usage() const { return usage_; }
  PageStore* store() const { return store_; }  // null: there is none

 private:
  friend class PageRef;

  std::list<Page*>& ListOf(const Page& page) { return page.goes_first ? slid_out_ : cached_; }
  PageRef Take(std::vector<Page*>& free_pages);
  void Acquire(Page& page);
  void Release(Page& page);
  void ForgetKey(Page& page);
  Status MapBlock(PageSize& sizes);
  void FreeBlock(PageSize& size, PageBlock& block);
  bool FreeEmptyBlocks();
  Result<bool> DropBlank();
  bool EvictOldest();

  PageStore* const store_;
  PageMemory& memory_;
  std::map<uint64_t, PageSize> sizes_;  // by page_bytes
  std::unordered_map<PageKey, Page*, PageKeyHash> index_;
  // Published and without references; least recently used first.
  std::list<Page*> slid_out_;  // these go before the others
  std::list<Page*> cached_;
  Usage usage_;
};

inline PageAddress PageRef::address() const {
  return page_ == nullptr ? PageAddress() : PageAddress{page_->block->memory.get(), page_->offset};
}
inline bool PageRef::shared() const { return page_->references > 1; }
inline bool PageRef::published() const { return page_->published; }
inline StoreSaid PageRef::store_said() const { return page_->store_said; }
inline void PageRef::set_store_said(StoreSaid said) { page_->store_said = said; }

inline uint32_t PageRef::first_row() const { return page_->first_row; }
inline void PageRef::set_first_row(uint32_t row) { page_->first_row = row; }

inline PageRef::PageRef(const PageRef& other) : page_(other.page_) {
  if (page_ != nullptr) ++page_->references;
}
inline PageRef::~PageRef() {
  if (page_ != nullptr && --page_->references == 0) page_->pool->Release(*page_);
}

}  // namespace aster::kv
