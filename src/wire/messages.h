// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What nodes say to each other on the data plane, as plain values. How they become bytes is in
// codec.h. Must not know sockets, nor what anybody does with a message.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
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

// One plan and the weights and memory that were made ready for it, on all its nodes. Drawn at
// random: a plan that replaces another one has another id.
using RouteId = uint64_t;
// Of the conductor that opened the route; one history of tokens.
using SequenceId = uint64_t;

// How rows of activations travel. Everything but kF32 changes them.
enum class RowEncoding : uint8_t { kF32, kBf16, kQ8 };

// --- The first words on a connection, in both directions.

struct Hello {
  uint16_t oldest_protocol = 0;  // spoken by the sender
  uint16_t newest_protocol = 0;
  uint32_t arithmetic = 0;  // the version of what bits come out
  NodeId node;
  std::string name;               // for people
  uint64_t max_frame_bytes = 0;   // that the sender takes
  uint64_t credit_bytes = 0;      // that may be under way to the sender
  std::vector<uint8_t> password;  // on connections without certificates: proves that it may
  // Of a front end, which shares its machine's certificate with the node there: random bytes, of
  // which its own NodeId follows (net::InstanceOf). Empty: the node itself. Since protocol 2.
  std::vector<uint8_t> instance;
};

// The last word on a connection: why.
struct Goodbye {
  Error why{Code::kUnknown, ""};
};

// The receiver has consumed so many bytes more: as many may follow.
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
  uint64_t kv_bytes = 0;  // of memory for what sequences remember; 0: as the node likes
  // Since protocol 3: so many of the last stages hold all layers once more, and answer what the
  // stages before them have read. 0: the same stages do both.
  uint32_t decode_stages = 0;
  // Since protocol 4: how what sequences remember travels between its stages. Likewise.
  RowEncoding kv_encoding = RowEncoding::kF32;
};

