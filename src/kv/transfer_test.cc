// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "kv/chunk.h"
#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

using testing::HasSubstr;

constexpr uint64_t kPlentyOfBytes = uint64_t{16} << 20;

std::vector<int32_t> TokensOfText(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = 100 + static_cast<int32_t>(i);
  return tokens;
}

// Whether a KV chunk of the stream ends at this offset.
bool KvChunkEndsAt(Bytes stream, size_t offset) {
  ByteReader in(stream);
  while (!in.at_end() && in.offset() < offset) {
    const KvChunkHeader header = ReadHeader(in).value();
    for (uint32_t i = 0; i < header.block_count; ++i) {
      CHECK(ReadBlock(in, header.prefix_at_end).ok());
    }
  }
  return in.offset() == offset;
}

// Two nodes: one has computed rows, the other one imports them.
class Transfer : public testing::Test {
 protected:
  void Start(Layout layout, uint32_t length) {
    layout_.emplace(std::move(layout));
    all_ = layout_->all_layers();
    source_.emplace(*layout_, here_, all_);
    target_.emplace(*layout_, there_, all_);
    tokens_ = TokensOfText(length);
    CHECK(source_->Compute(all_, tokens_));
  }
  std::vector<uint8_t> Exported(uint32_t begin, uint32_t end) {
    return ExportBytes(source_->table(), all_, begin, end);
  }
  static Result<std::vector<uint8_t>> Cut(Bytes chunk, LayerRange layers) {
    return CutKvChunk(TRY(ParseKvChunk(chunk)), layers);
  }
  Status Take(Bytes bytes) {
    Status status = Import(target_->table(), bytes);
    target_->TakeLengths(tokens_);
    target_->Verify();
    return status;
  }
  std::string Refusal(Bytes bytes) {
    const uint32_t before = target_->length();
    const Status status = Take(bytes);
    EXPECT_EQ(target_->length(), before);
    return status.ok() ? "" : status.error().message();
  }

  Pool here_{kPlentyOfBytes};
  Pool there_{kPlentyOfBytes};
  std::optional<Layout> layout_;
  LayerRange all_;
  std::optional<CheckedTable> source_;
  std::optional<CheckedTable> target_;
  std::vector<int32_t> tokens_;
};

TEST_F(Transfer, ImportedRowsAreTheExportedOnes) {
  for (Layout (*make)() : {PlainLayout, WindowLayout, CompressedLayout}) {
    for (const uint32_t cut : {0u, 1u, 15u, 16u, 40u, 77u}) {
      target_.reset();
      source_.reset();
      Start(make(), 77);
      CheckedTable past(*layout_, here_, all_);  // the source as it was at the cut
      ASSERT_TRUE(past.Compute(all_, {tokens_.begin(), tokens_.begin() + cut}));
      ASSERT_TRUE(Take(ExportBytes(past.table(), all_, 0, cut)).ok());
      EXPECT_EQ(target_->length(), cut);
      ASSERT_TRUE(Take(Exported(cut, 77)).ok());
      EXPECT_EQ(target_->length(), 77u);
      // Bit for bit: a KV chunk of it all is the same KV chunk.
      EXPECT_EQ(ExportBytes(target_->table(), all_, 60, 77), Exported(60, 77));
      ASSERT_TRUE(target_->Compute(all_, {1, 2, 3}));
      target_->Verify();
    }
  }
}

// A prefill's result streams layer by layer, and the layers may come in any order.
TEST_F(Transfer, LayersArriveOneByOne) {
  Start(PlainLayout(), 70);
  for (const uint32_t layer : {2u, 0u, 1u}) {
    EXPECT_EQ(target_->length(), 0u);
    for (const uint32_t end : {30u, 70u}) {
      const uint32_t begin = end == 30 ? 0 : 30;
      ASSERT_TRUE(Take(ExportBytes(source_->table(), {layer, layer + 1}, begin, end)).ok());
    }
  }
  EXPECT_EQ(target_->length(), 70u);
}

TEST_F(Transfer, TakesOnlyWhatIsNew) {
  Start(PlainLayout(), 70);
  ASSERT_TRUE(Take(Exported(0, 50)).ok());
  const CheckedTable fork(*target_);
  ASSERT_TRUE(Take(Exported(10, 70)).ok());
  EXPECT_EQ(target_->table().Page(0, 2), fork.table().Page(0, 2));
  EXPECT_NE(target_->table().Page(0, 3), fork.table().Page(0, 3));
  EXPECT_EQ(target_->length(), 70u);
  ASSERT_TRUE(Take(Exported(0, 20)).ok());
  EXPECT_EQ(target_->length(), 70u);
  ASSERT_TRUE(Take(Exported(70, 70)).ok());
}

