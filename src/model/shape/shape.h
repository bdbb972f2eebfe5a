// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers of a model of a known architecture: read from a file's metadata, strictly, or made up
// for a synthetic model. Must not know weights, devices or other machines.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"
#include "kernels/routing.h"

namespace aster::model {

enum class Arch : uint8_t {
  kLlama,
  kMistral3,
  kQwen2,
  kQwen3,
  kQwen3Moe,
  kQwen3Next,
  kQwen35,
  kQwen35Moe,
  kGemma2,
  kGemma3,
  kGemma4,
  kPhi3,
  kGptOss,
  kGlm4Moe,
  kMiniMaxM2,
  kMimo2,
  kDeepSeek2,
  kDeepSeek32,
  kGlmDsa,
  kDeepSeek4,
  kDeepSeek41
};

// As general.architecture spells it.
std::string_view ArchName(Arch arch);
Result<Arch> ParseArch(std::string_view name);
// "llama, qwen2, …", for messages.
std::string KnownArchs();

// How RoPE is scaled beyond the context that a model was trained on.
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn };

struct Rope {
  float base = 10000.0f;
  uint32_t dimensions = 0;  // of a head that RoPE applies to; the rest is unchanged
  RopeScaling scaling = RopeScaling::kNone;
  float factor = 1.0f;            // by which positions are divided
  uint32_t original_context = 0;  // positions before scaling; 0 if not scaled
  // YaRN's numbers: pairs with more than beta_fast turns over the original context keep their
  // frequency, those below beta_slow are scaled, and attention is scaled by attention_factor. A
  // log_multiplier divides it by 1 + log_multiplier · 0.1 ln factor.
  float attention_factor = 1.0f;
  float log_multiplier = 0.0f;
  float beta_fast = 32.0f;
  float beta_slow = 1.0f;
};

struct Experts {
  uint32_t count = 0;  // 0: a dense model
  uint32_t used = 0;   // per token
  uint32_t feed_forward = 0;
  kernels::RouterScore score = kernels::RouterScore::kSoftmax;
  bool normalized = true;     // the chosen experts' weights are divided by their sum
  bool choice_bias = false;   // there is a bias that counts for the choice only
  uint32_t groups = 1;        // of neighbouring experts; the best groups are chosen first
  uint32_t used_groups = 1;   // groups that are chosen
  uint32_t dense_layers = 0;  // first layers, which have a dense network instead
  uint32_t shared = 0;        // experts that every token uses as well, as one network
  bool shared_gate = false;   // the shared network's weight is the sigmoid of a score
  bool fused = false;         // files have the gates and ups of all experts in one tensor
  float scale = 1.0f;         // of the chosen experts' weights
  // Only DeepSeek V4; `limit` also gpt-oss.
  uint32_t hash_layers = 0;  // first layers, where a table chooses experts
  float limit = std::numeric_limits<float>::infinity();  // of gate and up

  uint32_t shared_width() const { return shared * feed_forward; }
};

// Hyper-connections: how many rows the residual has, and how they are mixed around each half of a
// layer (docs/deepseek-v4.md).
struct Streams {
  uint32_t count = 1;
  uint32_t sinkhorn = 0;  // iterations
  float epsilon = 0.0f;
};

// Attention over rows that are both keys and values, the far ones compressed: DeepSeek V4.
struct Latent {
  uint32_t query_rank = 0;  // 0: plain attention
  uint32_t output_rank = 0;
  uint32_t output_groups = 0;
  std::vector<uint32_t> ratios;  // by layer: tokens in a compressed row; 0: none, 4 or 128
  Rope rope;                     // of layers with compressed rows
  uint32_t index_heads = 0;
  uint32_t index_dim = 0;
  uint32_t index_top = 0;    // compressed rows that a token sees in layers with a ratio of 4
  bool rounded_rows = true;  // trained with rows of few bits
  // Only V4.1, for ratios 1 and 2, by layer: whether it makes compressed rows, or uses those of the
  // last layer before it that does; and whether its index chooses among them, or the layer uses the
  // last choice before it.
  std::vector<uint8_t> makes_rows = {};
  std::vector<uint8_t> chooses_rows = {};
  // The layer whose index also chooses blocks of rows; later layers only choose rows in these.
  std::optional<uint32_t> block_layer = std::nullopt;
  uint32_t block_rows = 0;
  uint32_t top_blocks = 0;
};

