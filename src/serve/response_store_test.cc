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

// A response in the background; sets `cancelled` when it is cancelled.
StoredResponse Running(const std::string& id, bool& cancelled) {
  StoredResponse stored = Response(id);
  stored.response = {{"status", "queued"}};
  stored.cancel = [&cancelled] { cancelled = true; };
  return stored;
}

TEST(ResponseStore, WhatIsComputedKeepsItsPlace) {
  ResponseStore store(2);
  bool cancelled = false;
  ASSERT_TRUE(store.Reserve(Running("running", cancelled)));
  for (const char* id : {"a", "b", "c"}) store.Add(Response(id));
  EXPECT_TRUE(store.Find("running", "key")->is_running());
  EXPECT_FALSE(store.Find("b", "key"));
  EXPECT_TRUE(store.Find("c", "key"));
  ASSERT_TRUE(store.Reserve(Running("second", cancelled)));
  EXPECT_FALSE(store.Reserve(Running("third", cancelled)));
  // A completed one makes room.
  store.Update("running", {{"status", "completed"}}, /*has_ended=*/true);
  EXPECT_EQ(store.Find("running", "key")->response["status"], "completed");
  EXPECT_TRUE(store.Reserve(Running("third", cancelled)));
  EXPECT_FALSE(store.Find("running", "key"));
  EXPECT_FALSE(cancelled);
}

TEST(ResponseStore, WhatIsCancelledStaysSo) {
  ResponseStore store(2);
  bool cancelled = false;
  ASSERT_TRUE(store.Reserve(Running("a", cancelled)));
  store.Update("a", {{"status", "in_progress"}}, /*has_ended=*/false);
  EXPECT_FALSE(store.Cancel("a", "another"));
  EXPECT_FALSE(cancelled);
  EXPECT_EQ(store.Cancel("a", "key")->response["status"], "cancelled");
  EXPECT_TRUE(cancelled);
  store.Update("a", {{"status", "completed"}}, /*has_ended=*/true);
  EXPECT_EQ(store.Find("a", "key")->response["status"], "cancelled");
  EXPECT_EQ(store.Cancel("a", "key")->response["status"], "cancelled");
}

TEST(ResponseStore, WhatIsDeletedIsNotComputed) {
  ResponseStore store(2);
  bool cancelled = false;
  ASSERT_TRUE(store.Reserve(Running("a", cancelled)));
  EXPECT_TRUE(store.Delete("a", "key"));
  EXPECT_TRUE(cancelled);
  store.Update("a", {{"status", "completed"}}, /*has_ended=*/true);
  EXPECT_FALSE(store.Find("a", "key"));
  EXPECT_FALSE(ResponseStore(0).Reserve(Running("b", cancelled)));
}

TEST(ResponseStore, InputBecomesItems) {
  const auto items = InputItems({{"input", "hello"}});
  EXPECT_EQ(items[0]["content"][0]["text"], "hello");
  EXPECT_EQ(InputItems({{"input", items}}), items);
  EXPECT_TRUE(InputItems({{"model", "m"}}).empty());
}

}  // namespace
}  // namespace aster::serve
