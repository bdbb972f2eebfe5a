// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sessions whose rows have one possible content: saved from any topology and loaded into any other,
// sharing pages, damaged at any byte.
#include "disk/session_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "disk/page_folder.h"
#include "kv/transfer.h"
#include "kv/world_for_test.h"

namespace aster::disk {
namespace {

using kv::CheckedTable;
using kv::LayerRange;
using kv::Layout;
using kv::Pool;

constexpr uint64_t kPlentyOfPages = uint64_t{64} << 20;

std::vector<int32_t> HistoryOf(size_t length, size_t branch = ~size_t{0}) {
  std::vector<int32_t> tokens(length);
  for (size_t i = 0; i < length; ++i) {
    tokens[i] = static_cast<int32_t>((i * 31) % 97) + (i < branch ? 0 : 100);
  }
  return tokens;
}

// The source of rows: layers of several machines, each in pieces of a number of positions (0: one
// piece).
struct Topology {
  std::vector<LayerRange> ranges;
  uint32_t step = 0;
};

// Writes a file without flushing it to the disk.
void Overwrite(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  CHECK(file.flush());
}

class SessionFolderTest : public testing::Test {
 protected:
  Session SessionOf(const Layout& layout, const std::vector<int32_t>& tokens) const {
    Session session{.model = {.name = "a model",
                              .path = "model.gguf",
                              .fingerprint = {.low = 7},
                              .vocab_size = 1000,
                              .layout = layout.digest(),
                              .layout_description = layout.Describe(layout.all_layers())},
                    .saved_ns = 5,
                    .system = "be brief",
                    .messages = {{"user", "hi"}, {"assistant", "hello\nthere"}},
                    .marked = "<hi>",
                    .tokens = tokens,
                    .pages = {}};
    return session;
  }

  // Computes the text and saves it, `end` positions with their rows.
  Status Save(const std::string& name, const Layout& layout, const std::vector<int32_t>& tokens,
              const Topology& topology = {}) {
    Pool pool(kPlentyOfPages);
    CheckedTable checked(layout, pool, layout.all_layers());
    CHECK(checked.Compute(layout.all_layers(), tokens));
    const auto end = static_cast<uint32_t>(tokens.size());
    return sessions_.Save(
        name, SessionOf(layout, tokens), layout, [&](FunctionRef<Status(Bytes)> sink) -> Status {
          std::vector<LayerRange> ranges = topology.ranges;
          if (ranges.empty()) ranges = {layout.all_layers()};
          for (const LayerRange range : ranges) {
            const uint32_t step = topology.step == 0 ? end : topology.step;
            for (uint32_t begin = 0; begin < end; begin += step) {
              TRY(kv::Export(checked.table(), range, begin, std::min(end, begin + step), sink));
            }
          }
          return Ok();
        });
  }

  // Loads it into an empty pool, with every row checked; returns the positions.
  uint32_t Load(const OpenSession& open, const Layout& layout, Status& status) {
    Pool pool(kPlentyOfPages);
    CheckedTable checked(layout, pool, layout.all_layers());
    status = sessions_.LoadRows(open, layout, [&](Bytes chunk) {
      Status imported = kv::Import(checked.table(), chunk);
      checked.TakeLengths(open.session.tokens);
      return imported;
    });
    checked.Verify();
    return checked.length();
  }
  uint32_t LoadWhole(const std::string& name, const Layout& layout) {
    const OpenSession open = sessions_.Open(name).value();
    EXPECT_FALSE(open.damage);
    Status status = Ok();
    const uint32_t length = Load(open, layout, status);
    EXPECT_TRUE(status.ok()) << status.error().message();
    return length;
  }

  size_t PageFiles() const {
    const auto files = ListPageFiles(holder_.File("sessions/pages"));
    return files.ok() ? files->size() : 0;
  }

