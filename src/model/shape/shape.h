// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The numbers that make a model of a known architecture this model: read from a file's metadata,
// strictly, or made up for a synthetic one. Must not know weights, devices or other machines.
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

// How rotary positions are stretched beyond the context a model was trained on.
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn };

struct Rope {
  float base = 10000.0f;
  uint32_t dimensions = 0;  // of a head that turn; the rest stand still
  RopeScaling scaling = RopeScaling::kNone;
  float factor = 1.0f;            // how far positions are stretched
  uint32_t original_context = 0;  // positions before stretching; 0 where not scaled
  // YaRN's own numbers: the pairs that turn more than beta_fast times over the original context
  // keep their frequency, those below beta_slow are stretched, and attention is scaled by
  // attention_factor. A log_multiplier divides it by 1 + log_multiplier · 0.1 ln factor.
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
  bool normalized = true;     // the chosen ones' weights are divided by their sum
  bool choice_bias = false;   // numbers that count for the choice only
  uint32_t groups = 1;        // of neighbours, of which some are chosen first, and then experts
  uint32_t used_groups = 1;   // of these
  uint32_t dense_layers = 0;  // first layers, which have one network instead
  uint32_t shared = 0;        // that every token uses as well, as one network
  bool shared_gate = false;   // whose share is then the sigmoid of a score
  float scale = 1.0f;         // of the chosen ones' weights
  // The rest is DeepSeek V4's, and the limit gpt-oss's too.
  uint32_t hash_layers = 0;  // first layers, whose experts a table picks
  float limit =
      std::numeric_limits<float>::infinity();  // of what goes into a product of two halves

  uint32_t shared_width() const { return shared * feed_forward; }
};

// Hyper-connections: how many rows the residual is, and how they are mixed around each half of a
// layer (docs/deepseek-v4.md).
struct Streams {
  uint32_t count = 1;
  uint32_t sinkhorn = 0;  // iterations
  float epsilon = 0.0f;
};

// Attention over rows that are keys and values at once, the far ones compressed: DeepSeek V4's.
struct Latent {
  uint32_t query_rank = 0;  // 0: plain attention
  uint32_t output_rank = 0;
  uint32_t output_groups = 0;
  std::vector<uint32_t> ratios;  // by layer: tokens in a compressed row; 0: none, 4 or 128
  Rope rope;                     // of layers with compressed rows
  uint32_t index_heads = 0;
  uint32_t index_dim = 0;
  uint32_t index_top = 0;    // compressed rows that a token sees in layers with a ratio of 4
  bool rounded_rows = true;  // whether it was trained with rows of few bits
  // V4.1's, of ratios 1 and 2. By layer: whether it makes compressed rows, or sees those of the
  // last layer before it that does; and whether its index chooses among them, or the last one's
  // before it has chosen.
  std::vector<uint8_t> makes_rows = {};
  std::vector<uint8_t> chooses_rows = {};
  // The layer whose index chooses blocks of rows too, of which alone those behind it choose rows.
  std::optional<uint32_t> block_layer = std::nullopt;
  uint32_t block_rows = 0;
  uint32_t top_blocks = 0;
};

// Layers that add to the residual what a table holds for a token and those before it (V4.1's
// Engram). A row for every length of 2 to `length` tokens and every head.
struct Ngrams {
  std::vector<uint32_t> layers;
  uint32_t length = 0;
  uint32_t heads = 0;
  uint32_t dim = 0;                    // of a row
  uint32_t padding = 0;                // what stands for tokens before the first
  std::vector<uint32_t> classes = {};  // [vocab_size]: tokens that count as one
  // Of every such layer: what the tokens are hashed with [length], into how many rows each head's
  // hashes fall, and where these begin in the table [length - 1, heads].
  std::vector<uint64_t> multipliers = {};
  std::vector<uint64_t> row_counts = {};
  std::vector<uint64_t> first_rows = {};

  uint32_t rows() const { return (length - 1) * heads; }  // that a token is given
};

// Attention of heads that share one row, of which each makes its keys and values (MLA).
struct Mla {
  uint32_t query_rank = 0;  // 0: queries are made of the embedding at once
  uint32_t row_rank = 0;    // numbers of a row but for those that turn; 0: plain attention
  uint32_t key_dim = 0;     // numbers of a head's key but for those
  uint32_t value_dim = 0;   // of a head's value
};

// An index that chooses which rows of such attention a token sees (DSA: DeepSeek V3.2, GLM 5).
struct RowIndex {
  uint32_t heads = 0;  // 0: all rows are seen
  uint32_t dim = 0;    // of its rows, and of a head's query
  uint32_t top = 0;    // rows that a token sees
  // By layer: whether it has an index of its own, or takes what the one before has chosen.
  std::vector<uint8_t> own;
};

// Layers that keep a state for every head in place of keys and values: gated delta nets, with a
// short convolution before them (docs/delta-net.md).
struct Recurrence {
  uint32_t full_every = 0;  // of layers the last of as many attends instead; 0: all do
  uint32_t key_heads = 0;
  uint32_t value_heads = 0;  // each with a state; several share a key
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t taps = 0;        // tokens that the convolution joins
  bool in_turn = false;     // value heads take keys in turn; else neighbours share one
  bool one_matrix = false;  // files have what the layer projects by key heads in one tensor