// What a stage has to say about a route: again and again while it loads, then ready or refused.
struct RouteState {
  enum class Kind : uint8_t { kLoading, kReady, kRefused };
  RouteId route = 0;
  Kind kind = Kind::kLoading;
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t kv_positions = 0;      // that fit into its memory, once ready
  Error why{Code::kUnknown, ""};  // of kRefused: both sides' values, and what to do
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

// An answer begins: this is the history, take over what you remember of it. Answered with Holds.
struct Begin {
  RouteId route = 0;
  SequenceId sequence = 0;
  std::vector<int32_t> tokens;
  Sampling sampling;  // for the stage with the head
  // Since protocol 3. Grows with every Begin of a sequence: what is said of it names the one that
  // it follows, so that what is late is told apart.
  uint64_t epoch = 0;
  std::vector<int32_t> stop_tokens;  // end an answer that a stage goes on with by itself
  // Since protocol 5: who guesses ahead at the stage with the head (engine::DraftKind; 0: nobody),
  // and how far.
  uint8_t draft_kind = 0;
  uint8_t draft_most = 0;
};

// The stage's memory of a sequence: so many positions, and the hash of their tokens. Sent again
// when rows from elsewhere have made it longer, and when work cannot be done because it does not
// follow what is held, with the reason.
struct Holds {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;  // of the work that was refused; 0: in answer to Begin, or to Rows
  uint32_t length = 0;
  Hash128 hash;
  Error why{Code::kUnknown, ""};
  // Since protocol 3.
  uint32_t stage = 0;
  uint64_t epoch = 0;  // of the Begin before
};

// The sequence is over, or is to be forgotten.
struct End {
  RouteId route = 0;
  SequenceId sequence = 0;
};

// --- Work. From the conductor to the first stage, from stage to stage, from the last one back.

enum class Wanted : uint8_t { kNothing, kToken, kLastLogits, kAllLogits };

struct WorkSegment {
  SequenceId sequence = 0;
  // Grows with every segment that the conductor sends of a sequence; answers name it, so that what
  // comes late is told apart.
  uint64_t attempt = 0;
  uint32_t begin = 0;  // position of the first token; whatever a stage holds behind it is dropped
  std::vector<int32_t> tokens;
  Hash128 before;  // of the tokens before `begin`
  Hash128 after;   // of all
  Wanted wanted = Wanted::kNothing;
  // Since protocol 3, to a stage that has all layers: so many tokens more may follow the one that
  // is asked for, each told as it comes, without being asked.
  uint32_t more = 0;
  // Since protocol 5: so many of the last tokens are guesses, to be answered as far as they agree.
  uint32_t draft_count = 0;
};

// What a stage spent on a frame, in nanoseconds.
struct Hop {
  uint64_t queue_ns = 0;
  uint64_t compute_ns = 0;
  uint64_t bytes_out = 0;
};

struct Work {
  RouteId route = 0;
  std::vector<WorkSegment> segments;
  RowEncoding encoding = RowEncoding::kF32;
  std::vector<Hop> hops;  // of the stages before
  Payload rows;           // of all segments' tokens; none on the way to the first stage
  // Since protocol 3: the stage that it was sent to first; `hops` counts from there.
  uint32_t first_stage = 0;
};

struct LogitOf {
  int32_t id = 0;
  float logprob = 0;
};

// What the head says about a segment.
struct SegmentResult {
  SequenceId sequence = 0;
  uint64_t attempt = 0;
  uint32_t end = 0;    // the position behind the segment
  int32_t token = -1;  // the one that follows, if it was asked for
  float logprob = 0;
  std::vector<LogitOf> top;
  Error why{Code::kUnknown, ""};  // with has_failed: why there is no token
  bool has_failed = false;
  // Since protocol 5.
  uint32_t drafted = 0;         // guesses that were checked to get it and those behind it
  bool is_accepted = false;     // it came of a guess that was right, and of no step of its own
  std::vector<int32_t> drafts;  // what the stage guesses behind the token
};

// Back to the conductor, one for each Work that reached the end of the route; and one more, without
// hops, for each guess in it that was right.
struct Done {
  RouteId route = 0;
  std::vector<SegmentResult> results;
  std::vector<Hop> hops;
  Payload logits;  // float32, [asked rows, vocab_size] in the order of the answers
};

// --- What sequences remember, on its way to other nodes. Since protocol 3.

// From the conductor: these rows are wanted there, as they come to be. Takes the place of an
// earlier one for the same rows; a Begin of the sequence ends it.
struct SendKv {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t begin = 0;   // positions: what the other side holds
  uint32_t end = 0;     // as long as there are fewer the rest is awaited
  uint32_t step = 1;    // positions that are worth a message, before the end
  NodeId to;            // of the route, or its conductor
  uint64_t ticket = 0;  // of a conductor that collects rows; 0: for the stages there
};

// From whoever holds them; or from the conductor, who has them from elsewhere.
struct KvRows {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint64_t ticket = 0;
  Payload chunk;  // kv/transfer.h
  // Since protocol 4: not kF32: the KV chunk was made smaller (stage/kv_chunk_encoding.h).
  RowEncoding encoding = RowEncoding::kF32;
};

// Back to whoever sent them: more may come.
struct KvTaken {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t epoch = 0;
  uint64_t ticket = 0;
  uint32_t layer_begin = 0;
  uint32_t layer_end = 0;
  uint32_t end = 0;  // position behind the rows
};

// From the conductor: what a stage goes on with by itself shall end. What it has under way is
// refused then.
struct Halt {
  RouteId route = 0;
  SequenceId sequence = 0;
  uint64_t attempt = 0;
};

// --- What nodes remember, whatever their routes are. Since protocol 4.

// To any node: what is there of this text? Answered with Found. Without tokens: nobody asks for
// more of it.
struct FindKv {
  uint64_t query = 0;  // of whoever asks
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

// Once more, with less, when something is wanted that is not there any more.
struct FoundKv {
  uint64_t query = 0;
  std::vector<HeldKv> held;
};

// From whoever asked, for a sequence of a route of its own: these rows are wanted there, as Rows.
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

using Message =
    std::variant<Hello, Goodbye, Credit, Ping, Pong, OpenRoute, RouteState, CloseRoute, Begin,
                 Holds, End, Work, Done, SendKv, KvRows, KvTaken, Halt, FindKv, FoundKv, FetchKv>;

}  // namespace aster::wire
