// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/rerank_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace aster::serve {
namespace {

using nlohmann::ordered_json;

// The most documents of one request.
constexpr size_t kMaxDocuments = 2048;

// A document is a text, or an object with one.
void ReadDocument(const Fields& fields, const ordered_json& one, const std::string& place,
                  RerankRequest& request) {
  const ordered_json* text = &one;
  if (one.is_object()) {
    const auto member = one.find("text");
    if (member != one.end()) text = &*member;
  }
  if (!text->is_string()) return fields.Refuse(place, "give a text, or an object with \"text\"");
  request.documents.push_back(text->get<std::string>());
  if (request.documents.back().empty()) fields.Refuse(place, "is empty: give some text");
}

void ReadDocuments(const Fields& fields, RerankRequest& request) {
  const ordered_json* const list = fields.Array(request.field.c_str());
  if (fields.problem().any()) return;
  if (list == nullptr) return fields.Refuse(request.field, "is missing");
  if (list->empty()) return fields.Refuse(request.field, "give at least one document");
  if (list->size() > kMaxDocuments) {
    return fields.Refuse(request.field,
                         fmt::format("give at most {} documents at once", kMaxDocuments));
  }
  for (size_t i = 0; i < list->size() && !fields.problem().any(); ++i)
    ReadDocument(fields, (*list)[i], fmt::format("{}[{}]", request.field, i), request);
}

}  // namespace

RerankRequest ReadRerankRequest(const ordered_json& body, Problem& problem) {
  const Fields fields(body, problem);
  RerankRequest request;
  if (fields.Find("texts") != nullptr && fields.Find("documents") == nullptr)
    request.field = "texts";
  request.query = fields.String("query").value_or("");
  if (request.query.empty())
    fields.Refuse("query", "is missing: give what documents are ranked for");
  ReadDocuments(fields, request);
  request.top = static_cast<size_t>(fields.Integer("top_n", 1, INT32_MAX).value_or(0));
  const char* const returns = request.is_bare() ? "return_text" : "return_documents";
  request.returns_documents = fields.Bool(returns).value_or(false);
  request.is_raw = fields.Bool("raw_scores").value_or(false);
  const auto most = fields.Integer("max_tokens_per_doc", 1, INT32_MAX);
  request.document_tokens = static_cast<uint64_t>(most.value_or(0));
  request.cuts_documents = fields.Bool("truncate").value_or(false);
  request.user = fields.String("user").value_or("");
  return request;
}

ordered_json RanksJson(const RerankRequest& request, const Ranks& ranks) {
  std::vector<size_t> order(ranks.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&ranks](size_t a, size_t b) { return ranks.scores[a] > ranks.scores[b]; });
  if (request.top != 0) order.resize(std::min(request.top, order.size()));
  ordered_json results = ordered_json::array();
  for (const size_t index : order) {
    ordered_json one = {{"index", index}};
    one[request.is_bare() ? "score" : "relevance_score"] = ranks.scores[index];
    if (request.returns_documents && request.is_bare()) one["text"] = request.documents[index];
    if (request.returns_documents && !request.is_bare())
      one["document"] = {{"text", request.documents[index]}};
    results.push_back(std::move(one));
  }
  if (request.is_bare()) return results;
  return {
      {"id", ranks.id},
      {"object", "list"},
      {"model", ranks.model},
      {"method", ranks.method},
      {"results", std::move(results)},
      {"usage", {{"prompt_tokens", ranks.prompt_tokens}, {"total_tokens", ranks.prompt_tokens}}}};
}

}  // namespace aster::serve