  const TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
  SystemClock clock_;
  SessionFolder sessions_{holder_.File("sessions"), clock_};
};

TEST_F(SessionFolderTest, WhatWasSavedComesBackWhateverHoldsTheLayers) {
  for (const auto make :
       {kv::PlainLayout, kv::WindowLayout, kv::CompressedLayout, kv::MixedLayout}) {
    const Layout layout = make();
    const uint32_t count = layout.layer_count();
    std::vector<Topology> topologies = {{}, {.ranges = {{0, 1}, {1, count}}}};
    if (count == 3) topologies.push_back({.ranges = {{2, 3}, {0, 1}, {1, 2}}});
    for (const uint32_t length : {1u, 15u, 16u, 100u, 128u, 301u}) {
      for (const Topology& topology : topologies) {
        for (const std::string& place : {std::string("kept"), holder_.File("alone.session")}) {
          ASSERT_TRUE(Save(place, layout, HistoryOf(length), topology).ok());
          const OpenSession open = sessions_.Open(place).value();
          Session expected = SessionOf(layout, HistoryOf(length));
          expected.pages = open.session.pages;
          EXPECT_EQ(open.session, expected);
          EXPECT_EQ(LoadWhole(place, layout), length);
        }
      }
    }
  }
}

TEST_F(SessionFolderTest, RowsMayComeInPieces) {
  const Layout layout = kv::PlainLayout();
  for (const uint32_t step : {16u, 48u, 7u}) {
    ASSERT_TRUE(Save("kept", layout, HistoryOf(150), {.ranges = {}, .step = step}).ok());
    EXPECT_EQ(LoadWhole("kept", layout), 150u) << step;
  }
}

TEST_F(SessionFolderTest, SessionsShareWhatTheyBeginWith) {
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("one", layout, HistoryOf(160)).ok());
  EXPECT_EQ(PageFiles(), 10u);
  ASSERT_TRUE(Save("two", layout, HistoryOf(160, 80)).ok());
  EXPECT_EQ(PageFiles(), 15u);
  ASSERT_TRUE(Save("same", layout, HistoryOf(160)).ok());
  EXPECT_EQ(PageFiles(), 15u);
  auto listed = sessions_.List().value();
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[2].name, "two");
  EXPECT_GT(listed[2].shared_bytes, 0u);
  EXPECT_EQ(listed[0].shared_bytes, 2 * listed[2].shared_bytes);
  EXPECT_GT(listed[2].own_bytes, listed[0].own_bytes);

  ASSERT_TRUE(sessions_.Remove("one").ok());
  EXPECT_EQ(PageFiles(), 15u);
  EXPECT_EQ(LoadWhole("same", layout), 160u);
  ASSERT_TRUE(sessions_.Remove("same").ok());
  EXPECT_EQ(PageFiles(), 10u);
  EXPECT_EQ(LoadWhole("two", layout), 160u);
  // Saving again under its name frees its old pages.
  ASSERT_TRUE(Save("two", layout, HistoryOf(32)).ok());
  EXPECT_EQ(PageFiles(), 2u);
  EXPECT_GT(sessions_.Remove("two").value(), 0u);
  EXPECT_EQ(PageFiles(), 0u);
  EXPECT_EQ(sessions_.Remove("two").error().code(), Code::kNotFound);
}

// Only the rows in a window are saved: for two lengths, a page needs different streams.
TEST_F(SessionFolderTest, SessionsOfModelsWithWindowsDoNotTakePagesFromEachOther) {
  for (const auto make : {kv::WindowLayout, kv::CompressedLayout, kv::MixedLayout}) {
    const Layout layout = make();
    for (const auto& [first, second] : {std::pair(300, 100), std::pair(100, 300)}) {
      ASSERT_TRUE(Save("first", layout, HistoryOf(static_cast<size_t>(first))).ok());
      ASSERT_TRUE(Save("second", layout, HistoryOf(static_cast<size_t>(second))).ok());
      EXPECT_EQ(LoadWhole("first", layout), static_cast<uint32_t>(first));
      EXPECT_EQ(LoadWhole("second", layout), static_cast<uint32_t>(second));
    }
  }
}

