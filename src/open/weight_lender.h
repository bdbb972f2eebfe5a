// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Answers nodes that fetch weights of a model whose files are here, while this process asks them to
// compute. Must not know which nodes need any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/identity.h"
#include "cluster/revocations.h"
#include "gguf/model_files.h"
#include "rpc/control_server.h"

namespace aster::open {

class WeightLender {
 public:
  // At a free port of every address of this machine. The files outlive it.
  static Result<std::unique_ptr<WeightLender>> Start(cluster::Identity identity,
                                                     cluster::Revocations revocations,
                                                     const gguf::ModelFiles& files,
                                                     const Hash128& fingerprint);
  ~WeightLender();

  // What nodes are told.
  const rpc::WeightsOffer& offer() const { return offer_; }

 private:
  class Answers;

  explicit WeightLender(std::unique_ptr<Answers> answers);

  rpc::WeightsOffer offer_;
  std::unique_ptr<Answers> answers_;
  std::unique_ptr<rpc::ControlServer> server_;  // ends first
};

}  // namespace aster::open
