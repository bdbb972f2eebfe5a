// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The operations of a forward pass. A batch is recorded, submitted once, and then polled until it
// is done; a processor may compute each operation as it is recorded. Every operation gives the same
// bits as on the CPU back end (cpu/); the formulas are in kernels/ref, docs/attention.md and
// docs/deepseek-v4.md. Must not know architectures.
//
// Operations take effect in the order in which they are recorded. Host memory in an operation's
// arguments (spans, vectors, page tables) is read before the call returns; tensors, weights and
// pages must not change otherwise until the batch is done. An output may be the same tensor as an
// input only if the operation says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "compute/matrix.h"
#include "compute/tensor.h"
#include "gguf/file.h"
#include "kernels/latent.h"
#include "kernels/ops.h"
#include "kernels/pages.h"
#include "kernels/routing.h"
#include "kv/page_table.h"

namespace aster::compute {

// Rows that matrices are multiplied with, prepared at most once for each format that a matrix
// needs. Made by Commands.
class Operand {
 public:
  virtual ~Operand() = default;

  // Products use these rows from here on; they must not change until the last one.
  virtual void Set(const Tensor& rows) = 0;
};

// Columns of an operand, in blocks of a format (kernels/activation_blocks.h).
struct BlockColumns {
  kernels::ActivationFormat format;
  size_t begin;
  size_t count;
};

// out = matrix · rows, for all rows: [rows, matrix.rows()].
struct Product {
  const Matrix* matrix;
  Operand* rows;
  Tensor out;
};

// Cosines and sines of the angles of RoPE, which turns heads: [rows, pairs].
struct Angles {
  Tensor cosines;
  Tensor sines;
};

struct AnglesOf {
  std::span<const double> frequencies;  // [pairs]
  double magnitude;                     // of cosines and sines
  std::span<const int64_t> positions;   // [rows]
};

struct Normalisation {
  Tensor rows;
  Tensor weight;  // [columns], or none
  float epsilon;
  Tensor out;  // may be rows
};

enum class HeadNorm : uint8_t { kNone, kPlain, kWeighted };

// Operations on heads, in place: a bias, then a norm, then RoPE for the row's position.
struct Heads {
  Tensor rows;  // [rows, count * dim]
  size_t count;
  Tensor bias = {};  // [count * dim], or none
  HeadNorm norm = HeadNorm::kNone;
  Tensor norm_weight = {};  // [dim]
  float epsilon = 0;
  Angles angles = {};    // none: they are not rotated
  size_t unrotated = 0;  // elements of a head before those that are rotated
  kernels::RopeLayout layout = kernels::RopeLayout::kAdjacent;
  bool inverse = false;
};

// A run of new tokens of one sequence: rows [first_row, first_row + count) of the batch have
// positions from `position` on. The table has reserved room for them.
struct PageSpan {
  kv::PageTable* table;
  uint32_t position;
  uint32_t first_row;
  uint32_t count;
  bool is_block = false;  // each of its rows sees all that the last one sees

