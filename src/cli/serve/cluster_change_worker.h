// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Carries out changes of the cluster for the server's API, as `aster cluster` does on the command
// line, on a thread of its own. Must not know HTTP, nor who may ask.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "cli/serve/work_thread.h"
#include "open/open_model.h"
#include "serve/answer_loop.h"
#include "serve/cluster_changes.h"
#include "wire/messages.h"

namespace aster::cli {

// Safe for concurrent use.
class ClusterChangeWorker final : public serve::ClusterChanges {
 public:
  // A model of the server, and the loop whose thread runs it.
  struct Model {
    std::string name;
    open::OpenedModel* opened;  // not null
    serve::AnswerLoop* loop;    // not null
  };

  // Models and loops outlive it.
  explicit ClusterChangeWorker(std::vector<Model> models);

  // Waits for accepted changes, and refuses all others. Their replies go to the HTTP server, which
  // ends after this.
  void Stop() { thread_.Stop(); }

  void Invite(int64_t minutes, Done done) override;
  void Revoke(std::string node, Done done) override;
  void Drain(std::string node, bool is_drained, Done done) override;
  std::vector<std::string> Drained() const override EXCLUDES(mu_);

 private:
  Result<std::string> DrainNow(const std::string& node, bool is_drained) EXCLUDES(mu_);
  Status UpdateModels(const std::vector<wire::NodeId>& drained);

  const std::vector<Model> models_;

  mutable Mutex mu_;
  std::vector<wire::NodeId> drained_ GUARDED_BY(mu_);

  WorkThread thread_;  // uses all members above
};

}  // namespace aster::cli
