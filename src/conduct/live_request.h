// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A request of a conductor, and its progress on the stages of its route. Must not know other
// requests, nor messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "conduct/draft_pace.h"
#include "conduct/logits_collector.h"
#include "conduct/path.h"
#include "conduct/route_memory.h"
#include "engine/running_request.h"
#include "kernels/isa.h"
#include "kv/prefix_hash.h"
#include "text/tokenizer.h"
#include "wire/messages.h"

namespace aster::conduct {

// What a request waits for. It passes through the phases in this order, and may skip some. It
// returns to kWaiting when it is preempted or its route breaks, to kBeginning when a stage refuses
// a segment.
enum class RequestPhase : uint8_t {
  kWaiting,      // for its turn, in the queue
  kBeginning,    // for every stage to reply how much of its text it holds
  kSearching,    // for the replies of other nodes
  kFetching,     // for KV rows of other nodes
  kSyncing,      // for rows that the decode path sends the prefill path
  kPrefill,      // for the prefill path to compute its prompt, and for the decode path to have it
  kTransferred,  // for room in the pipeline: the decode path has all but its last token
  kDecode,       // for the next token, which a segment in flight asks for
};

// Rows of a request that the two paths of its route send each other.
struct TransferState {
  int64_t sync_began_ns = 0;
  std::map<wire::NodeId, double> sync_bytes;  // to be sent in kSyncing, by the sending node
  uint64_t prompt_bytes = 0;                  // rows of the prompt that the decode path lacked
  uint32_t synced_to = 0;                     // end of the rows ordered for the prefill path
  int64_t prefilled_ns = 0;                   // when its prompt was computed; 0: not yet
};

// Tokens that the stage with the head drafted behind the newest one.
struct StageDrafts {
  std::vector<int32_t> tokens;
  uint32_t length = 0;  // of the history that they continue
};

// Draft tokens in flight after the request's last token, and the times of their frames.
struct DraftChain {
  std::vector<int32_t> tokens;  // the oldest first
  bool has_ended = false;       // the drafter proposes no more until a token comes
  bool is_paced = false;        // `step` says how many there are
  DraftPace::Step step;
  // The newest frame that was not sent ahead. `is_alone`: since then no other request had anything
  // in flight.
  int64_t sent_ns = 0;
  uint32_t length = 0;  // of the text before it
  uint32_t rows = 1;
  uint32_t ahead = 0;  // frames that were sent behind it
  // Time of a drafter on this machine: before the frame was sent, after it, and the part of both
  // that is not repeated, such as allocations.
  double asked_ns = 0;
  double ahead_ns = 0;
  double once_ns = 0;
  bool is_alone = false;
};

// The times of a request as predicted when it began, and the actual ones. 0: not known.
struct RequestForecast {
  uint32_t prompt_tokens = 0;   // to be computed, including those of requests before it
  uint32_t others = 0;          // requests that ran when it began
  uint32_t held_tokens = 0;     // tokens of its text whose KV rows its stages had
  uint32_t fetched_tokens = 0;  // of these, tokens whose rows came from other nodes
  bool is_direct = false;       // the decode path prefills, although there is a prefill path
  double fetch_s = 0;           // for fetching rows, before the request began to run
  double first_token_s = 0;     // from when the request began to run
  double token_s = 0;           // from one token to the next
  uint64_t answer_tokens = 0;
  double actual_fetch_s = 0;
  double actual_first_token_s = 0;
  double actual_token_s = 0;
};

struct LiveRequest {
  // Whether tokens are drafted. Never again once a stage had no memory for draft tokens: a request
  // must not take memory from others for tokens that may be wrong.
  enum class Drafting : uint8_t { kAllowed, kNoMemory };

  LiveRequest(engine::RequestId id, engine::Request asked, const text::Tokenizer* tokenizer,
              uint32_t vocab_size, kernels::Isa isa, RouteMemory* kept, int64_t now_ns);

  uint32_t length() const { return request.sequence().length(); }
  bool wants_token() const { return request.request().max_tokens > request.generated(); }
  // Whether frames may be made of it.
  bool is_running() const { return phase >= RequestPhase::kSyncing; }
  // Whether the nodes that compute its prompt are not those that decode.
  bool is_disaggregated() const { return prefill_path != decode_path; }
  // The end of the tokens that the prefill path computes. The decode path computes the last one,
  // since it samples the next one.
  uint32_t prefill_end() const {
    return length() - (is_disaggregated() && !logits.is_wanted() ? 1 : 0);
  }
  // Whether all but its last token is computed, and nothing of it is in flight.
  bool lacks_last_token() const { return is_running() && in_flight == 0 && sent + 1 == length(); }
  bool has_prefill() const {
    return phase == RequestPhase::kPrefill && sent < prefill_end() && !lacks_last_token();
  }
  // Whether it waits for rows that the nodes of one path send to those of the other.
  bool awaits_transfer() const {
    const bool is_early = phase == RequestPhase::kSyncing || phase == RequestPhase::kPrefill;
    return is_disaggregated() && !logits.is_wanted() && is_early;
  }
  // Whether the next token may be asked for.
  bool is_ready_to_decode() const { return lacks_last_token() && !awaits_transfer(); }
  // Whether the path is one stage that decodes by itself, without a segment for each token. (Not if
  // the caller edits logits, or if a draft model runs here: both act between two tokens.)
  bool IsContinuedBy(Path path) const;
  // A token has come: the chain continues after it if it is the chain's first one, else the chain
  // is dropped. The verdict says whether a draft token was checked, and whether it was right.
  enum class Verdict : uint8_t { kNone, kAccepted, kRejected };
  Verdict FollowChain(int32_t token);
  // What a segment that ends at `end` asks for.
  wire::Wanted WantedAfter(uint32_t end) const;
  // How many tokens may follow the next one.
  uint32_t TokensAfterNext() const;

  // The positions that all stages of a path hold, of those that have replied.
  uint32_t HeldBy(Path path) const;
  // A stage reports how many positions it holds; 0 if they are of another history.
  void TakeHolds(const wire::Holds& message);

  // Its route broke or it was preempted: it begins again when its turn comes.
  void Suspend();

  engine::RunningRequest request;
  RouteMemory* const memory;
  const std::shared_ptr<const std::vector<int32_t>> stops;  // tokens that end the answer
  LogitsCollector logits;                                   // or states, where they are wanted

  RequestPhase phase = RequestPhase::kWaiting;
  Path prefill_path;
  Path decode_path;
  uint64_t epoch = 0;                       // of its Begin
  std::optional<kv::TokenHistory> history;  // of all tokens, once it was begun
  std::map<uint32_t, uint32_t> holds;       // positions by stage, of those that have replied
  uint32_t sent = 0;                        // tokens that stages have or will have
  size_t in_flight = 0;                     // segments
  wire::RouteId searched_route = 0;         // the route for which prefix search has asked nodes
  uint32_t held_before = 0;                 // tokens that stages held before that search
  double fetch_s = 0;                       // predicted time of fetching rows from other nodes
  double actual_fetch_s = 0;                // the time that it took
  uint32_t refusals = 0;                    // since something was computed
  int64_t started_ns = 0;                   // when it began to run in this epoch
  uint32_t started_at = 0;                  // tokens that were computed then
  RequestForecast forecast;
  int64_t first_token_ns = 0;
  int64_t last_token_ns = 0;
  TransferState transfer;
  StageDrafts stage_drafts;
  DraftChain chain;
  uint32_t drafted_to = 0;  // the text that the drafter here has seen
  DraftPace pace;
  Drafting drafting = Drafting::kAllowed;
};

}  // namespace aster::conduct
