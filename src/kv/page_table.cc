// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/page_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/units.h"
#include "kv/page_store.h"

namespace aster::kv {

PageTable::PageTable(const Layout& layout, Pool& pool, LayerRange layers)
    : PageTable(layout, std::vector<Pool*>(layers.size(), &pool), layers) {}

PageTable::PageTable(const Layout& layout, std::vector<Pool*> pools, LayerRange layers)
    : layout_(&layout), pools_(std::move(pools)), layers_(layers), history_(layout.digest()) {
  CHECK(layers.begin < layers.end && layout.all_layers().Contains(layers));
  CHECK(pools_.size() == layers.size());
  uint32_t chain_count = 0;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    first_chain_.push_back(chain_count);
    chain_count += static_cast<uint32_t>(layout.streams(layer).size());
  }
  chains_.resize(chain_count);
  lengths_.resize(layers.size());
}

PageTable& PageTable::operator=(PageTable&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(pools_, other.pools_);
  std::swap(layers_, other.layers_);
  std::swap(history_, other.history_);
  std::swap(first_chain_, other.first_chain_);
  std::swap(chains_, other.chains_);
  std::swap(lengths_, other.lengths_);
  std::swap(unstored_, other.unstored_);
  return *this;
}

PageTable::~PageTable() {
  // Releases pages in DropPages' order, so that the pool evicts a history from its end.
  std::ranges::fill(lengths_, 0);
  DropPages(layers_, 0);
}

PageTable PageTable::Fork() const { return *this; }

uint32_t PageTable::length(LayerRange layers) const {
  DCHECK(layers.size() > 0 && layers_.Contains(layers));
  const auto first = lengths_.begin() + (layers.begin - layers_.begin);
  return *std::min_element(first, first + layers.size());
}

bool PageTable::Holds(uint32_t layer, uint32_t index, uint32_t stream, uint32_t row) const {
  const PageRef& page = Chain(layer, stream)[index];
  const uint32_t page_rows = layout_->streams(layer)[stream].codec->page_rows();
  return page && index * page_rows + page.first_row() <= row;
}

Status PageTable::Reserve(LayerRange layers, uint32_t count) {
  CHECK(layers_.Contains(layers));
  const uint32_t begin = length(layers);
  if (count > kMaxPositions - begin) {
    return InvalidArgument(fmt::format("{} positions after {}: a sequence has at most {}", count,
                                       begin, kMaxPositions));
  }
  // Longer layers go back to `begin`, which is possible only if their windows there are still
  // complete. All checks come before any change, so that a refused call changes nothing.
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    if (Length(layer) == begin) continue;
    const uint32_t exact = LongestExact(layer, begin);
    if (exact < begin) {
      return FailedPrecondition(
          fmt::format("layer {} is at position {} and cannot go back to {}, only to {}", layer,
                      Length(layer), begin, exact));
    }
  }
  // Checks that memory has room for all pages of the new positions.
  const uint32_t first_page = begin / layout_->page_positions();
  const auto end_page =
      static_cast<uint32_t>(DivideUp(uint64_t{begin} + count, layout_->page_positions()));
  TRY(CheckRoom(layers, begin, count));
  // From here on the table changes. First drops everything after `begin`.
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) Length(layer) = begin;
  history_.Truncate(*std::ranges::max_element(lengths_));
  DropPages(layers, end_page);
  // Allocates page index by page index, so that pages that are read together are near in memory.
  for (uint32_t index = first_page; index < end_page; ++index) {
    for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
      for (uint32_t s = 0; s < layout_->streams(layer).size(); ++s) {
        TRY(MakeWritable(layer, s, index, begin));
      }
    }
  }
  return Ok();
}

// Whether every pool has room for the pages that these positions need: new ones, and copies of
// those that other tables share.
Status PageTable::CheckRoom(LayerRange layers, uint32_t begin, uint32_t count) const {
  const uint32_t first_page = begin / layout_->page_positions();
  const auto end_page =
      static_cast<uint32_t>(DivideUp(uint64_t{begin} + count, layout_->page_positions()));
  // Consecutive layers of one back end share a pool: each pool is checked once.
  const Pool* checked = nullptr;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    const Pool& pool = PoolOf(layer);
    if (std::exchange(checked, &pool) == &pool) continue;
    const uint64_t missing_bytes = MissingBytes(pool, layers, first_page, end_page);
    const uint64_t available_bytes = pool.usage().available_bytes();
    if (missing_bytes <= available_bytes) continue;
    return ResourceExhausted(
        fmt::format("the KV cache needs {} for {} more positions after {}, and {} of {} are free: "
                    "allow more memory",
                    FormatBytes(missing_bytes), count, begin, FormatBytes(available_bytes),
                    FormatBytes(pool.usage().budget_bytes)));
  }
  return Ok();
}