// Other sequences adopt imported full pages like computed ones.
TEST_F(Transfer, ArrivedPagesArePublished) {
  Start(CompressedLayout(), 70);
  ASSERT_TRUE(Take(Exported(0, 70)).ok());
  CheckedTable other(*layout_, there_, all_);
  other.Adopt(tokens_);
  EXPECT_EQ(other.length(), 64u);
  other.Verify();
}

TEST_F(Transfer, RefusesWhatDoesNotContinueTheHistory) {
  Start(PlainLayout(), 70);
  ASSERT_TRUE(Take(Exported(0, 40)).ok());
  EXPECT_EQ(Refusal(Exported(41, 70)),
            "the rows begin at position 41, those from 40 on are missing");
  CheckedTable other(*layout_, here_, all_);
  std::vector<int32_t> tokens = tokens_;
  tokens[20] = 7;
  ASSERT_TRUE(other.Compute(all_, tokens));
  EXPECT_EQ(Refusal(ExportBytes(other.table(), all_, 40, 70)),
            "these rows continue another history: the tokens before position 40 differ");
  EXPECT_EQ(Refusal(ExportBytes(other.table(), all_, 10, 70)),
            "these rows are of another history: the token at position 20 differs");
  EXPECT_EQ(Refusal(ExportBytes(other.table(), all_, 0, 70)),
            "these rows are of another history: the token at position 20 differs");
}

TEST_F(Transfer, RefusesOtherModelsAndLayers) {
  Start(PlainLayout(), 20);
  const Layout other = MakeLayout(16, 0, {{{}}, {{}}}, 77);
  Pool pool(kPlentyOfBytes);
  CheckedTable checked(other, pool, other.all_layers());
  ASSERT_TRUE(checked.Compute(other.all_layers(), TokensOfText(5)));
  EXPECT_EQ(Refusal(ExportBytes(checked.table(), other.all_layers(), 0, 5)),
            "these rows are of another model or layout (model 00000000, pages of 16; layers 0 to "
            "1: bytes); here is model 00000000, pages of 16; layer 0: bytes, transposed; layers 1 "
            "to 2: bytes");
  target_.emplace(*layout_, there_, LayerRange{1, 3});
  EXPECT_EQ(Refusal(Exported(0, 20)), "these rows are of layers 0 to 3; here are 1 to 3");
}

TEST_F(Transfer, ExportSaysWhatIsNotThere) {
  Start(MakeLayout(8, 0, {{{.window = 10}}, {{}}}), 100);
  const auto refusal = [&](LayerRange layers, uint32_t begin, uint32_t end) {
    const Status status = Export(source_->table(), layers, begin, end, [](Bytes) -> Status {
      ADD_FAILURE() << "something was written";
      return Ok();
    });
    return status.ok() ? "" : status.error().message();
  };
  EXPECT_EQ(refusal(all_, 90, 101), "positions 90 to 101 are wanted, up to 100 are here");
  EXPECT_EQ(refusal(all_, 9, 8), "positions 9 to 8 are wanted, up to 100 are here");
  EXPECT_EQ(refusal({0, 3}, 0, 1), "layers 0 to 3 are wanted, 0 to 2 are here");
  EXPECT_EQ(refusal({1, 1}, 0, 1), "layers 1 to 1 are wanted, 0 to 2 are here");
  EXPECT_EQ(refusal(all_, 30, 80), "layer 0 no longer holds position 71: its window has moved on");
  EXPECT_TRUE(Take(Exported(0, 100)).ok());
}

TEST_F(Transfer, ASinkThatFailsEndsTheExport) {
  Start(PlainLayout(), 70);
  int calls = 0;
  const Status status = Export(source_->table(), all_, 0, 70, [&](Bytes) -> Status {
    return ++calls == 4 ? Status(ResourceExhausted("disk full")) : Ok();
  });
  EXPECT_EQ(status.error().message(), "disk full");
  EXPECT_EQ(calls, 4);
}

