// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A client's channel to one node: resolved, made and checked on demand, and replaced after a
// failure. For the .cc files of this folder. Must not know what is called.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/socket.h"
#include "rpc/control_client.h"
#include "rpc/grpc_threads.h"

namespace grpc {
class Channel;
class ChannelCredentials;
class Status;
}  // namespace grpc

namespace aster::rpc {

// Whether the listener is the expected node. Safe for concurrent use.
class PeerCheck {
 public:
  PeerCheck(std::string authority, std::optional<NodeId> expect)
      : authority_(std::move(authority)), expect_(expect) {}

  Status Check(std::string_view certificate_pem, int64_t wall_s) EXCLUDES(mu_);
  // Why the last peer was refused; nullopt if it was not.
  std::optional<Error> refusal() const EXCLUDES(mu_);

 private:
  Status Judge(std::string_view certificate_pem, int64_t wall_s) const;

  const std::string authority_;  // empty: any authority
  const std::optional<NodeId> expect_;
  mutable Mutex mu_;
  std::optional<Error> refusal_ GUARDED_BY(mu_);
};

// Safe for concurrent use.
class ClientChannel {
 public:
  static Result<std::unique_ptr<ClientChannel>> Make(ControlClientOptions options);
  ~ClientChannel();

  const std::string& address() const { return address_; }
  const Clock& clock() const { return clock_; }

  // Resolves the name, if it is one; connects later, during the first call.
  Result<std::shared_ptr<grpc::Channel>> Get(int64_t deadline_ns) EXCLUDES(mu_);
  // The error of a failed call, with the address; a broken channel is not used again.
  Error Explain(const std::shared_ptr<grpc::Channel>& channel, const grpc::Status& status)
      EXCLUDES(mu_);

 private:
  ClientChannel(ControlClientOptions options, net::HostPort host_port);

  Result<std::vector<net::Endpoint>> Lookup(int64_t deadline_ns) const;
  std::shared_ptr<grpc::Channel> Connect(const std::vector<net::Endpoint>& endpoints,
                                         int64_t deadline_ns);
  std::shared_ptr<grpc::Channel> NewChannel(const std::string& target) const;
  void CloseOwn() REQUIRES(mu_);
  Error ExplainUnavailable(const Error& error) const;

  const GrpcThreads threads_;  // first: ends after everything else
  const SystemClock clock_;
  const std::string address_;
  const net::HostPort host_port_;
  const std::shared_ptr<PeerCheck> check_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Mutex mu_;
  std::shared_ptr<grpc::Channel> channel_ GUARDED_BY(mu_);
  int64_t made_ns_ GUARDED_BY(mu_) = 0;  // when that channel was
};

}  // namespace aster::rpc
