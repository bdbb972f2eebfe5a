// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The messages of the data plane between nodes, as plain values. codec.h converts them to bytes.
// Must not know sockets, nor what nodes do with a message.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "wire/payload.h"

namespace aster::wire {

// The permanent name of a node: the beginning of the hash of its public key.
struct NodeId {
  Hash128 value;

  auto operator<=>(const NodeId&) const = default;
  std::string ToText() const { return value.ToHex().substr(0, 8); }
};

// One plan, with the weights and KV cache that its nodes hold for it. Random: a plan that replaces
// another one has another id.
using RouteId = uint64_t;
// Chosen by the conductor that opened the route; one history of tokens.
using SequenceId = uint64_t;

// The encoding of rows of activations. All but kF32 change them.
enum class RowEncoding : uint8_t { kF32, kBf16, kQ8 };

// --- The first message on a connection, in both directions.

struct Hello {
  uint16_t oldest_protocol = 0;  // of the sender
  uint16_t newest_protocol = 0;
  uint32_t arithmetic = 0;  // its version: equal versions compute equal bits
  NodeId node;
  std::string name;               // for users
  uint64_t max_frame_bytes = 0;   // that the sender accepts
  uint64_t credit_bytes = 0;      // that may be in flight to the sender
  std::vector<uint8_t> password;  // for connections without certificates
  // Of a front end, which shares its machine's certificate with the node there: random bytes, from
  // which its own NodeId follows (net::InstanceOf). Empty: the node itself. Since protocol 2.
  std::vector<uint8_t> instance;
};

// The last message on a connection: why it ends.
struct Goodbye {
  Error why{Code::kUnknown, ""};
};

// The receiver has consumed this many bytes more: as many may be sent.
struct Credit {
  uint64_t bytes = 0;
};

struct Ping {
  uint64_t stamp = 0;
};
struct Pong {
  uint64_t stamp = 0;
};

// --- Routes. From the conductor to every stage, and back.

struct StageAddress {
  NodeId node;
  std::string name;
  std::vector<std::string> addresses;  // HOST:PORT, the best first
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;  // after the last
  bool embedding = false;
  bool head = false;

  bool operator==(const StageAddress&) const = default;
};

// Nodes that compute a stage's layers together with the stage's node, which leads them.
struct StageGroup {
  uint32_t stage = 0;
  std::vector<StageAddress> members;  // without layers: parts 1, 2…; the stage's node has part 0
  std::vector<uint32_t> shares;       // of the work, by part
  // Since protocol 9: whether parts own experts, how many of each layer all of them have, and
  // which, layer by layer; for an empty list some at equal distances.
  bool owns_experts = false;
  uint32_t replicas = 0;
  std::vector<uint16_t> replicated = {};

  bool operator==(const StageGroup&) const = default;
};

struct OpenRoute {
  // In kv_type: rows of f16 although the model was trained with fewer bits. A node that does not
  // know it refuses the type.
  static constexpr uint8_t kPlainRows = 0x80;

  RouteId route = 0;
  StageAddress conductor;  // without layers
  std::vector<StageAddress> stages;
  uint32_t index = 0;   // of the receiver
  Hash128 fingerprint;  // of the model
  uint32_t arithmetic = 0;
  RowEncoding encoding = RowEncoding::kF32;  // between stages
  uint8_t kv_type = 0;
  uint32_t kv_window = 0;
  uint32_t kv_sinks = 0;
  uint64_t kv_bytes = 0;  // of the KV cache; 0: the node chooses
  // Since protocol 3: the number of last stages that hold all layers once more, and decode after
  // the stages before them have prefilled. 0: the same stages do both.
  uint32_t decode_stages = 0;
  // Since protocol 4: of KV transfers between its stages.
  RowEncoding kv_encoding = RowEncoding::kF32;
  // Since protocol 6. From the conductor, part is 0; the leader of a group opens the route on
  // the others, as their conductor.
  std::vector<StageGroup> groups = {};
  uint32_t part = 0;  // the receiver's, in its stage's group