// Any damaged byte, and any early end, is found and named, and complete rows before it are kept.
TEST_F(Transfer, DamageIsFoundWhereverItIs) {
  Start(PlainLayout(), 40);
  const std::vector<uint8_t> whole = Exported(0, 40);
  uint32_t kept[3] = {};
  for (size_t at = 0; at < 2 * whole.size(); ++at) {
    std::vector<uint8_t> bytes = whole;
    if (at < whole.size()) {
      bytes[at] ^= 1 << at % 8;
    } else {
      bytes.resize(at - whole.size());
    }
    target_.emplace(*layout_, there_, all_);
    const Status status = Take(bytes);
    ASSERT_FALSE(status.ok()) << at;
    const uint32_t length = target_->length();
    ASSERT_TRUE(length == 0 || length == 16 || length == 32) << at;
    ++kept[length / 16];
    if (length > 0) {
      EXPECT_EQ(status.error().code(), Code::kDataLoss);
      EXPECT_THAT(status.error().message(),
                  HasSubstr("rows from position " + std::to_string(length) + ", layer "));
    }
    EXPECT_EQ(there_.usage().held_bytes, length / 16 * 3 * kPageAlignment);
  }
  for (const uint32_t count : kept) EXPECT_GT(count, 100u);
}

// A complete block of another history is refused by its checksum.
TEST_F(Transfer, RowsOfAnotherHistoryAreNotTaken) {
  Start(MakeLayout(16, 0, {{{}}}), 16);
  std::vector<int32_t> tokens = tokens_;
  tokens[3] = 7;
  CheckedTable other(*layout_, here_, all_);
  ASSERT_TRUE(other.Compute(all_, tokens));
  std::vector<uint8_t> chunk = Exported(0, 16);
  const std::vector<uint8_t> foreign = ExportBytes(other.table(), all_, 0, 16);
  constexpr size_t kBlockBytes = 5 * 4 + 8 + 16 * 8;
  ASSERT_EQ(chunk.size(), foreign.size());
  std::copy(foreign.end() - kBlockBytes, foreign.end(), chunk.end() - kBlockBytes);
  EXPECT_EQ(Refusal(chunk), "rows from position 0, layer 0: its checksum does not match");
}

// With windows, rows before the damage are kept only if a computation can continue from them.
TEST_F(Transfer, DamageNeverLeavesAWindowWithHoles) {
  for (Layout (*make)() : {WindowLayout, CompressedLayout}) {
    target_.reset();
    source_.reset();
    Start(make(), 90);
    for (const uint32_t begin : {0u, 21u, 75u}) {
      CheckedTable past(*layout_, here_, all_);
      ASSERT_TRUE(past.Compute(all_, {tokens_.begin(), tokens_.begin() + begin}));
      const std::vector<uint8_t> past_chunk = ExportBytes(past.table(), all_, 0, begin);
      const std::vector<uint8_t> chunk = Exported(begin, 90);
      for (size_t size = 0; size < chunk.size(); size += 3) {
        target_.emplace(*layout_, there_, all_);
        ASSERT_TRUE(Take(past_chunk).ok());
        ASSERT_FALSE(Take(Bytes(chunk).first(size)).ok());
        EXPECT_GE(target_->length(), begin);
        ASSERT_TRUE(Take(chunk).ok());
        EXPECT_EQ(target_->length(), 90u);
      }
    }
  }
}

// The window of position 88 begins in the same page as that of 90, so nothing it needs was left
// out.
TEST_F(Transfer, DamageAtTheEndKeepsTheWindowBeforeIt) {
  Start(WindowLayout(), 90);
  const std::vector<uint8_t> chunk = Exported(0, 90);
  ASSERT_FALSE(Take(Bytes(chunk).first(chunk.size() - 1)).ok());
  EXPECT_EQ(target_->length(), 88u);
}

TEST_F(Transfer, TooLittleMemoryIsReportedAndKeepsWhatFits) {
  Start(PlainLayout(), 70);
  Pool small(7 * kPageAlignment);
  CheckedTable target(*layout_, small, all_);
  const Status status = Import(target.table(), Exported(0, 70));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kResourceExhausted);
  EXPECT_THAT(status.error().message(), HasSubstr("rows from position 32, layer 1: "));
  target.TakeLengths(tokens_);
  target.Verify();
  EXPECT_EQ(target.length(), 32u);
}

uint64_t RowBytesIn(Bytes chunk, uint32_t stream) {
  ByteReader in(chunk);
  const KvChunkHeader header = ReadHeader(in).value();
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < header.block_count; ++i) {
    const Block block = ReadBlock(in, header.prefix_at_end).value();
    if (block.stream == stream) bytes += block.rows.size();
  }
  return bytes;
}

