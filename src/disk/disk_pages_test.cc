// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Random operations on sequences over a store on the disk, compared with a naive model that knows
// every row: with and without free space, through restarts, kills, damage, a full disk and several
// processes.
#include "disk/disk_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/random.h"
#include "disk/page_file.h"
#include "disk/page_folder.h"
#include "kv/world_for_test.h"

namespace aster::disk {
namespace {

using kv::CheckedTable;
using kv::LayerRange;
using kv::Layout;
using kv::Pool;

constexpr uint64_t kPlenty = uint64_t{64} << 20;

std::vector<int32_t> Text(size_t length, int32_t seed = 0) {
  std::vector<int32_t> tokens(length);
  for (size_t i = 0; i < length; ++i) {
    tokens[i] = static_cast<int32_t>((i * 31 + static_cast<size_t>(seed)) % 97);
  }
  return tokens;
}

// By value, as the Result is temporary.
std::vector<IndexedFile> FilesOf(const std::string& folder) {
  return ListPageFiles(folder).value();
}

class DiskPagesTest : public testing::Test {
 protected:
  std::unique_ptr<DiskPages> Open(uint64_t size_bytes = kPlenty) {
    return DiskPages::Open({.folder = folder(), .size_bytes = size_bytes}, clock_).value();
  }
  std::string folder() const { return holder_.File("pages"); }

  // Computes a text in an empty pool with this store; returns the adopted positions.
  uint32_t Compute(const Layout& layout, LayerRange layers, const std::vector<int32_t>& tokens,
                   DiskPages* store) {
    Pool pool(kPlenty, store);
    CheckedTable checked(layout, pool, layers);
    checked.Adopt(tokens);
    const uint32_t adopted = checked.length();
    checked.Verify();
    CHECK(checked.Compute(layers, {tokens.begin() + adopted, tokens.end()}));
    checked.Verify();
    CHECK(store->Flush(20 * kNsPerSecond));
    return adopted;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const IndexedFile& file : FilesOf(folder())) {
      files.push_back(folder() + "/" + file.name.ToText());
    }
    std::ranges::sort(files);
    return files;
  }
  uint64_t FolderBytes() const {
    uint64_t bytes = 0;
    for (const IndexedFile& file : FilesOf(folder())) bytes += file.bytes;
    return bytes;
  }

