// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of a slice of a model, in memory and packed: what a forward pass multiplies with.
// Weights of other slices are never read. Must not know sequences or where the slice's neighbours
// are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "compute/matrix.h"
#include "gguf/model_files.h"
#include "model/parts/slice.h"
#include "model/shape/shape.h"

namespace aster::model {

// How the streams of the residual are mixed around half a layer; or, in parentheses, how they
// become one row at the end.
struct MixWeights {
  compute::Matrix mix;   // [2 * streams + streams^2 (streams), streams * embedding]
  compute::Array scale;  // [3] before, after, between ([1])
  compute::Array base;   // [2 * streams + streams^2 (streams)]
};

// What makes one row of several tokens. Columns: the row's numbers, twice with a ratio of 4. Of
// V4.1 there are no places, and with a ratio of 1 no scores.
struct CompressorWeights {
  compute::Matrix values;  // [columns, embedding]
  compute::Matrix scores;  // [columns, embedding]
  compute::Array places;   // [ratio, columns], added to the scores
  compute::Array norm;     // [row]
};

// Attention over rows that are keys and values at once.
struct LatentWeights {
  compute::Matrix query_low;   // [query_rank, embedding]
  compute::Array query_norm;   // [query_rank]
  compute::Matrix query_high;  // [head_count * head_dim, query_rank]
  compute::Matrix row;         // [head_dim, embedding]
  compute::Array row_norm;     // [head_dim]
  compute::Array sinks;        // [head_count]
  std::vector<compute::Matrix>
      output_low;                      // [groups] of [output_rank, heads of a group * head_dim]
  compute::Matrix output_high;         // [embedding, groups * output_rank]
  CompressorWeights compressor;        // with a ratio
  CompressorWeights index_compressor;  // with a ratio of 4
  compute::Matrix index_query;         // [index_heads * index_dim, query_rank]
  compute::Matrix index_heads;         // [index_heads, embedding]
  // Of layers of V4.1 that make compressed rows:
  compute::Matrix index_key;      // [index_dim, head_dim]
  compute::Array index_key_norm;  // [index_dim]
};

// A layer's memory of n-grams.
struct NgramWeights {
  const gguf::Tensor* table = nullptr;  // of the file; rows are decoded as tokens ask for them
  compute::Matrix key_value;  // [(streams + 1) * embedding, rows of a token * dim]: keys, a value
  compute::Array weights;     // [streams * embedding], of the product of streams and keys
};

// The index of a layer's rows.
struct RowIndexWeights {
  compute::Matrix row;     // [dim, embedding], less the mean of its rows: what it gives has mean 0
  compute::Array norm;     // [dim]
  compute::Array bias;     // [dim]
  compute::Matrix query;   // [heads * dim, query_rank]
  compute::Matrix shares;  // [heads, embedding]
};

// Attention of heads that share one row.
struct MlaWeights {
  compute::Matrix query_low;                   // [query_rank, embedding], or none
  compute::Array query_norm;                   // [query_rank]
  compute::Matrix query_still;                 // [head_count * key_dim, query_rank (embedding)]
  std::vector<compute::Matrix> query_turning;  // [heads] of [rope.dimensions, the same]
  compute::Matrix row;                         // [head_dim, embedding]
  compute::Array row_norm;                     // [row_rank]
  std::vector<compute::Matrix> keys;           // [heads] of [row_rank, key_dim]
  std::vector<compute::Matrix> values;         // [heads] of [value_dim, row_rank]
  compute::Array no_sinks;                     // [head_count] of minus infinity
  compute::Matrix output;                      // [embedding, head_count * value_dim]
  RowIndexWeights index;                       // of layers that have one
};

// A layer that keeps a state for every head.
struct DeltaWeights {
  compute::Matrix mixed;       // [channels, embedding]: queries, keys and values
  compute::Matrix gate;        // [values, embedding]
  compute::Matrix betas;       // [value_heads, embedding]
  compute::Matrix times;       // the same
  compute::Array convolution;  // [taps * channels], the oldest token's first
  compute::Array rates;        // [value_heads]
  compute::Array time_bias;    // the same
  compute::Array norm;         // [value_dim]
  compute::Matrix output;      // [embedding, values]
};

// What a layer makes of its own embedding of a token (Gemma 4).
struct LayerInputWeights {
  compute::Matrix projection;      // [input, embedding], of the token's embedding
  compute::Array projection_norm;  // [input]
  compute::Matrix gate;            // [input, embedding]
  compute::Matrix back;            // [embedding, input]
  compute::Array norm;             // [embedding]
};

// Empty where the architecture has no such weight. A part of a group has its own heads, and its own
// rows of `output`, of the feed-forward networks and of the head (model/parts/group_part.h). Of
// experts that are owned, those of other parts are empty.
struct LayerWeights {
  compute::Array attention_norm;  // [embedding]
  compute::Matrix query;          // [head_count * head_dim, embedding]
  compute::Matrix key;            // [kv_head_count * head_dim, embedding]
  compute::Matrix value;          // the same
  compute::Array query_bias;      // [head_count * head_dim]
  compute::Array key_bias;        // [kv_head_count * head_dim]
  compute::Array value_bias;      // the same
  compute::Array query_norm;      // [head_dim], or over all heads
  compute::Array key_norm;        // the same
  compute::Matrix output;         // [embedding, head_count * head_dim]
  compute::Array output_bias;     // [embedding]
  compute::Array sinks;           // [head_count]
  compute::Matrix output_gate;    // [head_count * head_dim, embedding], of what heads give
  compute::Array attended_norm;   // [embedding], of what attention gives

