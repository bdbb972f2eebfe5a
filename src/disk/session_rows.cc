// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/session_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "kv/prefix_hash.h"
#include "kv/transfer.h"

namespace aster::disk {
namespace {

// Gathers the blocks of a page until those of the next one begin.
class PageCutter {
 public:
  PageCutter(const kv::Layout& layout, std::span<const int32_t> tokens, PageTaker take)
      : layout_(layout), history_(layout.digest()), take_(take) {
    history_.Append(tokens);
  }

  Status Add(const kv::KvChunkHeader& chunk, const kv::Block& block) {
    const uint32_t index = TRY(IndexOf(chunk, block));
    const uint32_t page_positions = layout_.page_positions();
    const uint32_t begin = std::max(chunk.begin, index * page_positions);
    const uint32_t end = std::min(chunk.end, (index + 1) * page_positions);
    const bool is_same =
        page_ && page_->layers == chunk.layers && page_->begin == begin && page_->end == end;
    // The first block of another page: the one before is complete.
    if (!is_same) {
      TRY(Finish());
      const std::span<const int32_t> tokens = history_.tokens().subspan(begin, end - begin);
      page_ = kv::KvChunkHeader{.version = kv::KvChunkVersionFor(layout_),
                                .digest = chunk.digest,
                                .layers = chunk.layers,
                                .begin = begin,
                                .end = end,
                                .reach = end,
                                .block_count = 0,
                                .prefix_at_begin = history_.HashAt(begin),
                                .prefix_at_end = history_.HashAt(end),
                                .description = chunk.description,
                                .tokens = {tokens.begin(), tokens.end()}};
    }
    rows_.emplace_back(block.rows.begin(), block.rows.end());
    blocks_.push_back(block);
    return Ok();
  }

  // The last page.
  Status Finish() {
    if (!page_) return Ok();
    for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i].rows = rows_[i];
    TRY(take_(*page_, blocks_));
    page_.reset();
    blocks_.clear();
    rows_.clear();
    return Ok();
  }

 private:
  // The index of the block's page.
  Result<uint32_t> IndexOf(const kv::KvChunkHeader& chunk, const kv::Block& block) const {
    if (chunk.digest != layout_.digest()) {
      return FailedPrecondition(
          fmt::format("these rows are of another model or layout: {}", chunk.description));
    }
    if (chunk.end > history_.length() || history_.HashAt(chunk.end) != chunk.prefix_at_end) {
      return FailedPrecondition("these rows are of another text");
    }
    if (!layout_.all_layers().Contains({block.layer, block.layer + 1}) ||
        block.stream >= layout_.streams(block.layer).size()) {
      return DataLoss(fmt::format("rows of layer {}, stream {}", block.layer, block.stream));
    }
    // Rows of one page: they begin in it, and do not extend beyond it.
    const kv::PageCodec& codec = *layout_.streams(block.layer)[block.stream].codec;
    const uint32_t index = block.first_row / codec.page_rows();
    const uint32_t offset = block.first_row % codec.page_rows();
    if (block.row_bytes != codec.row_bytes() || block.row_count == 0 ||
        block.row_count > codec.page_rows() - offset ||
        uint64_t{index} * layout_.page_positions() >= chunk.end) {
      return DataLoss("rows that are not of one page");
    }
    return index;
  }

  const kv::Layout& layout_;
  kv::TokenHistory history_;
  PageTaker take_;
  std::optional<kv::KvChunkHeader> page_;
  std::vector<kv::Block> blocks_;
  std::vector<std::vector<uint8_t>> rows_;  // of the blocks
};

// Page files of the same layers, in the order of their positions.
class PageChain {
 public:
  PageChain(const kv::Layout& layout, const kv::TokenHistory& history, PageOpener open,
            KvChunkTaker take)
      : layout_(layout), history_(history), open_(open), take_(take) {}

  Status Take(std::span<const SessionPage> pages) {
    // Pages are used as far as they are contiguous; later ones are reported, and computed again.
    const size_t chained = CountChained(pages);
    Status missing = Ok();
    if (chained < pages.size()) {
      missing = DataLoss(
          fmt::format("the rows from position {} on, layers {} to {}, are not of this text",
                      pages[chained].name.begin, pages[chained].name.layers.begin,
                      pages[chained].name.layers.end - 1));
    }
    pages = pages.first(chained);
    if (pages.empty()) return missing;
    TRY(HasWindows(pages.front().name.layers) ? TakeTogether(pages) : TakeOneByOne(pages));
    return missing;
  }

