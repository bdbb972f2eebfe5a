// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files do not always have the roles of tokens, but few spellings are in use.

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "text/vocab.h"

namespace aster::text {
namespace {

struct Role {
  TokenId SpecialTokens::* member;
  // The first one that a vocabulary has counts.
  std::array<std::string_view, 12> spellings;
};

constexpr Role kRoles[] = {
    {&SpecialTokens::eot,
     {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<turn|>", "<|endoftext|>",
      "<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>",
      "<end_of_utterance>"}},
    {&SpecialTokens::eom, {"<|eom_id|>"}},
    {&SpecialTokens::fim_prefix,
     {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
      "<|code_prefix|>", "<|prefix|>"}},
    {&SpecialTokens::fim_suffix,
     {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
      "<|code_suffix|>", "<|suffix|>"}},
    {&SpecialTokens::fim_middle,
     {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
      "<|code_middle|>", "<|middle|>"}},
    {&SpecialTokens::fim_pad, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
    {&SpecialTokens::fim_repo,
     {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
    {&SpecialTokens::fim_file, {"<|file_sep|>"}},
};

// These tokens always end generation, whatever the file says.
constexpr std::string_view kEnds[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<eos>",
    "<|end_of_text|>",
    "<|tool_response>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
};

class RoleFinder {
 public:
  explicit RoleFinder(Vocab& vocab) : vocab_(vocab) {
    const auto want = [this](std::string_view spelling) { ids_.emplace(spelling, kNoToken); };
    for (const Role& role : kRoles) std::ranges::for_each(role.spellings, want);
    std::ranges::for_each(kEnds, want);
    ids_.erase("");
    for (TokenId id = 0; id < vocab.size(); ++id) {
      const auto found = ids_.find(vocab.tokens[static_cast<size_t>(id)]);
      if (found != ids_.end()) found->second = id;
    }
  }

  TokenId IdOf(std::string_view spelling) const { return ids_.at(spelling); }
  bool Has(std::string_view spelling) const { return IdOf(spelling) != kNoToken; }

  void FindRole(const Role& role) {
    TokenId& id = vocab_.special.*role.member;
    for (const std::string_view spelling : role.spellings) {
      if (id != kNoToken || spelling.empty()) return;
      id = IdOf(spelling);
      MakeControl(id);
    }
  }

  void FindEnds() {
    const SpecialTokens& special = vocab_.special;
    for (const TokenId id : {special.eos, special.eot, special.eom, special.fim_pad,
                             special.fim_repo, special.fim_file}) {
      AddEnd(id);
    }
    for (const std::string_view spelling : kEnds) {
      if (MeansSomethingElse(spelling)) continue;
      AddEnd(IdOf(spelling));
      MakeControl(IdOf(spelling));
    }
    std::vector<TokenId>& ends = vocab_.end_of_generation;
    std::ranges::sort(ends);
    const auto repeated = std::ranges::unique(ends);
    ends.erase(repeated.begin(), repeated.end());
  }

 private:
  // Some models have a token with this spelling that does not end an answer.
  bool MeansSomethingElse(std::string_view spelling) const {
    if (spelling == "<|end|>") {
      const bool has_call = Has("<|call|>") || Has("<|calls|>");
      return has_call && (Has("<|return|>") || Has("<|flush|>"));
    }
    // In Gemma it is HTML, among other tags.
    return spelling == "</s>" && (Has("<end_of_turn>") || Has("<|tool_response>"));
  }

  void AddEnd(TokenId id) {
    if (id == kNoToken) return;
    const bool is_message_end = id == IdOf("<|end|>") && MeansSomethingElse("<|end|>");
    if (!is_message_end) vocab_.end_of_generation.push_back(id);
  }

  // Some files do not mark such tokens; a user's text could then end the turn.
  void MakeControl(TokenId id) {
    if (id == kNoToken) return;
    TokenType& type = vocab_.types[static_cast<size_t>(id)];
    if (type != TokenType::kByte) type = TokenType::kControl;
  }

  Vocab& vocab_;
  std::unordered_map<std::string_view, TokenId> ids_;
};

}  // namespace

void AssignRoles(Vocab& vocab) {
  vocab.end_of_generation.clear();
  RoleFinder finder(vocab);
  for (const Role& role : kRoles) finder.FindRole(role);
  finder.FindEnds();
}

}  // namespace aster::text