  compute::Array feed_forward_norm;  // [embedding]
  compute::ExpertWeights dense;
  compute::Array fed_norm;            // [embedding], of what the feed-forward network gives
  compute::Matrix router;             // [experts, embedding]
  compute::Array router_bias;         // [experts], added to the scores
  compute::Array choice_bias;         // [experts], for the choice only
  std::vector<int32_t> expert_table;  // [vocab_size, used], where tokens choose
  std::vector<compute::ExpertWeights> experts;
  compute::Array expert_gate_bias;  // [experts * feed_forward]
  compute::Array expert_up_bias;    // the same
  compute::Array expert_down_bias;  // [experts * embedding]
  compute::ExpertWeights shared;    // for every token
  compute::Matrix shared_gate;      // [1, embedding], its share's

  // DeepSeek V4's.
  MixWeights attention_mix;
  MixWeights feed_forward_mix;
  LatentWeights latent;
  NgramWeights ngrams;

  MlaWeights mla;
  DeltaWeights delta;

  // Gemma 4's: experts beside the dense network, each with norms of its own.
  compute::Array dense_norm;     // [embedding], of what the dense network gives
  compute::Array router_norm;    // [embedding], of what the router is given
  compute::Array expert_norm;    // [embedding], of what experts are given
  compute::Array mixed_norm;     // [embedding], of what they give
  compute::Array expert_scales;  // [experts], of their shares
  LayerInputWeights input;
  float output_scale = 1.0f;  // of the residual behind the layer

  // All that every token is multiplied with: everything but the experts.
  std::vector<const compute::Matrix*> Matrices() const;
};

struct NextWeights;

// Constant after loading, so any number of threads may read. Keeps views into the files for the
// embedding: they outlive it.
struct Weights {
  Shape shape;
  Slice slice;
  const gguf::Tensor* embedding = nullptr;  // of the file; rows are decoded as tokens ask for them
  const gguf::Tensor* layer_embedding = nullptr;  // likewise, for all layers one behind the other
  std::vector<float> rope_factors;                // [rope.dimensions / 2], or empty
  std::vector<LayerWeights> layers;               // of the slice
  MixWeights merge;                               // where the residual has several streams
  compute::Array output_norm;                     // [embedding]
  compute::Matrix head;                           // [vocab_size, embedding]
  std::shared_ptr<const NextWeights> next;        // beside the head, where the model has it

  // Memory that packed weights take.
  uint64_t PackedBytes() const;
};

// The MTP block, which drafts the token after the next, from a token and the streams behind the one
// before it (model/drafters/next_tokens.h).
struct NextWeights {
  compute::Array token_norm;    // [embedding]
  compute::Array stream_norm;   // [embedding]
  compute::Matrix whole_head;   // [vocab_size, embedding], where a group's part has rows of it only
  compute::Matrix join_token;   // [embedding, embedding]
  compute::Matrix join_stream;  // [embedding, embedding]
  // The layer with what is behind it, as a model of that one layer; its head is the model's.
  Weights block;
};

using LoadProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Packs the slice on all threads into the back end's memory; the files' pages are let go as soon as
// they are packed. CheckSupport's obstacles are errors.
Result<Weights> LoadWeights(const gguf::ModelFiles& files, const Slice& slice,
                            compute::Backend& backend, const LoadProgress& progress = nullptr);

}  // namespace aster::model