  uint32_t keys() const { return key_heads * key_dim; }
  uint32_t values() const { return value_heads * value_dim; }
  uint32_t channels() const { return 2 * keys() + values(); }  // of the convolution
  uint32_t heads_of_key() const { return value_heads / key_heads; }
};

// Layers of two kinds, with a window and without, that differ in their heads too; and what else a
// layer of Gemma 4 or MiMo 2 may have.
struct LayerKinds {
  uint32_t window_head_dim = 0;  // of layers with a window; 0: as in the others
  uint32_t window_kv_heads = 0;  // the same
  uint32_t sharing = 0;          // last layers, which see KV rows of the last of their kind before
  uint32_t sharing_feed_forward = 0;  // of these
  uint32_t input = 0;            // numbers that a token's embedding has for each layer; 0: none
  bool keys_are_values = false;  // of layers that see all, before their norms
  // MiMo 2's.
  bool first_sees_all = false;  // the first layer has no window, whatever full_every says
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
  uint32_t full_every = 0;       // of layers with a window: the last of as many sees all; 0: none
  float attention_scale = 0.0f;  // of scores; 0: 1 / sqrt(head_dim)
  float attention_cap = 0.0f;    // within which a soft cap holds scores (Gemma 2); 0: none
  float logit_cap = 0.0f;        // within which a soft cap holds logits; 0: none
  float temperature = 0.0f;      // by which queries far from the start grow (Mistral 3); 0: none
  Rope rope = {};
  Rope window_rope = {};  // of layers with a window, where they have another (Gemma 3 and 4)
  LayerKinds kinds = {};
  Experts experts = {};
  Streams streams = {};
  Latent latent = {};
  Mla mla = {};
  RowIndex index = {};
  Recurrence recurrence = {};
  std::shared_ptr<const Ngrams> ngrams = nullptr;
  uint32_t next_layers = 0;   // MTP blocks behind the last layer that draft: one, or none
  uint32_t left_out = 0;      // MTP blocks there that are never computed
  bool next_apart = false;    // of such a block: named mtp.0, its two projections apart
  bool tied_head = false;     // the output head is the token embedding
  bool rope_factors = false;  // a tensor holds one frequency factor per pair (Llama 3, Phi 3)
  bool head_norms = false;    // queries and keys are normed, where only files say so (GLM)

  // Floats of a token's residual, and of its row between layers, and so between slices: behind the
  // residual there may be what later layers need (carried.h).
  uint32_t residual_width() const { return streams.count * embedding; }
  uint32_t hidden_width() const { return residual_width() + carried_width(); }
  uint32_t carried_width() const;
  bool mixes_ahead() const { return arch == Arch::kDeepSeek41; }
  bool is_latent() const { return latent.query_rank > 0; }
  // Whether some layers see the compressed rows of others.
  bool shares_far_rows() const { return arch == Arch::kDeepSeek41; }
  bool has_ngrams(uint32_t layer) const;
  bool is_mla() const { return mla.row_rank > 0; }
  bool is_indexed() const { return index.heads > 0; }
  bool has_index(uint32_t layer) const { return is_indexed() && index.own[layer] != 0; }
  // Of what turns of an index's rows and queries the two halves make pairs, whatever heads do.
  bool index_turns_halves() const { return arch == Arch::kDeepSeek32; }
  // Whether a slice of the model can begin with the layer.
  bool can_begin(uint32_t layer) const;
  // Some layers keep a state; those that attend gate what they give.
  bool is_recurrent() const { return recurrence.full_every > 0; }
  // An MTP block, behind the last layer, attends.
  bool has_state(uint32_t layer) const {
    return is_recurrent() && layer < layer_count && (layer + 1) % recurrence.full_every != 0;
  }
  bool has_experts(uint32_t layer) const {
    return experts.count > 0 && layer >= experts.dense_layers;
  }
  bool is_glm() const { return arch == Arch::kGlm4Moe; }
  bool qkv_bias() const { return arch == Arch::kQwen2 || is_gpt_oss() || is_glm(); }
  // With biases on every product of a layer, a sink for every head and gates of its own.
  bool is_gpt_oss() const { return arch == Arch::kGptOss; }
  // With norms behind both halves of a layer too, gates of gelu, and an embedding that is scaled.
  bool is_gemma() const { return arch == Arch::kGemma2 || arch == Arch::kGemma3 || is_gemma4(); }
  bool is_gemma4() const { return arch == Arch::kGemma4; }
  // With other numbers of key-value heads, and sinks, in layers with a window, and narrower values.
  bool is_mimo2() const { return arch == Arch::kMimo2; }
  bool has_window_sinks(uint32_t layer) const;
  // Whether layers with a window turn in another way than those that see all.
  bool has_window_rope() const { return arch == Arch::kGemma3 || is_gemma4() || is_mimo2(); }
  // With queries, keys and values in one matrix, and both halves of the feed-forward in another.
  bool is_fused() const { return arch == Arch::kPhi3; }
  // Files have the rows of queries and keys in such an order that neighbours turn together.
  bool turns_neighbours() const {
    return arch == Arch::kLlama || arch == Arch::kMistral3 || is_mla();
  }
  bool qk_norm() const {
    return arch == Arch::kQwen3 || arch == Arch::kQwen3Moe || (has_window_rope() && !is_mimo2()) ||
           is_recurrent() || head_norms;
  }
  // Queries and keys are normed over all heads at once instead.
  bool has_wide_norms() const { return arch == Arch::kMiniMaxM2; }
};