// A text that was loaded and rewound continues from there.
TEST_F(SessionFolderTest, LoadedSessionsCanBeRewoundWithinTheSlack) {
  for (const auto make : {kv::WindowLayout, kv::CompressedLayout, kv::MixedLayout}) {
    const Layout layout = make();
    const auto tokens = HistoryOf(109);
    ASSERT_TRUE(Save("kept", layout, tokens).ok());
    const OpenSession open = sessions_.Open("kept").value();
    for (uint32_t length = 0; length < 109; ++length) {
      Pool pool(kPlentyOfPages);
      CheckedTable checked(layout, pool, layout.all_layers());
      ASSERT_TRUE(sessions_
                      .LoadRows(open, layout,
                                [&](Bytes chunk) { return kv::Import(checked.table(), chunk); })
                      .ok());
      checked.TakeLengths(tokens);
      checked.Truncate(length);
      checked.Verify();
      EXPECT_TRUE(length < layout.ReachOf(109) || checked.length() == length) << length;
      // The sequence is saved in this state, and can be loaded again.
      if (checked.length() == 0) continue;
      const std::vector<int32_t> rest(tokens.begin(), tokens.begin() + checked.length());
      ASSERT_TRUE(sessions_
                      .Save("rest", SessionOf(layout, rest), layout,
                            [&](FunctionRef<Status(Bytes)> sink) {
                              return kv::Export(checked.table(), layout.all_layers(), 0,
                                                checked.length(), sink);
                            })
                      .ok());
      EXPECT_EQ(LoadWhole("rest", layout), checked.length());
    }
  }
}

TEST_F(SessionFolderTest, AFileOnItsOwnGoesAnywhereAndBack) {
  const Layout layout = kv::CompressedLayout();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(120)).ok());
  const std::string path = holder_.File("carried.session");
  ASSERT_TRUE(sessions_.Export("kept", path).ok());
  ASSERT_TRUE(sessions_.Remove("kept").ok());
  EXPECT_EQ(LoadWhole(path, layout), 120u);
  ASSERT_TRUE(sessions_.Import(path, "back").ok());
  std::filesystem::remove(path);
  EXPECT_EQ(sessions_.Open("back").value().session.tokens, HistoryOf(120));
  EXPECT_EQ(LoadWhole("back", layout), 120u);
}

TEST_F(SessionFolderTest, DamageAnywhereIsSeenAndWhatPrecedesItIsUsed) {
  for (const auto make : {kv::PlainLayout, kv::MixedLayout}) {
    const Layout layout = make();
    const std::string path = holder_.File("alone.session");
    ASSERT_TRUE(Save(path, layout, HistoryOf(100)).ok());
    const std::string whole = ReadFile(path, kPlentyOfPages).value();
    Random random(3);
    size_t partly = 0;
    for (int round = 0; round < 200; ++round) {
      std::string bytes = whole;
      const size_t at = random.NextBelow(whole.size());
      if (round % 2 == 0) {
        bytes.resize(at);
      } else {
        bytes[at] ^= static_cast<char>(1 + random.NextBelow(255));
      }
      Overwrite(path, bytes);
      const auto open = sessions_.Open(path);
      if (!open.ok()) continue;  // not even the model is known
      Status status = Ok();
      const uint32_t length = Load(*open, layout, status);
      EXPECT_TRUE(open->damage || !status.ok()) << round;
      EXPECT_LE(length, 100u);  // the damage may be at the very end
      const Error& why = open->damage ? *open->damage : status.error();
      EXPECT_THAT(why.message(), testing::HasSubstr("damaged at byte")) << round;
      partly += length > 0;
    }
    EXPECT_TRUE(partly > 25 || make != kv::PlainLayout) << partly;
  }
}

