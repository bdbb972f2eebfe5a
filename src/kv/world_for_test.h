// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sequences and a naive model of them, for property tests and fuzzers: rows have one possible
// content, made from the tokens up to them, and after every step each row that a computation would
// read is compared with it. Must not know how pages are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "kv/layout.h"
#include "kv/page_store.h"
#include "kv/page_table.h"
#include "kv/pool.h"
#include "kv/transfer.h"

namespace aster::kv {

// Transposed rows: byte b of all rows, then byte b + 1.
class TransposedCodec final : public PageCodec {
 public:
  TransposedCodec(size_t row_bytes, uint32_t page_rows)
      : row_bytes_(row_bytes), page_rows_(page_rows) {}

  std::string_view format() const override { return "bytes, transposed"; }
  size_t row_bytes() const override { return row_bytes_; }
  uint32_t page_rows() const override { return page_rows_; }
  size_t page_bytes() const override { return row_bytes_ * page_rows_; }
  void ReadRows(const uint8_t* page, uint32_t first_row, uint32_t row_count,
                uint8_t* rows) const override {
    for (uint32_t row = 0; row < row_count; ++row) {
      for (size_t b = 0; b < row_bytes_; ++b) {
        rows[row * row_bytes_ + b] = page[b * page_rows_ + first_row + row];
      }
    }
  }
  void WriteRows(uint8_t* page, uint32_t first_row, uint32_t row_count,
                 const uint8_t* rows) const override {
    for (uint32_t row = 0; row < row_count; ++row) {
      for (size_t b = 0; b < row_bytes_; ++b) {
        page[b * page_rows_ + first_row + row] = rows[row * row_bytes_ + b];
      }
    }
  }

 private:
  const size_t row_bytes_;
  const uint32_t page_rows_;
};

struct StreamChoice {
  size_t row_bytes = 8;
  uint32_t stride = 1;
  uint32_t window = 0;
  uint32_t sinks = 0;
  uint32_t read_every = 1;
  bool transposed = false;
};

inline Layout MakeLayout(uint32_t page_positions, uint32_t slack,
                         const std::vector<std::vector<StreamChoice>>& choices,
                         uint64_t model = 1) {
  std::vector<std::vector<Stream>> layers;
  for (const std::vector<StreamChoice>& layer : choices) {
    std::vector<Stream>& streams = layers.emplace_back();
    for (const StreamChoice& c : layer) {
      const uint32_t page_rows = page_positions / c.stride;
      std::shared_ptr<const PageCodec> codec;
      if (c.transposed) {
        codec = std::make_shared<TransposedCodec>(c.row_bytes, page_rows);
      } else {
        codec = std::make_shared<PlainCodec>("bytes", c.row_bytes, page_rows);
      }
      streams.push_back({std::move(codec), c.stride, c.window, c.sinks, c.read_every});
    }
  }
  Result<Layout> layout = Layout::Create({.low = model}, page_positions, slack, std::move(layers));
  return std::move(layout).value();
}

// Memory that the processor cannot address, as that of a device; it may be lost.
class DevicePagesForTest final : public PageMemory {
 public:
  Result<std::unique_ptr<MemoryBlock>> Map(size_t bytes) override {
    if (is_lost) return Error(Code::kUnavailable, "the device is lost");
    if (mapped_bytes + bytes > most_bytes)
      return ResourceExhausted("the device has no more memory");
    mapped_bytes += bytes;
    return std::make_unique<Block>(*this, bytes);
  }

  bool is_lost = false;
  uint64_t mapped_bytes = 0;  // in blocks that are there
  uint64_t most_bytes = UINT64_MAX;

 private:
  class Block final : public MemoryBlock {
   public:
    Block(DevicePagesForTest& device, size_t bytes)
        : MemoryBlock(nullptr, bytes), device_(device), bytes_(bytes) {}
    ~Block() override { device_.mapped_bytes -= bytes_.size(); }

