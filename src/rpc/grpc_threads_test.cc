// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/grpc_threads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "rpc/rpc_for_test.h"
#include "rpc/samples_for_test.h"

namespace aster::rpc {
namespace {

ptrdiff_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// The kernel may list a thread for a moment after it has ended.
ptrdiff_t ThreadsOnceThereAreAtMost(ptrdiff_t wanted) {
  constexpr int kMostLooks = 1000;
  for (int look = 0; look < kMostLooks && ThreadsOfThisProcess() > wanted; ++look) {
    std::this_thread::yield();
  }
  return ThreadsOfThisProcess();
}

// Clients, and a server that ends while connections are open.
TEST(GrpcThreads, AreGoneWithTheirLastUser) {
  const ClusterForTest cluster;
  const cluster::Identity desk = cluster.NewNode("desk");
  const cluster::Identity laptop = cluster.NewNode("laptop");
  ServiceForTest service;
  service.describe = [] { return SampleDescription(); };
  const ptrdiff_t before = ThreadsOfThisProcess();
  for (int round = 0; round < 10; ++round) {
    {
      auto server = StartServer(desk, service);
      std::vector<std::thread> callers;
      for (int i = 0; i < 4; ++i) {
        callers.emplace_back([&, address = server->addresses().front()] {
          EXPECT_TRUE(MakeClient(laptop, address)->Describe(kPatienceNs).ok());
        });
      }
      const auto lasting = MakeClient(laptop, server->addresses().front());
      EXPECT_TRUE(lasting->Describe(kPatienceNs).ok());
      for (std::thread& caller : callers) caller.join();
      server.reset();
    }
    EXPECT_LE(ThreadsOnceThereAreAtMost(before), before) << "round " << round;
  }
}

// Calls cancelled in any phase: connecting, the handshake, waiting.
TEST(GrpcThreads, AreGoneAfterCallsThatWereCancelled) {
  const ClusterForTest cluster;
  const cluster::Identity desk = cluster.NewNode("desk");
  const cluster::Identity laptop = cluster.NewNode("laptop");
  ServiceForTest service;
  service.describe = [] { return SampleDescription(); };
  const ptrdiff_t before = ThreadsOfThisProcess();
  {
    const auto server = StartServer(desk, service);
    constexpr int kRounds = 100;
    constexpr int64_t kStepNs = 100 * kNsPerUs;
    for (int round = 0; round < kRounds; ++round) {
      const auto client = MakeClient(laptop, server->addresses().front());
      std::thread caller([&] { (void)client->Describe(kPatienceNs); });
      SystemClock().SleepFor(kStepNs * round);
      client->Cancel();
      caller.join();
    }
  }
  EXPECT_LE(ThreadsOnceThereAreAtMost(before), before);
}

}  // namespace
}  // namespace aster::rpc