TEST_F(SessionFolderTest, APageThatIsDamagedOrGoneCostsWhatFollows) {
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(100)).ok());
  auto files = ListPageFiles(holder_.File("sessions/pages")).value();
  std::ranges::sort(files, {}, [](const IndexedFile& file) { return file.name.begin; });
  const std::string path = holder_.File("sessions/pages/") + files[3].name.ToText();
  const std::string bytes = ReadFile(path, kPlentyOfPages).value();
  for (const std::string& damaged :
       {bytes.substr(0, bytes.size() / 2), bytes + "x", std::string(), std::string("gone")}) {
    if (damaged == "gone") {
      std::filesystem::remove(path);
    } else {
      Overwrite(path, damaged);
    }
    Status status = Ok();
    EXPECT_EQ(Load(sessions_.Open("kept").value(), layout, status), 48u);
    EXPECT_THAT(status.error().message(), testing::HasSubstr("rows from position 48"));
  }
  // Saving it again repairs it.
  ASSERT_TRUE(Save("kept", layout, HistoryOf(100)).ok());
  EXPECT_EQ(LoadWhole("kept", layout), 100u);
}

TEST_F(SessionFolderTest, WhatIsWholeIsFoundWithoutAModel) {
  using Look = SessionFolder::Look;
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(100)).ok());
  const auto end_of = [&](Look look, std::string& why) {
    const WholePages whole = sessions_.FindWhole(sessions_.Open("kept").value(), look);
    why = whole.damage ? whole.damage->message() : "";
    return whole.pages.empty() ? 0 : whole.pages.back().name.end;
  };
  std::string why;
  EXPECT_EQ(end_of(Look::kRows, why), 100u);
  EXPECT_EQ(why, "");
  auto files = ListPageFiles(holder_.File("sessions/pages")).value();
  std::ranges::sort(files, {}, [](const IndexedFile& file) { return file.name.begin; });
  const std::string path = holder_.File("sessions/pages/") + files[3].name.ToText();
  std::string bytes = ReadFile(path, kPlentyOfPages).value();
  bytes.back() ^= 1;
  Overwrite(path, bytes);
  EXPECT_EQ(end_of(Look::kRows, why), 48u);
  EXPECT_THAT(why, testing::HasSubstr("from position 48 on"));
  EXPECT_THAT(why, testing::HasSubstr("damaged at byte"));
  EXPECT_EQ(end_of(Look::kHeaders, why), 100u);
  std::filesystem::remove(path);
  EXPECT_EQ(end_of(Look::kHeaders, why), 48u);
  EXPECT_THAT(why, testing::HasSubstr("from position 48 on"));
}

// Depending on the place of the damage, all messages and all tokens are readable, or not.
TEST_F(SessionFolderTest, TheLengthOfTheCachedTextIsReported) {
  const std::string path = holder_.File("alone.session");
  ASSERT_TRUE(Save(path, kv::PlainLayout(), HistoryOf(100)).ok());
  const std::string whole = ReadFile(path, kPlentyOfPages).value();
  bool had_messages = false, had_tokens = false, had_neither = false;
  // Pages follow the tokens, so any place of damage there gives the same.
  for (size_t size = 0; size < whole.size(); size += had_tokens ? 97 : 1) {
    Overwrite(path, whole.substr(0, size));
    const auto open = sessions_.Open(path);
    if (!open.ok()) continue;
    ASSERT_TRUE(open->damage);
    EXPECT_EQ(open->has_tokens, open->session.tokens == HistoryOf(100)) << size;
    EXPECT_TRUE(!open->has_messages || open->session.messages.size() == 2) << size;
    EXPECT_TRUE(!open->has_tokens || open->has_messages) << size;
    had_messages |= open->has_messages && !open->has_tokens;
    had_tokens |= open->has_tokens;
    had_neither |= !open->has_messages;
  }
  EXPECT_TRUE(had_messages && had_tokens && had_neither);
}

TEST_F(SessionFolderTest, AFullDiskLeavesWhatWasThere) {
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(40)).ok());
  auto* const old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  rlimit limit = unlimited;
  limit.rlim_cur = 300;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status refused = Save("kept", layout, HistoryOf(100));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(LoadWhole("kept", layout), 40u);
}