    Status Zero(size_t offset, size_t count) override {
      TRY(Check());
      std::fill_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), count, uint8_t{0});
      return Ok();
    }
    Status Copy(size_t offset, const MemoryBlock& from, size_t from_offset, size_t count) override {
      TRY(Check());
      const auto& source = static_cast<const Block&>(from).bytes_;
      std::copy_n(source.begin() + static_cast<ptrdiff_t>(from_offset), count,
                  bytes_.begin() + static_cast<ptrdiff_t>(offset));
      return Ok();
    }
    Status Read(size_t offset, std::span<uint8_t> out) const override {
      TRY(Check());
      std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
      return Ok();
    }
    Status Write(size_t offset, std::span<const uint8_t> bytes) override {
      TRY(Check());
      std::ranges::copy(bytes, bytes_.begin() + static_cast<ptrdiff_t>(offset));
      return Ok();
    }
    Status GiveBack(size_t offset, size_t count) override { return Zero(offset, count); }

   private:
    Status Check() const {
      if (device_.is_lost) return Error(Code::kUnavailable, "the device is lost");
      return Ok();
    }

    DevicePagesForTest& device_;
    std::vector<uint8_t> bytes_;
  };
};

// Usual layers: plain attention; sinks and a window; and layers that compress their past (a window
// of plain rows, compressed rows, and the compressor's inputs).
inline Layout PlainLayout() {
  return MakeLayout(16, 0, {{{.transposed = true}}, {{}}, {{.row_bytes = 3}}});
}
inline Layout WindowLayout() {
  return MakeLayout(8, 5, {{{.window = 20, .sinks = 3}}, {{.window = 20, .sinks = 3}}});
}
inline Layout CompressedLayout() {
  return MakeLayout(
      16, 6,
      {{{.window = 24}},
       {{.window = 24},
        {.row_bytes = 5, .stride = 4, .transposed = true},
        {.row_bytes = 16, .window = 8, .read_every = 4}},
       {{.window = 24}, {.row_bytes = 5, .stride = 16}, {.window = 16, .read_every = 16}}});
}
// Layers, and streams of a layer, that release rows at different times.
inline Layout MixedLayout() {
  return MakeLayout(8, 3,
                    {{{.window = 40}, {.window = 10, .sinks = 12}},
                     {{.window = 12, .sinks = 20}, {.stride = 2, .window = 30}},
                     {{}}});
}

// One sequence, and the rows that it must hold.
class CheckedTable {
 public:
  CheckedTable(const Layout& layout, Pool& pool, LayerRange layers)
      : table_(layout, pool, layers), lengths_(layers.size()) {}
  CheckedTable(const CheckedTable& other)
      : table_(other.table_.Fork()),
        tokens_(other.tokens_),
        lengths_(other.lengths_),
        most_(other.most_),
        computed_(other.computed_) {}
  CheckedTable(CheckedTable&&) noexcept = default;
  CheckedTable& operator=(CheckedTable&&) noexcept = default;
  ~CheckedTable() = default;

