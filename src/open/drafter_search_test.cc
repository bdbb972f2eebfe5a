// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/drafter_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace aster::open {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

drafting::RemoteDrafter Named(std::string name) {
  return {.node = {}, .name = std::move(name), .addresses = {}, .drafter = {}};
}

// Waits until the search has looked this often; advances its clock.
void AwaitLooks(VirtualClock& clock, const std::atomic<int>& looks, int count) {
  while (looks < count) {
    clock.AdvanceBy(kNsPerSecond);
    std::this_thread::yield();
  }
}

TEST(DrafterSearch, TellsWhatItFoundOnce) {
  VirtualClock clock;
  std::atomic<int> looks = 0;
  DrafterSearch search(
      [&]() -> Result<DrafterSearch::Found> {
        const int look = ++looks;
        if (look == 1) return Error(Code::kUnavailable, "no node answers");
        return DrafterSearch::Found{{Named(std::to_string(look))}, 1};
      },
      clock);
  EXPECT_THAT(search.Take(), IsEmpty());
  // The third look begins when the result of the second one is available.
  AwaitLooks(clock, looks, 3);
  const auto found = search.Take();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_NE(found[0].name, "1");
}

TEST(DrafterSearch, ManyNodesAreAskedLessOften) {
  VirtualClock clock;
  std::atomic<int> looks = 0;
  DrafterSearch search(
      [&]() -> Result<DrafterSearch::Found> {
        ++looks;
        return DrafterSearch::Found{{}, 1000};
      },
      clock);
  AwaitLooks(clock, looks, 1);
  const int64_t first_ns = clock.NowNs();
  AwaitLooks(clock, looks, 2);
  EXPECT_GE(clock.NowNs() - first_ns, 90 * kNsPerSecond);
}

TEST(DrafterSearch, EndsWhileItWaits) {
  VirtualClock clock;
  const DrafterSearch search(
      []() -> Result<DrafterSearch::Found> { return DrafterSearch::Found(); }, clock);
}

}  // namespace
}  // namespace aster::open
