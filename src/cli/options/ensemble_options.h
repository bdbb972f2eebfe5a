// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The options of commands that several models may answer together. Must not know how they do.
#pragma once

#include "ensemble/ensemble.h"
#include "ensemble/open_members.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace aster::cli {

struct EnsembleFlags {
  ensemble::MemberOptions members;  // no names: no ensemble
  double wait_s = 60;

  bool is_wanted() const { return !members.names.empty(); }
  ensemble::EnsembleOptions ForEnsemble() const {
    return {.wait_ns = static_cast<int64_t>(wait_s * 1e9)};
  }
};

// What is declared outlives the parsing of the command line. The option that names the members.
CLI::Option* DeclareEnsembleOptions(CLI::App& app, EnsembleFlags& flags);

}  // namespace aster::cli