  PageTable& table() { return table_; }
  const PageTable& table() const { return table_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  uint32_t length() const { return *std::ranges::min_element(lengths_); }
  uint32_t longest() const { return *std::ranges::max_element(lengths_); }

  // A computation of these layers. False, with nothing changed, if the pool has no memory or the
  // layers cannot go back to a common length.
  bool Compute(LayerRange layers, const std::vector<int32_t>& tokens) {
    const uint32_t begin = table_.length(layers);
    const Status status = table_.Reserve(layers, static_cast<uint32_t>(tokens.size()));
    if (!status.ok()) {
      CHECK(status.error().code() == Code::kResourceExhausted ||
            status.error().code() == Code::kFailedPrecondition);
      return false;
    }
    for (uint32_t layer = layers.begin; layer < layers.end; ++layer) Length(layer) = begin;
    std::vector<int32_t> history(tokens_.begin(), tokens_.begin() + begin);
    history.insert(history.end(), tokens.begin(), tokens.end());
    WriteRows(layers, begin, history);
    table_.Advance(layers, tokens);
    const auto differs = std::ranges::mismatch(history, tokens_);
    const auto common = static_cast<uint32_t>(differs.in2 - tokens_.begin());
    for (uint32_t layer = table_.layers().begin; layer < table_.layers().end; ++layer) {
      if (layers.begin <= layer && layer < layers.end) {
        Length(layer) = static_cast<uint32_t>(history.size());
      } else if (common < history.size() &&
                 Length(layer) > common) {  // may have to go back further than that
        Length(layer) = std::min(common, table_.length({layer, layer + 1}));
      }
    }
    if (common < history.size()) tokens_ = std::move(history);
    tokens_.resize(longest());
    most_ = std::max(most_, longest());
    return true;
  }

  void Truncate(uint32_t length) {
    const uint32_t before = table_.length();
    const bool even = before == longest();
    const uint32_t reached = table_.Truncate(length);
    CHECK(reached <= length && reached <= before);
    // Going back within the slack is exact if all rows were computed here.
    if (even && computed_ && length <= before && most_ - length <= table_.layout().slack()) {
      CHECK(reached == length);
    }
    TakeLengths(tokens_);
  }

  void Adopt(const std::vector<int32_t>& tokens) {
    const uint32_t before = table_.length();
    const uint32_t reached = table_.Adopt(tokens);
    CHECK(reached == before || (reached > before && reached <= tokens.size()));
    CHECK(reached == before || reached % table_.layout().page_positions() == 0);
    TakeLengths(table_.history().length() > tokens_.size() ? tokens : tokens_);
  }

  // Call it after an operation that may have changed lengths; `tokens` are the sequence's.
  void TakeLengths(const std::vector<int32_t>& tokens) {
    for (uint32_t layer = table_.layers().begin; layer < table_.layers().end; ++layer) {
      const uint32_t length = table_.length({layer, layer + 1});
      computed_ = computed_ && length <= Length(layer);
      Length(layer) = length;
    }
    CHECK(longest() <= tokens.size());
    tokens_ = std::vector<int32_t>(tokens.begin(), tokens.begin() + longest());
  }

  void Verify() const {
    CHECK(std::ranges::equal(table_.history().tokens(), tokens_));
    CHECK(table_.length() == length());
    Hash128 hash = table_.layout().digest();
    std::vector<Hash128> hashes = {hash};
    for (const int32_t token : tokens_) {
      hashes.push_back(hash = ExtendPrefixHash(hash, {&token, 1}));
    }
    CHECK(table_.hash() == hashes[length()]);
    for (uint32_t layer = table_.layers().begin; layer < table_.layers().end; ++layer) {
      CHECK(table_.length({layer, layer + 1}) == lengths_[layer - table_.layers().begin]);
      const auto streams = table_.layout().streams(layer);
      for (uint32_t s = 0; s < streams.size(); ++s) VerifyStream(layer, s, streams[s], hashes);
    }
  }

  // The rows that computations from `length` on read, by the definition and one by one.
  static bool Reads(const Stream& stream, uint32_t row, int64_t length) {
    const int64_t last_position = int64_t{row + 1} * stream.stride - 1;
    if (last_position >= length) return false;
    if (stream.window == 0 || row * stream.stride < stream.sinks) return true;
    int64_t reader = length;
    while ((reader + 1) % stream.read_every != 0) ++reader;
    return last_position > reader - stream.window;
  }

  // The one possible content of the row that ends with this prefix.
  static std::vector<uint8_t> RowContent(const Hash128& prefix, uint32_t layer, uint32_t stream,
                                         size_t row_bytes) {
    std::vector<uint8_t> row(row_bytes);
    uint64_t word = prefix.low ^ (uint64_t{layer} << 32 | stream);
    for (uint8_t& byte : row) {
      word = word * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<uint8_t>(word >> 56);
    }
    return row;
  }

 private:
  uint32_t& Length(uint32_t layer) { return lengths_[layer - table_.layers().begin]; }

  void WriteRows(LayerRange layers, uint32_t begin, const std::vector<int32_t>& history) {
    Hash128 hash = table_.layout().digest();
    for (uint32_t position = 0; position < history.size(); ++position) {
      hash = ExtendPrefixHash(hash, {&history[position], 1});
      if (position < begin) continue;
      for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
        const auto streams = table_.layout().streams(layer);
        for (uint32_t s = 0; s < streams.size(); ++s) {
          const Stream& stream = streams[s];
          if ((position + 1) % stream.stride != 0) continue;
          const uint32_t index = position / table_.layout().page_positions();
          const uint32_t row = position / stream.stride % stream.codec->page_rows();
          const PageAddress page = table_.WritablePage(layer, index, s);
          std::vector<uint8_t> copy;
          uint8_t* const data = ReadPage(page, stream.codec->page_bytes(), copy).value();
          stream.codec->WriteRows(data, row, 1,
                                  RowContent(hash, layer, s, stream.codec->row_bytes()).data());
          if (page.block->host() == nullptr) CHECK(page.block->Write(page.offset, copy).ok());
        }
      }
    }
  }

