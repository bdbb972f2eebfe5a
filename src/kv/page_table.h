// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The KV cache of one sequence in a range of layers (paged attention): its token history and, for
// every stream, pages of rows by absolute position. Must not know how rows are computed, nor other
// machines.
//
// The order of a computation: Reserve(layers, count); write rows through WritablePage and read rows
// through Page; Advance(layers, tokens). Advance releases rows that are not needed any more only
// after the computation, so that results do not depend on how tokens are divided into chunks.
// Addresses of pages are valid until the next call that changes the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "kv/layout.h"
#include "kv/pool.h"
#include "kv/prefix_hash.h"

namespace aster::kv {

// Where Adopt may take pages from.
enum class AdoptFrom : uint8_t {
  kMemory,    // the pool, which costs nothing
  kStoreToo,  // also the store below it, which takes memory and time to read
};

// Belongs to the thread that computes, like its pool; layout and pool outlive it. (Other threads
// may call Page and WritablePage while that thread waits for them and changes nothing.)
class PageTable {
 public:
  PageTable(const Layout& layout, Pool& pool, LayerRange layers);
  // `pools` [layers]: where each layer's pages are. All of them have the same store.
  PageTable(const Layout& layout, std::vector<Pool*> pools, LayerRange layers);
  PageTable(PageTable&&) noexcept = default;
  PageTable& operator=(PageTable&& other) noexcept;
  ~PageTable();

  // A second sequence with the same past, sharing every page until one of them writes to it.
  PageTable Fork() const;

  const Layout& layout() const { return *layout_; }
  LayerRange layers() const { return layers_; }

  // How many positions all of these layers hold: where their computation continues. Layers may have
  // different lengths while rows from other nodes arrive (transfer.h).
  uint32_t length() const { return length(layers_); }
  uint32_t length(LayerRange layers) const;
  // The hash of the first length() tokens.
  Hash128 hash() const { return history_.HashAt(length()); }
  // The tokens of the longest layer; shorter ones hold a prefix of it.
  const TokenHistory& history() const { return history_; }

  // Page `index` holds the rows of positions [index * page_positions, (index + 1) *
  // page_positions). None if it has left the sliding window: then it must not be read.
  PageAddress Page(uint32_t layer, uint32_t index, uint32_t stream = 0) const {
    return Chain(layer, stream)[index].address();
  }
  // Whether page `index` has this row and all computed rows after it.
  bool Holds(uint32_t layer, uint32_t index, uint32_t stream, uint32_t row) const;
  // The same, to write reserved rows, which are at or after length(layers).
  PageAddress WritablePage(uint32_t layer, uint32_t index, uint32_t stream = 0) {
    const PageRef& page = Chain(layer, stream)[index];
    DCHECK(!page.shared() && !page.published());
    return page.address();
  }

  // Makes room to write the rows of the `count` positions after length(layers), and copies pages
  // that other tables share. On failure (no memory; past kMaxPositions) the table is unchanged.
  // Layers that are longer than others in the range go back to the common length;
  // FailedPrecondition if rows of their windows at that length were released.
  Status Reserve(LayerRange layers, uint32_t count);
  Status Reserve(uint32_t count) { return Reserve(layers_, count); }

  // The rows of `tokens` have been computed, in all of these layers, after length(layers). Layers
  // outside the range that have other tokens there lose those. Full pages are published; pages out
  // of every window are released. The last `drafts` of the tokens may be rejected: the store gets
  // pages with these only after more tokens have followed them.
  void Advance(LayerRange layers, std::span<const int32_t> tokens, uint32_t drafts = 0);
  void Advance(std::span<const int32_t> tokens) { Advance(layers_, tokens); }

  // Forgets everything at and after `length` in all layers, and returns the new length(): less than
  // asked for if rows that a computation at `length` needs have left a window. Then the caller has
  // to compute the tokens between again (and keep them: the history loses them).
  uint32_t Truncate(uint32_t length) { return Truncate(layers_, length); }
  // Only in these layers; others keep their rows, and the history keeps the tokens of these.
  uint32_t Truncate(LayerRange layers, uint32_t length);