uint64_t PageTable::MissingBytes(const Pool& pool, LayerRange layers, uint32_t first_page,
                                 uint32_t end_page) const {
  uint64_t bytes = 0;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    if (&PoolOf(layer) != &pool) continue;
    const std::span<const Stream> streams = layout_->streams(layer);
    for (uint32_t s = 0; s < streams.size(); ++s) {
      const PageChain& chain = Chain(layer, s);
      uint64_t count = end_page - first_page;
      // A page that only this table has is written in place.
      for (uint32_t index = first_page; index < std::min<size_t>(end_page, chain.size()); ++index) {
        if (chain[index] && !chain[index].shared()) --count;
      }
      bytes += count * AlignedPageBytes(streams[s].codec->page_bytes());
    }
  }
  return bytes;
}

// Makes a page that may be written from the row of position `begin` on: no other table refers to
// it, and the pool's index does not name it.
Status PageTable::MakeWritable(uint32_t layer, uint32_t stream, uint32_t index, uint32_t begin) {
  // Rows before `first_written` are kept. The page's first row stays, or is that one if earlier.
  PageChain& chain = Chain(layer, stream);
  if (index >= chain.size()) chain.resize(index + 1);
  PageRef& page = chain[index];
  const uint32_t page_begin = index * layout_->page_positions();
  const uint32_t first_written =
      (std::max(begin, page_begin) - page_begin) / layout_->streams(layer)[stream].stride;
  const uint32_t first_row = page ? std::min(page.first_row(), first_written) : first_written;
  if (page && !page.shared()) {
    // Its content will differ from its key. Copying it would keep the old one for other sequences,
    // but tables that go back often write here at once.
    PoolOf(layer).Unpublish(page);
  } else {
    const size_t page_bytes = layout_->streams(layer)[stream].codec->page_bytes();
    // Copy on write: this sequence needs the rows before `begin`, too.
    PageRef fresh = TRY(PoolOf(layer).Allocate(page_bytes));
    if (page) {
      const PageAddress from = page.address();
      const PageAddress to = fresh.address();
      TRY(to.block->Copy(to.offset, *from.block, from.offset, page_bytes));
    }
    page = std::move(fresh);
  }
  page.set_first_row(first_row);
  return Ok();
}

void PageTable::Advance(LayerRange layers, std::span<const int32_t> tokens, uint32_t drafts) {
  CHECK(layers_.Contains(layers) && drafts <= tokens.size());
  const uint32_t begin = length(layers);
  CHECK(tokens.size() <= kMaxPositions - begin);
  const auto end = begin + static_cast<uint32_t>(tokens.size());
  // Other layers may be longer with other tokens: they go back to where the tokens agree, so that
  // all layers have one history.
  const uint32_t common = begin + history_.CountEqual(begin, tokens);
  if (common < end) {
    for (uint32_t layer = layers_.begin; layer < layers_.end; ++layer) {
      if (Length(layer) <= common) continue;
      Length(layer) = LongestExact(layer, common);
      DropPages({layer, layer + 1}, 0);
    }
    history_.Truncate(common);
    history_.Append(tokens.subspan(common - begin));
  }
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (uint32_t s = 0; s < layout_->streams(layer).size(); ++s) {
      CHECK_NOTE(Length(layer) == begin &&
                     Chain(layer, s).size() >= DivideUp(end, layout_->page_positions()),
                 "Advance without Reserve");
    }
  }
  // Offers full pages to the store before SetLength releases those outside a window. Pages with
  // draft tokens wait, as these may be rejected; those before `begin` were accepted.
  OfferFullPages(layers, begin, end - drafts);
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) SetLength(layer, end);
}

