// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The operations that a forward pass is written in. A batch is recorded, submitted once, and then
// polled until it is done; a processor may compute each operation as it is recorded. What every
// operation gives, to the bit, is what the CPU back end (cpu/) gives; the formulas are in
// kernels/ref, docs/attention.md and docs/deepseek-v4.md. Must not know architectures.
//
// Operations take effect in the order in which they are recorded. What a specification refers to on
// the host (spans, vectors, tables of pages) is read before the call returns; tensors, weights and
// pages stay what they are until the batch is done. An output may be the very same tensor as an
// input where the operation says so.
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

// Rows that matrices are multiplied with, prepared at most once for each format that one of them
// asks for. Commands make them.
class Operand {
 public:
  virtual ~Operand() = default;

  // These rows from here on; they do not change until the last product with them.
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

// Cosines and sines of the angles that heads are turned by: [rows, pairs].
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

// What is done to heads, in place: a bias, then a norm, then a turn to the row's position.
struct Heads {
  Tensor rows;  // [rows, count * dim]
  size_t count;
  Tensor bias = {};  // [count * dim], or none
  HeadNorm norm = HeadNorm::kNone;
  Tensor norm_weight = {};  // [dim]
  float epsilon = 0;
  Angles angles = {};  // none: they are not turned
  size_t still = 0;    // elements of a head before those that are turned
  kernels::RopeLayout layout = kernels::RopeLayout::kAdjacent;
  bool inverse = false;
};

// A run of new tokens of one sequence: rows [first_row, first_row + count) of the batch stand for
// positions from `position` on. Room for them has been reserved in the table.
struct PageSpan {
  kv::PageTable* table;
  uint32_t position;
  uint32_t first_row;
  uint32_t count;
  bool is_block = false;  // each of its rows sees what the last one sees