// At the end of a page a compressor needs the inputs of half a row, or none at all.
TEST_F(Transfer, CarriesOnlyRowsThatAreReadLater) {
  Start(CompressedLayout(), 48);
  EXPECT_EQ(RowBytesIn(ExportBytes(source_->table(), {1, 2}, 0, 48), 2), 4u * 16);
  EXPECT_EQ(RowBytesIn(ExportBytes(source_->table(), {2, 3}, 0, 48), 2), 0u);
  EXPECT_EQ(RowBytesIn(ExportBytes(source_->table(), {0, 1}, 0, 48), 0), 23u * 8);
  // In the middle of a row: its inputs so far, and those that positions shortly before need.
  source_->Compute(all_, TokensOfText(5));
  EXPECT_EQ(RowBytesIn(ExportBytes(source_->table(), {2, 3}, 0, 53), 2), 5u * 8);
  EXPECT_EQ(RowBytesIn(ExportBytes(source_->table(), {1, 2}, 0, 53), 2), 9u * 16);
  EXPECT_EQ(RowBytesIn(ExportBytes(source_->table(), {1, 2}, 52, 53), 2), 16u);
}

// Computes the first `begin` positions of a text, imports the rest from `chunk`, and goes back.
void CheckGoingBack(const Layout& layout, const std::vector<int32_t>& tokens, uint32_t begin,
                    Bytes chunk, uint32_t length) {
  const LayerRange all = layout.all_layers();
  Pool pool(kPlentyOfBytes);
  CheckedTable target(layout, pool, all);
  ASSERT_TRUE(target.Compute(all, {tokens.begin(), tokens.begin() + begin}));
  ASSERT_TRUE(Import(target.table(), chunk).ok());
  target.TakeLengths(tokens);
  const uint32_t reach = layout.ReachOf(target.length());
  target.Truncate(length);
  target.Verify();
  EXPECT_TRUE(length < reach || target.length() == length) << tokens.size() << " to " << length;
  // The remaining rows can be exported, and new ones are right.
  CheckedTable third(layout, pool, all);
  const auto rest = ExportBytes(target.table(), all, 0, target.length());
  ASSERT_TRUE(Import(third.table(), rest).ok());
  third.TakeLengths(target.tokens());
  third.Verify();
  ASSERT_TRUE(target.Compute(all, TokensOfText(40)));
  target.Verify();
  target.Truncate(target.length() - 3);
  target.Verify();
}

// Going back to the last page boundary or by the slack, whichever is nearer, is exact. Further back
// rows are missing, and Truncate returns a shorter length.
TEST_F(Transfer, RewindingBeforeImportedRowsIsExact) {
  for (Layout (*make)() : {WindowLayout, CompressedLayout, MixedLayout}) {
    for (const uint32_t end : {31u, 32u, 48u, 53u, 63u, 70u, 77u}) {
      target_.reset();
      source_.reset();
      Start(make(), end);
      for (const uint32_t begin : {0u, 16u, 29u}) {
        const std::vector<uint8_t> chunk = Exported(begin, end);
        for (uint32_t length = 0; length <= end; ++length) {
          CheckGoingBack(*layout_, tokens_, begin, chunk, length);
        }
      }
    }
  }
}

// An imported page with few rows does not replace a complete one, and is found only by sequences
// that need no other rows.
TEST_F(Transfer, APageWithFewRowsIsFoundWhereItIsEnough) {
  Start(CompressedLayout(), 70);
  ASSERT_TRUE(Take(Exported(0, 70)).ok());
  for (uint32_t length = 0; length < 70; ++length) {
    CheckedTable other(*layout_, there_, all_);
    other.Adopt({tokens_.begin(), tokens_.begin() + length});
    EXPECT_EQ(other.length(), length < 64 ? 0u : 64u);
    other.Verify();
  }
  CheckedTable computed(*layout_, there_, all_);
  ASSERT_TRUE(computed.Compute(all_, tokens_));
  for (uint32_t length = 0; length < 70; ++length) {
    CheckedTable other(*layout_, there_, all_);
    other.Adopt({tokens_.begin(), tokens_.begin() + length});
    EXPECT_EQ(other.length(), length / 16 * 16);
    other.Verify();
  }
}