// Offers the store the pages that have become full between these lengths, and those that it refused
// before.
void PageTable::OfferFullPages(LayerRange layers, uint32_t begin, uint32_t end) {
  // Begins with pages that the store refused before: its memory for writing may be free by now.
  if (store() == nullptr) return;
  if (unstored_ && unstored_->layers == layers) begin = std::min(begin, unstored_->begin);
  const uint32_t page_positions = layout_->page_positions();
  // After the first page that is refused now, earlier refused pages are not offered again: the
  // store has no room.
  uint32_t unkept = end;
  for (uint32_t index = begin / page_positions; index < end / page_positions; ++index) {
    if (unkept < end && WasRefused(layers, index)) continue;
    if (!Offer(layers, index)) unkept = std::min(unkept, index * page_positions);
  }
  unstored_ = {layers, unkept};
}

bool PageTable::WasRefused(LayerRange layers, uint32_t index) const {
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    const std::span<const Stream> streams = layout_->streams(layer);
    for (uint32_t s = 0; s < streams.size(); ++s) {
      if (FirstRowKept(streams[s], index) == streams[s].codec->page_rows()) continue;
      const PageRef& page = Chain(layer, s)[index];
      return page && page.store_reply() == StoreReply::kNotNow;
    }
  }
  return false;
}

// Offers the pages of one index; false if they should be offered again later. If the table lacks
// one of them, none is offered: the others alone could not be adopted.
bool PageTable::Offer(LayerRange layers, uint32_t index) {
  std::vector<PageRef*> refs;
  std::vector<StoredPage> pages;
  std::deque<std::vector<uint8_t>> copies;  // of what a device has
  // Collects the pages with all rows that an adopting table needs, of every stream.
  bool is_taken = true;
  bool was_refused = false;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    const std::span<const Stream> streams = layout_->streams(layer);
    for (uint32_t s = 0; s < streams.size(); ++s) {
      const uint32_t first_row = FirstRowKept(streams[s], index);
      if (first_row == streams[s].codec->page_rows()) continue;
      PageRef& page = Chain(layer, s)[index];
      if (!page || page.first_row() > first_row) return true;
      refs.push_back(&page);
      pages.push_back({layer, s, streams[s].codec, nullptr, first_row});
      is_taken = is_taken && page.store_reply() == StoreReply::kYes;
      was_refused = was_refused || page.store_reply() == StoreReply::kNotNow;
    }
  }
  if (pages.empty() || is_taken) return true;
  for (size_t i = 0; i < pages.size(); ++i) {
    const Result<uint8_t*> bytes =
        ReadPage(refs[i]->address(), pages[i].codec->page_bytes(), copies.emplace_back());
    if (!bytes.ok()) return true;  // its device is lost, and the page with it
    pages[i].data = *bytes;
  }
  const uint32_t first = index * layout_->page_positions();
  const uint32_t end = first + layout_->page_positions();
  is_taken = store()->Keep({.layout = layout_,
                            .layers = layers,
                            .begin = first,
                            .prefix_at_begin = history_.HashAt(first),
                            .prefix_at_end = history_.HashAt(end),
                            .tokens = history_.tokens().subspan(first, layout_->page_positions()),
                            .pages = pages,
                            .was_refused = was_refused});
  for (PageRef* const page : refs) {
    page->set_store_reply(is_taken ? StoreReply::kYes : StoreReply::kNotNow);
  }
  return is_taken;
}

// The first row of a full page that a computation at its end or later needs.
uint32_t PageTable::FirstRowKept(const Stream& stream, uint32_t index) const {
  return stream.FirstRowNeeded(index, (index + 1) * layout_->page_positions());
}

// The layer's rows up to `length` are complete, and history_ has their tokens: publishes full
// pages, so that other tables find them, and releases those outside a window.
void PageTable::SetLength(uint32_t layer, uint32_t length) {
  const uint32_t page_positions = layout_->page_positions();
  const uint32_t first_page = Length(layer) / page_positions;
  const uint32_t end_page = length / page_positions;
  for (uint32_t index = first_page; index < end_page; ++index) {
    // A page is named by all tokens up to its end, so that equal texts share pages.
    const Hash128 prefix = history_.HashAt((index + 1) * page_positions);
    const std::span<const Stream> streams = layout_->streams(layer);
    for (uint32_t s = 0; s < streams.size(); ++s) {
      PageRef& page = Chain(layer, s)[index];
      if (page && FirstRowKept(streams[s], index) < streams[s].codec->page_rows()) {
        PoolOf(layer).Publish(page, {.prefix = prefix, .layer = layer, .stream = s});
      }
    }
  }
  ReleaseSlidOut(layer, std::exchange(Length(layer), length));
}