  // The position up to which row `i` of it sees.
  uint32_t LastVisibleOf(uint32_t i) const { return position + (is_block ? count - 1 : i); }
};

// One stream of one layer in the pages of the batch's sequences.
struct PagesOf {
  uint32_t layer;
  uint32_t stream;
  std::span<const PageSpan> spans;
};

// Attention over pages of keys and values, one page after the other for each key-value head.
struct HeadAttention {
  PagesOf pages;
  const kernels::PageLayout* head_page;
  size_t head_count;
  size_t kv_head_count;      // that these heads read
  size_t first_kv_head = 0;  // of those that pages have
  float scale;               // of scores
  uint32_t window;           // positions that a row sees, itself included; 0: all
  uint32_t sinks;            // first positions that it sees, too
  float cap = 0.0f;          // soft cap of scores; 0: none
  Tensor sink_logits = {};   // [head_count], each a further weight in the softmax's sum; or none
  Tensor queries;            // [rows, head_count * key_dim], rotated to their positions; or none:
                             // then nothing attends
  Tensor keys;  // [rows, all heads of a page * key_dim], rotated to their positions; written first.
                // None: they have been written
  Tensor values;  // [rows, the same * value_dim]
  Tensor out;     // [rows, head_count * value_dim]
};

// Chooses the experts of rows.
struct ExpertChoice {
  Tensor logits;  // [rows, experts]; overwritten
  kernels::RoutingSpec spec;
  Tensor bias = {};                     // [experts], for the choice only; or none
  Tensor scales = {};                   // [experts], of their shares; or none
  std::span<const int32_t> table = {};  // [vocab_size, used], if tokens choose; or none
  std::span<const int32_t> tokens;      // [rows]
  Tensor ids;                           // [rows, used] int32
  Tensor shares;                        // [rows, used]
};

// How gate and up of a feed-forward network are joined: with silu, as in gpt-oss, or with gelu
// (kernels/ops.h).
enum class GateKind : uint8_t { kSwiglu, kSwigluOai, kGeglu };

// Added after each product of an expert: [experts, outputs].
struct ExpertBiases {
  Tensor gate = {};
  Tensor up = {};
  Tensor down = {};
};

// out = the sum of the chosen experts' outputs, weighted by their shares, and of the shared
// expert's, in fixed point.
struct ExpertSum {
  Operand* rows;
  Tensor ids;
  Tensor shares;
  std::span<const ExpertWeights> experts;
  const ExpertWeights* shared;  // for every row; or null
  float limit;                  // of gate and up
  GateKind gate = GateKind::kSwiglu;
  ExpertBiases biases = {};  // of the chosen experts, or none
  // [rows, 1]: the shared expert's shares are the sigmoids of these; none: its shares are 1.
  Tensor shared_scores = {};
  Tensor out;  // [rows, embedding]
};

// The part of such a sum that this machine computes if other machines have other experts, whose
// matrices here have no rows.
struct OwnExperts {
  std::span<const int32_t> ids;  // [rows, used]: those of the sum, read by the host
  // [rows, used], or [rows, used + 1] with a shared expert: whether this machine computes it.
  std::span<const uint8_t> is_own;
  std::span<int64_t> sums;  // [rows, embedding], in fixed point, of the experts that are computed
};

// The weights with which streams of a residual are mixed (kernels/stream_mix.h).
struct StreamWeights {
  size_t streams;
  size_t iterations;
  float epsilon;
  Tensor scale;
  Tensor base;
  bool is_merge;   // at the end of the model: [streams] numbers; else [StreamMixSize]
  Tensor numbers;  // [rows, …], in place
};

// Rows that are both keys and values, written into their stream.
struct LatentRows {
  PagesOf pages;
  kernels::LatentFormat format;
  Heads heads;         // applied to all rows first, each of one head
  uint32_t ratio = 1;  // tokens of a row: only the row of the last of them is written
};

// Rows that stand for `ratio` tokens each, as numbers. Their inputs are written into a stream; out
// = every complete row, in the place of its last token.
struct RowPooling {
  PagesOf pages;  // of the inputs
  uint32_t ratio;
  Tensor values;  // [rows, dim]
  Tensor scores;  // the same
  Tensor out;     // the same; zeros for tokens that complete no row
};

// Rows that stand for `ratio` tokens each. Their inputs are written into one stream, and every
// complete row into another.
struct Compression {
  PagesOf pages;  // of the rows
  uint32_t input_stream;
  uint32_t ratio;
  bool overlaps;  // with the tokens of the row before; twice as many columns then
  kernels::LatentFormat format;
  bool is_spread;  // by a Hadamard transform, as rows of an index are
  Tensor places;   // [ratio, columns], added to the scores
  Tensor norm;     // [dim]
  float epsilon;
  std::span<const double> frequencies;  // [pairs]
  Tensor values;                        // [rows, columns]
  Tensor scores;                        // [rows, columns]
};

// Queries of an index, in place: RoPE, Hadamard transform, and rounding to the format of its rows.
struct IndexQueries {
  Tensor queries;  // [rows, heads * dim]
  size_t heads;
  Angles angles;
  kernels::LatentFormat format;
  Tensor weights;  // [rows, heads], scaled
  bool is_spread = true;
};

// Chooses the compressed rows that a token sees if there are more than `top`: those that rank
// highest, the earliest of equal ones; ascending.
struct RowRanking {
  PagesOf pages;  // of the index
  uint32_t ratio;
  kernels::LatentFormat format;
  size_t heads;
  Tensor queries;  // [rows, heads * dim]
  Tensor weights;  // [rows, heads]
  uint32_t top;
  Tensor chosen;  // [rows, top] int32; unchanged for tokens that see all rows
  // If rows are chosen from blocks: those that rank highest by their best rows, always including
  // the newest block.
  struct Blocks {
    uint32_t rows = 0;  // of a block
    uint32_t top = 0;
    Tensor chosen;         // [rows, top] whole numbers, ascending; as above
    bool is_made = false;  // this ranking chooses blocks by all rows; else it ranks rows of blocks
  };
  Blocks blocks = {};
};

// Attention over rows that are both keys and values: those of a window, then compressed ones.
struct RowAttention {
  PagesOf pages;               // of the window
  uint32_t window;             // rows that are always seen; 0: none
  uint32_t compressed_layer;   // of compressed rows
  uint32_t compressed_stream;  // of compressed rows
  uint32_t ratio;              // of compressed rows; 0: there are none
  uint32_t top;                // of RowRanking
  Tensor chosen;               // by RowRanking; none: all are seen
  kernels::LatentFormat format;
  kernels::LatentFormat compressed_format;
  size_t head_count;
  float scale;     // of scores
  Tensor queries;  // [rows, head_count * dim], rotated to their positions
  Tensor sinks;    // [head_count]
  Tensor out;      // [rows, head_count * dim], before RoPE is undone
};

// A gated delta net (kernels/delta_net.h): a layer that keeps a state for every head, which each
// token changes, in place of keys and values. The tokens' inputs are written into one stream, and
// the states at the end of every page into another; states within a page are computed from those
// before it.
struct DeltaNet {
  PagesOf pages;  // of states
  uint32_t input_stream;
  size_t key_heads;
  size_t value_heads;
  size_t key_dim;
  size_t value_dim;
  size_t taps;         // rows that the convolution joins
  bool in_turn;        // value head i uses key head i % key_heads; else neighbours share one
  Tensor mixed;        // [rows, channels]: queries, keys and values of all heads
  Tensor betas;        // [rows, value_heads], before the sigmoid
  Tensor times;        // [rows, value_heads], from which decays are computed
  Tensor convolution;  // [taps * channels], the weights of the oldest row first
  Tensor rates;        // [value_heads], negative
  Tensor time_bias;    // [value_heads]
  Tensor out;          // [rows, value_heads * value_dim]
};

// Finds the rows of a table for tokens, by the classes of the n-grams that end with them: a row for
// every length from two tokens on, and every head. Classes of tokens are written into a stream.
struct NgramHash {
  PagesOf pages;
  std::span<const int32_t> tokens;    // [rows]
  std::span<const uint32_t> classes;  // of the vocabulary
  uint32_t padding;                   // the class of positions before the first token
  uint32_t heads;
  std::span<const uint64_t> multipliers;  // [longest]
  std::span<const uint64_t> row_counts;   // [longest - 1, heads]
  std::span<const uint64_t> first_rows;   // the same
  std::span<int32_t> ids;                 // [rows, longest - 1, heads]
};

// Adds a value to each stream of a residual, weighted by how well a key fits the stream
// (kernels/key_gate.h).
struct GatedValue {
  size_t streams;
  float epsilon;
  Tensor weights;    // [streams * columns]
  Tensor key_value;  // [rows, (streams + 1) * columns]: a key for each stream, and the value
  Tensor rows;       // [rows, streams * columns]
};

// Some rows of a batch.
struct RowRange {
  size_t first;
  size_t count;
};

// Records and runs one batch after the other, on the thread of its back end. If an operation fails,
// no result of the batch may be used.
class Commands {
 public:
  virtual ~Commands() = default;  // waits for what is in flight

