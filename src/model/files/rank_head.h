// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The head of a reranking model: computes the relevance of a document to a query from the row after
// the model's last norm. In double and in a fixed order, so that the same row gives the same bits.
// Must not know how rows are computed, nor how query and document became tokens.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"

namespace aster::model {

struct RankHead {
  size_t width = 0;                // of a row
  size_t label_count = 1;          // 1: a single score; more: classes, one of which means relevant
  size_t relevant_label = 0;       // that class
  std::vector<float> dense;        // [width, width] before the output, with tanh; empty: none
  std::vector<float> dense_bias;   // [width]; empty: none
  std::vector<float> output;       // [label_count, width]
  std::vector<float> output_bias;  // [label_count]; empty: none
  // How query and document become a prompt: a text with {query} and {document}. Empty: query and
  // document with end tokens between them.
  std::string form;

  // From 0 to 1: the probability of the relevant class, or the sigmoid of the single score.
  double Relevance(std::span<const float> row) const;
  // The single score, or how far the relevant class's score is above the others'.
  double RawScore(std::span<const float> row) const;
};

// Whether a file of a reranking model may have this tensor beside those of its architecture.
bool IsTensorOfRankHead(std::string_view name);

// How a model ranks documents: by its head; or, if null, by the cosine of embeddings, as a model
// whose file names another pooling. An error if it cannot rank, or if the head is damaged.
Result<std::shared_ptr<const RankHead>> ReadRankHead(const gguf::ModelFiles& files);

}  // namespace aster::model