// As versions of the program without the reach wrote them.
std::vector<uint8_t> Version1(const CheckedTable& checked, LayerRange layers, uint32_t begin,
                              uint32_t end) {
  const PageTable& table = checked.table();
  const std::span<const int32_t> tokens = table.history().tokens();
  KvChunkHeader header = {
      .version = 1,
      .digest = table.layout().digest(),
      .layers = layers,
      .begin = begin,
      .end = end,
      .prefix_at_begin = table.history().HashAt(begin),
      .prefix_at_end = table.history().HashAt(end),
      .description = "",
      .tokens = {tokens.begin() + begin, tokens.begin() + end},
  };
  ByteWriter blocks;
  CHECK(ForEachBlock(table.layout(), header,
                     [&](uint32_t layer, uint32_t s, uint32_t index, RowRange range) {
                       const PageCodec& codec = *table.layout().streams(layer)[s].codec;
                       std::vector<uint8_t> rows((range.end - range.begin) * codec.row_bytes());
                       codec.ReadRows(HostPage(table.Page(layer, index, s)),
                                      range.begin - index * codec.page_rows(),
                                      range.end - range.begin, rows.data());
                       const Block block = {.layer = layer,
                                            .stream = s,
                                            .first_row = range.begin,
                                            .row_count = range.end - range.begin,
                                            .row_bytes = static_cast<uint32_t>(codec.row_bytes()),
                                            .rows = rows};
                       WriteBlockHead(block, header.prefix_at_end, blocks);
                       blocks.WriteBytes(rows);
                       ++header.block_count;
                       return Ok();
                     })
            .ok());
  ByteWriter out;
  WriteHeader(header, out);
  out.WriteBytes(blocks.bytes());
  return {out.bytes().begin(), out.bytes().end()};
}

TEST_F(Transfer, KvChunksOfVersion1AreRead) {
  for (Layout (*make)() : {PlainLayout, WindowLayout, CompressedLayout, MixedLayout}) {
    for (const uint32_t end : {15u, 16u, 17u, 21u}) {
      target_.reset();
      source_.reset();
      Start(make(), end);
      const std::vector<uint8_t> chunk = Version1(*source_, all_, 0, end);
      ASSERT_TRUE(Take(chunk).ok());
      EXPECT_EQ(target_->length(), end);
      target_->Truncate(end - 1);
      target_->Verify();
      const LayerRange last = {all_.end - 1, all_.end};
      target_.emplace(*layout_, there_, last);
      ASSERT_TRUE(Take(Cut(chunk, last).value()).ok());
      EXPECT_EQ(target_->length(), end);
    }
  }
  // For layouts that leave out no rows, this version is still written.
  Start(PlainLayout(), 40);
  const std::vector<uint8_t> chunk = Exported(0, 40);
  ByteReader in{Bytes(chunk)};
  EXPECT_EQ(ReadHeader(in).value().version, 1u);
}

TEST_F(Transfer, APartOfAKvChunkIsAKvChunk) {
  Start(MixedLayout(), 61);
  const std::vector<uint8_t> chunk = Exported(0, 61);
  for (const LayerRange layers : {LayerRange{1, 3}, LayerRange{0, 1}}) {
    const std::vector<uint8_t> part = Cut(chunk, layers).value();
    EXPECT_LT(part.size(), chunk.size());
    ASSERT_TRUE(Take(part).ok());
    EXPECT_EQ(target_->table().length(layers), 61u);
  }
  EXPECT_EQ(target_->length(), 61u);
  EXPECT_FALSE(Cut(chunk, {2, 4}).ok());
  EXPECT_FALSE(Cut(chunk, {1, 1}).ok());
  EXPECT_FALSE(Cut(Bytes(chunk).first(chunk.size() / 2), {0, 2}).ok());
}

TEST_F(Transfer, KvChunksMayComeInPiecesOfAnySize) {
  Start(CompressedLayout(), 77);
  std::vector<uint8_t> stream;
  for (uint32_t layer = 0; layer < 3; ++layer) {
    const auto chunk = ExportBytes(source_->table(), {layer, layer + 1}, 0, 77);
    stream.insert(stream.end(), chunk.begin(), chunk.end());
  }
  size_t whole_blocks = 0;
  for (const size_t step : {stream.size(), size_t{1}, size_t{29}, size_t{4096}}) {
    KvChunkStream in;
    size_t blocks = 0;
    for (size_t begin = 0; begin < stream.size(); begin += step) {
      const Bytes piece = Bytes(stream).subspan(begin, std::min(step, stream.size() - begin));
      ASSERT_TRUE(in.Take(piece, [&](const KvChunkHeader& header, const Block& block) {
                      EXPECT_EQ(header.end, 77u);
                      EXPECT_TRUE(header.layers.Contains({block.layer, block.layer + 1}));
                      ++blocks;
                      return Ok();
                    }).ok());
      EXPECT_EQ(in.Finish().ok(),
                begin + step >= stream.size() || KvChunkEndsAt(stream, begin + step));
    }
    if (whole_blocks == 0) whole_blocks = blocks;
    EXPECT_EQ(blocks, whole_blocks);
  }
  EXPECT_GT(whole_blocks, 10u);
}