// Layers with n-gram memory (V4.1's Engram): they add to the residual what a table holds for a
// token and those before it. A row for every length of 2 to `length` tokens and every head.
struct Ngrams {
  std::vector<uint32_t> layers;
  uint32_t length = 0;
  uint32_t heads = 0;
  uint32_t dim = 0;                    // of a row
  uint32_t padding = 0;                // the class of positions before the first token
  std::vector<uint32_t> classes = {};  // [vocab_size]: equal for tokens that count as one
  // For every such layer: the hash multipliers [length]; how many rows each head has, and where
  // these begin in the table [length - 1, heads].
  std::vector<uint64_t> multipliers = {};
  std::vector<uint64_t> row_counts = {};
  std::vector<uint64_t> first_rows = {};

  uint32_t rows() const { return (length - 1) * heads; }  // for a token
};

// Multi-head latent attention (MLA): heads share one row; each makes its keys and values of it.
struct Mla {
  uint32_t query_rank = 0;  // 0: queries are made from the embedding directly
  uint32_t row_rank = 0;    // numbers of a row without RoPE; 0: plain attention
  uint32_t key_dim = 0;     // numbers of a head's key without RoPE
  uint32_t value_dim = 0;   // of a head's value
};

// An index that chooses the rows which a token sees in such attention (DSA: DeepSeek V3.2, GLM 5).
struct RowIndex {
  uint32_t heads = 0;  // 0: all rows are seen
  uint32_t dim = 0;    // of its rows, and of a head's query
  uint32_t top = 0;    // rows that a token sees
  // By layer: whether it has an index of its own, or uses the last choice before it.
  std::vector<uint8_t> own;
};

// Gated delta nets: layers that keep a state for every head in place of keys and values, with a
// short convolution before them (docs/delta-net.md).
struct Recurrence {
  uint32_t full_every = 0;  // of this many layers, the last one has attention; 0: all do
  uint32_t key_heads = 0;
  uint32_t value_heads = 0;  // each with a state; several share a key
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t taps = 0;        // tokens that the convolution joins
  bool in_turn = false;     // value head i uses key head i % key_heads; else neighbours share one
  bool one_matrix = false;  // files have the layer's projection in one tensor, by key heads

  uint32_t keys() const { return key_heads * key_dim; }
  uint32_t values() const { return value_heads * value_dim; }
  uint32_t channels() const { return 2 * keys() + values(); }  // of the convolution
  uint32_t heads_of_key() const { return value_heads / key_heads; }
};

// Layers of two kinds, with a window and without, whose heads differ, too; and other numbers of
// Gemma 4's and MiMo 2's layers.
struct LayerKinds {
  uint32_t window_head_dim = 0;  // of layers with a window; 0: as in the others
  uint32_t window_kv_heads = 0;  // the same
  uint32_t sharing = 0;          // last layers, which use KV rows of an earlier layer of their kind
  uint32_t sharing_feed_forward = 0;  // of the last `sharing` layers
  uint32_t input = 0;                 // numbers of a token's embedding for each layer; 0: none
  bool keys_are_values = false;       // of layers without a window, before their norms
  // Only MiMo 2.
  bool first_sees_all = false;  // the first layer has no window, independent of full_every
  bool fused = false;           // files have queries, keys and values in one tensor
  uint32_t value_dim = 0;       // of a head's value; 0: as of its key
  float value_scale = 1.0f;     // of values
};

inline constexpr uint32_t kShortRatio = 4;  // overlapping, with an index
inline constexpr uint32_t kLongRatio = 128;
inline constexpr uint32_t kPairRatio = 2;  // V4.1's largest