  bool operator==(const OpenRoute&) const = default;
};

// From a stage: repeatedly while it loads, then ready or refused.
struct RouteState {
  enum class Kind : uint8_t { kLoading, kReady, kRefused };
  RouteId route = 0;
  Kind kind = Kind::kLoading;
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t kv_positions = 0;      // that fit into its KV cache, once ready
  Error why{Code::kUnknown, ""};  // for kRefused: both sides' values, and what to do
  // Since protocol 6, for kRefused: the node that failed or cannot be reached; or zeros.
  NodeId lost = {};
};

struct CloseRoute {
  RouteId route = 0;
};

// --- Sequences. From the conductor to every stage.

struct TokenBias {
  int32_t id = 0;
  float bias = 0;
};

// As engine::SamplingOptions, field by field.
struct Sampling {
  uint32_t penalty_window = 0;
  float repetition_penalty = 1;
  float frequency_penalty = 0;
  float presence_penalty = 0;
  std::vector<TokenBias> biases;
  uint32_t top_k = 0;
  float typical_p = 1;
  float top_p = 1;
  float min_p = 0;
  float temperature = 0;
  uint64_t seed = 0;
  bool logprobs = false;
  uint32_t top_logprobs = 0;
};

// Begins a new epoch of a sequence with this history. The stage keeps and adopts cached rows of it,
// and replies with Holds.
struct Begin {
  RouteId route = 0;
  SequenceId sequence = 0;
  std::vector<int32_t> tokens;
  Sampling sampling;  // for the stage with the head
  // Since protocol 3. Grows with every Begin of a sequence. Messages have the epoch that they
  // belong to: those of an earlier one are late.
  uint64_t epoch = 0;
  std::vector<int32_t> stop_tokens;  // they end a sequence that a stage decodes by itself
  // Since protocol 5: the drafter at the stage with the head (engine::DraftKind; 0: none), and the
  // most draft tokens.
  uint8_t draft_kind = 0;
  uint8_t draft_most = 0;
};

// A stage's state of a sequence: the number of positions, and the hash of their tokens. Sent in
// reply to Begin, when rows of another node have extended it, and with the reason when work is
// refused because it does not continue the rows held.
struct Holds {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;  // of the refused work; 0: in reply to Begin or KvRows
  uint32_t length = 0;
  Hash128 hash;
  Error why{Code::kUnknown, ""};
  // Since protocol 3.
  uint32_t stage = 0;
  uint64_t epoch = 0;  // of the Begin before
};

// The sequence is over: the stage drops its state.
struct End {
  RouteId route = 0;
  SequenceId sequence = 0;
};

// --- Work. From the conductor to the first stage, from stage to stage, from the last one back.

// The output of a segment that the conductor wants from the stage with the head.
enum class Wanted : uint8_t {
  kNothing,
  kToken,
  kLastLogits,
  kAllLogits,
  // Since protocol 6: rows as the head sees them, after the last norm.
  kLastState,
  kAllStates,
};
constexpr bool IsStates(Wanted wanted) {
  return wanted == Wanted::kLastState || wanted == Wanted::kAllStates;
}

struct WorkSegment {
  SequenceId sequence = 0;
  // Grows with every segment that the conductor sends for a sequence. Results name it: those of an
  // earlier one are late.
  uint64_t attempt = 0;
  uint32_t begin = 0;  // position of the first token; a stage drops the rows that it holds after it
  std::vector<int32_t> tokens;
  Hash128 before;  // hash of the tokens before `begin`
  Hash128 after;   // hash of all
  Wanted wanted = Wanted::kNothing;
  // Since protocol 3, to a stage that has all layers: the number of further tokens that it may
  // decode by itself; it sends each as it is chosen.
  uint32_t more = 0;
  // Since protocol 5: the number of last tokens that are draft tokens. Since protocol 7 all of them
  // may be: then the segment is valid only if the token chosen before it is its first.
  uint32_t draft_count = 0;

