// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// An answer that several models made together, and how they made it. Must not know how that is
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

// How members make one answer.
enum class Policy : uint8_t {
  kChoose,  // each answers, and one of the answers is taken
  kSpans,   // they write it span by span
  kBytes,   // they write it byte by byte, or token by token
  kAuto,    // the best of these for the kind of question
};

// "choose", "spans", "bytes", "auto"; nullopt for any other name.
std::string_view PolicyName(Policy policy);
std::optional<Policy> PolicyCalled(std::string_view name);
const std::vector<std::string>& PolicyNames();

// One step of a response, to be repeated.
struct AnswerPiece {
  std::string text = {};
  std::vector<chat::ReplyEvent> events = {};
  std::vector<respond::ResponseToken> tokens = {};
};

// One member's part in an answer.
struct Part {
  std::string member;
  double weight = 0;
  bool has_answered = false;
  std::optional<Error> absence = {};  // why it has not answered, or not rated
  engine::RequestCounts counts = {};  // of the text that it wrote
  engine::RequestTimes times = {};
  uint64_t rated_tokens = 0;     // of others' text
  uint64_t computed_tokens = 0;  // of its prompt, of the text that it wrote and of that it rated
  uint64_t missed_spans = 0;     // decided without it
  double left_out = 0;           // of bytes: probability of ignored ways to spell them
};

// A text, or the end of one, that could be taken.
struct Candidate {
  std::vector<size_t> authors = {};  // indices of members
  std::string text = {};
  double bits_per_byte = 0;              // under all members together; 0 for the only candidate
  std::vector<double> member_bits = {};  // under each, per byte; infinite if it was not rated
};

// Why a span was taken.
enum class Decision : uint8_t {
  kAlone,      // no other member was present
  kLikely,     // it has more than half of the probability of all spans
  kAgreed,     // every member would have written it
  kContested,  // the most probable of several
  kSurest,     // several authors were certain of theirs: the one that stayed so
  kMixed,      // drawn from the mean of all; some would have written it
};

struct DecidedSpan {
  Decision decision = Decision::kAlone;
  size_t chosen = 0;  // index into `candidates`
  std::vector<Candidate> candidates = {};

  const Candidate& taken() const { return candidates[chosen]; }
};

struct Answer {
  Policy policy = Policy::kChoose;
  std::string policy_reason;        // if another one was asked for
  respond::Answered answered;       // the author's, with the token counts of all members
  std::vector<AnswerPiece> pieces;  // as they were sent
  size_t sent_pieces = 0;           // sent before the end
  respond::EndReason reason = respond::EndReason::kStop;
  respond::Usage usage;               // of all members
  size_t chosen = 0;                  // index into `candidates`
  std::vector<Candidate> candidates;  // different ones, by first author; for spans: the answer
  std::vector<DecidedSpan> spans;     // that it consists of; empty if it is one member's
  std::vector<Part> parts;            // of every member

  // Its author; for spans, the one with the largest part.
  const std::string& author() const { return parts[candidates[chosen].authors.front()].member; }
};

// Adds the usage of one member. Members compute at the same time.
void AddUsage(const respond::Usage& usage, respond::Usage& total);
void AddCounts(const engine::RequestCounts& counts, engine::RequestCounts& total);
// Rows that one request has added to the KV cache.
uint64_t ComputedTokens(const engine::RequestCounts& counts);

// Sends a listener the answer as one model would have, without pieces that were sent before.
void Tell(const Answer& answer, respond::Listener& listener);

}  // namespace aster::ensemble