 private:
  // From the beginning, each where the one before ends, and all of the history. Gaps may be rows
  // that have left every window.
  size_t CountChained(std::span<const SessionPage> pages) const {
    const bool has_gaps = !pages.empty() && HasWindows(pages.front().name.layers);
    uint32_t end = 0;
    for (size_t i = 0; i < pages.size(); ++i) {
      const PageFileName& name = pages[i].name;
      if ((has_gaps ? name.begin < end : name.begin != end) || name.end > history_.length() ||
          history_.HashAt(name.begin) != name.prefix_at_begin ||
          history_.HashAt(name.end) != name.prefix_at_end) {
        return i;
      }
      end = name.end;
    }
    return pages.size();
  }

  bool HasWindows(kv::LayerRange layers) const {
    for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
      for (const kv::Stream& stream : layout_.streams(layer)) {
        if (stream.window > 0) return true;
      }
    }
    return false;
  }

  // Without windows, every page file is a KV chunk.
  Status TakeOneByOne(std::span<const SessionPage> pages) {
    for (const SessionPage& page : pages) {
      const std::string where = fmt::format("rows from position {}", page.name.begin);
      PageFile file = TRY(open_(page).In(where));
      // It must have exactly the stated length.
      TRY(file.Read([](uint32_t, uint32_t) { return false; }, [](const kv::Block&) { return Ok(); })
              .In(where));
      Status taken = take_(TRY(file.ReadAll().In(where)));
      if (!taken.ok()) return Explain(std::move(taken), page);
    }
    return Ok();
  }

  // Adds which byte of the file is damaged.
  Status Explain(Status failed, const SessionPage& page) const {
    const std::string where = fmt::format("rows from position {}", page.name.begin);
    PageFile file = TRY(open_(page).In(where));
    TRY(file.Read([](uint32_t, uint32_t) { return true; }, [](const kv::Block&) { return Ok(); })
            .In(where));
    return std::move(failed).In(where);
  }

  // One KV chunk of all rows that a computation at the end reads.
  Status TakeTogether(std::span<const SessionPage> pages) {
    Status damage = Ok();
    while (!pages.empty()) {
      // All rows that the last page's end needs, from all pages; if one is damaged, the same for a
      // shorter text.
      size_t read_count = 0;
      Status read = ReadNeeded(pages, read_count);
      if (read.ok()) {
        Status taken = TakeNeeded(pages.front().name.layers, pages.back().name.end);
        for (size_t i = 0; i < pages.size() && !taken.ok(); ++i) {
          TRY(Explain(Ok(), pages[i]));
        }
        return damage.ok() ? taken : damage;
      }
      // The pages before the damage may suffice for a shorter history.
      if (damage.ok()) damage = std::move(read);
      pages = pages.first(read_count);
    }
    return damage;
  }

  struct Rows {
    uint32_t first_row = 0;
    uint32_t row_count = 0;
    std::vector<uint8_t> bytes;

    // Rows are needed up to the end, so those before a gap are not.
    void Add(const kv::Block& block) {
      if (first_row + row_count != block.first_row) {
        *this = {.first_row = block.first_row, .row_count = 0, .bytes = {}};
      }
      row_count += block.row_count;
      bytes.insert(bytes.end(), block.rows.begin(), block.rows.end());
    }
  };
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;  // page index, layer, stream

  // Reads the rows that may be needed at the end of the last one of these files. On an error,
  // `read_count` files were whole and had the needed rows.
  Status ReadNeeded(std::span<const SessionPage> pages, size_t& read_count) {
    needed_.clear();
    const uint32_t reach = layout_.ReachOf(pages.back().name.end);
    for (const SessionPage& page : pages) {
      const std::string where = fmt::format("rows from position {}", page.name.begin);
      const uint32_t index = page.name.begin / layout_.page_positions();
      const auto wanted = [&](uint32_t layer, uint32_t stream) {
        if (!page.name.layers.Contains({layer, layer + 1}) ||
            stream >= layout_.streams(layer).size()) {
          return false;
        }
        const kv::Stream& of = layout_.streams(layer)[stream];
        return of.FirstRowNeeded(index, reach) < of.codec->page_rows();
      };
      PageFile file = TRY(open_(page).In(where));
      TRY(file.Read(wanted,
                    [&](const kv::Block& block) {
                      needed_[{index, block.layer, block.stream}].Add(block);
                      return Ok();
                    })
              .In(where));
      ++read_count;
    }
    return Ok();
  }

