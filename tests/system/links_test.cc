// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Links that break, stall or are slow, and nodes that restart with an empty KV cache, over real
// sockets: in every case the tokens are those of one machine.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conduct/conductor.h"
#include "engine/answers_for_test.h"
#include "engine/scheduler.h"
#include "net/cluster_for_test.h"
#include "net/delaying_proxy.h"
#include "stage/node.h"
#include "stage/slice_source_for_test.h"

namespace aster::conduct {
namespace {

constexpr int64_t kSilenceNs = 1500 * kNsPerMs;
constexpr int64_t kHeartbeatNs = 200 * kNsPerMs;

// A node all of whose connections go through a proxy of this test.
class LinkedNode {
 public:
  LinkedNode(net::TestCluster& cluster, std::string name)
      : cluster_(cluster), name_(std::move(name)) {
    Start("127.0.0.1:0");
    address_ = network_->addresses().front();
    link_ = net::DelayingProxy::Start(address_, {}).value();
  }
  ~LinkedNode() { node_->Stop(); }

  // Restarts the node as if its machine had been switched off and on: its KV cache is empty.
  void Restart() {
    node_->Stop();
    node_.reset();
    network_.reset();
    Start(address_);
  }

  net::DelayingProxy& link() { return *link_; }
  plan::PlanNode plan_node() const {
    return {.id = network_->self(), .name = name_, .addresses = {link_->address()}};
  }

 private:
  void Start(const std::string& address) {
    network_ = cluster_.Start(name_, [&](net::TcpOptions& options) {
      options.listen = {address};
      options.silence_ns = kSilenceNs;
      options.heartbeat_ns = kHeartbeatNs;
    });
    node_ = std::make_unique<stage::Node>(*network_, source_);
    node_->Start();
  }

  net::TestCluster& cluster_;
  const std::string name_;
  std::string address_;
  stage::TestSliceSource source_;
  std::unique_ptr<net::TcpNetwork> network_;
  std::unique_ptr<net::DelayingProxy> link_;
  std::unique_ptr<stage::Node> node_;
};

class Links : public testing::Test {
 protected:
  static constexpr size_t kPromptTokens = 1300;  // several frames
  static constexpr uint64_t kAnswerTokens = 60;

  Links() {
    plan::TestModel& model = plan::TestModel::Get();
    const auto whole = model.MakeWhole();
    SystemClock clock;
    engine::Scheduler scheduler(*whole, nullptr, clock);
    engine::Sequence sequence = scheduler.NewSequence();
    expected_ = Answer(scheduler, sequence, {});
    // The slices are packed here, and nodes share them.
    for (const model::Slice& slice : {model::Slice{0, 2, true, false}, {2, 4, false, true}}) {
      model.Make(slice, {});
    }
    for (const char* name : {"ann", "bob"}) {
      nodes_.push_back(std::make_unique<LinkedNode>(cluster_, name));
    }
    front_ = cluster_.Start("front", [](net::TcpOptions& options) {
      options.listen = {};
      options.silence_ns = kSilenceNs;
      options.heartbeat_ns = kHeartbeatNs;
    });
  }

  struct Callbacks {
    std::function<void(uint64_t done)> on_prefill = nullptr;
    std::function<void(size_t token)> on_token = nullptr;
  };

  std::vector<int32_t> Answer(engine::Generator& generator, engine::Sequence& sequence,
                              const Callbacks& callbacks) {
    sequence.SetHistory(model::RandomTokens(kPromptTokens, 298));
    engine::Request request;
    request.sequence = &sequence;
    request.max_tokens = kAnswerTokens;
    request.context_limit = 10000;
    request.sampling.temperature = 1;
    request.sampling.seed = 11;
    request.on_prefill = [&](uint64_t done, uint64_t) {
      if (callbacks.on_prefill) callbacks.on_prefill(done);
    };
    size_t tokens = 0;
    request.on_token = [&](const engine::Delta&) {
      if (callbacks.on_token) callbacks.on_token(++tokens);
    };
    auto generated = engine::Generate(generator, std::move(request));
    EXPECT_TRUE(generated.ok()) << (generated.ok() ? "" : generated.error().message());
    return generated.ok() ? generated->tokens : std::vector<int32_t>();
  }

  // Expects the answer of one machine, whatever `callbacks` do. `heal` is called when the conductor
  // has seen that the route is broken. Returns how many times a route was replaced.
  uint64_t ExpectTheSame(const Callbacks& callbacks, const std::function<void()>& heal = nullptr) {
    const std::vector<plan::PlanNode> plan_nodes = {nodes_[0]->plan_node(), nodes_[1]->plan_node()};
    const plan::Plan plan = plan::ParseSplit("0:1,2:out", plan::kTestLayers, plan_nodes).value();
    Conductor conductor(*front_, plan::TestModel::Get().route_model(), nullptr, plan, {},
                        [&](const plan::Plan& broken, std::span<const wire::NodeId>, const Error&) {
                          if (heal) heal();
                          return broken;
                        });
    engine::Sequence sequence = conductor.NewSequence();
    EXPECT_EQ(Answer(conductor, sequence, callbacks), expected_);
    return conductor.counters().replans;
  }

