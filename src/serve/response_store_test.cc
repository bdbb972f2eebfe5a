// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/response_store.h"

#include <gtest/gtest.h>

namespace aster::serve {
namespace {

StoredResponse Response(const std::string& id, size_t bytes = 1) {
  return {.id = id, .owner = "key", .response = std::string(bytes, 'x'), .items = {}};
}

TEST(ResponseStore, TheOldestAreDeletedFirst) {
  ResponseStore store(2);
  for (const char* id : {"a", "b", "c"}) store.Add(Response(id));
  EXPECT_FALSE(store.Find("a", "key"));
  EXPECT_TRUE(store.Find("b", "key"));
  EXPECT_TRUE(store.Find("c", "key"));
}

TEST(ResponseStore, IsBoundedInBytes) {
  ResponseStore store(1000);
  store.Add(Response("a", size_t{40} << 20));
  store.Add(Response("b", size_t{40} << 20));
  EXPECT_FALSE(store.Find("a", "key"));
  EXPECT_TRUE(store.Find("b", "key"));
  store.Add(Response("too large", size_t{80} << 20));
  EXPECT_FALSE(store.Find("too large", "key"));
  EXPECT_TRUE(store.Find("b", "key"));
}

TEST(ResponseStore, BelongsToItsKey) {
  ResponseStore store(2);
  store.Add(Response("a"));
  EXPECT_FALSE(store.Find("a", "another"));
  EXPECT_FALSE(store.Delete("a", "another"));
  EXPECT_TRUE(store.Delete("a", "key"));
  EXPECT_FALSE(store.Delete("a", "key"));
  EXPECT_FALSE(ResponseStore(0).is_open());
}

TEST(ResponseStore, InputBecomesItems) {
  const auto items = InputItems({{"input", "hello"}});
  EXPECT_EQ(items[0]["content"][0]["text"], "hello");
  EXPECT_EQ(InputItems({{"input", items}}), items);
  EXPECT_TRUE(InputItems({{"model", "m"}}).empty());
}

}  // namespace
}  // namespace aster::serve