  bool is_ahead() const { return draft_count > 0 && draft_count == tokens.size(); }
};

// The times of a frame at a stage.
struct Hop {
  uint64_t queue_ns = 0;
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
  // Since protocol 7, from the leader of a group: how long it waited for the others' results,
  // and the bytes that it sent them.
  uint64_t gather_ns = 0;
  uint64_t gather_bytes = 0;
  // Since protocol 10, from the same node: gathers, one message to each other node, and the time
  // spent on sending.
  uint64_t gathers = 0;
  uint64_t gather_send_ns = 0;
};

struct Work {
  RouteId route = 0;
  std::vector<WorkSegment> segments;
  RowEncoding encoding = RowEncoding::kF32;
  std::vector<Hop> hops;  // of the stages before
  Payload rows;           // of all segments' tokens; empty on the way to the first stage
  // Since protocol 3: the stage that it was sent to first; `hops` counts from there.
  uint32_t first_stage = 0;
  // Since protocol 6, from the leader of a group: numbers the common work of its parts.
  uint64_t job = 0;
};

// The encoding of a part's columns: float32 (int64 for sums), or the 8-bit blocks that products
// read (kernels/activation_blocks.h).
enum class PartEncoding : uint8_t { kNumbers = 0, kBlocks = 1 };

// Between the parts of a group, since protocol 6: results that other parts need. With a reason: the
// part cannot compute its share of the job.
struct PartRows {
  RouteId route = 0;
  uint64_t job = 0;
  uint32_t gather = 0;  // of the job, in the order of all parts
  uint32_t part = 0;    // of the sender
  Error why{Code::kUnknown, ""};
  Payload rows = {};                               // [rows, the part's columns]
  PartEncoding encoding = PartEncoding::kNumbers;  // since protocol 10
};

struct LogitOf {
  int32_t id = 0;
  float logprob = 0;
};

// From the stage with the head, for one segment.
struct SegmentResult {
  SequenceId sequence = 0;
  uint64_t attempt = 0;
  uint32_t end = 0;    // the position after the segment
  int32_t token = -1;  // the next one, if it was wanted
  float logprob = 0;
  std::vector<LogitOf> top;
  Error why{Code::kUnknown, ""};  // with has_failed: why there is no token
  bool has_failed = false;
  // Since protocol 5.
  uint32_t drafted = 0;      // draft tokens checked for it and those after it
  bool is_accepted = false;  // it was an accepted draft token, without a step of its own
  // Draft tokens that the stage proposes after the token; if logits were wanted (since protocol 7),
  // from the token on.
  std::vector<int32_t> drafts;
};

// Back to the conductor, one for each Work that reached the end of the route; and one more, without
// hops, for each accepted draft token in it.
struct Done {
  RouteId route = 0;
  std::vector<SegmentResult> results;
  std::vector<Hop> hops;
  // float32, in the order of the results: [wanted rows, vocab_size] (with one more for each draft
  // token), or for states [wanted rows, embedding].
  Payload logits;
};

// --- KV transfer. Since protocol 3.

// The conductor's order to send these rows to a node, as they are computed. Replaces an earlier
// order for the same rows; a Begin of the sequence ends it.
struct SendKv {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t begin = 0;  // positions: the receiver holds those before
  uint32_t end = 0;    // the transfer ends there
  uint32_t step = 1;   // the least positions of a message, except the last
  NodeId to;           // of the route, or its conductor
  // The number of a conductor that collects rows; 0: for the stages there. On routes with groups it
  // names the stages, too (stage/transfer_ticket.h). Returned with the rows.
  uint64_t ticket = 0;
};

// From the node that holds them, or from a conductor that has them from a session.
struct KvRows {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint64_t ticket = 0;
  Payload chunk;  // kv/transfer.h
  // Since protocol 4. Not kF32: the KV chunk is compressed (stage/kv_chunk_encoding.h).
  RowEncoding encoding = RowEncoding::kF32;
};

// Back to the sender: the rows were accepted, and more may come. `end` 0: they are refused, with
// all after them.
struct KvTaken {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint64_t ticket = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t end = 0;  // position after the rows
};

// From the conductor: the stage stops decoding the sequence by itself, and refuses work that it has
// not computed.
struct Halt {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;
};

// From the conductor, since protocol 7: work of the sequence up to this attempt is not wanted any
// more. Stages refuse the part that they have not computed.
struct Cancel {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;
};

// --- Prefix search in the KV caches of all nodes, whatever their routes are. Since protocol 4.

// To any node: asks which rows of this prefix it has. The reply is FoundKv. Without tokens: the
// query is over.
struct FindKv {
  uint64_t query = 0;  // numbered by the sender
  Hash128 digest;      // of the layout: identifies the model, too
  uint32_t layer_count = 0;
  std::vector<int32_t> tokens;
};

// Rows of the first `length` positions in some layers.
struct HeldKv {
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t length = 0;
};

// Sent again, empty, when requested rows were evicted meanwhile.
struct FoundKv {
  uint64_t query = 0;
  std::vector<HeldKv> held;
};

// From the sender of a query, for a sequence of its own route: send these rows to that node, as
// KvRows.
struct FetchKv {
  uint64_t query = 0;
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  StageAddress to;
};

// --- Drafters on other machines, independent of routes. Since protocol 8.

// From a front end: follow this text, and keep draft tokens ahead of it. The drafter pushes them
// (DraftTokens) as they are made, unasked.
struct BeginDraft {
  uint64_t draft = 0;  // numbered by the sender
  Hash128 vocabulary;  // of the tokens (drafting/vocabulary.h)
  Hash128 drafter;     // which of the node's: the model's fingerprint; zeros: n-gram lookup
  Sampling sampling;   // of the answer: a drafter samples in the same way
  uint32_t most = 0;   // draft tokens kept ahead
  std::vector<int32_t> tokens;
};

// The text continues from position `begin`, where it ended.
struct FollowDraft {
  uint64_t draft = 0;
  uint32_t begin = 0;
  std::vector<int32_t> tokens;
};

struct EndDraft {
  uint64_t draft = 0;
};

// From the drafter: all its draft tokens after the first `begin` tokens of the text. With
// has_failed: there will be none.
struct DraftTokens {
  uint64_t draft = 0;
  uint32_t begin = 0;
  std::vector<int32_t> tokens;
  bool has_failed = false;
  Error why{Code::kUnknown, ""};
};

using AnyMessage =
    std::variant<Hello, Goodbye, Credit, Ping, Pong, OpenRoute, RouteState, CloseRoute, Begin,
                 Holds, End, Work, Done, SendKv, KvRows, KvTaken, Halt, FindKv, FoundKv, FetchKv,
                 PartRows, Cancel, BeginDraft, FollowDraft, EndDraft, DraftTokens>;

template <typename T, typename Variant>
constexpr bool kIsOneOf = false;
template <typename T, typename... Alternatives>
constexpr bool kIsOneOf<T, std::variant<Alternatives...>> =
    (std::is_same_v<T, Alternatives> || ...);

// One of them. Copying, moving and destroying are compiled once, in messages.cc: a variant of this
// size takes seconds in every file that instantiates them.
struct Message : AnyMessage {
  Message();
  // A new message needs a line in messages.cc.
  template <typename T>
    requires kIsOneOf<T, AnyMessage>
  Message(T message);  // NOLINT(google-explicit-constructor)
  Message(const Message&);
  Message(Message&&) noexcept;
  Message& operator=(const Message&);
  Message& operator=(Message&&) noexcept;
  ~Message();
};

}  // namespace aster::wire