  void VerifyStream(uint32_t layer, uint32_t s, const Stream& stream,
                    const std::vector<Hash128>& hashes) const {
    const uint32_t length = lengths_[layer - table_.layers().begin];
    const size_t row_bytes = stream.codec->row_bytes();
    std::vector<uint8_t> found(row_bytes);
    for (uint32_t row = 0; row < length / stream.stride; ++row) {
      const uint32_t index = row / stream.codec->page_rows();
      if (!Reads(stream, row, length)) continue;
      const PageAddress page = table_.Page(layer, index, s);
      CHECK(page);
      std::vector<uint8_t> copy;
      stream.codec->ReadRows(ReadPage(page, stream.codec->page_bytes(), copy).value(),
                             row % stream.codec->page_rows(), 1, found.data());
      CHECK(found == RowContent(hashes[(row + 1) * stream.stride], layer, s, row_bytes));
    }
  }

  PageTable table_;
  std::vector<int32_t> tokens_;    // of the longest layer
  std::vector<uint32_t> lengths_;  // [layers]
  uint32_t most_ = 0;              // the longest that any layer has been
  bool computed_ = true;           // no rows were adopted or imported
};

inline std::vector<uint8_t> ExportBytes(const PageTable& table, LayerRange layers, uint32_t begin,
                                        uint32_t end) {
  std::vector<uint8_t> bytes;
  const Status status = Export(table, layers, begin, end, [&](Bytes piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Ok();
  });
  CHECK_NOTE(status.ok(), status.ok() ? "" : status.error().message());
  return bytes;
}

// Random operations on several sequences in one pool and, for transfers, on one more in another
// pool. choose(bound) makes a choice below `bound`.
template <typename Choose>
class World {
 public:
  // Below the pool may be a store.
  World(const Layout& layout, uint64_t budget_bytes, Choose& choose, PageStore* store = nullptr)
      : layout_(layout), pool_(budget_bytes, store), other_pool_(budget_bytes), choose_(choose) {}

  void Step() {
    if (tables_.empty()) Open();
    CheckedTable& checked = tables_[choose_(tables_.size())];
    switch (choose_(10)) {
      case 0:
      case 1:
      case 2:
        checked.Compute(layout_.all_layers(), SomeTokens());
        break;
      case 3:
        checked.Compute(SomeLayers(), SomeTokens());
        break;
      case 4:
        checked.Truncate(static_cast<uint32_t>(choose_(checked.longest() + 2)));
        break;
      case 5:
        checked.Truncate(checked.length() - std::min<uint32_t>(checked.length(), choose_(8)));
        break;
      case 6:
        if (tables_.size() < kMaxTables) tables_.push_back(CheckedTable(checked));
        break;
      case 7:
        Adopt(checked);
        break;
      case 8:
        Transfer(checked);
        break;
      default:
        if (choose_(3) == 0) tables_.erase(tables_.begin() + (&checked - tables_.data()));
    }
    Verify();
  }

  const Pool& pool() const { return pool_; }
  size_t adopted() const { return adopted_; }
  size_t imported() const { return imported_; }

