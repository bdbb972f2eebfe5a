// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests to rank documents, in the form that Jina, Cohere and llama.cpp share and in that of
// text-embeddings-inference, and what each answers. Must not know how relevance is computed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "serve/problem.h"

namespace aster::serve {

struct RerankAsk {
  std::string query;
  std::vector<std::string> documents = {};
  std::string field = "documents";  // that they stand in; "texts" is the other form
  size_t top = 0;                   // documents in the answer; 0: all
  bool returns_documents = false;
  bool is_raw = false;           // scores as the head makes them, not from 0 to 1
  bool cuts_documents = false;   // that are too long, rather than refuses them
  uint64_t document_tokens = 0;  // that are read of each at most; 0: no such limit
  std::string user = {};

  bool is_bare() const { return field == "texts"; }
};

RerankAsk ReadRerankRequest(const nlohmann::ordered_json& body, Problem& problem);

struct Ranks {
  std::string id;
  std::string model;           // as the client called it
  std::string method;          // by which relevance was computed
  std::vector<double> scores;  // [documents]
  uint64_t prompt_tokens = 0;
};

// The most relevant document first; of equal ones the one that was given first.
nlohmann::ordered_json RanksJson(const RerankAsk& ask, const Ranks& ranks);

}  // namespace aster::serve