struct Shape {
  Arch arch = Arch::kLlama;
  uint32_t layer_count = 0;
  uint32_t context_length = 0;  // positions it was trained for
  uint32_t embedding = 0;
  uint32_t head_count = 0;
  uint32_t kv_head_count = 0;
  uint32_t head_dim = 0;
  uint32_t feed_forward = 0;  // of a dense layer
  uint32_t vocab_size = 0;
  float norm_epsilon = 1e-5f;
  uint32_t sliding_window = 0;   // positions a row sees, itself included; 0: all
  uint32_t full_every = 0;       // of this many layers, the last one has no window; 0: all have it
  float attention_scale = 0.0f;  // of scores; 0: 1 / sqrt(head_dim)
  float attention_cap = 0.0f;    // soft cap of scores (Gemma 2); 0: none
  float logit_cap = 0.0f;        // soft cap of logits; 0: none
  float temperature = 0.0f;      // by which queries grow with their position (Mistral 3); 0: none
  Rope rope = {};
  Rope window_rope = {};  // of layers with a window, if they have another (Gemma 3 and 4)
  LayerKinds kinds = {};
  Experts experts = {};
  Streams streams = {};
  Latent latent = {};
  Mla mla = {};
  RowIndex index = {};
  Recurrence recurrence = {};
  std::shared_ptr<const Ngrams> ngrams = nullptr;
  uint32_t mtp_layers = 0;    // MTP blocks after the last layer that draft: one, or none
  uint32_t left_out = 0;      // further MTP blocks, which are never computed
  bool mtp_apart = false;     // the MTP block is named mtp.0 and has two separate projections
  bool tied_head = false;     // the output head is the token embedding
  bool rope_factors = false;  // a tensor holds one frequency factor per pair (Llama 3, Phi 3)
  bool head_norms = false;    // queries and keys are normed, if only files say so (GLM)
  std::vector<int32_t> suppressed = {};  // tokens that are never the next one; ascending

  // Floats of a token's residual, and of its row between layers, and so between slices: after the
  // residual, the row may have what later layers need (carried.h).
  uint32_t residual_width() const { return streams.count * embedding; }
  uint32_t hidden_width() const { return residual_width() + carried_width(); }
  uint32_t carried_width() const;
  bool mixes_ahead() const { return arch == Arch::kDeepSeek41; }
  bool is_latent() const { return latent.query_rank > 0; }
  // Whether some layers see the compressed rows of others.
  bool shares_compressed_rows() const { return arch == Arch::kDeepSeek41; }
  bool has_ngrams(uint32_t layer) const;
  bool is_mla() const { return mla.row_rank > 0; }
  bool is_indexed() const { return index.heads > 0; }
  bool has_index(uint32_t layer) const { return is_indexed() && index.own[layer] != 0; }
  // Whether RoPE of an index's rows and queries pairs the two halves, whatever heads do.
  bool index_rope_pairs_halves() const { return arch == Arch::kDeepSeek32; }
  // Whether a slice of the model can begin with the layer.
  bool can_begin(uint32_t layer) const;
  // Some layers keep a state; the others, with attention, gate its output.
  bool is_recurrent() const { return recurrence.full_every > 0; }
  // An MTP block, after the last layer, has attention.
  bool has_state(uint32_t layer) const {
    return is_recurrent() && layer < layer_count && (layer + 1) % recurrence.full_every != 0;
  }
  bool has_experts(uint32_t layer) const {
    return experts.count > 0 && layer >= experts.dense_layers;
  }
  bool is_glm() const { return arch == Arch::kGlm4Moe; }
  bool qkv_bias() const { return arch == Arch::kQwen2 || is_gpt_oss() || is_glm(); }
  // Has biases on every product of a layer, a sink for every head and gates of its own.
  bool is_gpt_oss() const { return arch == Arch::kGptOss; }
  // Has norms also after both halves of a layer, gates of gelu, and an embedding that is scaled.
  bool is_gemma() const { return arch == Arch::kGemma2 || arch == Arch::kGemma3 || is_gemma4(); }
  bool is_gemma4() const { return arch == Arch::kGemma4; }
  // Layers with a window have other numbers of key-value heads, and sinks; values are narrower.
  bool is_mimo2() const { return arch == Arch::kMimo2; }
  bool has_window_sinks(uint32_t layer) const;
  // Whether layers with a window have another RoPE than the others.
  bool has_window_rope() const { return arch == Arch::kGemma3 || is_gemma4() || is_mimo2(); }
  // Has queries, keys and values in one matrix, and gate and up of the feed-forward in another.
  bool is_fused() const { return arch == Arch::kPhi3; }
  // Files have the rows of queries and keys in such an order that RoPE pairs neighbours.
  bool rope_pairs_neighbours() const {
    return arch == Arch::kLlama || arch == Arch::kMistral3 || is_mla();
  }
  bool qk_norm() const {
    return arch == Arch::kQwen3 || arch == Arch::kQwen3Moe || (has_window_rope() && !is_mimo2()) ||
           is_recurrent() || head_norms;
  }
  // Queries and keys are normed over all heads at once.
  bool has_wide_norms() const { return arch == Arch::kMiniMaxM2; }
};

