// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests to rank documents, in the form that Jina, Cohere and llama.cpp share and in that of
// text-embeddings-inference, and the replies of each. Must not know how relevance is computed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "serve/problem.h"

namespace aster::serve {

struct RerankRequest {
  std::string query;
  std::vector<std::string> documents = {};
  std::string field = "documents";  // the field with the documents; the other form has "texts"
  size_t top = 0;                   // documents in the answer; 0: all
  bool returns_documents = false;
  bool is_raw = false;           // the head's scores, not mapped to 0 … 1
  bool cuts_documents = false;   // if they are too long; false: refuses them
  uint64_t document_tokens = 0;  // the most tokens that are read of each; 0: no limit
  std::string user = {};

  bool is_bare() const { return field == "texts"; }
};

RerankRequest ReadRerankRequest(const nlohmann::ordered_json& body, Problem& problem);

struct Ranks {
  std::string id;
  std::string model;           // as the client called it
  std::string method;          // how relevance was computed
  std::vector<double> scores;  // [documents]
  uint64_t prompt_tokens = 0;
};

// The most relevant document first; equal ones in the order of the request.
nlohmann::ordered_json RanksJson(const RerankRequest& request, const Ranks& ranks);

}  // namespace aster::serve
