// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Built-in models as members, each with a vocabulary, a template and a scheduler of its own; for
// tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/folders_for_test.h"
#include "ensemble/open_members.h"

namespace aster::ensemble {

// Members refer to this object.
class MembersForTest {
 public:
  MembersForTest() { options_.threads = 1; }

  OpenMembers Open(std::vector<std::string> names, const Clock& clock,
                   const std::string& kv_memory = "64MiB") {
    options_.kv_memory = kv_memory;
    for (std::string& name : names) name = ASTER_SOURCE_DIR "/models/" + name + ".gguf";
    auto opened = OpenMembers::Open({.names = std::move(names)},
                                    {.model = &options_, .cluster = &cluster_}, clock, reporter_);
    CHECK_NOTE(opened.ok(), opened.ok() ? "" : opened.error().message());
    return std::move(*opened);
  }

 private:
  class NullReporter final : public open::Reporter {
   public:
    void Complain(std::string_view, std::string_view) override {}
    open::StepProgress StartProgress(std::string) override {
      return [](uint64_t, uint64_t) {};
    }
  };

  NullReporter reporter_;
  open::ModelOptions options_;
  open::ClusterOptions cluster_;
};

}  // namespace aster::ensemble
