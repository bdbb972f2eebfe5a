// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "kv/chunk.h"

namespace aster::kv {
namespace {

// The rows of a page that a KV chunk has: those completed between its two ends, and in a stream
// with a sliding window only those that computations from `reach` on read.
RowRange RowsInKvChunk(const Stream& stream, uint32_t index, const KvChunkHeader& header) {
  const uint32_t page_rows = stream.codec->page_rows();
  const uint32_t page_begin = index * page_rows;
  uint32_t first = page_begin;
  if (header.version == 1) {
    // Version 1 has whole pages, as if every row were read at every position.
    Stream old = stream;
    old.read_every = 1;
    if (!old.Needs(index, header.end)) return {};
  } else {
    first += stream.FirstRowNeeded(index, header.reach);
  }
  return {.begin = std::max(header.begin / stream.stride, first),
          .end = std::min(header.end / stream.stride, page_begin + page_rows)};
}

// The number of blocks; an error if the table lacks rows of one.
Result<uint32_t> CountBlocks(const PageTable& table, const KvChunkHeader& header) {
  uint32_t count = 0;
  TRY(ForEachBlock(table.layout(), header,
                   [&](uint32_t layer, uint32_t s, uint32_t index, RowRange rows) -> Status {
                     if (!table.Holds(layer, index, s, rows.begin)) {
                       return FailedPrecondition(fmt::format(
                           "layer {} no longer holds position {}: its window has moved on", layer,
                           rows.begin * table.layout().streams(layer)[s].stride));
                     }
                     ++count;
                     return Ok();
                   }));
  return count;
}

// The header of a chunk whose reach is as far back as the table has rows for.
Result<KvChunkHeader> HeaderFor(const PageTable& table, LayerRange layers, uint32_t begin,
                                uint32_t end) {
  const Layout& layout = table.layout();
  const std::span<const int32_t> tokens = table.history().tokens().subspan(begin, end - begin);
  KvChunkHeader header = {
      .version = KvChunkVersionFor(layout),
      .digest = layout.digest(),
      .layers = layers,
      .begin = begin,
      .end = end,
      .reach = layout.ReachOf(end),
      .columns = layout.columns(),
      .block_count = 0,
      .prefix_at_begin = table.history().HashAt(begin),
      .prefix_at_end = table.history().HashAt(end),
      .description = layout.Describe(layers).substr(0, kMaxDescriptionBytes),
      .tokens = {tokens.begin(), tokens.end()},
  };
  // If the table lacks rows of the window at the reach, because it has gone back before, the chunk
  // only serves computations at its end.
  Result<uint32_t> count = CountBlocks(table, header);
  if (!count.ok()) {
    header.reach = end;
    count = CountBlocks(table, header);
  }
  header.block_count = TRY(std::move(count));
  return header;
}

}  // namespace

Status ForEachBlock(const Layout& layout, const KvChunkHeader& header, BlockVisit visit) {
  const uint32_t page_positions = layout.page_positions();
  const uint32_t end_page = static_cast<uint32_t>(DivideUp(header.end, page_positions));
  for (uint32_t index = header.begin / page_positions; index < end_page; ++index) {
    for (uint32_t layer = header.layers.begin; layer < header.layers.end; ++layer) {
      const std::span<const Stream> streams = layout.streams(layer);
      for (uint32_t s = 0; s < streams.size(); ++s) {
        const RowRange rows = RowsInKvChunk(streams[s], index, header);
        if (!rows.empty()) TRY(visit(layer, s, index, rows));
      }
    }
  }
  return Ok();
}

Status Export(const PageTable& table, LayerRange layers, uint32_t begin, uint32_t end,
              KvChunkSink sink) {
  if (layers.begin >= layers.end || !table.layers().Contains(layers)) {
    return InvalidArgument(fmt::format("layers {} to {} are wanted, {} to {} are here",
                                       layers.begin, layers.end, table.layers().begin,
                                       table.layers().end));
  }
  if (begin > end || end > table.length(layers)) {
    return OutOfRange(fmt::format("positions {} to {} are wanted, up to {} are here", begin, end,
                                  table.length(layers)));
  }
  // The header has the number of blocks, so HeaderFor checks that all of them are there before the
  // first byte is written.
  const Layout& layout = table.layout();
  const KvChunkHeader header = TRY(HeaderFor(table, layers, begin, end));
  ByteWriter head;
  WriteHeader(header, head);
  TRY(sink(head.bytes()));
  // Then the blocks, in ForEachBlock's order, as Import reads them.
  std::vector<uint8_t> plain_rows;
  std::vector<uint8_t> copy;  // of a page that a device has
  return ForEachBlock(layout, header,
                      [&](uint32_t layer, uint32_t s, uint32_t index, RowRange rows) -> Status {
                        const PageCodec& codec = *layout.streams(layer)[s].codec;
                        Block block = {.layer = layer,
                                       .stream = s,
                                       .first_row = rows.begin,
                                       .row_count = rows.end - rows.begin,
                                       .row_bytes = static_cast<uint32_t>(codec.row_bytes()),
                                       .rows = {}};
                        // A chunk has plain rows rather than the page's own format.
                        plain_rows.resize(uint64_t{block.row_count} * block.row_bytes);
                        const uint8_t* const page =
                            TRY(ReadPage(table.Page(layer, index, s), codec.page_bytes(), copy));
                        codec.ReadRows(page, rows.begin - index * codec.page_rows(),
                                       block.row_count, plain_rows.data());
                        block.rows = plain_rows;
                        ByteWriter block_head;
                        WriteBlockHead(block, header.prefix_at_end, block_head);
                        TRY(sink(block_head.bytes()));
                        return sink(block.rows);
                      });
}

// Reads blocks into pages after the table's lengths, where no computation reads them yet, and
// extends the lengths only when all blocks of a page are there.
class KvChunkImport {
 public:
  KvChunkImport(PageTable& table, const KvChunkHeader& header) : table_(table), header_(header) {}

