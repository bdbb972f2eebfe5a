// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/cluster_watch.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace aster::cli {
namespace {

std::string FailureJson(const Error& error) {
  const nlohmann::ordered_json json = {{"nodes", nlohmann::ordered_json::array()},
                                       {"error", ToValidUtf8(error.message())}};
  return json.dump() + "\n";
}

}  // namespace

ClusterWatch::ClusterWatch(ClusterSampler look)
    : look_(std::move(look)), json_("{\"nodes\": []}\n"), thread_([this] { Run(); }) {}

ClusterWatch::~ClusterWatch() {
  {
    const MutexLock lock(mu_);
    is_ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

std::string ClusterWatch::Json() {
  const MutexLock lock(mu_);
  is_wanted_ = true;
  changed_.NotifyAll();
  return json_;
}

void ClusterWatch::Run() {
  std::optional<ClusterSample> earlier;
  for (;;) {
    {
      const MutexLock lock(mu_);
      while (!is_wanted_ && !is_ending_) changed_.Wait(mu_);
      if (is_ending_) return;
      is_wanted_ = false;
    }
    auto sample = look_();
    std::string json = sample.ok() ? ClusterStatusJson(*sample, earlier ? &*earlier : nullptr)
                                   : FailureJson(sample.error());
    if (sample.ok()) earlier = *std::move(sample);
    const MutexLock lock(mu_);
    json_ = std::move(json);
  }
}

}  // namespace aster::cli
