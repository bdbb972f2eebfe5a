// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/weight_lender.h"

#include <optional>
#include <utility>

#include "base/machine.h"
#include "base/mutex.h"
#include "base/thread_pool.h"
#include "fetch/manifest.h"
#include "gguf/fingerprint.h"
#include "node/addresses.h"
#include "node/held_models.h"

namespace aster::open {

class WeightLender::Answers final : public rpc::ControlService {
 public:
  Answers(cluster::Identity identity, cluster::Revocations revocations,
          const gguf::ModelFiles& files, const Hash128& fingerprint)
      : identity_(std::move(identity)),
        revocations_(std::move(revocations)),
        files_(files),
        fingerprint_(fingerprint) {}

  Status Admit(const rpc::NodeId& from) override {
    if (!revocations_.Contains(from)) return Ok();
    return Error(Code::kPermissionDenied, "this node was revoked");
  }
  Result<cluster::JoinReply> Join(const cluster::JoinRequest& /*request*/) override {
    return Nothing();
  }
  Result<rpc::Gossip> Exchange(const rpc::NodeId& /*from*/, const rpc::Gossip& /*said*/) override {
    return Nothing();
  }
  Result<cluster::Description> Describe() override {
    cluster::Description description;
    description.node = identity_.node;
    description.name = identity_.name;
    description.models = {TRY(node::DescribeModel(files_, fingerprint_))};
    return description;
  }
  Result<cluster::NodeStatus> GetStatus() override { return Nothing(); }
  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override {
    TRY(CheckModel(fingerprint));
    const MutexLock lock(mu_);
    if (!manifest_) {
      // Their hashes are in a cache, or they are small.
      ThreadPool pool(UsableCpuCount());
      manifest_ = fetch::MakeManifest(files_, TRY(gguf::FingerprintModel(files_, pool)));
    }
    return *manifest_;
  }
  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override {
    TRY(CheckModel(fingerprint));
    return fetch::ReadTensor(files_, tensor, offset, sink);
  }

 private:
  static Error Nothing() {
    return {Code::kUnavailable,
            "no node runs here, but a command that asks nodes to compute and has the model's file"};
  }
  Status CheckModel(const Hash128& fingerprint) const {
    if (fingerprint == fingerprint_) return Ok();
    return NotFound("this command has the files of another model");
  }

  const cluster::Identity identity_;
  const cluster::Revocations revocations_;
  const gguf::ModelFiles& files_;
  const Hash128 fingerprint_;
  Mutex mu_;
  std::optional<rpc::ModelManifest> manifest_ GUARDED_BY(mu_);
};

WeightLender::WeightLender(std::unique_ptr<Answers> answers) : answers_(std::move(answers)) {}
WeightLender::~WeightLender() = default;

Result<std::unique_ptr<WeightLender>> WeightLender::Start(cluster::Identity identity,
                                                          cluster::Revocations revocations,
                                                          const gguf::ModelFiles& files,
                                                          const Hash128& fingerprint) {
  const node::ListenAddresses listen = TRY(node::ParseListen(":0"));
  // tidy: allow(ownership) make_unique does not reach a private constructor
  std::unique_ptr<WeightLender> lender(new WeightLender(
      std::make_unique<Answers>(identity, std::move(revocations), files, fingerprint)));
  lender->server_ =
      TRY(rpc::ControlServer::Start({std::move(identity), listen.control}, *lender->answers_));
  lender->offer_ = {.fingerprint = fingerprint,
                    .addresses = TRY(node::ReachableAt(lender->server_->addresses(), ""))};
  return lender;
}

}  // namespace aster::open