  virtual std::unique_ptr<Operand> NewOperand() = 0;

  // --- A batch.

  // Begins to record a batch. Waits for the one before if it is not done.
  virtual Status Begin() = 0;
  // Submits everything that was recorded.
  virtual Status Submit() = 0;
  // Whether the submitted batch is done. An error if it never will be.
  virtual Result<bool> Poll() = 0;
  // Waits until it is done.
  virtual Status Wait() = 0;

  // --- Rows from the host and back.

  // `rows` have no gaps; `to` may have some.
  virtual Status Upload(std::span<const float> rows, const Tensor& to) = 0;
  // *rows has the rows from when the batch is done until the next one begins.
  virtual Status Download(const Tensor& from, std::span<const float>* rows) = 0;
  // Rows whose columns machines exchange in 8-bit blocks, as products read them
  // (kernels/activation_blocks.h).
  //
  // *blocks has the blocks of `rows` from when the batch is done until the next one begins.
  virtual Status DownloadBlocks(kernels::ActivationFormat format, const Tensor& rows,
                                Bytes* blocks) = 0;
  // `to` = rows whose columns come in parts, each of which is uploaded once. The host joins them,
  // so this may also be called between two batches.
  virtual Status SetInParts(Operand& to, kernels::ActivationFormat format, size_t rows,
                            size_t columns) = 0;
  virtual Status UploadBlocks(Bytes blocks, Operand& to, const BlockColumns& columns) = 0;
  // Rows of an embedding in its file, by tokens; each `copies` times in a row of `out`.
  virtual Status Embed(const gguf::Tensor& embedding, std::span<const int32_t> tokens,
                       size_t copies, const Tensor& out) = 0;
  virtual Status MakeAngles(const AnglesOf& of, const Angles& out) = 0;