  net::TestCluster cluster_{/*has_certificates=*/false};
  std::vector<int32_t> expected_;
  std::vector<std::unique_ptr<LinkedNode>> nodes_;
  std::unique_ptr<net::TcpNetwork> front_;
};

TEST_F(Links, AreUsed) { ExpectTheSame({}); }

TEST_F(Links, AConnectionThatIsReset) {
  for (const size_t victim : {0, 1}) {
    const uint64_t replans = ExpectTheSame({.on_token = [&](size_t token) {
      if (token == 20) nodes_[victim]->link().Cut();
    }});
    EXPECT_GE(replans, 1u);
  }
}

TEST_F(Links, AConnectionThatIsResetInPrefill) {
  bool is_cut = false;
  const uint64_t replans = ExpectTheSame({.on_prefill = [&](uint64_t done) {
    if (done > 0 && !std::exchange(is_cut, true)) nodes_[1]->link().Cut();
  }});
  EXPECT_TRUE(is_cut);
  EXPECT_GE(replans, 1u);
}

TEST_F(Links, AHostThatFallsSilent) {
  for (const size_t victim : {0, 1}) {
    net::DelayingProxy& link = nodes_[victim]->link();
    const uint64_t replans = ExpectTheSame({.on_token =
                                                [&](size_t token) {
                                                  if (token == 20) link.Unplug();
                                                }},
                                           [&] { link.Unplug(false); });
    EXPECT_GE(replans, 1u);
  }
}

TEST_F(Links, ALinkThatIsCutInOneDirection) {
  net::DelayingProxy& link = nodes_[1]->link();
  for (const int mute_end : {0, 1}) {
    const uint64_t replans = ExpectTheSame({.on_token =
                                                [&](size_t token) {
                                                  if (token == 20)
                                                    link.SetLink({.mute_end = mute_end});
                                                }},
                                           [&] { link.SetLink({}); });
    EXPECT_GE(replans, 1u);
  }
}

TEST_F(Links, ANodeThatComesBackWithEmptyMemory) {
  for (const size_t victim : {0, 1}) {
    const uint64_t replans = ExpectTheSame({.on_token = [&](size_t token) {
      if (token == 20) nodes_[victim]->Restart();
    }});
    EXPECT_GE(replans, 1u);
  }
}

TEST_F(Links, ALinkThatIsSlow) {
  // At 2 ms and 2 MB/s, rows of the prompt take most of a second; heartbeats still arrive in time.
  for (const auto& node : nodes_) {
    node->link().SetLink({.delay_ns = 2 * kNsPerMs, .rate_bytes_per_s = 2'000'000});
  }
  EXPECT_EQ(ExpectTheSame({}), 0u);
}

TEST_F(Links, ALinkThatBecomesSlowAndThenBreaks) {
  ExpectTheSame({.on_token = [&](size_t token) {
    if (token == 10) nodes_[1]->link().SetLink({.delay_ns = 20 * kNsPerMs});
    if (token == 20) nodes_[1]->link().Cut();
    if (token == 30) nodes_[1]->link().SetLink({});
  }});
}

TEST_F(Links, NoOtherNodeCanReplaceOne) {
  const std::vector<plan::PlanNode> plan_nodes = {nodes_[0]->plan_node(), nodes_[1]->plan_node()};
  const plan::Plan plan = plan::ParseSplit("0:1,2:out", plan::kTestLayers, plan_nodes).value();
  Conductor conductor(*front_, plan::TestModel::Get().route_model(), nullptr, plan);
  engine::Sequence sequence = conductor.NewSequence();
  sequence.SetHistory(model::RandomTokens(100, 298));
  engine::Request request;
  request.sequence = &sequence;
  request.max_tokens = kAnswerTokens;
  request.on_token = [&](const engine::Delta&) { nodes_[1]->link().Unplug(); };
  const auto failed = engine::Generate(conductor, request);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message().find("layers 2 to 3 and the head are missing"),
            std::string::npos)
      << failed.error().message();
  EXPECT_GE(sequence.length(), 101u);
  // The conversation is kept, and continues when the node has returned and the conductor knows it.
  nodes_[1]->link().Unplug(false);
  request.on_token = nullptr;
  bool goes_on = false;
  for (int i = 0; i < 100 && !goes_on; ++i) goes_on = engine::Generate(conductor, request).ok();
  EXPECT_TRUE(goes_on);
}

}  // namespace
}  // namespace aster::conduct
