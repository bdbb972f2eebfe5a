// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sessions that other machines send here, part by part: gathered in a file that nobody sees, and
// taken into the folder when they are whole. What was interrupted goes on where it was. Must not
// know how parts arrive.
#pragma once

#include <deque>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "disk/session_folder.h"
#include "rpc/control_service.h"

namespace aster::node {

// Safe for concurrent use.
class SessionInbox {
 public:
  // The clock outlives it. The folder is made when something comes.
  SessionInbox(std::string folder, Clock& clock) : path_(folder), folder_(folder, clock) {}

  // The next part. A name that is taken or that is none, and too little space, are said at once;
  // damage when all is there.
  Result<rpc::SessionReceipt> Take(const rpc::NodeId& from, const rpc::SessionPart& part)
      EXCLUDES(mu_);

 private:
  Status CheckName(const rpc::SessionPart& part) const;
  Status MakeRoom(const rpc::SessionPart& part) REQUIRES(mu_);
  Result<rpc::SessionReceipt> Finish(const std::string& path, const rpc::SessionPart& part)
      REQUIRES(mu_);

  const std::string path_;
  Mutex mu_;
  disk::SessionFolder folder_;
  // Those that were taken last: whoever did not hear of it asks again.
  struct Kept {
    Hash128 content;
    std::string name;
    disk::Session session;
  };
  std::deque<Kept> kept_ GUARDED_BY(mu_);
};

}  // namespace aster::node