TEST_F(Transfer, AStreamOfKvChunksThatIsDamagedIsSeenToBe) {
  Start(PlainLayout(), 40);
  const std::vector<uint8_t> chunk = Exported(0, 40);
  for (size_t at = 0; at < chunk.size(); ++at) {
    std::vector<uint8_t> damaged = chunk;
    damaged[at] ^= 1;
    KvChunkStream in;
    const Status taken = in.Take(damaged, [](const KvChunkHeader&, const Block&) { return Ok(); });
    EXPECT_FALSE(taken.ok() && in.Finish().ok()) << at;
  }
}

// Rows in the memory of a device give the same chunk, and a chunk can be imported there.
TEST(DevicePages, GiveAndTakeTheChunksOfTheProcessors) {
  for (const Layout& layout : {PlainLayout(), WindowLayout(), MixedLayout()}) {
    DevicePagesForTest device;
    Pool on_host(kPlentyOfBytes), on_device(kPlentyOfBytes, nullptr, device);
    const LayerRange all = layout.all_layers();
    const std::vector<int32_t> tokens = TokensOfText(90);
    CheckedTable host(layout, on_host, all), first(layout, on_device, all),
        second(layout, on_device, all);
    ASSERT_TRUE(host.Compute(all, tokens));
    ASSERT_TRUE(first.Compute(all, TokensOfText(40)));
    // A fork shares pages, and copies those that are written.
    PageTable fork = first.table().Fork();
    ASSERT_TRUE(first.Compute(all, {tokens.begin() + 40, tokens.end()}));
    first.Verify();
    const std::vector<uint8_t> chunk = ExportBytes(host.table(), all, 0, 90);
    EXPECT_EQ(ExportBytes(first.table(), all, 0, 90), chunk);
    ASSERT_TRUE(Import(second.table(), chunk).ok());
    second.TakeLengths(tokens);
    second.Verify();
  }
}

// The last layers of a table may be in another memory than the first.
TEST(DevicePages, TwoMemoriesMakeOneTable) {
  const Layout layout = PlainLayout();
  DevicePagesForTest device;
  Pool on_host(kPlentyOfBytes), on_device(kPlentyOfBytes, nullptr, device);
  const LayerRange all = layout.all_layers();
  const std::vector<int32_t> tokens = TokensOfText(70);
  CheckedTable plain(layout, on_host, all);
  ASSERT_TRUE(plain.Compute(all, tokens));
  const std::vector<uint8_t> chunk = ExportBytes(plain.table(), all, 0, 70);
  const std::vector<Pool*> pools = {&on_host, &on_device, &on_device};
  PageTable mixed(layout, pools, all);
  ASSERT_TRUE(Import(mixed, chunk).ok());
  EXPECT_EQ(ExportBytes(mixed, all, 0, 70), chunk);
  EXPECT_NE(mixed.Page(0, 0).block->host(), nullptr);
  EXPECT_EQ(mixed.Page(1, 0).block->host(), nullptr);
  // Another sequence finds the pages of both.
  PageTable other(layout, pools, all);
  EXPECT_EQ(other.Adopt(tokens), 64u);
  EXPECT_EQ(ExportBytes(other, all, 0, 64), ExportBytes(plain.table(), all, 0, 64));
}

TEST(DevicePages, ALostDeviceIsAnError) {
  const Layout layout = PlainLayout();
  DevicePagesForTest device;
  Pool pool(kPlentyOfBytes, nullptr, device);
  CheckedTable world(layout, pool, layout.all_layers());
  ASSERT_TRUE(world.Compute(layout.all_layers(), TokensOfText(30)));
  device.is_lost = true;
  const Status status = Export(world.table(), layout.all_layers(), 0, 30,
                               [](Bytes /*bytes*/) -> Status { return Ok(); });
  EXPECT_EQ(status.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace aster::kv