  Status Check() const;
  Status ReadBlocks(ByteReader& in);

 private:
  Status TakeBlock(uint32_t layer, uint32_t s, uint32_t index, RowRange rows, ByteReader& in);
  bool CanStopAt(uint32_t layer, uint32_t position) const;
  void MarkCarried(uint32_t layer, uint32_t complete);
  void MoveLengths(uint32_t complete);

  PageTable& table_;
  const KvChunkHeader& header_;
  std::vector<uint8_t> copy_;  // of a page that a device has
  std::vector<uint8_t> cut_;   // rows of which the table has some columns
};

// The header is not trusted: everything in it is compared with the table.
Status KvChunkImport::Check() const {
  const Layout& layout = table_.layout();
  if (header_.digest != layout.digest()) {
    return FailedPrecondition(
        fmt::format("these rows are of another model or layout ({}); here is {}",
                    header_.description, layout.Describe(table_.layers())));
  }
  if (!table_.layers().Contains(header_.layers)) {
    return FailedPrecondition(fmt::format("these rows are of layers {} to {}; here are {} to {}",
                                          header_.layers.begin, header_.layers.end,
                                          table_.layers().begin, table_.layers().end));
  }
  if (!header_.columns.Contains(layout.columns())) {
    return FailedPrecondition(fmt::format("these are {}; {} are needed here",
                                          Describe(header_.columns), Describe(layout.columns())));
  }
  const uint32_t length = table_.length(header_.layers);
  if (header_.begin > length) {
    return OutOfRange(fmt::format("the rows begin at position {}, those from {} on are missing",
                                  header_.begin, length));
  }
  // The histories must agree: before the chunk by the hash, within it by the tokens that the table
  // has.
  const TokenHistory& history = table_.history();
  if (history.HashAt(header_.begin) != header_.prefix_at_begin) {
    return FailedPrecondition(
        fmt::format("these rows continue another history: the tokens before position {} differ",
                    header_.begin));
  }
  const uint32_t common = header_.begin + history.CountEqual(header_.begin, header_.tokens);
  if (common < std::min(history.length(), header_.end)) {
    return FailedPrecondition(
        fmt::format("these rows are of another history: the token at position {} differs", common));
  }
  // The number of blocks must be that of its layers and positions.
  uint32_t block_count = 0;
  TRY(ForEachBlock(layout, header_, [&](uint32_t, uint32_t, uint32_t, RowRange) {
    ++block_count;
    return Ok();
  }));
  if (block_count != header_.block_count) {
    return DataLoss(fmt::format("{} blocks of rows are announced, {} are needed",
                                header_.block_count, block_count));
  }
  return Ok();
}

Status KvChunkImport::ReadBlocks(ByteReader& in) {
  // The page of the newest block: if a block fails, all pages before this one are complete.
  uint32_t index_reached = header_.begin / table_.layout().page_positions();
  const Status status = ForEachBlock(
      table_.layout(), header_, [&](uint32_t layer, uint32_t s, uint32_t index, RowRange rows) {
        index_reached = index;
        const uint32_t position = std::max(header_.begin, index * table_.layout().page_positions());
        return TakeBlock(layer, s, index, rows, in)
            .In(fmt::format("rows from position {}, layer {}", position, layer));
      });
  // Rows before the damage stay, so that less has to be computed or sent again.
  MoveLengths(status.ok() ? header_.end : index_reached * table_.layout().page_positions());
  return status;
}

Status KvChunkImport::TakeBlock(uint32_t layer, uint32_t s, uint32_t index, RowRange rows,
                                ByteReader& in) {
  const Stream& stream = table_.layout().streams(layer)[s];
  const PageCodec& codec = *stream.codec;
  Block block = TRY(ReadBlock(in, header_.prefix_at_end));
  const Columns& own = table_.layout().columns();
  // The order of blocks is fixed: one in the wrong place is damage.
  if (block.layer != layer || block.stream != s || block.first_row != rows.begin ||
      block.row_count != rows.end - rows.begin ||
      RowBytesOf(own, header_.columns, block.row_bytes) != codec.row_bytes()) {
    return DataLoss(fmt::format("found layer {}, stream {}, {} rows from {} of {} bytes instead",
                                block.layer, block.stream, block.row_count, block.first_row,
                                block.row_bytes));
  }
  // Rows that the table has are not written again: another sequence may share their page.
  const uint32_t first_new = std::max(rows.begin, table_.Length(layer) / stream.stride);
  if (first_new >= rows.end) return Ok();
  if (header_.columns != own) {
    cut_.resize(codec.row_bytes() * block.row_count);
    CopyColumns({header_.columns, block.row_bytes, block.rows.data()}, block.row_count,
                {own, codec.row_bytes(), cut_.data()});
    block.rows = cut_;
    block.row_bytes = static_cast<uint32_t>(codec.row_bytes());
  }
  TRY(table_.MakeWritable(layer, s, index, table_.Length(layer)));
  const PageAddress page = table_.WritablePage(layer, index, s);
  uint8_t* const data = TRY(ReadPage(page, codec.page_bytes(), copy_));
  codec.WriteRows(data, first_new - index * codec.page_rows(), rows.end - first_new,
                  block.rows.data() + uint64_t{first_new - rows.begin} * block.row_bytes);
  if (page.block->host() != nullptr) return Ok();
  return page.block->Write(page.offset, copy_);
}

// Whether the chunk had all rows that a computation at `position` needs: it leaves out rows outside
// the sliding windows at its reach.
bool KvChunkImport::CanStopAt(uint32_t layer, uint32_t position) const {
  const uint32_t page_positions = table_.layout().page_positions();
  const uint32_t first_page = table_.Length(layer) / page_positions;
  for (const Stream& stream : table_.layout().streams(layer)) {
    const uint32_t held = table_.Length(layer) / stream.stride;
    for (uint32_t index = first_page; index < position / page_positions; ++index) {
      const uint32_t page_begin = index * stream.codec->page_rows();
      const uint32_t needed = page_begin + stream.FirstRowNeeded(index, position);
      const uint32_t carried = page_begin + stream.FirstRowNeeded(index, header_.reach);
      if (carried > std::max(needed, held)) return false;
    }
  }
  return true;
}

// If the chunk left out rows after those that the table had, each page records its first row, so
// that Truncate does not go back to missing rows.
void KvChunkImport::MarkCarried(uint32_t layer, uint32_t complete) {
  const uint32_t page_positions = table_.layout().page_positions();
  const std::span<const Stream> streams = table_.layout().streams(layer);
  for (uint32_t s = 0; s < streams.size(); ++s) {
    PageTable::PageChain& chain = table_.Chain(layer, s);
    const uint32_t held = table_.Length(layer) / streams[s].stride;
    const auto end_page =
        static_cast<uint32_t>(std::min<uint64_t>(chain.size(), DivideUp(complete, page_positions)));
    for (uint32_t index = table_.Length(layer) / page_positions; index < end_page; ++index) {
      const uint32_t carried = streams[s].FirstRowNeeded(index, header_.reach);
      const bool has_gap = index * streams[s].codec->page_rows() + carried > held;
      if (chain[index] && has_gap) chain[index].set_first_row(carried);
    }
  }
}

// All pages before position `complete` have their blocks: extends history and lengths.
void KvChunkImport::MoveLengths(uint32_t complete) {
  // The history first, as lengths must not exceed it.
  const uint32_t known = table_.history_.length();
  const uint32_t before = table_.length();
  if (complete > known) {
    table_.history_.Append(
        std::span(header_.tokens).subspan(known - header_.begin, complete - known));
  }
  // Each layer by itself, if a computation can continue from there.
  for (uint32_t layer = header_.layers.begin; layer < header_.layers.end; ++layer) {
    const bool longer = complete > table_.Length(layer);
    if (longer && (complete == header_.end || CanStopAt(layer, complete))) {
      MarkCarried(layer, complete);
      table_.JumpTo(layer, complete, std::min(header_.reach, complete));
    }
  }
  // Offers the store the pages that are full in all layers.
  if (table_.length() > before) {
    table_.OfferFullPages(table_.layers_, before, table_.length());
  }
  // Drops pages and tokens after the lengths (the rest of a damaged chunk).
  table_.DropPages(header_.layers, 0);
  table_.history_.Truncate(*std::ranges::max_element(table_.lengths_));
}

Status Import(PageTable& table, const KvChunk& chunk) {
  KvChunkImport import(table, chunk.header);
  TRY(import.Check());
  ByteReader blocks(chunk.blocks);
  return import.ReadBlocks(blocks);
}

Status Import(PageTable& table, Bytes chunk) { return Import(table, TRY(ParseKvChunk(chunk))); }

}  // namespace aster::kv
