// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The messages of the data plane between nodes, as plain values. How they become bytes is in
// codec.h. Must not know sockets, nor what nodes do with a message.
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

// Names a node for ever: the beginning of the hash of its public key.
struct NodeId {
  Hash128 value;

  auto operator<=>(const NodeId&) const = default;
  std::string ToText() const { return value.ToHex().substr(0, 8); }
};

// One plan, with the weights and KV cache that its nodes hold for it. Drawn at random: a plan that
// replaces another one has another id.
using RouteId = uint64_t;
// Of the conductor that opened the route; one history of tokens.
using SequenceId = uint64_t;

// How rows of activations travel. Everything but kF32 changes them.
enum class RowEncoding : uint8_t { kF32, kBf16, kQ8 };

// --- The first message on a connection, in both directions.

struct Hello {
  uint16_t oldest_protocol = 0;  // spoken by the sender
  uint16_t newest_protocol = 0;
  uint32_t arithmetic = 0;  // its version: equal versions compute equal bits
  NodeId node;
  std::string name;               // for people
  uint64_t max_frame_bytes = 0;   // that the sender receives
  uint64_t credit_bytes = 0;      // that may be in flight to the sender
  std::vector<uint8_t> password;  // of connections without certificates
  // Of a front end, which shares its machine's certificate with the node there: random bytes, of
  // which its own NodeId follows (net::InstanceOf). Empty: the node itself. Since protocol 2.
  std::vector<uint8_t> instance;
};

// The last message on a connection: why it ends.
struct Goodbye {
  Error why{Code::kUnknown, ""};
};

// The receiver has consumed that many bytes more: as many may follow.
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
  uint32_t layer_end = 0;  // behind the last
  bool embedding = false;
  bool head = false;
};

// Nodes that compute a stage's layers together with the one that it names, which leads them.
struct StageGroup {
  uint32_t stage = 0;
  std::vector<StageAddress> members;  // without layers: parts 1, 2…; the stage's node has part 0
  std::vector<uint32_t> shares;       // of the work, by part
  // Since protocol 9: whether parts own experts, how many of each layer all of them have, and
  // which, layer by layer; of an empty list some at equal distances.
  bool owns_experts = false;
  uint32_t replicas = 0;
  std::vector<uint16_t> replicated = {};
};

struct OpenRoute {
  // In kv_type: rows of f16 where the model was trained with fewer bits. A node that does not know
  // it refuses the type.
  static constexpr uint8_t kPlainRows = 0x80;

  RouteId route = 0;
  StageAddress conductor;  // without layers
  std::vector<StageAddress> stages;
  uint32_t index = 0;   // which of them the receiver is
  Hash128 fingerprint;  // of the model
  uint32_t arithmetic = 0;
  RowEncoding encoding = RowEncoding::kF32;  // between stages
  uint8_t kv_type = 0;
  uint32_t kv_window = 0;
  uint32_t kv_sinks = 0;
  uint64_t kv_bytes = 0;  // of the KV cache; 0: the node chooses
  // Since protocol 3: that many of the last stages hold all layers once more, and decode after the
  // stages before them have computed the prompt. 0: the same stages do both.
  uint32_t decode_stages = 0;
  // Since protocol 4: of KV transfers between its stages.
  RowEncoding kv_encoding = RowEncoding::kF32;
  // Since protocol 6. From the conductor, part is 0; the node that leads a group opens the route on
  // the others, as their conductor.
  std::vector<StageGroup> groups = {};
  uint32_t part = 0;  // the receiver's, of its stage's group
};

// From a stage: again and again while it loads, then ready or refused.
struct RouteState {
  enum class Kind : uint8_t { kLoading, kReady, kRefused };
  RouteId route = 0;
  Kind kind = Kind::kLoading;
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t kv_positions = 0;      // that fit into its memory, once ready
  Error why{Code::kUnknown, ""};  // of kRefused: both sides' values, and what to do
  // Since protocol 6: of kRefused: the node of the stage's group that failed; or none.
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

// A sequence begins a new epoch with this history. The stage keeps and adopts cached rows along it,
// and replies with Holds.
struct Begin {
  RouteId route = 0;
  SequenceId sequence = 0;
  std::vector<int32_t> tokens;
  Sampling sampling;  // for the stage with the head
  // Since protocol 3. Grows with every Begin of a sequence. Messages name the epoch that they
  // belong to: those of an earlier one are late.
  uint64_t epoch = 0;
  std::vector<int32_t> stop_tokens;  // end a sequence that a stage decodes by itself
  // Since protocol 5: the drafter at the stage with the head (engine::DraftKind; 0: none), and the
  // most draft tokens.
  uint8_t draft_kind = 0;
  uint8_t draft_most = 0;
};

// What a stage holds of a sequence: the number of positions, and the hash of their tokens. Sent in
// reply to Begin, when rows from another node have made it longer, and with the reason when work is
// refused because it does not continue the rows held.
struct Holds {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;  // of the work that was refused; 0: in reply to Begin or KvRows
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
  // Since protocol 6: rows as the head sees them, behind the last norm.
  kLastState,
  kAllStates,
};
constexpr bool IsStates(Wanted wanted) {
  return wanted == Wanted::kLastState || wanted == Wanted::kAllStates;
}

struct WorkSegment {
  SequenceId sequence = 0;
  // Grows with every segment that the conductor sends of a sequence. Results name it: those of an
  // earlier one are late.
  uint64_t attempt = 0;
  uint32_t begin =
      0;  // position of the first token; a stage drops the rows that it holds behind it
  std::vector<int32_t> tokens;
  Hash128 before;  // of the tokens before `begin`
  Hash128 after;   // of all
  Wanted wanted = Wanted::kNothing;
  // Since protocol 3, to a stage that has all layers: it may decode that many tokens more by
  // itself, and sends each as it is chosen.
  uint32_t more = 0;
  // Since protocol 5: that many of the last tokens are draft tokens. Since protocol 7 all of them
  // may be: the segment is good only if the token chosen behind the one before is its first.
  uint32_t draft_count = 0;