// Whether layers of the architecture have experts in place of one feed-forward network.
bool HasExperts(Arch arch);

// Whether all its heads share one row.
bool HasMla(Arch arch);
// And an index chooses which rows they see.
bool HasDsa(Arch arch);

// Whether its files say how the router chooses (shape_router.h).
bool HasRouterKeys(Arch arch);

// Positions that a row of a layer sees, itself included; 0: all.
uint32_t WindowOf(const Shape& shape, uint32_t layer);

// What a layer has of its own, where layers are of two kinds.
uint32_t HeadDimOf(const Shape& shape, uint32_t layer);
uint32_t KvHeadsOf(const Shape& shape, uint32_t layer);
uint32_t ValueDimOf(const Shape& shape, uint32_t layer);
uint32_t FeedForwardOf(const Shape& shape, uint32_t layer);

// Whether the layer's values are its keys.
bool TakesKeysAsValues(const Shape& shape, uint32_t layer);

// The layer whose KV rows a layer sees: itself, but for those that share an earlier one's.
uint32_t KvLayerOf(const Shape& shape, uint32_t layer);

// Whether a layer makes compressed rows; whether it keeps some, its own or those that the last one
// before it has made; and the layer whose rows it sees. Of layers with a ratio.
bool MakesFarRows(const Shape& shape, uint32_t layer);
bool KeepsFarRows(const Shape& shape, uint32_t layer);
uint32_t FarLayerOf(const Shape& shape, uint32_t layer);

// Whether compressed rows are chosen for a layer, and whether its own index does that.
bool HasChosenRows(const Shape& shape, uint32_t layer);
bool ChoosesRows(const Shape& shape, uint32_t layer);

// What scores of attention are multiplied with before their softmax.
float AttentionScaleOf(const Shape& shape);

// What the query at a position is multiplied with beside that.
double QueryFactorAt(const Shape& shape, int64_t position);

// The tensor of frequency factors that a model of that shape turns by.
std::string_view RopeFactorsOf(const Shape& shape);

// The root of a width, in the type that Gemma was trained in.
float TrainedRootOf(uint32_t width);

// What rows of the embedding are multiplied with.
float EmbeddingScaleOf(const Shape& shape);

// Every number the architecture needs, or an error that names the key, what it holds and what was
// expected. Whether the head is tied and whether there are rope factors is not metadata: the list
// of tensors says it. So it is with an MTP block whose tensors are named mtp.0.
Result<Shape> ReadShape(const gguf::Metadata& metadata);

// Numbers that cannot belong together (heads that do not divide, more experts used than there
// are…).
Status CheckShape(const Shape& shape);

// A model's weights in words: what each tensor is for.
enum class Part : uint8_t { kEmbedding, kLayer, kHead };

struct TensorSpec {
  std::string name;
  std::vector<uint64_t> dims;  // fastest first, as files list them
  Part part = Part::kLayer;
  int32_t layer = -1;      // for Part::kLayer
  bool is_matrix = false;  // multiplied with, so worth quantising; else a norm, a bias or a table
  bool is_fine = false;    // multiplied with, but chooses or mixes: 16 bits at least
  bool is_table = false;   // of 32-bit integers
  // Stays in its file: rows are read as tokens ask for them, and take no memory of their own.
  bool is_looked_up = false;
  std::vector<std::string> aliases = {};  // other names in published files
};

// Whether the tensor is one of the MTP block's, which come with the head.
bool IsOfNextBlock(const TensorSpec& spec);

// Whether an MTP block of the architecture is computed.
bool CanDraftNext(const Shape& shape);

// The MTP block, which drafts the token after the next, as a model of that one layer.
Shape ShapeOfNext(const Shape& shape);

// The norm between the halves of a layer, which files name in two ways.
std::string_view FeedForwardNormOf(const Shape& shape);

// The embedding that tokens have for every layer, one behind the other.
inline constexpr std::string_view kLayerEmbedding = "per_layer_token_embd.weight";
inline constexpr std::string_view kLayerProjection = "per_layer_model_proj.weight";
inline constexpr std::string_view kLayerProjectionNorm = "per_layer_proj_norm.weight";

// What a layer holds for n-grams: rows of it are read as tokens ask for them, out of the file.
inline constexpr std::string_view kNgramTable = "engram_embd.weight";

// Every tensor of a model of this shape, in the order in which a forward pass meets them.
std::vector<TensorSpec> TensorsOf(const Shape& shape);

}  // namespace aster::model
