// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "kv/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kv/page_codec.h"
#include "kv/world_for_test.h"

namespace aster::kv {
namespace {

constexpr size_t kPage = kPageAlignment;

PageKey Key(uint64_t number) { return {.prefix = {.low = number}, .layer = 1, .stream = 2}; }

PageRef Published(Pool& pool, uint64_t number, size_t bytes = kPage) {
  PageRef page = pool.Allocate(bytes).value();
  HostPage(page.address())[0] = static_cast<uint8_t>(number);
  pool.Publish(page, Key(number));
  return page;
}

TEST(Pool, PagesAreAlignedZerosEvenWhenUsedBefore) {
  Pool pool(64 * kPage);
  for (int round = 0; round < 3; ++round) {
    std::vector<PageRef> pages;
    for (const size_t bytes : {size_t{1}, size_t{64}, kPage, kPage + 1, 3 * kPage}) {
      pages.push_back(pool.Allocate(bytes).value());
      uint8_t* const data = HostPage(pages.back().address());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kPageAlignment, 0u);
      EXPECT_TRUE(std::all_of(data, data + bytes, [](uint8_t byte) { return byte == 0; }));
      std::fill(data, data + AlignedPageBytes(bytes), 0xff);
    }
    EXPECT_EQ(pool.usage().held_bytes, 8 * kPage);
  }
  EXPECT_EQ(pool.usage().held_bytes, 0u);
  EXPECT_EQ(pool.usage().blank_bytes, 8 * kPage);
}

TEST(Pool, SaysWhatIsMissing) {
  Pool pool(3 * kPage);
  const PageRef a = pool.Allocate(2 * kPage).value();
  const Result<PageRef> b = pool.Allocate(2 * kPage);
  ASSERT_FALSE(b.ok());
  EXPECT_EQ(b.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(b.error().message(),
            "the KV cache needs 8.00 KiB, and 4.00 KiB of 12.0 KiB are free: allow more memory");
  EXPECT_TRUE(pool.Allocate(kPage).ok());
}

TEST(Pool, TakesItsWholeBudgetAtOnceOnRequest) {
  Pool pool(64 * kPage);
  pool.TakeNow(std::vector<size_t>{kPage, 3 * kPage, kPage, 5});
  EXPECT_EQ(pool.usage().held_bytes, 0u);
  EXPECT_EQ(pool.usage().blank_bytes, 64 * kPage);
  const PageRef page = pool.Allocate(3 * kPage).value();
  EXPECT_TRUE(std::all_of(HostPage(page.address()), HostPage(page.address()) + 3 * kPage,
                          [](uint8_t b) { return b == 0; }));
  EXPECT_EQ(pool.usage().held_bytes + pool.usage().blank_bytes, 64 * kPage);
  const PageRef most = pool.Allocate(61 * kPage).value();
  EXPECT_EQ(pool.usage().available_bytes(), 0u);
}

TEST(Pool, MemoryOfOneSizeServesAnother) {
  Pool pool(4 * kPage);
  volatile uint8_t* small_page = nullptr;
  {
    std::vector<PageRef> small;
    small.reserve(4);
    for (int i = 0; i < 4; ++i) small.push_back(pool.Allocate(kPage).value());
    EXPECT_FALSE(pool.Allocate(kPage).ok());
    small_page = HostPage(small[2].address());
    *small_page = 1;
  }
  EXPECT_EQ(*small_page, 1);
  {
    const PageRef large = pool.Allocate(4 * kPage).value();
  }
  EXPECT_EQ(*small_page, 0);  // the system has taken it, and would give a fresh one
  {
    const PageRef middle = pool.Allocate(2 * kPage).value();
    EXPECT_EQ(pool.usage().held_bytes + pool.usage().blank_bytes, 2 * kPage);
  }
  const PageRef large = pool.Allocate(4 * kPage).value();
  EXPECT_EQ(HostPage(large.address())[4 * kPage - 1], 0);
}

std::vector<PageRef> SomePages(Pool& pool, size_t count, size_t bytes = kPage) {
  std::vector<PageRef> pages;
  for (size_t i = 0; i < count; ++i) pages.push_back(pool.Allocate(bytes).value());
  return pages;
}

// Blocks have 16 pages here.
TEST(PoolOnDevice, OneEmptyBlockIsKept) {
  DevicePagesForTest device;
  Pool pool(64 * kPage, nullptr, device);
  std::vector<PageRef> pages = SomePages(pool, 64);
  EXPECT_EQ(device.mapped_bytes, 64 * kPage);
  pages.resize(33);
  EXPECT_EQ(device.mapped_bytes, 64 * kPage);
  pages.resize(32);
  EXPECT_EQ(device.mapped_bytes, 48 * kPage);
  pages.clear();
  EXPECT_EQ(device.mapped_bytes, 16 * kPage);
  EXPECT_EQ(pool.usage().blank_bytes, 16 * kPage);
  pages = SomePages(pool, 64);
  EXPECT_EQ(pool.usage().held_bytes, 64 * kPage);
  EXPECT_EQ(device.mapped_bytes, 64 * kPage);
}

// The same with blocks that have pages that were never used.
TEST(PoolOnDevice, MemoryOfOneSizeServesAnother) {
  DevicePagesForTest device;
  Pool pool(32 * kPage, nullptr, device);
  SomePages(pool, 20).clear();
  EXPECT_EQ(device.mapped_bytes, 16 * kPage);
  const std::vector<PageRef> large = SomePages(pool, 16, 2 * kPage);
  EXPECT_EQ(device.mapped_bytes, 32 * kPage);
  EXPECT_EQ(pool.usage().blank_bytes, 0u);
}

// Empty blocks are freed if the device has less memory than the budget.
TEST(PoolOnDevice, EmptyBlocksGoWhereTheDeviceHasNoMore) {
  DevicePagesForTest device;
  device.most_bytes = 32 * kPage;
  Pool pool(128 * kPage, nullptr, device);
  SomePages(pool, 16).clear();
  EXPECT_EQ(device.mapped_bytes, 16 * kPage);
  const std::vector<PageRef> large = SomePages(pool, 16, 2 * kPage);
  EXPECT_EQ(device.mapped_bytes, 32 * kPage);
  EXPECT_FALSE(pool.Allocate(kPage).ok());
}

// A block with a cached page stays.
TEST(PoolOnDevice, CachedPagesKeepTheirBlock) {
  DevicePagesForTest device;
  Pool pool(64 * kPage, nullptr, device);
  std::vector<PageRef> pages = SomePages(pool, 48);
  pool.Publish(pages[20], Key(1));
  pages.clear();
  EXPECT_EQ(device.mapped_bytes, 32 * kPage);
  EXPECT_TRUE(pool.Find(Key(1)));
}

TEST(Pool, KeepsPublishedPagesUntilMemoryIsNeeded) {
  Pool pool(4 * kPage);
  for (uint64_t number = 1; number <= 4; ++number) Published(pool, number);
  EXPECT_EQ(pool.usage().cached_bytes, 4 * kPage);
  EXPECT_EQ(pool.usage().available_bytes(), 4 * kPage);
  {
    const PageRef used = pool.Find(Key(1));
  }  // now page 2 is unused for longest
  const PageRef held = pool.Find(Key(3));
  EXPECT_EQ(HostPage(held.address())[0], 3);

  const PageRef fresh = pool.Allocate(kPage).value();
  EXPECT_FALSE(pool.Contains(Key(2)));
  EXPECT_FALSE(pool.Find(Key(2)));
  EXPECT_TRUE(pool.Contains(Key(1)));
  EXPECT_TRUE(pool.Contains(Key(4)));
  EXPECT_EQ(pool.usage().evicted_pages, 1u);

  const PageRef more = pool.Allocate(2 * kPage).value();  // both that have no reference
  EXPECT_FALSE(pool.Contains(Key(1)));
  EXPECT_FALSE(pool.Contains(Key(4)));
  EXPECT_TRUE(pool.Contains(Key(3)));
  EXPECT_FALSE(pool.Allocate(kPage).ok());
}

// Slid-out pages are evicted before other cached ones; of each kind, the one unused for longest.
TEST(Pool, PagesBeforeAWindowAreEvictedFirst) {
  Pool pool(4 * kPage);
  Published(pool, 1);
  for (const uint64_t number : {2, 3, 4}) {
    PageRef page = Published(pool, number);
    pool.ReleaseSlidOut(page);
    EXPECT_FALSE(page);
  }
  EXPECT_EQ(pool.usage().held_bytes, 0u);
  EXPECT_EQ(pool.usage().cached_bytes, 4 * kPage);
  {
    const PageRef found = pool.Find(Key(2));  // used again, as any other
  }
  const PageRef fresh = pool.Allocate(kPage).value();
  EXPECT_FALSE(pool.Contains(Key(3)));
  const PageRef more = pool.Allocate(kPage).value();
  EXPECT_FALSE(pool.Contains(Key(4)));
  const PageRef third = pool.Allocate(kPage).value();
  EXPECT_FALSE(pool.Contains(Key(1)));
  EXPECT_TRUE(pool.Contains(Key(2)));
  EXPECT_TRUE(pool.Allocate(kPage).ok());
}

TEST(Pool, ReferencedPagesAreNotEvicted) {
  Pool pool(4 * kPage);
  {
    PageRef page = Published(pool, 1);
    const PageRef other = page;
    pool.ReleaseSlidOut(page);
    EXPECT_EQ(pool.usage().held_bytes, kPage);
  }
  {
    PageRef page = Published(pool, 2);
    pool.ReleaseSlidOut(page);
  }
  const PageRef fresh = pool.Allocate(3 * kPage).value();
  EXPECT_TRUE(pool.Contains(Key(1)));
  EXPECT_FALSE(pool.Contains(Key(2)));
}

// Missing rows are not found; a page that has them replaces the other one in the index.
TEST(Pool, APageWithMoreRowsTakesTheName) {
  Pool pool(4 * kPage);
  PageRef few = pool.Allocate(kPage).value();
  few.set_first_row(5);
  pool.Publish(few, Key(1));
  EXPECT_TRUE(pool.Contains(Key(1), 5));
  EXPECT_FALSE(pool.Contains(Key(1), 4));
  EXPECT_FALSE(pool.Find(Key(1), 4));
  PageRef more = pool.Allocate(kPage).value();
  more.set_first_row(2);
  pool.Publish(more, Key(1));
  EXPECT_NE(HostPage(more.address()), HostPage(few.address()));
  EXPECT_FALSE(few.published());
  EXPECT_EQ(HostPage(pool.Find(Key(1), 2).address()), HostPage(more.address()));
  pool.Publish(few, Key(1));  // now it finds that
  EXPECT_EQ(HostPage(few.address()), HostPage(more.address()));
  few = {};
  more = {};
  // The page with fewer rows is replaced even if it has no reference.
  PageRef whole = pool.Allocate(kPage).value();
  EXPECT_EQ(whole.first_row(), 0u);
  pool.Publish(whole, Key(1));
  EXPECT_EQ(pool.usage().cached_bytes, 0u);
  EXPECT_EQ(pool.usage().held_bytes, kPage);
  EXPECT_TRUE(pool.Contains(Key(1)));
}

TEST(Pool, TheSameContentIsKeptOnce) {
  Pool pool(4 * kPage);
  const PageRef first = Published(pool, 1);
  PageRef second = pool.Allocate(kPage).value();
  EXPECT_EQ(pool.usage().held_bytes, 2 * kPage);
  pool.Publish(second, Key(1));
  EXPECT_EQ(HostPage(second.address()), HostPage(first.address()));
  EXPECT_TRUE(first.shared());
  EXPECT_EQ(pool.usage().held_bytes, kPage);
  pool.Publish(second, Key(1));  // once more changes nothing
  EXPECT_EQ(HostPage(second.address()), HostPage(first.address()));

  // The first page is found even if it has no reference any more.
  {
    const PageRef dropped = Published(pool, 2);
  }
  PageRef third = pool.Allocate(kPage).value();
  pool.Publish(third, Key(2));
  EXPECT_EQ(HostPage(third.address())[0], 2);
  EXPECT_FALSE(third.shared());
  EXPECT_EQ(pool.usage().cached_bytes, 0u);
}

TEST(Pool, WhatIsUnpublishedIsForgotten) {
  Pool pool(4 * kPage);
  {
    const PageRef page = Published(pool, 1);
    EXPECT_TRUE(page.published());
    pool.Unpublish(page);
    pool.Unpublish(page);
    EXPECT_FALSE(page.published());
    EXPECT_FALSE(pool.Contains(Key(1)));
  }
  EXPECT_EQ(pool.usage().cached_bytes, 0u);
  EXPECT_EQ(pool.usage().blank_bytes, kPage);
}

TEST(Pool, ReferencesCount) {
  Pool pool(4 * kPage);
  PageRef a = pool.Allocate(kPage).value();
  EXPECT_FALSE(a.shared());
  PageRef b = a;
  EXPECT_TRUE(a.shared());
  PageRef c = std::move(b);
  EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(HostPage(b.address()), nullptr);
  a = c;
  a = PageRef();
  EXPECT_FALSE(c.shared());
  EXPECT_EQ(pool.usage().held_bytes, kPage);
  c = {};
  EXPECT_EQ(pool.usage().held_bytes, 0u);
}

// Keys differ in every part.
TEST(Pool, KeysNameLayerAndStream) {
  Pool pool(8 * kPage);
  PageKey key = Key(1);
  PageRef page = pool.Allocate(kPage).value();
  pool.Publish(page, key);
  for (uint32_t PageKey::* part : {&PageKey::layer, &PageKey::stream}) {
    PageKey other = key;
    other.*part += 1;
    EXPECT_FALSE(pool.Contains(other));
  }
  key.prefix.high += 1;
  EXPECT_FALSE(pool.Contains(key));
}

}  // namespace
}  // namespace aster::kv
