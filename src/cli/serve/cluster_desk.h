// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Makes the changes of the cluster that the server's API takes, as `aster cluster` does on the
// command line, on a thread of its own. Must not know HTTP, nor who may ask.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "open/open_model.h"
#include "serve/answer_loop.h"
#include "serve/cluster_changes.h"
#include "wire/messages.h"

namespace aster::cli {

// Safe for concurrent use.
class ClusterDesk final : public serve::ClusterChanges {
 public:
  // A model of the server, and the loop on whose thread it is.
  struct Model {
    std::string name;
    open::OpenedModel* opened;  // not null
    serve::AnswerLoop* loop;    // not null
  };

  // Models and loops outlive it.
  explicit ClusterDesk(std::vector<Model> models);
  ~ClusterDesk() override;
  ClusterDesk(const ClusterDesk&) = delete;
  ClusterDesk& operator=(const ClusterDesk&) = delete;

  // Waits for the changes that were taken, and refuses all others. Their replies go to the HTTP
  // server, which ends after this.
  void Stop() EXCLUDES(mu_);

  void Invite(int64_t minutes, Done done) override EXCLUDES(mu_);
  void Revoke(std::string node, Done done) override EXCLUDES(mu_);
  void Drain(std::string node, bool is_drained, Done done) override EXCLUDES(mu_);
  std::vector<std::string> Drained() const override EXCLUDES(mu_);

 private:
  void Add(std::function<Result<std::string>()> change, Done done) EXCLUDES(mu_);
  void Run() EXCLUDES(mu_);
  Result<std::string> DrainNow(const std::string& node, bool is_drained) EXCLUDES(mu_);
  Status TellModels(const std::vector<wire::NodeId>& drained);

  struct Change {
    std::function<Result<std::string>()> make;
    Done done;
  };

  const std::vector<Model> models_;

  mutable Mutex mu_;
  CondVar changed_;
  std::deque<Change> changes_ GUARDED_BY(mu_);  // that wait
  std::vector<wire::NodeId> drained_ GUARDED_BY(mu_);
  bool is_ending_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aster::cli