  const TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
  SystemClock clock_;
};

struct Lives {
  const char* name;
  Layout (*layout)();
  uint64_t budget_pages;
  uint64_t disk_bytes;
};

class DiskLives : public DiskPagesTest, public testing::WithParamInterface<Lives> {};

TEST_P(DiskLives, EveryRowIsWhatItsHistoryMakesIt) {
  const Layout layout = GetParam().layout();
  DiskPagesCounts all;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    // The store is opened as by a new process: only the folder is the same.
    const auto store = Open(GetParam().disk_bytes);
    Random random(seed);
    auto choose = [&](uint64_t bound) { return random.NextBelow(bound); };
    kv::World world(layout, GetParam().budget_pages * kv::kPageAlignment, choose, store.get());
    for (int step = 0; step < 120; ++step) {
      world.Step();
      const bool is_flushed = step % 16 != 0 || store->Flush(20 * kNsPerSecond);
      ASSERT_TRUE(is_flushed);
    }
    ASSERT_TRUE(store->Flush(20 * kNsPerSecond));
    EXPECT_LE(FolderBytes(), GetParam().disk_bytes);
    const DiskPagesCounts counts = store->counts();
    EXPECT_EQ(counts.damaged_files, 0u) << counts.last_failure;
    EXPECT_EQ(counts.failed_files, 0u) << counts.last_failure;
    all.loaded_pages += counts.loaded_pages;
    all.kept_files += counts.kept_files;
    all.evicted_files += counts.evicted_files;
  }
  // The operations did cover these cases.
  EXPECT_GT(all.loaded_pages, 0u);
  EXPECT_GT(all.kept_files, 0u);
  EXPECT_TRUE(all.evicted_files > 0 || GetParam().disk_bytes == kPlenty);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DiskLives,
                         testing::Values(Lives{"Plain", kv::PlainLayout, 10'000, kPlenty},
                                         Lives{"PlainTight", kv::PlainLayout, 60, 12'000},
                                         Lives{"Window", kv::WindowLayout, 10'000, kPlenty},
                                         Lives{"WindowTight", kv::WindowLayout, 24, 4'000},
                                         Lives{"Compressed", kv::CompressedLayout, 10'000, kPlenty},
                                         Lives{"CompressedTight", kv::CompressedLayout, 60, 12'000},
                                         Lives{"Mixed", kv::MixedLayout, 10'000, kPlenty},
                                         Lives{"MixedTight", kv::MixedLayout, 50, 10'000}),
                         [](const auto& lives) { return std::string(lives.param.name); });

// How many rows of each stream of a layer a file has; empty if it leaves the stream out.
std::vector<uint32_t> RowsIn(const std::string& folder, const PageFileName& name, uint32_t layer,
                             size_t stream_count) {
  std::vector<uint32_t> counts(stream_count);
  PageFile file = PageFile::Open(folder, name).value();
  CHECK(file.Read([&](uint32_t of, uint32_t) { return of == layer; },
                  [&](const kv::Block& block) {
                    counts[block.stream] += block.row_count;
                    return Ok();
                  })
            .ok());
  return counts;
}

// A file has exactly the rows that computing after it needs.
TEST_F(DiskPagesTest, FilesHaveOnlyRowsThatAreReadLater) {
  const Layout layout = kv::CompressedLayout();
  const std::vector<int32_t> text = Text(200);
  Compute(layout, layout.all_layers(), text, Open().get());
  const std::vector<IndexedFile> files = FilesOf(folder());
  EXPECT_EQ(files.size(), 12u);
  for (const IndexedFile& file : files) {
    EXPECT_EQ(RowsIn(folder(), file.name, 1, 3), (std::vector<uint32_t>{16, 4, 4}));
    EXPECT_EQ(RowsIn(folder(), file.name, 2, 3), (std::vector<uint32_t>{16, 1, 0}));
  }
  const auto store = Open();
  for (uint32_t length = 0; length < 200; ++length) {
    EXPECT_EQ(
        Compute(layout, layout.all_layers(), {text.begin(), text.begin() + length}, store.get()),
        length / 16 * 16);
  }
  EXPECT_EQ(store->counts().damaged_files, 0u);
}

// Continuing from the end of a file needs more rows than the windows of one page have.
TEST_F(DiskPagesTest, WindowsOfMoreThanAPageAreThereFromTheirFirstRow) {
  const Layout layout = kv::MakeLayout(16, 6, {{{.window = 40}}});
  const std::vector<int32_t> text = Text(200);
  Compute(layout, layout.all_layers(), text, Open().get());
  const auto store = Open();
  for (uint32_t length = 0; length < 200; ++length) {
    EXPECT_EQ(
        Compute(layout, layout.all_layers(), {text.begin(), text.begin() + length}, store.get()),
        length / 16 * 16);
  }
}

// Whole pages of all streams, as an earlier version of the program wrote them.
void WriteWholePage(const std::string& folder, const Layout& layout,
                    const std::vector<int32_t>& tokens, uint32_t begin) {
  std::vector<Hash128> hashes = {layout.digest()};
  for (const int32_t& token : tokens) {
    hashes.push_back(kv::ExtendPrefixHash(hashes.back(), {&token, 1}));
  }
  const uint32_t end = begin + layout.page_positions();
  std::vector<std::vector<uint8_t>> rows;
  std::vector<kv::Block> blocks;
  for (uint32_t layer = 0; layer < layout.layer_count(); ++layer) {
    for (uint32_t s = 0; s < layout.streams(layer).size(); ++s) {
      const kv::Stream& stream = layout.streams(layer)[s];
      const size_t row_bytes = stream.codec->row_bytes();
      std::vector<uint8_t>& all = rows.emplace_back();
      for (uint32_t row = begin / stream.stride; row < end / stream.stride; ++row) {
        const auto one =
            CheckedTable::RowContent(hashes[(row + 1) * stream.stride], layer, s, row_bytes);
        all.insert(all.end(), one.begin(), one.end());
      }
      blocks.push_back({.layer = layer,
                        .stream = s,
                        .first_row = begin / stream.stride,
                        .row_count = layout.page_positions() / stream.stride,
                        .row_bytes = static_cast<uint32_t>(row_bytes),
                        .rows = {}});
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].rows = rows[i];
  const kv::KvChunkHeader header = {.version = 1,
                                    .digest = layout.digest(),
                                    .layers = layout.all_layers(),
                                    .begin = begin,
                                    .end = end,
                                    .prefix_at_begin = hashes[begin],
                                    .prefix_at_end = hashes[end],
                                    .description = "",
                                    .tokens = {tokens.begin() + begin, tokens.begin() + end}};
  CHECK(WritePageFile(folder, header, blocks).ok());
}

TEST_F(DiskPagesTest, FilesOfVersion1AreRead) {
  const Layout layout = kv::CompressedLayout();
  const std::vector<int32_t> text = Text(100);
  Open();
  for (uint32_t begin = 0; begin < 96; begin += 16) WriteWholePage(folder(), layout, text, begin);
  const auto store = Open();
  EXPECT_EQ(Compute(layout, layout.all_layers(), text, store.get()), 96u);
  EXPECT_EQ(store->counts().damaged_files, 0u);
  // The same as KV chunks, for other machines.
  Hash128 prefix = layout.digest();
  Pool pool(kPlenty);
  CheckedTable checked(layout, pool, layout.all_layers());
  for (uint32_t begin = 0; begin < 96; begin += 16) {
    prefix = kv::ExtendPrefixHash(prefix, std::span(text).subspan(begin, 16));
    ASSERT_TRUE(
        kv::Import(checked.table(), store->ReadChunk(prefix, layout.all_layers()).value()).ok());
  }
  checked.TakeLengths(text);
  checked.Verify();
  EXPECT_EQ(checked.length(), 96u);
}

// Another machine can take a machine's files as KV chunks.
TEST_F(DiskPagesTest, FilesAreKvChunks) {
  for (Layout (*make)() :
       {kv::PlainLayout, kv::WindowLayout, kv::CompressedLayout, kv::MixedLayout}) {
    const Layout layout = make();
    const uint32_t page = layout.page_positions();
    const std::vector<int32_t> text = Text(100);
    const auto store = Open();
    Compute(layout, layout.all_layers(), text, store.get());
    for (const LayerRange layers : {layout.all_layers(), LayerRange{1, 2}}) {
      Hash128 prefix = layout.digest();
      Pool pool(kPlenty);
      CheckedTable checked(layout, pool, layers);
      for (uint32_t begin = 0; begin + page <= 100; begin += page) {
        prefix = kv::ExtendPrefixHash(prefix, std::span(text).subspan(begin, page));
        const auto chunk = store->ReadChunk(prefix, layers).value();
        ASSERT_TRUE(kv::Import(checked.table(), chunk).ok());
        checked.TakeLengths(text);
        checked.Verify();
        EXPECT_EQ(checked.length(), begin + page);
      }
    }
  }
}

TEST_F(DiskPagesTest, ALaterProcessFindsWhatAnEarlierOneComputed) {
  const Layout layout = kv::PlainLayout();
  const auto tokens = Text(200);
  EXPECT_EQ(Compute(layout, layout.all_layers(), tokens, Open().get()), 0u);
  const auto store = Open();
  EXPECT_EQ(Compute(layout, layout.all_layers(), tokens, store.get()), 192u);
  const DiskPagesCounts counts = store->counts();
  EXPECT_EQ(counts.loaded_positions, 192u);
  EXPECT_EQ(counts.loaded_pages, 12u * 3);
  EXPECT_EQ(counts.kept_files, 0u);  // all of it was there
  // The first text has the same prefix, the second has not.
  auto other = Text(200);
  other[100] = 1;
  EXPECT_EQ(Compute(layout, layout.all_layers(), other, store.get()), 96u);
  EXPECT_EQ(Compute(layout, layout.all_layers(), Text(200, 5), store.get()), 0u);
}

TEST_F(DiskPagesTest, OtherModelsAndLayoutsHaveNothingInCommon) {
  const auto tokens = Text(100);
  const auto store = Open();
  const Layout first = kv::MakeLayout(16, 0, {{{}}, {{}}}, 1);
  const Layout second = kv::MakeLayout(16, 0, {{{}}, {{}}}, 2);
  const Layout wider = kv::MakeLayout(16, 0, {{{.row_bytes = 9}}, {{}}}, 1);
  EXPECT_EQ(Compute(first, first.all_layers(), tokens, store.get()), 0u);
  EXPECT_EQ(Compute(second, second.all_layers(), tokens, store.get()), 0u);
  EXPECT_EQ(Compute(wider, wider.all_layers(), tokens, store.get()), 0u);
  EXPECT_EQ(Compute(first, first.all_layers(), tokens, store.get()), 96u);
}

TEST_F(DiskPagesTest, ANodeWithOtherLayersFindsThePagesOfThem) {
  const Layout layout = kv::MakeLayout(16, 0, {{{}}, {{}}, {{.row_bytes = 3}}, {{}}});
  const auto tokens = Text(80);
  {
    const auto store = Open();
    Compute(layout, {0, 2}, tokens, store.get());
    Compute(layout, {2, 4}, tokens, store.get());
  }
  const auto store = Open();
  EXPECT_EQ(Compute(layout, {0, 4}, tokens, store.get()), 80u);
  EXPECT_EQ(Compute(layout, {1, 3}, tokens, store.get()), 80u);
  EXPECT_EQ(Compute(layout, {3, 4}, tokens, store.get()), 80u);
  const auto others = Text(80, 3);
  EXPECT_EQ(Compute(layout, {1, 3}, others, store.get()), 0u);
  EXPECT_EQ(Compute(layout, {0, 4}, others, store.get()), 0u);  // two layers are missing
  EXPECT_EQ(Compute(layout, {0, 4}, others, store.get()), 80u);
}

TEST_F(DiskPagesTest, DamagedPagesAreIgnored) {
  const Layout layout = kv::MakeLayout(8, 0, {{{}}, {{.row_bytes = 3, .transposed = true}}});
  const auto tokens = Text(120);
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    std::filesystem::remove_all(folder());
    Compute(layout, layout.all_layers(), tokens, Open().get());
    const auto files = Files();
    ASSERT_EQ(files.size(), 15u);
    const std::string& victim = files[random.NextBelow(files.size())];
    std::string bytes = ReadFile(victim, kPlenty).value();
    const char* what = "flipped";
    switch (random.NextBelow(4)) {
      case 0:
        bytes[random.NextBelow(bytes.size())] ^= static_cast<char>(1 + random.NextBelow(255));
        break;
      case 1:
        bytes.resize(random.NextBelow(bytes.size()));
        what = "truncated";
        break;
      case 2:
        bytes += "more";
        what = "longer";
        break;
      default:
        do {
          bytes = ReadFile(files[random.NextBelow(files.size())], kPlenty).value();
        } while (bytes == ReadFile(victim, kPlenty).value());
        what = "another's";
    }
    ASSERT_TRUE(WriteFileAtomically(victim, AsBytes(bytes)).ok());
    const auto store = Open();
    // Compute checks every row. Rows before the damage may be found, later ones not.
    const uint32_t adopted = Compute(layout, layout.all_layers(), tokens, store.get());
    EXPECT_LT(adopted, 120u) << what;
    EXPECT_EQ(store->counts().damaged_files, 1u) << what;
    // It has been written again.
    EXPECT_EQ(Compute(layout, layout.all_layers(), tokens, store.get()), 120u) << what;
  }
}

TEST_F(DiskPagesTest, WhatIsNoPageFileIsLeftAlone) {
  std::filesystem::create_directories(folder() + "/a.rows");
  ASSERT_TRUE(WriteFileAtomically(folder() + "/notes.txt", AsBytes("mine")).ok());
  const Layout layout = kv::PlainLayout();
  const auto store = Open(/*size_bytes=*/20'000);
  for (int32_t seed = 0; seed < 20; ++seed) {
    Compute(layout, layout.all_layers(), Text(100, seed), store.get());
  }
  EXPECT_GT(store->counts().evicted_files, 0u);
  EXPECT_EQ(ReadFile(folder() + "/notes.txt", 100).value(), "mine");
  EXPECT_TRUE(std::filesystem::is_directory(folder() + "/a.rows"));
}

TEST_F(DiskPagesTest, TheLastPagesOfTheLeastRecentlyUsedPrefixAreEvictedFirst) {
  const Layout layout = kv::PlainLayout();
  // Room for two of the three texts.
  Compute(layout, layout.all_layers(), Text(160, 1), Open().get());
  const uint64_t one_bytes = FolderBytes();
  const auto store = Open(one_bytes * 5 / 2);
  Compute(layout, layout.all_layers(), Text(160, 2), store.get());
  EXPECT_EQ(Compute(layout, layout.all_layers(), Text(160, 1), store.get()), 160u);
  Compute(layout, layout.all_layers(), Text(160, 3), store.get());
  EXPECT_LE(FolderBytes(), one_bytes * 5 / 2);
  EXPECT_EQ(Compute(layout, layout.all_layers(), Text(160, 1), store.get()), 160u);
  Pool pool(kPlenty, store.get());
  CheckedTable second(layout, pool, layout.all_layers());
  second.Adopt(Text(160, 2));
  EXPECT_GT(second.length(), 0u);  // its beginning
  EXPECT_LT(second.length(), 160u);
}

TEST_F(DiskPagesTest, AFullDiskIsAsIfThereWereNone) {
  const Layout layout = kv::PlainLayout();
  const auto store = Open();
  Compute(layout, layout.all_layers(), Text(50), store.get());
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  rlimit limit = unlimited;
  limit.rlim_cur = 300;  // within a page file
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  Compute(layout, layout.all_layers(), Text(200), store.get());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_GT(store->counts().failed_files, 0u);
  EXPECT_THAT(store->counts().last_failure, testing::HasSubstr(".rows"));
  // No incomplete file is left, and existing ones stay.
  for (const auto& item : std::filesystem::directory_iterator(folder())) {
    EXPECT_EQ(item.path().extension(), ".rows") << item.path();
  }
  EXPECT_EQ(Compute(layout, layout.all_layers(), Text(200), store.get()), 48u);
  EXPECT_EQ(Compute(layout, layout.all_layers(), Text(200), store.get()), 192u);
}

TEST_F(DiskPagesTest, AFolderThatGoesAwayIsAsIfNothingWasThere) {
  const Layout layout = kv::PlainLayout();
  const auto store = Open();
  Compute(layout, layout.all_layers(), Text(100), store.get());
  std::filesystem::remove_all(folder());
  EXPECT_EQ(Compute(layout, layout.all_layers(), Text(100), store.get()), 0u);
  EXPECT_GT(store->counts().failed_files, 0u);
}

TEST_F(DiskPagesTest, WhatAFullQueueHadNoRoomForIsKeptWhenItIsUsedAgain) {
  const Layout layout = kv::PlainLayout();
  uint64_t page_bytes = 0;
  for (uint32_t layer = 0; layer < layout.all_layers().end; ++layer) {
    for (const kv::Stream& stream : layout.streams(layer)) page_bytes += stream.codec->page_bytes();
  }
  const auto store =
      DiskPages::Open({.folder = folder(), .size_bytes = kPlenty, .queue_bytes = page_bytes},
                      clock_)
          .value();
  Pool pool(kPlenty, store.get());
  const std::vector<int32_t> text = Text(100);
  // Each text reuses memory's pages, and the queue always has room for one.
  for (uint32_t kept = 0; kept < 6; kept = FilesOf(folder()).size()) {
    CheckedTable checked(layout, pool, layout.all_layers());
    checked.Adopt(text);
    ASSERT_TRUE(
        checked.Compute(layout.all_layers(), {text.begin() + checked.length(), text.end()}));
    ASSERT_TRUE(store->Flush(20 * kNsPerSecond));
    ASSERT_GT(FilesOf(folder()).size(), kept);
  }
  EXPECT_EQ(store->counts().dropped_files, 0u);
}

TEST_F(DiskPagesTest, AQueueThatIsFullDropsPages) {
  const Layout layout = kv::PlainLayout();
  const auto store =
      DiskPages::Open({.folder = folder(), .size_bytes = kPlenty, .queue_bytes = 100}, clock_)
          .value();
  Compute(layout, layout.all_layers(), Text(100), store.get());
  EXPECT_EQ(store->counts().dropped_files, 6u);
  EXPECT_EQ(store->counts().kept_files, 0u);
}

TEST_F(DiskPagesTest, PagesThatAreLargerThanTheBoundAreNoSlowDisk) {
  const Layout layout = kv::PlainLayout();
  const auto store = DiskPages::Open({.folder = folder(), .size_bytes = 100}, clock_).value();
  Compute(layout, layout.all_layers(), Text(100), store.get());
  ASSERT_TRUE(store->Flush(60 * kNsPerSecond));
  EXPECT_EQ(store->counts().oversized_files, 6u);
  EXPECT_EQ(store->counts().dropped_files, 0u);
  EXPECT_EQ(store->counts().kept_files, 0u);
}

TEST_F(DiskPagesTest, MemoryThatIsFullTakesAsMuchAsFits) {
  const Layout layout = kv::PlainLayout();
  const auto tokens = Text(160);
  Compute(layout, layout.all_layers(), tokens, Open().get());
  const auto store = Open();
  Pool pool(10 * kv::kPageAlignment, store.get());  // three layers: three times three and one
  CheckedTable checked(layout, pool, layout.all_layers());
  checked.Adopt(tokens);
  EXPECT_EQ(checked.length(), 48u);
  checked.Verify();
}

// Runs random operations in another process until it is killed, or for a number of steps.
pid_t LiveInAnotherProcess(const std::string& folder, uint64_t size_bytes, uint64_t seed,
                           int steps) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child != 0) return child;
  SystemClock clock;
  const Layout layout = kv::MixedLayout();
  auto store = DiskPages::Open({.folder = folder, .size_bytes = size_bytes}, clock).value();
  Random random(seed);
  auto choose = [&](uint64_t bound) { return random.NextBelow(bound); };
  for (int done = 0; done < steps;) {
    kv::World world(layout, kPlenty, choose, store.get());
    for (int step = 0; step < 60 && done < steps; ++step, ++done) world.Step();
  }
  store.reset();
  _exit(0);  // tidy: allow(stopping) a child of fork must not run the test program's end
}

TEST_F(DiskPagesTest, AProcessThatIsKilledLeavesNoWrongPage) {
  const Layout layout = kv::MixedLayout();
  // The child may be killed before it makes the folder.
  ASSERT_TRUE(MakeDirectories(folder()).ok());
  size_t loaded = 0;
  for (uint64_t round = 0; round < 25; ++round) {
    const pid_t child = LiveInAnotherProcess(folder(), kPlenty, round, 1'000'000);
    clock_.SleepFor(static_cast<int64_t>(10 + round * 7 % 50) * kNsPerMs);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    // Every file with a name is complete.
    for (const IndexedFile& file : FilesOf(folder())) {
      auto open = PageFile::Open(folder(), file.name);
      ASSERT_TRUE(open.ok()) << open.error().message();
      const Status read =
          open->Read([](uint32_t, uint32_t) { return true; },
                     [&](const kv::Block& block) {
                       // The file's prefix belongs to the last row only.
                       const size_t row_bytes = block.row_bytes;
                       const auto expected = CheckedTable::RowContent(
                           file.name.prefix_at_end, block.layer, block.stream, row_bytes);
                       EXPECT_TRUE(std::ranges::equal(block.rows.last(row_bytes), expected));
                       return Ok();
                     });
      ASSERT_TRUE(read.ok()) << read.error().message();
    }
    // And a reader finds only right data.
    const auto store = Open();
    Random random(1000 + round);
    auto choose = [&](uint64_t bound) { return random.NextBelow(bound); };
    kv::World world(layout, kPlenty, choose, store.get());
    for (int step = 0; step < 60; ++step) world.Step();
    EXPECT_EQ(store->counts().damaged_files, 0u);
    loaded += store->counts().loaded_pages;
  }
  EXPECT_GT(loaded, 0u);
}

TEST_F(DiskPagesTest, TwoProcessesAtOnce) {
  constexpr uint64_t kBytes = 20'000;
  ASSERT_TRUE(MakeDirectories(folder()).ok());
  for (uint64_t round = 0; round < 3; ++round) {
    const pid_t child = LiveInAnotherProcess(folder(), kBytes, round, 500);
    const Layout layout = kv::MixedLayout();
    const auto store = Open(kBytes);
    Random random(round);  // the same histories, at another pace
    auto choose = [&](uint64_t bound) { return random.NextBelow(bound); };
    for (int life = 0; life < 8; ++life) {
      kv::World world(layout, kPlenty, choose, store.get());
      for (int step = 0; step < 60; ++step) world.Step();
    }
    ASSERT_TRUE(store->Flush(20 * kNsPerSecond));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(store->counts().damaged_files, 0u) << store->counts().last_failure;
  }
  Open(kBytes);
  EXPECT_LE(FolderBytes(), kBytes);
}

TEST_F(DiskPagesTest, PagesOfAnotherRunningProcessAreFound) {
  const Layout layout = kv::PlainLayout();
  const auto store = Open();
  Compute(layout, layout.all_layers(), Text(100), Open().get());
  uint32_t adopted = 0;
  for (int attempt = 0; attempt < 1000 && adopted == 0; ++attempt) {
    Pool pool(kPlenty, store.get());
    CheckedTable checked(layout, pool, layout.all_layers());
    checked.Adopt(Text(100));
    adopted = checked.length();
    clock_.SleepFor(20 * kNsPerMs);
  }
  EXPECT_EQ(adopted, 96u);
}

}  // namespace
}  // namespace aster::disk
