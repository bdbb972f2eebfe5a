// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any reply in any pieces: the same events as in one piece, and without calls no byte is lost.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "chat/reply_parser.h"

namespace aster::chat {
namespace {

std::vector<ReplyEvent> Parse(const Dialect& dialect, const Tools& tools, std::string_view reply,
                              size_t piece) {
  ReplyParser parser(dialect, "", &tools);
  std::vector<ReplyEvent> events;
  for (size_t at = 0; at < reply.size(); at += piece) parser.Push(reply.substr(at, piece), events);
  parser.Finish(events);
  return events;
}

void CheckOrder(const std::vector<ReplyEvent>& events) {
  bool in_call = false;
  for (const ReplyEvent& event : events) {
    const bool begins = event.kind == ReplyEvent::Kind::kCallBegin;
    const bool inside =
        event.kind == ReplyEvent::Kind::kArguments || event.kind == ReplyEvent::Kind::kCallEnd;
    CHECK(in_call == inside);
    in_call = begins || event.kind == ReplyEvent::Kind::kArguments;
  }
  CHECK(!in_call);
}

}  // namespace
}  // namespace aster::chat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster::chat;  // tidy: allow(using-namespace) the function stands outside of all
  if (size < 2) return 0;
  constexpr int kFamilies = static_cast<int>(Family::kHarmony) + 1;
  Dialect dialect{.family = static_cast<Family>(data[0] % kFamilies), .has_tools = true};
  dialect.has_reasoning = (data[0] & 0x80) != 0;
  dialect.call_lead = (data[0] & 0x40) != 0 ? "\n\n" : "\n";
  dialect.reasoning_open_tail = "\n";
  dialect.reasoning_close_lead = "\n";
  dialect.reasoning_close_tail = "\n\n";
  const std::string_view reply(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Tools tools;
  const auto whole = Parse(dialect, tools, reply, reply.size() + 1);
  CheckOrder(whole);
  CHECK(Parse(dialect, tools, reply, 1 + data[1] % 16) == whole);
  const bool has_headers = dialect.family == Family::kHarmony;
  if (!has_headers && !dialect.has_reasoning && whole.size() == 1 &&
      whole[0].kind == ReplyEvent::Kind::kContent) {
    CHECK(whole[0].text == reply);
  }
  return 0;
}