  // --- Rows.

  // Copies the ranges, one after the other.
  virtual Status Gather(const Tensor& from, std::span<const RowRange> ranges, const Tensor& to) = 0;
  virtual Status Normalise(const Normalisation& norm) = 0;
  // rows += more; each row of `more` is added to `repeat` consecutive rows. If `repeat` is one,
  // `more` may have gaps.
  virtual Status Add(const Tensor& rows, const Tensor& more, size_t repeat) = 0;
  // gate = gate and up joined, each within the limit: silu(min(gate, limit)) * clamp(up, -limit,
  // limit) for kSwiglu, and so on.
  virtual Status Gate(const Tensor& gate, const Tensor& up, GateKind kind, float limit) = 0;
  // rows *= factor
  virtual Status Scale(const Tensor& rows, float factor) = 0;
  // rows = cap * tanh(rows / cap)
  virtual Status Softcap(const Tensor& rows, float cap) = 0;
  virtual Status Multiply(std::span<const Product> products) = 0;
  virtual Status FinishHeads(std::span<const Heads> heads) = 0;

  // --- Attention over heads.

  virtual Status Attend(const HeadAttention& attention) = 0;

  // --- Experts.

  virtual Status Choose(const ExpertChoice& choice) = 0;
  virtual Status SumExperts(const ExpertSum& sum) = 0;
  // The same in two halves, for machines that each have some rows of all experts' matrices and
  // exchange columns between the halves.
  //
  // wide = gate and up of the chosen experts, joined: a row for every choice of the first row, then
  // of the second and so on; then the shared expert's row for each.
  virtual Status ExpandExperts(const ExpertSum& sum, const Tensor& wide) = 0;
  // out = the sum of the experts' outputs for such rows of the whole width: `chosen` has those of
  // choices, `shared` those of the shared expert, if there is one.
  virtual Status ContractExperts(const ExpertSum& sum, Operand& chosen, Operand& shared) = 0;

  // The same in parts, for machines that each have some whole experts.
  //
  // *choice has the router's choice, from when the batch is done until the next one begins.
  virtual Status ReadChoice(const Tensor& ids, std::span<const int32_t>* choice) = 0;
  // own.sums = the sums of the experts that are computed here, once the batch is done; sum.out is
  // not used.
  virtual Status SumOwnExperts(const ExpertSum& sum, const OwnExperts& own) = 0;
  // out = complete sums as floats.
  virtual Status FinishSums(std::span<const int64_t> sums, const Tensor& out) = 0;

  // --- A residual of several streams: [rows, streams * columns].

  virtual Status MakeStreamWeights(const StreamWeights& weights) = 0;
  // out [rows, columns] = the streams weighted by the first numbers.
  virtual Status SumStreams(const Tensor& streams, const Tensor& numbers, const Tensor& out) = 0;
  // streams = the streams mixed with each other, plus the output `from` of half a layer [rows,
  // columns].
  virtual Status SpreadStreams(const Tensor& from, const Tensor& numbers,
                               const Tensor& streams) = 0;

  // --- Attention over rows that are both keys and values.

  virtual Status WriteRows(const LatentRows& rows) = 0;
  virtual Status Compress(const Compression& compression) = 0;
  virtual Status FinishIndexQueries(const IndexQueries& queries) = 0;
  virtual Status Rank(const RowRanking& ranking) = 0;
  virtual Status AttendRows(const RowAttention& attention) = 0;
  virtual Status Pool(const RowPooling& pooling) = 0;

  // --- N-gram memory.

  // Must come before all computations of a batch, as it may wait for earlier batches.
  virtual Status HashNgrams(const NgramHash& hash) = 0;
  virtual Status AddGatedValue(const GatedValue& value) = 0;

  // --- Gated delta nets.

  virtual Status RunDeltaNet(const DeltaNet& net) = 0;
  // rows *= sigmoid(gates), element by element; overwrites the gates.
  virtual Status GateBySigmoid(const Tensor& rows, const Tensor& gates) = 0;
};

}  // namespace aster::compute
