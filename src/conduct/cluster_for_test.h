// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Nodes with threads of their own in one process, a front end for them, and requests to it. Only
// for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conduct/conductor.h"
#include "net/memory_network.h"
#include "stage/node.h"
#include "stage/slice_source_for_test.h"

namespace aster::conduct {

// A plan from the format of SplitText: a split, and " decode " with another one if others decode.
inline plan::Plan TestPlan(const std::string& text, size_t node_count) {
  const std::string word = " decode ";
  const size_t behind = text.find(word);
  plan::Plan plan;
  plan.stages =
      plan::ParsePath(text.substr(0, behind), plan::kTestLayers, plan::TestNodes(node_count))
          .value();
  if (behind != std::string::npos) {
    plan.decode = plan::ParsePath(text.substr(behind + word.size()), plan::kTestLayers,
                                  plan::TestNodes(node_count))
                      .value();
  }
  return plan;
}

// Nodes with threads of their own, and a front end without layers.
class TestCluster {
 public:
  explicit TestCluster(size_t count, uint64_t kv_bytes = uint64_t{1} << 26,
                       const stage::StageOptions& options = {})
      : hub_(clock_), source_(kv_bytes) {
    // Packed here, so that nodes only share it.
    plan::TestModel::Get().shape();
    for (const plan::PlanNode& node : plan::TestNodes(count)) {
      networks_.push_back(hub_.Join(node.id));
      nodes_.push_back(std::make_unique<stage::Node>(*networks_.back(), source_, options));
    }
    front_ = hub_.Join(plan::TestNode(99));
  }
  ~TestCluster() {
    for (auto& node : nodes_) node->Stop();
  }

  void Start() {
    for (auto& node : nodes_) node->Start();
  }
  std::unique_ptr<Conductor> Conduct(const std::string& split, ConductorOptions options = {},
                                     Replanner replanner = nullptr) {
    return Conduct(split, plan::TestModel::Get().route_model(), std::move(options),
                   std::move(replanner));
  }
  // The front end believes that the model has an MTP block; stages use their own proposers.
  std::unique_ptr<Conductor> ConductDrafting(const std::string& split,
                                             ConductorOptions options = {},
                                             Replanner replanner = nullptr) {
    plan::RouteModel model = plan::TestModel::Get().route_model();
    model.shape.mtp_layers = 1;
    return Conduct(split, model, std::move(options), std::move(replanner));
  }
  std::unique_ptr<Conductor> Conduct(const std::string& split, const plan::RouteModel& model,
                                     ConductorOptions options, Replanner replanner) {
    const plan::Plan plan = TestPlan(split, nodes_.size());
    // Slices are packed one after the other, before nodes ask for them at the same time.
    plan::TestModel& packed = *plan::TestModel::Of(model.fingerprint);
    for (const plan::PlanStage& stage : plan.AllStages()) {
      for (const model::Slice& slice : stage.Slices()) packed.Make(slice, {});
    }
    Start();
    return std::make_unique<Conductor>(*front_, model, nullptr, plan, options,
                                       std::move(replanner));
  }

  SystemClock& clock() { return clock_; }
  net::MemoryHub& hub() { return hub_; }
  stage::Node& node(size_t index) { return *nodes_[index]; }
  net::Network& front() { return *front_; }

 private:
  SystemClock clock_;
  net::MemoryHub hub_;
  stage::TestSliceSource source_;
  std::vector<std::unique_ptr<net::MemoryNetwork>> networks_;
  std::vector<std::unique_ptr<stage::Node>> nodes_;
  std::unique_ptr<net::MemoryNetwork> front_;
};

inline Hash128 LogitsHash(engine::Generator& generator, std::span<const int32_t> tokens) {
  Hasher hasher;
  const Status status = generator.LogitsOf(tokens, 64, [&](std::span<const float> row) {
    hasher.Add({reinterpret_cast<const uint8_t*>(row.data()), row.size_bytes()});
    return Ok();
  });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message());
  return hasher.Digest();
}

inline std::vector<int32_t> Answer(engine::Generator& generator, engine::Sequence& sequence,
                                   engine::Request request) {
  request.sequence = &sequence;
  auto generated = engine::Generate(generator, std::move(request));
  EXPECT_TRUE(generated.ok()) << (generated.ok() ? "" : generated.error().message());
  return generated.ok() ? generated->tokens : std::vector<int32_t>();
}

}  // namespace aster::conduct