  // Extends the table with published pages that continue its history along `tokens` (the whole
  // history wanted, from position 0), as far as all layers have them; returns the new length(), a
  // multiple of the page unless nothing was found. Leave out the last token if its logits have to
  // be computed. Pages that the pool does not have are read from its store, as far as there is
  // memory for them.
  uint32_t Adopt(std::span<const int32_t> tokens, AdoptFrom from = AdoptFrom::kStoreToo);

  // Memory of the pages it refers to, shared ones included.
  uint64_t HeldBytes() const;

 private:
  friend class KvChunkImport;  // transfer.cc: writes rows into layers one page at a time
  using PageChain = std::vector<PageRef>;  // by page index; none where not needed any more

  PageTable(const PageTable&) = default;

  const PageChain& Chain(uint32_t layer, uint32_t stream) const {
    return chains_[first_chain_[layer - layers_.begin] + stream];
  }
  PageChain& Chain(uint32_t layer, uint32_t stream) {
    return chains_[first_chain_[layer - layers_.begin] + stream];
  }
  uint32_t& Length(uint32_t layer) { return lengths_[layer - layers_.begin]; }
  uint32_t Length(uint32_t layer) const { return lengths_[layer - layers_.begin]; }

  Pool& PoolOf(uint32_t layer) const { return *pools_[layer - layers_.begin]; }
  PageStore* store() const { return pools_[0]->store(); }
  Status CheckRoom(LayerRange layers, uint32_t begin, uint32_t count) const;
  uint64_t MissingBytes(const Pool& pool, LayerRange layers, uint32_t first_page,
                        uint32_t end_page) const;
  Status MakeWritable(uint32_t layer, uint32_t stream, uint32_t index, uint32_t begin);
  uint32_t FirstRowKept(const Stream& stream, uint32_t index) const;
  void SetLength(uint32_t layer, uint32_t length);
  void JumpTo(uint32_t layer, uint32_t length, uint32_t reach);
  void ReleaseSlidOut(uint32_t layer, uint32_t old_length);
  void DropPages(LayerRange layers, uint32_t keep_pages);
  uint32_t LongestExact(uint32_t layer, uint32_t at_most) const;
  bool IsComplete(const Stream& stream, const PageChain& chain, uint32_t length) const;
  // A page that Adopt will put into the table.
  struct Adopted {
    uint32_t layer;
    uint32_t stream;
    uint32_t index;
    PageRef page;
  };

  bool HasOwn(uint32_t layer, uint32_t stream, uint32_t index, uint32_t end) const;
  bool CanAdopt(const PageKey& key, uint32_t index, uint32_t end, AdoptFrom from) const;
  uint32_t CountAdoptable(std::span<const int32_t> tokens, AdoptFrom from,
                          std::vector<Hash128>& prefixes) const;
  uint32_t Gather(std::span<const Hash128> prefixes, std::vector<Adopted>& adopted) const;
  bool GatherIndex(uint32_t index, uint32_t end, const Hash128& prefix,
                   std::vector<Adopted>& adopted) const;
  void OfferFullPages(LayerRange layers, uint32_t begin, uint32_t end);
  bool WasRefused(LayerRange layers, uint32_t index) const;
  bool Offer(LayerRange layers, uint32_t index);

  // From which position on pages were not offered to the store, or refused by it.
  struct Unstored {
    LayerRange layers;
    uint32_t begin;
  };

  const Layout* layout_;
  std::vector<Pool*> pools_;  // [layers]
  LayerRange layers_;
  TokenHistory history_;               // as long as the longest layer
  std::vector<uint32_t> first_chain_;  // [layers]
  std::vector<PageChain> chains_;      // streams of the first layer, of the second…
  std::vector<uint32_t> lengths_;      // [layers] positions held
  std::optional<Unstored> unstored_;
};

}  // namespace aster::kv
