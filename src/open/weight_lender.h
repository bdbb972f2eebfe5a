// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Sends weights of a model whose files are here to nodes, while this process uses these nodes. Must
// not know which nodes need any.
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
  // Listens at a free port of every address of this machine. The files outlive it.
  static Result<std::unique_ptr<WeightLender>> Start(cluster::Identity identity,
                                                     cluster::Revocations revocations,
                                                     const gguf::ModelFiles& files,
                                                     const Hash128& fingerprint);
  ~WeightLender();

  // The offer that nodes get.
  const rpc::WeightsOffer& offer() const { return offer_; }

 private:
  class Answers;

  explicit WeightLender(std::unique_ptr<Answers> answers);

  rpc::WeightsOffer offer_;
  std::unique_ptr<Answers> answers_;
  std::unique_ptr<rpc::ControlServer> server_;  // ends first
};

}  // namespace aster::open