  // The position up to which row `i` of it sees.
  uint32_t SightOf(uint32_t i) const { return position + (is_block ? count - 1 : i); }
};

// One stream of one layer in the pages of the batch's sequences.
struct PagesOf {
  uint32_t layer;
  uint32_t stream;
  std::span<const PageSpan> spans;
};

// Attention over pages of keys and values: of each key-value head one page after the other.
struct HeadAttention {
  PagesOf pages;
  const kernels::PageLayout* head_page;
  size_t head_count;
  size_t kv_head_count;      // that these heads read
  size_t first_kv_head = 0;  // of those that pages have
  float scale;               // of scores
  uint32_t window;           // positions that a row sees, itself included; 0: all
  uint32_t sinks;            // and the first of all
  float cap = 0.0f;          // within which a soft cap holds scores; 0: none
  Tensor sink_logits = {};   // [head_count], each one more weight that counts in the sum; or none
  Tensor queries;            // [rows, head_count * key_dim], turned to their positions; or none:
                             // then nothing attends
  Tensor keys;  // [rows, all heads of a page * key_dim], turned to their positions; written first.
                // None: they have been written
  Tensor values;  // [rows, the same * value_dim]
  Tensor out;     // [rows, head_count * value_dim]
};

// Which experts rows go to.
struct ExpertChoice {
  Tensor logits;  // [rows, experts]; lost
  kernels::RoutingSpec spec;
  Tensor bias = {};                     // [experts], for the choice only; or none
  Tensor scales = {};                   // [experts], of their shares; or none
  std::span<const int32_t> table = {};  // [vocab_size, used], where tokens choose
  std::span<const int32_t> tokens;      // [rows]
  Tensor ids;                           // [rows, used] int32
  Tensor shares;                        // [rows, used]
};

// How the two expanding halves of a feed-forward network become one: with silu, with gelu, or as
// gpt-oss has it (swiglu, geglu and swiglu_oai of kernels/ops.h).
enum class GateKind : uint8_t { kSwiglu, kSwigluOai, kGeglu };

// Added behind each product of an expert: [experts, outputs].
struct ExpertBiases {
  Tensor gate = {};
  Tensor up = {};
  Tensor down = {};
};

// out = the sum of the chosen experts' outputs by their shares, and of the shared expert's, in
// fixed point.
struct ExpertSum {
  Operand* rows;
  Tensor ids;
  Tensor shares;
  std::span<const ExpertWeights> experts;
  const ExpertWeights* shared;  // for every row; or null
  float limit;                  // of both halves
  GateKind gate = GateKind::kSwiglu;
  ExpertBiases biases = {};  // of the chosen experts, or none
  // [rows, 1], whose sigmoids are the shared expert's shares; none: 1.
  Tensor shared_scores = {};
  Tensor out;  // [rows, embedding]
};

// What a machine computes of such a sum, where others have other experts, whose matrices here have
// no rows.
struct OwnExperts {
  std::span<const int32_t> ids;  // [rows, used]: those of the sum, as the host has read them
  // [rows, used], and behind each row's one more where there is a shared expert: whether it is
  // computed here.
  std::span<const uint8_t> is_own;
  std::span<int64_t> sums;  // [rows, embedding], in fixed point: of those
};

// The numbers that streams of a residual are mixed with (kernels/stream_mix.h).
struct StreamWeights {
  size_t streams;
  size_t iterations;
  float epsilon;
  Tensor scale;
  Tensor base;
  bool is_merge;   // at the end: [streams] numbers; else [StreamMixSize]
  Tensor numbers;  // [rows, …], in place
};

// Rows that are keys and values at once, written into their stream.
struct LatentRows {
  PagesOf pages;
  kernels::LatentFormat format;
  Heads heads;         // what is done to all of them before: one head
  uint32_t ratio = 1;  // tokens that a row stands for: that of the last of them is written
};

// Rows that stand for `ratio` tokens each, as numbers: what they are made of is written into a
// stream, and out = every row that is complete in place of its last token.
struct RowPooling {
  PagesOf pages;  // of what rows are made of
  uint32_t ratio;
  Tensor values;  // [rows, dim]
  Tensor scores;  // the same
  Tensor out;     // the same; zeros where no row is complete
};

// Rows that stand for `ratio` tokens each. What they are made of is written into one stream, and
// every row that is complete into another.
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

// Queries of an index, in place: turned, spread, and of as few bits as its rows.
struct IndexQueries {
  Tensor queries;  // [rows, heads * dim]
  size_t heads;
  Angles angles;
  kernels::LatentFormat format;
  Tensor weights;  // [rows, heads], scaled
  bool is_spread = true;
};

// Which compressed rows a token sees where there are more than `top`: those that rank highest, of
// equal ones the earliest; ascending.
struct RowRanking {
  PagesOf pages;  // of the index
  uint32_t ratio;
  kernels::LatentFormat format;
  size_t heads;
  Tensor queries;  // [rows, heads * dim]
  Tensor weights;  // [rows, heads]
  uint32_t top;
  Tensor chosen;  // [rows, top] int32; rows that see all there are keep what was there
  // Where rows are chosen from the blocks that rank highest by their best rows, the newest block
  // always among them.
  struct Blocks {
    uint32_t rows = 0;  // of a block
    uint32_t top = 0;
    Tensor chosen;         // [rows, top] whole numbers, ascending; as above
    bool is_made = false;  // by this ranking, which is of all rows; else that is of these blocks
  };
  Blocks blocks = {};
};

// Attention over rows that are keys and values at once: those of a window, then compressed ones.
struct RowAttention {
  PagesOf pages;        // of the window
  uint32_t window;      // rows that are seen whatever is chosen; 0: none
  uint32_t far_layer;   // of compressed rows
  uint32_t far_stream;  // of these
  uint32_t ratio;       // of these; 0: there are none
  uint32_t top;         // of RowRanking
  Tensor chosen;        // by RowRanking; none: all are seen
  kernels::LatentFormat format;
  kernels::LatentFormat far_format;
  size_t head_count;
  float scale;     // of scores
  Tensor queries;  // [rows, head_count * dim], turned to their positions
  Tensor sinks;    // [head_count]
  Tensor out;      // [rows, head_count * dim], still turned
};

// A layer that keeps no keys and values but a state for every head, which each token changes: a
// gated delta net (kernels/delta_net.h). What tokens bring is written into one stream, and the
// states behind every page into another; a state within a page is made of the one before the page.
struct DeltaNet {
  PagesOf pages;  // of states
  uint32_t input_stream;
  size_t key_heads;
  size_t value_heads;
  size_t key_dim;
  size_t value_dim;
  size_t taps;         // rows that the convolution joins
  bool in_turn;        // value heads take key heads in turn; else several in a row share one
  Tensor mixed;        // [rows, channels]: queries, keys and values of all heads
  Tensor betas;        // [rows, value_heads], of which sigmoids are taken
  Tensor times;        // [rows, value_heads], of which decays are made
  Tensor convolution;  // [taps * channels], the weights of the oldest row first
  Tensor rates;        // [value_heads], negative
  Tensor time_bias;    // [value_heads]
  Tensor out;          // [rows, value_heads * value_dim]
};

// Which rows of a table tokens are given by what they and those before them are: a row for every
// length from two tokens on, and every head. Classes of tokens are written into a stream.
struct NgramHash {
  PagesOf pages;
  std::span<const int32_t> tokens;    // [rows]
  std::span<const uint32_t> classes;  // of the vocabulary
  uint32_t padding;                   // the class of what is before the first token
  uint32_t heads;
  std::span<const uint64_t> multipliers;  // [longest]
  std::span<const uint64_t> row_counts;   // [longest - 1, heads]
  std::span<const uint64_t> first_rows;   // the same
  std::span<int32_t> ids;                 // [rows, longest - 1, heads]
};

// Adds to each stream of a residual a value by how well a key fits the stream (kernels/key_gate.h).
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

// One batch after the other, by the thread of its back end. An operation that fails ends the batch:
// nothing of it may be used.
class Commands {
 public:
  virtual ~Commands() = default;  // waits for what is in flight