  bool is_ahead() const { return draft_count > 0 && draft_count == tokens.size(); }
};

// Times that a frame took at a stage.
struct Hop {
  uint64_t queue_ns = 0;
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
  // Since protocol 7, of the node that leads a group: how much of the time it waited for what the
  // others computed, and what it sent them.
  uint64_t gather_ns = 0;
  uint64_t gather_bytes = 0;
  // Since protocol 10, of the same node: gathers, one message to each other node, and how much of
  // the time it spent on sending.
  uint64_t gathers = 0;
  uint64_t gather_send_ns = 0;
};

struct Work {
  RouteId route = 0;
  std::vector<WorkSegment> segments;
  RowEncoding encoding = RowEncoding::kF32;
  std::vector<Hop> hops;  // of the stages before
  Payload rows;           // of all segments' tokens; none on the way to the first stage
  // Since protocol 3: the stage that it was sent to first; `hops` counts from there.
  uint32_t first_stage = 0;
  // Since protocol 6, from the node that leads a group: numbers what its parts compute together.
  uint64_t job = 0;
};

// How columns of a part are written: as float32, or int64 where they are sums; or as the 8-bit
// blocks that products read (kernels/activation_blocks.h).
enum class PartEncoding : uint8_t { kNumbers = 0, kBlocks = 1 };

// Between the parts of a group, since protocol 6: what one has computed that others need. With a
// reason: it cannot compute its part of the job.
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

// From the stage with the head, of one segment.
struct SegmentResult {
  SequenceId sequence = 0;
  uint64_t attempt = 0;
  uint32_t end = 0;    // the position behind the segment
  int32_t token = -1;  // the one that follows, if it was wanted
  float logprob = 0;
  std::vector<LogitOf> top;
  Error why{Code::kUnknown, ""};  // with has_failed: why there is no token
  bool has_failed = false;
  // Since protocol 5.
  uint32_t drafted = 0;      // draft tokens that were checked to get it and those behind it
  bool is_accepted = false;  // it was an accepted draft token, without a step of its own
  // Draft tokens that the stage proposes behind the token; where logits were wanted (since protocol
  // 7), from the token on.
  std::vector<int32_t> drafts;
};

// Back to the conductor, one for each Work that reached the end of the route; and one more, without
// hops, for each accepted draft token in it.
struct Done {
  RouteId route = 0;
  std::vector<SegmentResult> results;
  std::vector<Hop> hops;
  // float32, in the order of the results: [wanted rows, vocab_size] (with one more for each draft
  // token), or of states [wanted rows, embedding].
  Payload logits;
};

// --- KV transfer. Since protocol 3.

// The conductor's order to send these rows to a node, as they are computed. Takes the place of an
// earlier one for the same rows; a Begin of the sequence ends it.
struct SendKv {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t begin = 0;  // positions: the receiver holds those before
  uint32_t end = 0;    // the transfer ends there
  uint32_t step = 1;   // the least positions of a message, except at the end
  NodeId to;           // of the route, or its conductor
  // The number of a conductor that collects rows; 0: for the stages there. On routes with groups it
  // names the stages, too (stage/transfer_ticket.h). Comes back with the rows.
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

// Back to the sender: the rows were taken, and more may come. Up to 0: they are refused, with all
// behind them.
struct KvTaken {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint64_t ticket = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t end = 0;  // position behind the rows
};

// From the conductor: the stage ends decoding the sequence by itself, and refuses what it has not
// computed.
struct Halt {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;
};

// From the conductor, since protocol 7: no work of the sequence is wanted any more up to this
// attempt. Stages refuse what they have not computed of it.
struct Cancel {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;
};

// --- Prefix search over the KV caches of all nodes, whatever their routes are. Since protocol 4.

// To any node: which rows of this prefix are there? The reply is FoundKv. Without tokens: the query
// is over.
struct FindKv {
  uint64_t query = 0;  // numbered by the sender
  Hash128 digest;      // of the layout: names the model, too
  uint32_t layer_count = 0;
  std::vector<int32_t> tokens;
};

// Rows of the first `length` positions in some layers.
struct HeldKv {
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t length = 0;
};

// Sent once more, empty, when rows are fetched that were evicted meanwhile.
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

// --- Drafters on other machines, beside all routes. Since protocol 8.

// From a front end: follow this text, and keep draft tokens ahead of it. They are pushed
// (DraftTokens) as they are made, without being asked for.
struct BeginDraft {
  uint64_t draft = 0;  // numbered by the sender
  Hash128 vocabulary;  // of the tokens (drafting/vocabulary.h)
  Hash128 drafter;     // which of the node's: the model's fingerprint; zeros: n-gram lookup
  Sampling sampling;   // of the answer: a drafter draws as it does
  uint32_t most = 0;   // draft tokens that are kept ahead
  std::vector<int32_t> tokens;
};

// The text goes on from position `begin`, which is where it ended.
struct FollowDraft {
  uint64_t draft = 0;
  uint32_t begin = 0;
  std::vector<int32_t> tokens;
};

struct EndDraft {
  uint64_t draft = 0;
};

// From the drafter: all its draft tokens behind the first `begin` tokens of the text. With
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

// One of them. What copies, moves and destroys it is compiled once, in messages.cc: of a variant of
// this size it takes seconds in every file that does it for itself.
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