// Whether layers of the architecture have experts in place of one feed-forward network.
bool HasExperts(Arch arch);

// Whether all its heads share one row.
bool HasMla(Arch arch);
// Whether an index chooses which rows its heads see.
bool HasDsa(Arch arch);

// Whether its files say how the router chooses (shape_router.h).
bool HasRouterKeys(Arch arch);

// Positions that a row of a layer sees, itself included; 0: all.
uint32_t WindowOf(const Shape& shape, uint32_t layer);

// The numbers of one layer, if layers are of two kinds.
uint32_t HeadDimOf(const Shape& shape, uint32_t layer);
uint32_t KvHeadsOf(const Shape& shape, uint32_t layer);
uint32_t ValueDimOf(const Shape& shape, uint32_t layer);
uint32_t FeedForwardOf(const Shape& shape, uint32_t layer);

// Whether the layer's values are its keys.
bool TakesKeysAsValues(const Shape& shape, uint32_t layer);

// The layer whose KV rows a layer uses: itself, except if it shares an earlier one's.
uint32_t KvLayerOf(const Shape& shape, uint32_t layer);

// For layers with a ratio: whether a layer makes compressed rows; whether it keeps some, its own or
// those of the last layer before it that makes them; and the layer whose rows it sees.
bool MakesCompressedRows(const Shape& shape, uint32_t layer);
bool KeepsCompressedRows(const Shape& shape, uint32_t layer);
uint32_t CompressedLayerOf(const Shape& shape, uint32_t layer);

// Whether compressed rows are chosen for a layer, and whether its own index does that.
bool HasChosenRows(const Shape& shape, uint32_t layer);
bool ChoosesRows(const Shape& shape, uint32_t layer);

// The factor of attention scores before their softmax.
float AttentionScaleOf(const Shape& shape);

// A further factor of the query at a position.
double QueryFactorAt(const Shape& shape, int64_t position);

// The square root of a width, in the type that Gemma was trained in.
float TrainedRootOf(uint32_t width);

// The factor of embedding rows.
float EmbeddingScaleOf(const Shape& shape);

// Every number the architecture needs, or an error that names the key, its value and the expected
// one. Some facts are not in the metadata, only in the list of tensors: whether the head is tied,
// whether there are rope factors, and an MTP block whose tensors are named mtp.0.
Result<Shape> ReadShape(const gguf::Metadata& metadata);

// An error for numbers that cannot belong together (heads that do not divide, more experts used
// than there are…).
Status CheckShape(const Shape& shape);

// Whether an MTP block of the architecture is computed.
bool CanDraftWithMtp(const Shape& shape);

// The MTP block, which drafts the token after the next, as a model of that one layer.
Shape ShapeOfMtp(const Shape& shape);

}  // namespace aster::model
