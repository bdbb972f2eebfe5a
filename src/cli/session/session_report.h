// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The report about a saved session, with its usable pages. Must not know who asks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>  // tidy: allow(third-party) a report is a JSON value
#include <string>
#include <vector>

#include "base/result.h"
#include "disk/session_folder.h"

namespace aster::cli {

struct ExaminedSession {
  disk::ListedSession listed;
  std::vector<disk::SessionPage> whole;  // usable ones

  const disk::Session& session() const { return listed.session; }
};

ExaminedSession ExamineSession(const disk::SessionFolder& folder, disk::ListedSession listed,
                               disk::SessionFolder::Look look);

// Positions from the beginning with rows of all layers, and the layers.
struct HeldRows {
  uint32_t positions = 0;
  uint32_t layers = 0;
};
HeldRows HeldBy(const ExaminedSession& examined);

// By name from the folder, with what it shares with others; or a file.
Result<disk::ListedSession> FindSession(const disk::SessionFolder& folder, const std::string& name);

nlohmann::ordered_json SessionJson(const ExaminedSession& examined);
// With the whole conversation.
nlohmann::ordered_json WholeSessionJson(const ExaminedSession& examined);

}  // namespace aster::cli