// As SetLength, for imported pages with only the rows that computations from `reach` on need.
void PageTable::JumpTo(uint32_t layer, uint32_t length, uint32_t reach) {
  const std::span<const Stream> streams = layout_->streams(layer);
  const uint32_t end_page = static_cast<uint32_t>(DivideUp(length, layout_->page_positions()));
  for (uint32_t s = 0; s < streams.size(); ++s) {
    PageChain& chain = Chain(layer, s);
    chain.resize(end_page);
    // A page that was begun here before the import misses rows: it is released if not needed.
    for (uint32_t index = Length(layer) / layout_->page_positions(); index < end_page; ++index) {
      const bool is_needed =
          streams[s].FirstRowNeeded(index, reach) < streams[s].codec->page_rows();
      if (!is_needed) chain[index] = {};
    }
  }
  SetLength(layer, length);
}

// Releases pages that leave a sliding window. They stay in the pool's cache, and are evicted first:
// a sequence that goes back, or has the same prefix, may continue from there.
void PageTable::ReleaseSlidOut(uint32_t layer, uint32_t old_length) {
  const std::span<const Stream> streams = layout_->streams(layer);
  const uint32_t slack = layout_->slack();
  const uint32_t length = Length(layer);
  for (uint32_t s = 0; s < streams.size(); ++s) {
    PageChain& chain = Chain(layer, s);
    // Pages before `begin`, except attention sinks, were released at earlier lengths.
    const uint32_t begin = streams[s].FirstNeeded(old_length - std::min(old_length, slack));
    const uint32_t end = streams[s].FirstNeeded(length - std::min(length, slack));
    for (uint32_t index = std::max(begin, streams[s].SinkPages()); index < end; ++index) {
      if (chain[index]) PoolOf(layer).ReleaseSlidOut(chain[index]);
    }
  }
}

// Releases the pages after the layers' lengths, but keeps at least `keep_pages`. The last pages are
// released first and become the oldest in the pool's cache: a history is evicted from its end, as
// its beginning is of use without the end, but not the other way round.
void PageTable::DropPages(LayerRange layers, uint32_t keep_pages) {
  size_t longest = 0;
  for (const PageChain& chain : chains_) longest = std::max(longest, chain.size());
  for (size_t size = longest; size > keep_pages; --size) {
    for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
      if (size <= DivideUp(Length(layer), layout_->page_positions())) continue;
      for (uint32_t s = 0; s < layout_->streams(layer).size(); ++s) {
        PageChain& chain = Chain(layer, s);
        if (chain.size() == size) chain.pop_back();
      }
    }
  }
}

// Whether the chain has every row that a computation at `length` needs.
bool PageTable::IsComplete(const Stream& stream, const PageChain& chain, uint32_t length) const {
  const auto end_page = static_cast<uint32_t>(DivideUp(length, layout_->page_positions()));
  const auto has = [&](uint32_t index) {
    return !stream.Needs(index, length) ||
           (index < chain.size() && chain[index] &&
            chain[index].first_row() <= stream.FirstRowNeeded(index, length));
  };
  for (uint32_t index = 0; index < std::min(stream.SinkPages(), end_page); ++index) {
    if (!has(index)) return false;
  }
  for (uint32_t index = stream.FirstNeeded(length); index < end_page; ++index) {
    if (!has(index)) return false;
  }
  return true;
}

// `at_most` if a computation can continue there in the layer, or the last page boundary before it
// at which one can.
uint32_t PageTable::LongestExact(uint32_t layer, uint32_t at_most) const {
  const std::span<const Stream> streams = layout_->streams(layer);
  const auto is_enough = [&](uint32_t length) {
    for (uint32_t s = 0; s < streams.size(); ++s) {
      // Streams without a window keep all pages.
      if (streams[s].window != 0 && !IsComplete(streams[s], Chain(layer, s), length)) return false;
    }
    return true;
  };
  const uint32_t page_positions = layout_->page_positions();
  uint32_t length = at_most;
  // Tries only page boundaries, where adopted pages and imported rows begin and end.
  while (!is_enough(length)) length = (length - 1) / page_positions * page_positions;
  return length;
}

