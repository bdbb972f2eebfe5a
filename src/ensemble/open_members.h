// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Opens the models of an ensemble, each with its own files, vocabulary, template and generator,
// here or on nodes. Must not know the command line, nor what is asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "chat/prompt.h"
#include "ensemble/member.h"
#include "gguf/model_files.h"
#include "model/shape/shape.h"
#include "open/cluster_options.h"
#include "open/model_options.h"
#include "open/open_model.h"
#include "text/tokenizer.h"

namespace aster::ensemble {

struct MemberOptions {
  // Files, or names of built-in models; with places as in open/placed_model.h.
  std::vector<std::string> names = {};
  std::vector<double> weights = {};  // one each; empty: all the same
  bool has_forms = false;            // responses may have a form, or call tools
  chat::ReasoningEffort effort = chat::ReasoningEffort::kDefault;
};

// Unique names: "nova", "pulsar", "nova 2".
std::vector<std::string> Distinct(const std::vector<std::string>& names);
std::vector<std::string> DistinctNames(const std::vector<std::string>& paths);

// The models of an ensemble, open.
class OpenMembers {
 public:
  // `options`: common to all: threads, memory, nodes; it outlives this, as does the clock.
  static Result<OpenMembers> Open(const MemberOptions& members, const open::OpenOptions& options,
                                  const Clock& clock, open::Reporter& reporter);

  // In the order of their names.
  std::vector<Member> members() const;
  // The smallest of their training contexts.
  uint32_t context() const;
  // The fingerprint of all files together, in their order.
  Result<Hash128> Fingerprint(open::Reporter& reporter) const;
  uint32_t smallest_vocab() const;
  // Call it at the end: writes the files that the options ask for.
  Status Save();

 private:
  struct Opened {
    open::ModelOptions model;
    open::ClusterOptions cluster;
    gguf::ModelFiles files;
    model::Shape shape;
    std::unique_ptr<text::Tokenizer> tokenizer = nullptr;
    std::unique_ptr<chat::ChatPrompt> prompt = nullptr;
    Member member = {};
    std::unique_ptr<open::OpenedModel> opened = nullptr;
  };

  static Result<std::unique_ptr<Opened>> OpenOne(const std::string& path,
                                                 const MemberOptions& members,
                                                 open::OpenOptions options, const Clock& clock,
                                                 open::Reporter& reporter);

  std::vector<std::unique_ptr<Opened>> opened_;
};

}  // namespace aster::ensemble
