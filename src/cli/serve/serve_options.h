// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of `aster serve`. Must not know how requests are answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/sampling_options.h"
#include "crypto/sha256.h"
#include "open/cluster_options.h"
#include "open/drafts.h"
#include "open/model_options.h"

namespace aster::cli {

struct ServeOptions {
  open::ModelOptions model;
  open::ClusterOptions cluster;
  SamplingFlags sampling;
  open::DraftOptions draft;

  std::string host = "127.0.0.1";
  uint32_t port = 8080;
  std::vector<std::string> names;  // of the models, in order; missing ones: like their files
  std::vector<std::string> aliases;
  std::vector<std::string> ensembles;  // NAME=MODEL,MODEL…
  std::vector<std::string> weights;    // NAME=N,N…, of an ensemble's members
  std::vector<std::string> policies;   // NAME=POLICY, for an ensemble
  double ensemble_wait_s = 60;
  std::string keys_path;          // a file with a SHA-256 in hex on each line
  std::string admin_keys_path;    // likewise, of keys that may change the cluster
  bool open = false;              // to other machines without a key
  bool open_metrics = false;      // the metrics alone
  std::vector<std::string> cors;  // origins of web pages

  uint32_t context = 0;     // 0: the model's training context
  uint64_t max_tokens = 0;  // if a client gives none; 0: up to the context
  uint32_t parallel = 64;
  size_t queue = 256;
  size_t stored_responses = 0;
  uint32_t deadline_s = 0;  // 0: none
  uint32_t grace_s = 30;
  std::string body = "16MiB";
  bool log_prompts = false;
  std::string trace_folder;     // empty: none
  std::string tls_certificate;  // PEM files; both or none
  std::string tls_key;
  bool print_config = false;

  void Declare(CLI::App& app);
  // An error for contradictions, and for access that would be open to everybody.
  Status Check() const;
  // From the file and from ASTER_API_KEY.
  Result<std::vector<crypto::Sha256Digest>> Keys() const;
  // From their file and from ASTER_ADMIN_KEY.
  Result<std::vector<crypto::Sha256Digest>> AdminKeys() const;
  // Whether others than this machine's users may send requests: there are keys, or it listens on
  // other addresses.
  bool IsShared() const;
  std::string Listen() const;  // HOST:PORT
  Result<size_t> BodyBytes() const;

 private:
  void DeclareEnsembles(CLI::App& app);
};

}  // namespace aster::cli
