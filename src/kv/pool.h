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

enum class StoreReply : uint8_t { kNothing, kNotNow, kYes };

// A reference to a page of a pool, or to none. As long as it exists the page stays in its place.
// Not for concurrent use: references are counted on the compute thread only.
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
  // Whether the index names it. A published or shared page must not be written.
  bool published() const;
  // The store's reply when it was offered this content.
  StoreReply store_reply() const;
  void set_store_reply(StoreReply said);
  // The first row that the page has. Rows before it were not loaded or imported, as they were not
  // needed any more.
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
  bool goes_first = false;  // evicted first: it is, or will be, in slid_out_ rather than cached_
  StoreReply store_reply = StoreReply::kNothing;
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
  std::vector<Page*> bare;   // free, without memory: zeros when touched
};

// In the processor's memory each page can be returned to the system. On a device only whole blocks
// can: a block without used pages is freed if another one of its size is empty too, if pages of
// another size need its share of the budget, or if the device has no more memory.
//
// Everything here, including PageRefs, belongs to the thread that computes. (Other threads may read
// and write the bytes of pages while that thread waits for them.) Outlives its PageRefs.
class Pool {
 public:
  struct Usage {
    uint64_t budget_bytes = 0;
    uint64_t held_bytes = 0;     // of pages that are referred to
    uint64_t cached_bytes = 0;   // of pages that only the index names
    uint64_t blank_bytes = 0;    // of memory kept for the next pages
    uint64_t evicted_pages = 0;  // since the pool was made

    // Bytes for new pages, if all cached pages are evicted.
    uint64_t available_bytes() const { return budget_bytes - held_bytes; }
  };

  // `store`: a second tier for its pages, or null. Store and memory outlive the pool.
  explicit Pool(uint64_t budget_bytes, PageStore* store = nullptr,
                PageMemory& memory = HostPages());
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A page of zeros (AlignedPageBytes of them). Evicts cached pages if it must; ResourceExhausted
  // if that is not enough.
  Result<PageRef> Allocate(size_t page_bytes);

  // Takes all memory of the budget from the system now, for as many pages of each of these sizes,
  // so that no request waits for it later.
  void TakeNow(std::span<const size_t> page_bytes);

  // Puts a page into the index, which has all rows from first_row() to its end. If the index
  // already has a page with this key and at least these rows, `page` becomes a reference to that
  // one; if it has one with fewer rows, that one is unpublished.
  void Publish(PageRef& page, const PageKey& key);
  // Drops a reference to a page that left a sliding window. Without other references it is evicted
  // before other pages.
  void ReleaseSlidOut(PageRef& page);
  // Removes the page from the index, before it is written, or because it is not of use any more.
  // Does nothing if it is not there.
  void Unpublish(const PageRef& page);

  // Whether the index has a page with that content, from its row `first_row` on; a reference to it,
  // or to none.
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
  std::list<Page*> slid_out_;  // evicted before the others
  std::list<Page*> cached_;
  Usage usage_;
};

inline PageAddress PageRef::address() const {
  return page_ == nullptr ? PageAddress() : PageAddress{page_->block->memory.get(), page_->offset};
}
inline bool PageRef::shared() const { return page_->references > 1; }
inline bool PageRef::published() const { return page_->published; }
inline StoreReply PageRef::store_reply() const { return page_->store_reply; }
inline void PageRef::set_store_reply(StoreReply said) { page_->store_reply = said; }

inline uint32_t PageRef::first_row() const { return page_->first_row; }
inline void PageRef::set_first_row(uint32_t row) { page_->first_row = row; }

inline PageRef::PageRef(const PageRef& other) : page_(other.page_) {
  if (page_ != nullptr) ++page_->references;
}
inline PageRef::~PageRef() {
  if (page_ != nullptr && --page_->references == 0) page_->pool->Release(*page_);
}

}  // namespace aster::kv