uint32_t PageTable::Truncate(LayerRange layers, uint32_t length) {
  CHECK(layers_.Contains(layers));
  // Finds the longest length, at most `length`, from which every layer can continue.
  for (uint32_t layer = layers.begin; layer < layers.end;) {
    const uint32_t exact = Length(layer) > length ? LongestExact(layer, length) : length;
    ++layer;
    if (exact == length) continue;
    length = exact;
    layer = layers.begin;  // checks earlier layers again, as all layers end at one length
  }
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    Length(layer) = std::min(Length(layer), length);
  }
  DropPages(layers, 0);
  history_.Truncate(*std::ranges::max_element(lengths_));
  return this->length(layers);
}

// Whether the table already has the rows of that full page that a computation at `end` needs.
bool PageTable::HasOwn(uint32_t layer, uint32_t stream, uint32_t index, uint32_t end) const {
  if ((index + 1) * layout_->page_positions() > Length(layer)) return false;
  const PageRef& page = Chain(layer, stream)[index];
  return page && page.first_row() <= layout_->streams(layer)[stream].FirstRowNeeded(index, end);
}

bool PageTable::CanAdopt(const PageKey& key, uint32_t index, uint32_t end, AdoptFrom from) const {
  const Stream& stream = layout_->streams(key.layer)[key.stream];
  if (HasOwn(key.layer, key.stream, index, end) ||
      PoolOf(key.layer).Contains(key, stream.FirstRowNeeded(index, end))) {
    return true;
  }
  return from == AdoptFrom::kStoreToo && store() != nullptr &&
         store()->Contains(key, layout_->columns());
}

// The number of pages to which the table can grow along `tokens`, and the prefix hashes at their
// ends.
uint32_t PageTable::CountAdoptable(std::span<const int32_t> tokens, AdoptFrom from,
                                   std::vector<Hash128>& prefixes) const {
  const uint32_t page_positions = layout_->page_positions();
  // Forward: up to the first page that is missing in a stream without a window, or among its sinks.
  Hash128 prefix = layout_->digest();
  const auto has_kept = [&](uint32_t index) {
    for (uint32_t layer = layers_.begin; layer < layers_.end; ++layer) {
      const std::span<const Stream> streams = layout_->streams(layer);
      for (uint32_t s = 0; s < streams.size(); ++s) {
        const bool kept = streams[s].window == 0 || index < streams[s].SinkPages();
        const uint32_t end = (index + 1) * page_positions;
        if (kept && !CanAdopt({prefix, layer, s}, index, end, from)) return false;
      }
    }
    return true;
  };
  for (uint32_t index = 0; index < tokens.size() / page_positions; ++index) {
    prefix = ExtendPrefixHash(prefix, tokens.subspan(index * page_positions, page_positions));
    if (!has_kept(index)) break;
    prefixes.push_back(prefix);
  }
  // Backward: to the last end at which the windows of all streams are complete. A shorter end needs
  // other pages for its windows, so the search starts again with the first layer.
  auto pages = static_cast<uint32_t>(prefixes.size());
  for (uint32_t layer = layers_.begin; layer < layers_.end;) {
    const uint32_t before = pages;
    const std::span<const Stream> streams = layout_->streams(layer);
    for (uint32_t s = 0; s < streams.size() && pages == before; ++s) {
      if (streams[s].window == 0) continue;
      for (uint32_t index = pages; index > streams[s].FirstNeeded(pages * page_positions);) {
        --index;
        if (CanAdopt({prefixes[index], layer, s}, index, pages * page_positions, from)) continue;
        pages = index;
        break;
      }
    }
    layer = pages == before ? layer + 1 : layers_.begin;
  }
  prefixes.resize(pages);
  return pages;
}