TEST_F(SessionFolderTest, ASaveThatFailsLeavesNoPages) {
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(40)).ok());
  const size_t before = PageFiles();
  const std::vector<int32_t> tokens = HistoryOf(100, 20);
  Pool pool(kPlentyOfPages);
  CheckedTable checked(layout, pool, layout.all_layers());
  ASSERT_TRUE(checked.Compute(layout.all_layers(), tokens));
  size_t most = 0;
  const Status failed = sessions_.Save(
      "other", SessionOf(layout, tokens), layout, [&](FunctionRef<Status(Bytes)> sink) -> Status {
        for (uint32_t begin = 0; begin < 100; begin += 20) {
          TRY(kv::Export(checked.table(), layout.all_layers(), begin, begin + 20, sink));
          most = std::max(most, PageFiles());
        }
        return Error(Code::kUnavailable, "a node is gone");
      });
  EXPECT_FALSE(failed.ok());
  EXPECT_GT(most, before);
  EXPECT_EQ(PageFiles(), before);
  EXPECT_EQ(LoadWhole("kept", layout), 40u);
}

TEST_F(SessionFolderTest, WhatWasSavedSinceIsNotRemoved) {
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(40)).ok());
  const OpenSession packed = sessions_.Open("kept").value();
  ASSERT_TRUE(Save("kept", layout, HistoryOf(60)).ok());
  EXPECT_EQ(sessions_.Remove("kept", &packed).error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(LoadWhole("kept", layout), 60u);
  const OpenSession newest = sessions_.Open("kept").value();
  EXPECT_TRUE(sessions_.Remove("kept", &newest).ok());
}

// If two machines see one folder, the other one's copy may have replaced the first.
TEST_F(SessionFolderTest, ACopyThatTookItsPlaceIsNotRemoved) {
  ASSERT_TRUE(Save("kept", kv::PlainLayout(), HistoryOf(40)).ok());
  ASSERT_TRUE(sessions_.Export("kept", holder_.File("copy")).ok());
  const OpenSession packed = sessions_.Open("kept").value();
  ASSERT_TRUE(sessions_.Remove("kept").ok());
  ASSERT_TRUE(sessions_.Import(holder_.File("copy"), "kept").ok());
  EXPECT_EQ(sessions_.Remove("kept", &packed).error().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(sessions_.Open("kept").ok());
}

TEST_F(SessionFolderTest, NamesStayInTheFolder) {
  // The last one reverses the text displayed after it.
  for (const char* name : {"", ".", "..", ".hidden", "-n", "a\nb", "a\u202eb"}) {
    EXPECT_FALSE(sessions_.PathOf(name).ok()) << name;
  }
  EXPECT_EQ(sessions_.PathOf("a b").value(), holder_.File("sessions/a b.session"));
  EXPECT_EQ(sessions_.PathOf("./a").value(), "./a");
  EXPECT_FALSE(sessions_.Remove("../kept").ok());
  EXPECT_TRUE(sessions_.List().value().empty());
}

// The pages that it names are unknown.
TEST_F(SessionFolderTest, ASessionThatCannotBeReadKeepsAllPages) {
  const Layout layout = kv::PlainLayout();
  ASSERT_TRUE(Save("broken", layout, HistoryOf(100)).ok());
  const std::string path = holder_.File("sessions/broken.session");
  const std::string bytes = ReadFile(path, kPlentyOfPages).value();
  Overwrite(path, bytes.substr(0, bytes.size() - 100));
  ASSERT_TRUE(Save("other", layout, HistoryOf(100, 0)).ok());
  ASSERT_TRUE(sessions_.Remove("other").ok());
  EXPECT_EQ(PageFiles(), 14u);
  EXPECT_TRUE(sessions_.List().value()[0].damage);
  ASSERT_TRUE(sessions_.Remove("broken").ok());
  EXPECT_EQ(PageFiles(), 0u);
}

}  // namespace
}  // namespace aster::disk
