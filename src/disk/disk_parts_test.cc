// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Pages on the disk of which several machines have some columns each.

#include <gtest/gtest.h>

#include <vector>

#include "base/files.h"
#include "disk/disk_pages.h"
#include "disk/page_folder.h"
#include "kv/world_for_test.h"

namespace aster::disk {
namespace {

using kv::CheckedTable;
using kv::LayerRange;
using kv::Layout;
using kv::Pool;

constexpr uint64_t kRoom = uint64_t{64} << 20;

class DiskParts : public testing::Test {
 protected:
  std::unique_ptr<DiskPages> Open() {
    return DiskPages::Open({.folder = folder(), .size_bytes = kRoom}, clock_).value();
  }
  std::string folder() const { return holder_.File("pages"); }

  // Computes a text in an empty pool with this store; returns the adopted positions.
  static uint32_t Compute(const Layout& layout, const std::vector<int32_t>& tokens,
                          DiskPages* store) {
    Pool pool(kRoom, store);
    CheckedTable checked(layout, pool, layout.all_layers());
    checked.Adopt(tokens);
    const uint32_t adopted = checked.length();
    CHECK(checked.Compute(layout.all_layers(), {tokens.begin() + adopted, tokens.end()}));
    checked.Verify();
    CHECK(store->Flush(20 * kNsPerSecond));
    return adopted;
  }

  SystemClock clock_;
  TemporaryDirectory holder_ = TemporaryDirectory::Create().value();
};

// Rows of which several machines have parts, in one folder: each finds its part in whole rows, and
// whole rows are found if all parts are there.
TEST_F(DiskParts, PartsAndWholeRowsFindEachOther) {
  const auto layout_of = [](uint32_t columns) {
    return kv::MakeLayout(
        16, 6, {{{.row_bytes = 2 * columns, .transposed = true}}, {{.row_bytes = 3 * columns}}});
  };
  const auto part = [&](uint32_t begin, uint32_t end) {
    return layout_of(end - begin).PartOf(layout_of(4).digest(), {begin, end, 4});
  };
  const Layout whole = layout_of(4);
  const LayerRange all = whole.all_layers();
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 96; ++i) text.push_back(i * 31 % 97);
  Pool pool(kRoom);
  CheckedTable checked(whole, pool, all);
  ASSERT_TRUE(checked.Compute(all, text));
  const std::vector<uint8_t> chunk = kv::ExportBytes(checked.table(), all, 0, 96);
  // The positions that a machine with that part finds, and their bytes.
  const auto adopted = [&](const Layout& layout, DiskPages& store) {
    Pool own(kRoom, &store);
    kv::PageTable table(layout, own, all);
    table.Adopt(text);
    return kv::ExportBytes(table, all, 0, table.length());
  };
  const auto expected = [&](const Layout& layout) {
    Pool own(kRoom);
    kv::PageTable table(layout, own, all);
    CHECK(kv::Import(table, chunk).ok());
    return kv::ExportBytes(table, all, 0, 96);
  };
  const auto store = Open();
  for (const Layout& layout : {part(0, 1), part(1, 4)}) {
    Pool own(kRoom, store.get());
    kv::PageTable table(layout, own, all);
    // A computing node offers each page when it is full.
    ASSERT_TRUE(kv::Import(table, chunk).ok());
    ASSERT_TRUE(store->Flush(20 * kNsPerSecond));
    EXPECT_EQ(adopted(layout, *store), expected(layout));
  }
  EXPECT_EQ(ListPageFiles(folder()).value().size(), 12u);
  for (const Layout& layout : {part(0, 2), part(2, 4), part(1, 2), layout_of(4)}) {
    EXPECT_EQ(adopted(layout, *store), expected(layout));
  }
  // All wanted rows are there: nothing is written again.
  EXPECT_EQ(Compute(whole, text, store.get()), 96u);
  EXPECT_EQ(ListPageFiles(folder()).value().size(), 12u);
  EXPECT_EQ(store->counts().damaged_files, 0u);

  // If one part is missing, its pages are not found, but those of the other part are.
  const std::vector<IndexedFile> files = ListPageFiles(folder()).value();
  for (const IndexedFile& file : files) {
    if (file.name.columns.begin == 1) RemovePageFile(folder(), file.name);
  }
  const auto again = Open();
  EXPECT_EQ(adopted(part(0, 1), *again), expected(part(0, 1)));
  Pool own(kRoom, again.get());
  kv::PageTable table(whole, own, all);
  EXPECT_EQ(table.Adopt(text), 0u);
  // Whole rows serve every part.
  EXPECT_EQ(Compute(whole, text, again.get()), 0u);
  EXPECT_EQ(adopted(part(1, 4), *again), expected(part(1, 4)));
}

}  // namespace
}  // namespace aster::disk
