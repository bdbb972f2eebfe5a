// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Both ends of drafting on other machines get messages that no correct peer sends: neither fails,
// and only tokens of the vocabulary are proposed. The bytes determine the messages, and how the
// text continues meanwhile.
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "drafting/draft_server.h"
#include "drafting/network_for_test.h"
#include "drafting/remote_proposers.h"
#include "engine/request.h"

namespace aster::drafting {
namespace {

constexpr Vocabulary kFuzzed{.digest = {7, 8}, .size = 50};

// Small numbers, some of them out of range.
class Choices {
 public:
  explicit Choices(Bytes bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ >= bytes_.size(); }
  uint8_t Next() { return at_end() ? uint8_t{0} : bytes_[at_++]; }
  std::vector<int32_t> Tokens() {
    std::vector<int32_t> tokens(Next() % 8);
    for (int32_t& token : tokens) token = static_cast<int32_t>(Next() % 56) - 3;
    return tokens;
  }

 private:
  const Bytes bytes_;
  size_t at_ = 0;
};

wire::Message MessageOf(Choices& choices) {
  wire::BeginDraft begin;
  wire::FollowDraft follow;
  wire::EndDraft end;
  wire::DraftTokens drafts;
  switch (choices.Next() % 4) {
    case 0:
      begin.draft = choices.Next() % 4;
      begin.vocabulary = choices.Next() % 4 == 0 ? Hash128{1, 1} : kFuzzed.digest;
      begin.drafter = choices.Next() % 2 == 0 ? Hash128{1, 2} : Hash128{};
      begin.most = choices.Next() % 40;
      begin.tokens = choices.Tokens();
      return begin;
    case 1:
      follow.draft = choices.Next() % 4;
      follow.begin = choices.Next() % 16;
      follow.tokens = choices.Tokens();
      return follow;
    case 2:
      end.draft = choices.Next() % 4;
      return end;
    default:
      drafts.draft = kMostDrafters * (choices.Next() % 4) + choices.Next() % 3;
      drafts.begin = choices.Next() % 16;
      drafts.tokens = choices.Tokens();
      drafts.has_failed = choices.Next() % 8 == 0;
      if (drafts.has_failed) drafts.why = ResourceExhausted("there is no room");
      return drafts;
  }
}

void Run(Bytes bytes) {
  Choices choices(bytes);
  KeepingNetwork front, node;
  CountingSource counting(60);
  DraftServer server(node,
                     {{.name = {1, 2},
                       .vocabulary = kFuzzed,
                       .kind = engine::DraftKind::kModel,
                       .source = &counting},
                      {.name = {}, .vocabulary = kFuzzed, .source = &counting}},
                     {.max_texts = 4, .max_texts_of_one = 3, .max_tokens = 64});
  RemoteProposers source(&front,
                         {{.node = TestNode(1), .name = "a", .addresses = {}, .drafter = {1, 2}},
                          {.node = TestNode(2), .name = "b", .addresses = {}, .drafter = {}}},
                         {.vocabulary = kFuzzed});
  engine::Request request;
  request.draft = {.kind = engine::DraftKind::kModel, .most = 4};
  auto answer = source.Make(request).value();
  std::vector<int32_t> text{1};
  while (!choices.at_end()) {
    const wire::NodeId who = TestNode(choices.Next() % 3);
    const uint8_t what = choices.Next() % 8;
    if (what < 4) {
      const net::Event event = MessageFrom(who, MessageOf(choices));
      server.Handle(event);
      source.Handle(event);
    } else if (what == 4) {
      text.push_back(choices.Next() % 50);
      answer->Follow(text, 0, {});
    } else if (what == 5) {
      server.Handle(DownOf(who));
      source.Handle(DownOf(who));
      front.virtual_clock.AdvanceBy(kNsPerSecond * choices.Next());
    } else if (what == 6) {
      answer = source.Make(request).value();
      answer->Follow(text, 0, {});
    } else {
      for (int i = 0; i < 4 && server.has_work(); ++i) server.Work();
      node.Take();
      front.Take();
    }
    std::vector<int32_t> drafts;
    CHECK(answer->Propose(text, 4, drafts).ok());
    CHECK(drafts.size() <= 4);
    for (const int32_t token : drafts) CHECK(token >= 0 && token < 50);
  }
}

}  // namespace
}  // namespace aster::drafting

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::drafting::Run({data, size});
  return 0;
}
