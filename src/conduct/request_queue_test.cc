// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/request_queue.h"

#include <gmock/gmock.h>

#include "conduct/parts_for_test.h"

namespace aster::conduct {
namespace {

using testing::ElementsAre;

std::vector<engine::RequestId> Ids(const RequestQueue::Requests& requests) {
  std::vector<engine::RequestId> ids;
  for (const auto& live : requests) ids.push_back(live->request.id());
  return ids;
}

class RequestQueueTest : public testing::Test {
 protected:
  void Add(size_t count) {
    for (size_t i = 0; i < count; ++i) queue_.Add(requests_.Make(10));
  }
  LiveRequest& Running(size_t index) { return *queue_.running()[index]; }

  TestRequests requests_;
  RequestQueue queue_{3};
};

TEST_F(RequestQueueTest, AdmitsTheOldestAsLongAsThereIsRoom) {
  EXPECT_EQ(queue_.Admit(), nullptr);
  Add(4);
  for (engine::RequestId id = 1; id <= 3; ++id) EXPECT_EQ(queue_.Admit()->request.id(), id);
  EXPECT_EQ(queue_.Admit(), nullptr);
  EXPECT_THAT(Ids(queue_.running()), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ids(queue_.waiting()), ElementsAre(4));
  queue_.Remove(Running(1));
  EXPECT_EQ(queue_.Admit()->request.id(), 4u);
}

TEST_F(RequestQueueTest, APreemptedRequestWaitsUntilAnotherHasEnded) {
  Add(4);
  while (queue_.Admit() != nullptr) continue;
  LiveRequest& youngest = Running(2);
  youngest.phase = RequestPhase::kDecode;
  youngest.in_flight = 2;
  queue_.Preempt(youngest);
  EXPECT_EQ(youngest.phase, RequestPhase::kWaiting);
  EXPECT_EQ(youngest.in_flight, 0u);
  EXPECT_THAT(Ids(queue_.waiting()), ElementsAre(3, 4));
  // There is room, but it would be preempted again.
  EXPECT_EQ(queue_.Admit(), nullptr);
  queue_.Remove(Running(0));
  EXPECT_EQ(queue_.Admit(), &youngest);
  EXPECT_THAT(Ids(queue_.running()), ElementsAre(2, 3));
}

TEST_F(RequestQueueTest, APreemptedRequestThatIsAloneIsAdmitted) {
  Add(1);
  LiveRequest& only = *queue_.Admit();
  queue_.Preempt(only);
  EXPECT_EQ(queue_.Admit(), &only);
}

TEST_F(RequestQueueTest, RequestsOfABrokenRouteWaitInTheirOldOrder) {
  Add(4);
  while (queue_.Admit() != nullptr) continue;
  queue_.Preempt(Running(1));
  queue_.SuspendAll();
  EXPECT_THAT(Ids(queue_.waiting()), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(queue_.running().empty());
  // They can be admitted again: the next route has its own memory.
  while (queue_.Admit() != nullptr) continue;
  EXPECT_THAT(Ids(queue_.running()), ElementsAre(1, 2, 3));
}

TEST_F(RequestQueueTest, FindsAndRemovesWhatWaitsAndWhatRuns) {
  Add(4);
  while (queue_.Admit() != nullptr) continue;
  LiveRequest& waiting = *queue_.waiting()[0];
  EXPECT_EQ(queue_.FindByMemory(waiting.memory), &waiting);
  EXPECT_EQ(queue_.FindByMemory(Running(2).memory), &Running(2));
  const RouteMemory* const memory = waiting.memory;
  EXPECT_EQ(queue_.Remove(waiting)->request.id(), 4u);
  EXPECT_EQ(queue_.FindByMemory(memory), nullptr);
  Add(2);
  EXPECT_THAT(Ids(queue_.RemoveWaiting()), ElementsAre(5, 6));
  EXPECT_FALSE(queue_.empty());
  while (!queue_.running().empty()) queue_.Remove(Running(0));
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace aster::conduct
