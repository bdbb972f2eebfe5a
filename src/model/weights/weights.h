// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The weights of a slice of a model, packed in memory. Weights of other slices are never read. Must
// not know sequences or where the slice's neighbours are.
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

// How the streams of the residual are mixed around half a layer; in parentheses: how they become
// one row at the end.
struct MixWeights {
  compute::Matrix mix;   // [2 * streams + streams^2 (streams), streams * embedding]
  compute::Array scale;  // [3] before, after, between ([1])
  compute::Array base;   // [2 * streams + streams^2 (streams)]
};

// Makes one row of several tokens. Columns: the row's numbers, twice with a ratio of 4. V4.1 has no
// places, and with a ratio of 1 no scores.
struct CompressorWeights {
  compute::Matrix values;  // [columns, embedding]
  compute::Matrix scores;  // [columns, embedding]
  compute::Array places;   // [ratio, columns], added to the scores
  compute::Array norm;     // [row]
};

// Attention over rows that are both keys and values.
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
  // Only for layers of V4.1 that make compressed rows:
  compute::Matrix index_key;      // [index_dim, head_dim]
  compute::Array index_key_norm;  // [index_dim]
};

// A layer's n-gram memory.
struct NgramWeights {
  const gguf::Tensor* table = nullptr;  // of the file; rows are decoded when tokens need them
  compute::Matrix key_value;  // [(streams + 1) * embedding, rows of a token * dim]: keys, value
  compute::Array weights;     // [streams * embedding], of the product of streams and keys
};

// The index of a layer's rows.
struct RowIndexWeights {
  compute::Matrix row;     // [dim, embedding], less the mean of its rows: its outputs have mean 0
  compute::Array norm;     // [dim]
  compute::Array bias;     // [dim]
  compute::Matrix query;   // [heads * dim, query_rank]
  compute::Matrix shares;  // [heads, embedding]
};

// Attention of heads that share one row.
struct MlaWeights {
  compute::Matrix query_low;                // [query_rank, embedding], or none
  compute::Array query_norm;                // [query_rank]
  compute::Matrix query_nope;               // [head_count * key_dim, query_rank (embedding)]: no
                                            // RoPE
  std::vector<compute::Matrix> query_rope;  // [heads] of [rope.dimensions, the same], with RoPE
  compute::Matrix row;                      // [head_dim, embedding]
  compute::Array row_norm;                  // [row_rank]
  std::vector<compute::Matrix> keys;        // [heads] of [row_rank, key_dim]
  std::vector<compute::Matrix> values;      // [heads] of [value_dim, row_rank]
  compute::Array no_sinks;                  // [head_count] of minus infinity
  compute::Matrix output;                   // [embedding, head_count * value_dim]
  RowIndexWeights index;                    // of layers that have one
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

// The weights for a layer's own embedding of a token (Gemma 4).
struct LayerInputWeights {
  compute::Matrix projection;      // [input, embedding], for the token's embedding
  compute::Array projection_norm;  // [input]
  compute::Matrix gate;            // [input, embedding]
  compute::Matrix back;            // [embedding, input]
  compute::Array norm;             // [embedding]
};

// Empty if the architecture has no such weight. A part of a group has its own heads, and its own
// rows of `output`, of the feed-forward networks and of the head (model/parts/group_part.h). If
// parts own experts, those of other parts are empty.
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
  compute::Matrix output_gate;    // [head_count * head_dim, embedding], for the heads' output
  compute::Array attended_norm;   // [embedding], for the attention's output

  compute::Array feed_forward_norm;  // [embedding]
  compute::ExpertWeights dense;
  compute::Array fed_norm;            // [embedding], for the feed-forward network's output
  compute::Matrix router;             // [experts, embedding]
  compute::Array router_bias;         // [experts], added to the scores
  compute::Array choice_bias;         // [experts], for the choice only
  std::vector<int32_t> expert_table;  // [vocab_size, used], if tokens choose
  std::vector<compute::ExpertWeights> experts;
  compute::Array expert_gate_bias;  // [experts * feed_forward]
  compute::Array expert_up_bias;    // the same
  compute::Array expert_down_bias;  // [experts * embedding]
  compute::ExpertWeights shared;    // for every token
  compute::Matrix shared_gate;      // [1, embedding], for its share

  // DeepSeek V4.
  MixWeights attention_mix;
  MixWeights feed_forward_mix;
  LatentWeights latent;
  NgramWeights ngrams;

  MlaWeights mla;
  DeltaWeights delta;

  // Gemma 4: experts beside the dense network, each with norms of its own.
  compute::Array dense_norm;     // [embedding], for the dense network's output
  compute::Array router_norm;    // [embedding], for the router's input
  compute::Array expert_norm;    // [embedding], for the experts' input
  compute::Array mixed_norm;     // [embedding], for the experts' output
  compute::Array expert_scales;  // [experts], of their shares
  LayerInputWeights input;
  float output_scale = 1.0f;  // of the residual after the layer

  // All matrices that every token is multiplied with: everything except the experts.
  std::vector<const compute::Matrix*> Matrices() const;
};

struct MtpWeights;

// Constant after loading, so any number of threads may read. Keeps views into the files for the
// embedding: the files outlive it.
struct Weights {
  Shape shape;
  Slice slice;
  const gguf::Tensor* embedding = nullptr;  // of the file; rows are decoded when tokens need them
  const gguf::Tensor* layer_embedding = nullptr;  // likewise, for all layers one after the other
  std::vector<float> rope_factors;                // [rope.dimensions / 2], or empty
  std::vector<LayerWeights> layers;               // of the slice
  MixWeights merge;                               // if the residual has several streams
  compute::Array output_norm;                     // [embedding]
  compute::Matrix head;                           // [vocab_size, embedding]
  compute::Array logit_bias;                      // [vocab_size], if some tokens are suppressed
  std::shared_ptr<const MtpWeights> mtp;          // beside the head, if the model has it

  // The memory of packed weights.
  uint64_t PackedBytes() const;
};

// The MTP block, which drafts the token after the next one, from a token and the streams of the
// token before it (model/drafters/mtp_block.h).
struct MtpWeights {
  compute::Array token_norm;    // [embedding]
  compute::Array stream_norm;   // [embedding]
  compute::Matrix whole_head;   // [vocab_size, embedding], if a group's part has not all rows
  compute::Matrix join_token;   // [embedding, embedding]
  compute::Matrix join_stream;  // [embedding, embedding]
  // The layer with the norms after it, as a model of one layer; its head is the model's.
  Weights block;
};

using LoadProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

// Packs the slice on all threads into the back end's memory; pages of the files are freed once they
// are packed. CheckSupport's obstacles are errors.
Result<Weights> LoadWeights(const gguf::ModelFiles& files, const Slice& slice,
                            compute::Backend& backend, const LoadProgress& progress = nullptr);

}  // namespace aster::model