  virtual std::unique_ptr<Operand> NewOperand() = 0;

  // --- A batch.

  // Begins to record; the batch before is done, or is waited for.
  virtual Status Begin() = 0;
  // Everything that was recorded, all at once.
  virtual Status Submit() = 0;
  // Whether what was submitted is done. An error where it never will be.
  virtual Result<bool> Poll() = 0;
  // Returns when it is.
  virtual Status Wait() = 0;

  // --- Rows from the host and back.

  // Without gaps between `rows`; between those of `to` there may be some.
  virtual Status Upload(std::span<const float> rows, const Tensor& to) = 0;
  // *rows is where the host finds them once the batch is done, until the next begins.
  virtual Status Download(const Tensor& from, std::span<const float>* rows) = 0;
  // Rows whose columns machines exchange in 8-bit blocks, as products read them
  // (kernels/activation_blocks.h).
  //
  // *blocks is where the host finds those of `rows` once the batch is done, until the next begins.
  virtual Status DownloadBlocks(kernels::ActivationFormat format, const Tensor& rows,
                                Bytes* blocks) = 0;
  // `to` = rows whose columns come in parts, each of which is then uploaded once. The host puts
  // them together, so that this may be between two batches, too.
  virtual Status SetInParts(Operand& to, kernels::ActivationFormat format, size_t rows,
                            size_t columns) = 0;
  virtual Status UploadBlocks(Bytes blocks, Operand& to, const BlockColumns& columns) = 0;
  // Rows of an embedding in its file, by tokens; each `copies` times in a row of `out`.
  virtual Status Embed(const gguf::Tensor& embedding, std::span<const int32_t> tokens,
                       size_t copies, const Tensor& out) = 0;
  virtual Status MakeAngles(const AnglesOf& of, const Angles& out) = 0;

  // --- Rows.

