// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Receives sessions from other machines in parts: gathers each in a hidden file, and moves it into
// the folder when it is complete. An interrupted transfer resumes where it stopped. Must not know
// how parts arrive.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "disk/session_folder.h"
#include "rpc/control_service.h"

namespace aster::node {

// Safe for concurrent use.
class SessionInbox {
 public:
  // The clock outlives it. The folder is made for the first part.
  SessionInbox(std::string folder, Clock& clock);

  // Handles the next part. A taken or invalid name and too little space are errors at once; damage
  // is found when all parts have arrived.
  Result<rpc::SessionReceipt> Take(const rpc::NodeId& from, const rpc::SessionPart& part)
      EXCLUDES(mu_);

 private:
  // A transfer. Its parts wait for each other, but not for other transfers.
  struct Incoming {
    Incoming(const rpc::NodeId& sender, uint64_t bytes, int64_t now_ns)
        : from(sender), total_bytes(bytes), news_ns(now_ns) {}

    const rpc::NodeId from;
    const uint64_t total_bytes;
    std::atomic<int64_t> news_ns;  // when its last part came
    Mutex mu;                      // taken before mu_ of the inbox
    bool is_over GUARDED_BY(mu) = false;
  };

  Result<rpc::SessionReceipt> TakePart(const rpc::NodeId& from, const rpc::SessionPart& part)
      EXCLUDES(mu_);
  Status CheckName(const rpc::SessionPart& part) const;
  Status CheckIsFree(const rpc::SessionPart& part) const;
  bool WasKept(const rpc::SessionPart& part) const REQUIRES(mu_);
  // Whether parts have come lately; if not, it may be removed to make room.
  bool IsActive(const Incoming& incoming) const;
  size_t CountFiles() REQUIRES(mu_);
  bool RemoveInterrupted() REQUIRES(mu_);
  Status CheckSender(const rpc::NodeId& from) const REQUIRES(mu_);
  Status MakeRoom(const rpc::SessionPart& part) REQUIRES(mu_);
  Result<std::shared_ptr<Incoming>> Find(const std::string& path, const rpc::NodeId& from,
                                         const rpc::SessionPart& part) REQUIRES(mu_);
  Result<rpc::SessionReceipt> Finish(const std::string& path, const rpc::SessionPart& part,
                                     Incoming& incoming) REQUIRES(incoming.mu) EXCLUDES(mu_);
  void Drop(const std::string& path, Incoming& incoming) REQUIRES(incoming.mu) EXCLUDES(mu_);

  Clock& clock_;
  const std::string path_;
  disk::SessionFolder folder_;  // safe for concurrent use
  Mutex mu_;
  int64_t cleaned_ns_ GUARDED_BY(mu_) = 0;
  std::map<std::string, std::shared_ptr<Incoming>> incoming_ GUARDED_BY(mu_);  // by path
  // The latest completed transfers: a sender that missed the reply asks again.
  struct Kept {
    Hash128 transfer;
    Hash128 content;
    std::string name;
    disk::Session session;
  };
  std::deque<Kept> kept_ GUARDED_BY(mu_);
};

}  // namespace aster::node