 private:
  static constexpr size_t kMaxTables = 6;

  void Open() { tables_.emplace_back(layout_, pool_, layout_.all_layers()); }

  // From a small vocabulary, so that histories meet again.
  std::vector<int32_t> SomeTokens() {
    std::vector<int32_t> tokens(choose_(4) == 0 ? choose_(70) : choose_(9));
    const bool dull = choose_(4) != 0;
    for (int32_t& token : tokens) token = dull ? 7 : static_cast<int32_t>(choose_(2));
    return tokens;
  }

  LayerRange SomeLayers() {
    const auto begin = static_cast<uint32_t>(choose_(layout_.layer_count()));
    return {begin, begin + 1 + static_cast<uint32_t>(choose_(layout_.layer_count() - begin))};
  }

  void Adopt(const CheckedTable& like) {
    std::vector<int32_t> tokens = like.tokens();
    const std::vector<int32_t> more = SomeTokens();
    tokens.insert(tokens.end(), more.begin(), more.end());
    if (tables_.size() < kMaxTables && choose_(2) == 0) Open();
    CheckedTable& checked = tables_[choose_(tables_.size())];
    const uint32_t before = checked.length();
    checked.Adopt(tokens);
    adopted_ += checked.length() - before;
  }

  // Transfers the sequence to a copy in another pool, from some earlier position on, maybe layer by
  // layer, maybe with damage.
  void Transfer(const CheckedTable& source) {
    const uint32_t begin = static_cast<uint32_t>(choose_(source.length() + 1));
    CheckedTable target(layout_, other_pool_, layout_.all_layers());
    const std::vector<int32_t>& tokens = source.tokens();
    if (!target.Compute(layout_.all_layers(), {tokens.begin(), tokens.begin() + begin})) return;
    target.Verify();
    for (int i = 0; i < 4; ++i) {
      const LayerRange layers = choose_(2) == 0 ? layout_.all_layers() : SomeLayers();
      const uint32_t from = static_cast<uint32_t>(choose_(source.length() + 1));
      const uint32_t to =
          from + static_cast<uint32_t>(choose_(source.table().length(layers) - from + 1));
      ImportInto(target, source, layers, std::min(from, to), to);
      target.TakeLengths(tokens);
      target.Verify();
    }
  }

  void ImportInto(CheckedTable& target, const CheckedTable& source, LayerRange layers,
                  uint32_t from, uint32_t to) {
    std::vector<uint8_t> bytes;
    const Status exported = Export(source.table(), layers, from, to, [&](Bytes piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return Ok();
    });
    if (!exported.ok()) {  // out of the window
      CHECK(exported.error().code() == Code::kFailedPrecondition && bytes.empty());
      CHECK(to < source.longest());
      return;
    }
    const bool damage = choose_(4) == 0;
    if (damage) bytes[choose_(bytes.size())] ^= static_cast<uint8_t>(1 + choose_(255));
    const uint32_t before = target.table().length(layers);
    const Status status = Import(target.table(), bytes);
    if (status.ok()) {
      CHECK(!damage);
      CHECK(target.table().length(layers) >= to);
      imported_ += to - before;
    } else {
      CHECK(damage || from > before || status.error().code() == Code::kResourceExhausted);
    }
  }

  void Verify() const {
    uint64_t most_held = 0;
    for (const CheckedTable& checked : tables_) {
      checked.Verify();
      most_held = std::max(most_held, checked.table().HeldBytes());
    }
    const Pool::Usage& usage = pool_.usage();
    CHECK(usage.held_bytes >= most_held);
    CHECK(usage.held_bytes + usage.cached_bytes + usage.blank_bytes <= usage.budget_bytes);
    if (tables_.empty()) CHECK(usage.held_bytes == 0);
    CHECK(other_pool_.usage().held_bytes == 0);
  }

  const Layout& layout_;
  Pool pool_;
  Pool other_pool_;
  Choose& choose_;
  std::vector<CheckedTable> tables_;
  size_t adopted_ = 0;
  size_t imported_ = 0;
};

}  // namespace aster::kv