  // The ranges one after the other.
  virtual Status Gather(const Tensor& from, std::span<const RowRange> ranges, const Tensor& to) = 0;
  virtual Status Normalise(const Normalisation& norm) = 0;
  // rows += more; a row of `more` for `repeat` rows in a row. Where that is one, there may be gaps
  // between rows of `more`.
  virtual Status Add(const Tensor& rows, const Tensor& more, size_t repeat) = 0;
  // gate = both halves as one, each within the limit: silu(min(gate, limit)) * clamp(up, -limit,
  // limit) and so on.
  virtual Status Gate(const Tensor& gate, const Tensor& up, GateKind kind, float limit) = 0;
  // rows *= factor
  virtual Status Scale(const Tensor& rows, float factor) = 0;
  // rows = cap * tanh(rows / cap)
  virtual Status Softcap(const Tensor& rows, float cap) = 0;
  // All of them together.
  virtual Status Multiply(std::span<const Product> products) = 0;
  virtual Status FinishHeads(std::span<const Heads> heads) = 0;

  // --- Attention over heads.

  virtual Status Attend(const HeadAttention& attention) = 0;

  // --- Experts.

  virtual Status Choose(const ExpertChoice& choice) = 0;
  virtual Status SumExperts(const ExpertSum& sum) = 0;
  // The same in two halves, between which machines exchange what they have, where each has some
  // rows of all experts' matrices.
  //
  // wide = both halves of the chosen experts as one: a row for every choice of the first row, then
  // of the second and so on; then a row of the shared expert for each.
  virtual Status ExpandExperts(const ExpertSum& sum, const Tensor& wide) = 0;
  // out = the sum of what experts make of such rows, whose columns are all experts' whole width:
  // those of choices, and those of the shared expert, where there is one.
  virtual Status ContractExperts(const ExpertSum& sum, Operand& chosen, Operand& shared) = 0;

  // The same in parts, where each machine has some experts as a whole.
  //
  // *choice is what the router has chosen, as Download gives numbers.
  virtual Status ReadChoice(const Tensor& ids, std::span<const int32_t>* choice) = 0;
  // own.sums = the sums of the experts that are computed here, once the batch is done; sum.out is
  // not used.
  virtual Status SumOwnExperts(const ExpertSum& sum, const OwnExperts& own) = 0;
  // out = complete sums as numbers.
  virtual Status FinishSums(std::span<const int64_t> sums, const Tensor& out) = 0;

  // --- A residual of several streams: [rows, streams * columns].

  virtual Status MakeStreamWeights(const StreamWeights& weights) = 0;
  // out [rows, columns] = the streams by the first numbers.
  virtual Status SumStreams(const Tensor& streams, const Tensor& numbers, const Tensor& out) = 0;
  // streams = themselves mixed, and the output of half a layer [rows, columns].
  virtual Status SpreadStreams(const Tensor& from, const Tensor& numbers,
                               const Tensor& streams) = 0;

  // --- Attention over rows that are keys and values at once.

  virtual Status WriteRows(const LatentRows& rows) = 0;
  virtual Status Compress(const Compression& compression) = 0;
  virtual Status FinishIndexQueries(const IndexQueries& queries) = 0;
  virtual Status Rank(const RowRanking& ranking) = 0;
  virtual Status AttendRows(const RowAttention& attention) = 0;
  virtual Status Pool(const RowPooling& pooling) = 0;

  // --- A memory of n-grams.

  // Before anything of the batch is computed: it may wait for batches before it.
  virtual Status HashNgrams(const NgramHash& hash) = 0;
  virtual Status AddGatedValue(const GatedValue& value) = 0;

  // --- States in place of rows, and what comes with them.

  virtual Status RunDeltaNet(const DeltaNet& net) = 0;
  // rows *= sigmoid(gates), number by number; the gates are lost.
  virtual Status GateBySigmoid(const Tensor& rows, const Tensor& gates) = 0;
};

}  // namespace aster::compute
