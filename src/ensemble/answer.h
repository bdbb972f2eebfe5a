// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What several models have answered together, and how they came to it. Must not know how that is
// shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/reply_parser.h"
#include "engine/request.h"
#include "respond/reply.h"
#include "respond/run.h"

namespace aster::ensemble {

// How members come to one answer.
enum class Policy : uint8_t {
  kChoose,  // each answers, and one of the answers is taken
  kSpans,   // they write it span by span
  kBytes,   // they write it byte by byte, or token by token
  kAuto,    // the one of these that is best for the kind of question
};

// "choose", "spans", "bytes", "auto"; nothing where no policy is called so.
std::string_view PolicyName(Policy policy);
std::optional<Policy> PolicyCalled(std::string_view name);
const std::vector<std::string>& PolicyNames();

// One step of a response, to be told again.
struct SaidPiece {
  std::string text = {};
  std::vector<chat::ReplyEvent> events = {};
  std::vector<respond::SpokenToken> tokens = {};
};

// What became of a member in one answer.
struct Part {
  std::string member;
  double weight = 0;
  bool has_answered = false;
  std::optional<Error> absence = {};  // why it has not answered, or not rated
  engine::RequestCounts counts = {};  // of what it wrote itself
  engine::RequestTimes times = {};
  uint64_t rated_tokens = 0;     // of others
  uint64_t computed_tokens = 0;  // of its prompt, of what it wrote and of what it rated
  uint64_t missed_spans = 0;     // that were decided without it
  double left_out = 0;           // of bytes: probability of ways to spell them that is not counted
};

// A text, or the end of one, that could be taken.
struct Candidate {
  std::vector<size_t> authors = {};  // members, by their numbers
  std::string text = {};
  double bits_per_byte = 0;              // under all members together; 0 where it is the only one
  std::vector<double> member_bits = {};  // under each, per byte; infinite where it was not rated
};

// Why a span was taken.
enum class Decision : uint8_t {
  kAlone,      // no other member was there
  kLikely,     // it has more than half of the probability of all spans
  kAgreed,     // every member would have written it
  kContested,  // the most probable of several
  kSurest,     // of several whose authors were certain of them, the one that stayed so
  kMixed,      // by the mean of all: some would have written it
};

struct DecidedSpan {
  Decision decision = Decision::kAlone;
  size_t chosen = 0;  // of `candidates`
  std::vector<Candidate> candidates = {};

  const Candidate& taken() const { return candidates[chosen]; }
};

struct Answer {
  Policy policy = Policy::kChoose;
  std::string policy_reason;      // where another was asked for
  respond::Answered answered;     // the author's, with the token counts of all members
  std::vector<SaidPiece> pieces;  // of it, as they were said
  size_t told_pieces = 0;         // of them, that were told before the end
  respond::EndReason reason = respond::EndReason::kStop;
  respond::Usage usage;               // of all members
  size_t chosen = 0;                  // of `candidates`
  std::vector<Candidate> candidates;  // different ones, by their first author; of spans: the answer
  std::vector<DecidedSpan> spans;     // that it is made of; none where it is one member's
  std::vector<Part> parts;            // of every member

  // Who wrote it; of spans, the most of it.
  const std::string& author() const { return parts[candidates[chosen].authors.front()].member; }
};

// Adds what one member has used. Members compute beside each other.
void AddUsage(const respond::Usage& usage, respond::Usage& total);
void AddCounts(const engine::RequestCounts& counts, engine::RequestCounts& total);
// That one request has added to the KV cache.
uint64_t ComputedTokens(const engine::RequestCounts& counts);

// Tells a listener the answer as one model would have, but for what it was told before.
void Tell(const Answer& answer, respond::Listener& listener);

}  // namespace aster::ensemble
