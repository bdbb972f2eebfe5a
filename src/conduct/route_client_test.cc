// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/stage_server.h"

#include <gtest/gtest.h>

#include "conduct/cluster_for_test.h"
#include "conduct/route_client.h"
#include "net/memory_network.h"

namespace aster::conduct {
namespace {

// Has room for one slice, but refuses others only while they load, like a source that fetches.
class OneSliceSource final : public stage::SliceSource {
 public:
  Result<std::unique_ptr<stage::SliceLoading>> Start(const stage::SliceRequest& request) override {
    return std::make_unique<Loading>(request);
  }

 private:
  class Loading final : public stage::SliceLoading {
   public:
    explicit Loading(const stage::SliceRequest& request) : request_(request) {}
    Progress progress() const override { return {.done_bytes = 1, .total_bytes = 2}; }
    uint64_t reserved_bytes() const override { return request_.kv_bytes; }
    std::optional<Result<std::unique_ptr<engine::LocalModel>>> Take() override {
      if (looks_-- > 0) return std::nullopt;
      if (request_.used_bytes > 0) return Result<std::unique_ptr<engine::LocalModel>>(Full());
      engine::LocalModelOptions options;
      options.memory_bytes = request_.kv_bytes;
      options.name = request_.memory_name;
      return Result<std::unique_ptr<engine::LocalModel>>(
          plan::TestModel::Get().Make(request_.slice, options));
    }
    bool CanGiveUp() const override { return true; }

   private:
    static Error Full() { return ResourceExhausted("there is no room beside others"); }

    const stage::SliceRequest request_;
    int looks_ = 1;
  };
};

// One node and its front end, in turns on one thread.
class StageServerTest : public testing::Test {
 protected:
  static constexpr uint64_t kKvBytes = uint64_t{1} << 24;

  std::unique_ptr<RouteClient> Open(const std::string& split, uint64_t kv_bytes = kKvBytes) {
    RouteOptions options;
    options.kv_bytes = kv_bytes;
    return std::make_unique<RouteClient>(*front_, plan::TestModel::Get().route_model(),
                                         TestPlan(split, 1), options, ++last_route_);
  }
  void Settle(RouteClient& route) {
    for (int i = 0; i < 100 && route.state() == RouteClient::State::kOpening; ++i) {
      while (const auto event = node_->Receive(0)) server_.Handle(*event);
      server_.Tick();
      while (const auto event = front_->Receive(0)) route.Handle(*event);
    }
  }

  VirtualClock clock_;
  net::MemoryHub hub_{clock_};
  OneSliceSource source_;
  std::unique_ptr<net::MemoryNetwork> node_ = hub_.Join(plan::TestNode(1));
  std::unique_ptr<net::MemoryNetwork> front_ = hub_.Join(plan::TestNode(99));
  stage::StageServer server_{*node_, source_};
  wire::RouteId last_route_ = 0;
};

TEST_F(StageServerTest, UnusedSlicesAreFreedForOneThatIsFoundNotToFitWhileItLoads) {
  auto route = Open("a=0:out");
  Settle(*route);
  ASSERT_TRUE(route->is_ready());
  route.reset();
  route = Open("a=0:out", 2 * kKvBytes);
  Settle(*route);
  EXPECT_TRUE(route->is_ready()) << route->why().message();
}

TEST_F(StageServerTest, ASliceInUseStays) {
  const auto route = Open("a=0:out");
  Settle(*route);
  ASSERT_TRUE(route->is_ready());
  const auto other = Open("a=0:out", 2 * kKvBytes);
  Settle(*other);
  ASSERT_EQ(other->state(), RouteClient::State::kBroken);
  EXPECT_NE(other->why().message().find("there is no room beside others"), std::string::npos);
  EXPECT_NE(other->why().message().find("held for another route with a KV cache of 16.0 MiB"),
            std::string::npos)
      << other->why().message();
  EXPECT_EQ(route->state(), RouteClient::State::kReady);
}

}  // namespace
}  // namespace aster::conduct