  // As far back as the files allow: a text that was rewound before it was saved has only the rows
  // that its end needs.
  Status TakeNeeded(kv::LayerRange layers, uint32_t end) {
    const std::span<const int32_t> tokens = history_.tokens().first(end);
    kv::KvChunkHeader header = {
        .version = kv::KvChunkVersionFor(layout_),
        .digest = layout_.digest(),
        .layers = layers,
        .begin = 0,
        .end = end,
        .reach = layout_.ReachOf(end),
        .block_count = 0,
        .prefix_at_begin = layout_.digest(),
        .prefix_at_end = history_.HashAt(end),
        .description = layout_.Describe(layers).substr(0, kv::kMaxDescriptionBytes),
        .tokens = {tokens.begin(), tokens.end()}};
    ByteWriter blocks;
    // With the rows that a rewind may need if the files have them, otherwise only with those of the
    // end.
    Status written = WriteBlocks(header, blocks);
    if (!written.ok()) {
      header.reach = end;
      blocks = ByteWriter();
      header.block_count = 0;
      TRY(WriteBlocks(header, blocks));
    }
    needed_.clear();
    ByteWriter out;
    kv::WriteHeader(header, out);
    out.WriteBytes(blocks.bytes());
    return take_(out.bytes());
  }

  // The blocks of a KV chunk with this header; sets their number.
  Status WriteBlocks(kv::KvChunkHeader& header, ByteWriter& out) const {
    uint32_t count = 0;
    TRY(kv::ForEachBlock(
        layout_, header,
        [&](uint32_t layer, uint32_t stream, uint32_t index, kv::RowRange range) -> Status {
          const auto found = needed_.find({index, layer, stream});
          const size_t row_bytes = layout_.streams(layer)[stream].codec->row_bytes();
          if (found == needed_.end() || found->second.first_row > range.begin ||
              found->second.bytes.size() <
                  uint64_t{range.end - found->second.first_row} * row_bytes) {
            return DataLoss(fmt::format("rows {} to {} of layer {}, stream {}, are missing",
                                        range.begin, range.end, layer, stream));
          }
          const Rows& rows = found->second;
          const kv::Block block = {
              .layer = layer,
              .stream = stream,
              .first_row = range.begin,
              .row_count = range.end - range.begin,
              .row_bytes = static_cast<uint32_t>(row_bytes),
              .rows = Bytes(rows.bytes)
                          .subspan((range.begin - rows.first_row) * row_bytes,
                                   uint64_t{range.end - range.begin} * row_bytes)};
          kv::WriteBlockHead(block, header.prefix_at_end, out);
          out.WriteBytes(block.rows);
          ++count;
          return Ok();
        }));
    header.block_count = count;
    return Ok();
  }

  const kv::Layout& layout_;
  const kv::TokenHistory& history_;
  PageOpener open_;
  KvChunkTaker take_;
  std::map<Place, Rows> needed_;
};

}  // namespace

Status CutIntoPages(const kv::Layout& layout, std::span<const int32_t> tokens, RowsSource source,
                    PageTaker take) {
  PageCutter cutter(layout, tokens, take);
  kv::KvChunkStream stream;
  TRY(source([&](Bytes piece) {
    return stream.Take(piece, [&](const kv::KvChunkHeader& chunk, const kv::Block& block) {
      return cutter.Add(chunk, block);
    });
  }));
  TRY(stream.Finish());
  return cutter.Finish();
}

Status PutTogether(const kv::Layout& layout, std::span<const int32_t> tokens,
                   std::span<const SessionPage> pages, PageOpener open, KvChunkTaker take) {
  kv::TokenHistory history(layout.digest());
  history.Append(tokens);
  // Several nodes may have saved layers: each range has a chain of its own.
  std::map<std::tuple<uint32_t, uint32_t>, std::vector<SessionPage>> by_layers;
  for (const SessionPage& page : pages) {
    const kv::LayerRange layers = page.name.layers;
    if (!layout.all_layers().Contains(layers)) {
      return DataLoss(fmt::format("rows of layers {} to {}, and the model has {}", layers.begin,
                                  layers.end - 1, layout.layer_count()));
    }
    by_layers[{layers.begin, layers.end}].push_back(page);
  }
  Status first_error = Ok();
  for (auto& [layers, chain] : by_layers) {
    std::ranges::stable_sort(chain, {}, [](const SessionPage& page) { return page.name.begin; });
    Status taken = PageChain(layout, history, open, take).Take(chain);
    if (first_error.ok()) first_error = std::move(taken);
  }
  return first_error;
}

}  // namespace aster::disk