// Adds the pages of one index that a table of `end` positions needs and does not have: from the
// pool, or loaded from its store into new pages. False if one is missing.
bool PageTable::GatherIndex(uint32_t index, uint32_t end, const Hash128& prefix,
                            std::vector<Adopted>& adopted) const {
  std::vector<StoredPage> missing;
  std::vector<PageAddress> places;          // of the missing pages
  std::deque<std::vector<uint8_t>> copies;  // of missing pages on a device
  const size_t first = adopted.size();
  for (uint32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    const std::span<const Stream> streams = layout_->streams(layer);
    for (uint32_t s = 0; s < streams.size(); ++s) {
      if (Length(layer) >= end || !streams[s].Needs(index, end) || HasOwn(layer, s, index, end)) {
        continue;
      }
      PageRef page = PoolOf(layer).Find({prefix, layer, s}, streams[s].FirstRowNeeded(index, end));
      if (!page) {
        if (store() == nullptr) return false;
        Result<PageRef> fresh = PoolOf(layer).Allocate(streams[s].codec->page_bytes());
        if (!fresh.ok()) return false;
        page = *std::move(fresh);
        page.set_first_row(FirstRowKept(streams[s], index));
        places.push_back(page.address());
        const bool is_host = places.back().block->host() != nullptr;
        uint8_t* const data = is_host ? HostPage(places.back())
                                      : copies.emplace_back(streams[s].codec->page_bytes()).data();
        missing.push_back({layer, s, streams[s].codec, data, page.first_row()});
      }
      adopted.push_back({layer, s, index, std::move(page)});
    }
  }
  // Loads all pages of one index at once, as they are in one file, and publishes them.
  if (missing.empty()) return true;
  if (!store()->Load(prefix, layout_->columns(), missing)) return false;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (places[i].block->host() != nullptr) continue;
    const std::span<const uint8_t> bytes(missing[i].data, missing[i].codec->page_bytes());
    if (!places[i].block->Write(places[i].offset, bytes).ok()) return false;
  }
  for (size_t i = first; i < adopted.size(); ++i) {
    PoolOf(adopted[i].layer)
        .Publish(adopted[i].page, {prefix, adopted[i].layer, adopted[i].stream});
  }
  return true;
}

// The number of pages that were gathered: all, or those before the first that is missing.
uint32_t PageTable::Gather(std::span<const Hash128> prefixes, std::vector<Adopted>& adopted) const {
  const auto pages = static_cast<uint32_t>(prefixes.size());
  const uint32_t end = pages * layout_->page_positions();
  for (uint32_t index = 0; index < pages; ++index) {
    if (!GatherIndex(index, end, prefixes[index], adopted)) return index;
  }
  return pages;
}

uint32_t PageTable::Adopt(std::span<const int32_t> tokens, AdoptFrom from) {
  tokens = tokens.first(std::min<size_t>(tokens.size(), kMaxPositions - 1));
  // Adopting only extends a table: `tokens` must continue its history.
  if (history_.CountEqual(0, tokens) != history_.length()) return length();
  const uint32_t page_positions = layout_->page_positions();
  std::vector<Adopted> adopted;
  uint32_t end = 0;
  // Finds the longest prefix whose pages are there, as far as is known, and gathers them. If one
  // proves to be missing (a damaged file), tries again with a shorter prefix, whose windows need
  // other pages.
  for (uint32_t pages = 0, gathered = 0;;) {
    std::vector<Hash128> prefixes;
    pages = CountAdoptable(tokens, from, prefixes);
    end = pages * page_positions;
    if (end <= length()) return length();
    // Releases the pages of the attempt before, the last first: a history is evicted from its end.
    while (!adopted.empty()) adopted.pop_back();
    gathered = Gather(prefixes, adopted);
    if (gathered == pages) break;
    tokens = tokens.first(gathered * page_positions);
  }
  // From here on nothing can fail: sets the history, then the pages, then the lengths.
  if (end > history_.length()) {
    history_.Append(tokens.subspan(history_.length(), end - history_.length()));
  }
  for (uint32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    if (Length(layer) >= end) continue;
    for (uint32_t s = 0; s < layout_->streams(layer).size(); ++s) {
      Chain(layer, s).resize(end / page_positions);
    }
  }
  for (Adopted& one : adopted) Chain(one.layer, one.stream)[one.index] = std::move(one.page);
  // The store may not have the pages that came from memory: they are offered next time.
  unstored_ = {layers_, 0};
  for (uint32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    if (Length(layer) < end) JumpTo(layer, end, end);
  }
  return length();
}

uint64_t PageTable::HeldBytes() const {
  uint64_t bytes = 0;
  for (uint32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    for (uint32_t s = 0; s < layout_->streams(layer).size(); ++s) {
      const PageChain& chain = Chain(layer, s);
      const auto count = std::ranges::count_if(chain, [](const PageRef& page) { return !!page; });
      bytes += count * AlignedPageBytes(layout_->streams(layer)[s].codec->page_bytes());
    }
  }
  return bytes;
}

}  // namespace aster::kv
