// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "grammar/token_mask.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace aster::grammar {
namespace {

// Longer tokens are not offered; no grammar needs them.
constexpr size_t kMaxTokenBytes = 255;
// Cached masks: each has one bit per token of the vocabulary.
constexpr size_t kMaxMasks = 512;
// Of all masks together.
constexpr size_t kMaxExits = 1 << 22;
// The additional cost of each token: some milliseconds.
constexpr uint64_t kWorkForToken = 1 << 16;

constexpr char kMark = static_cast<char>(TokenTree::kControlByte);

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// For 64 tokens: visits only the fewer ones, those that are allowed or those that are not.
void ForbidOthers(uint64_t allowed, std::span<float> logits) {
  constexpr int kFew = 16;
  if (std::popcount(allowed) > kFew) {
    for (uint64_t others = ~allowed; others != 0; others &= others - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(others));
      if (i < logits.size()) logits[i] = kForbidden;
    }
    return;
  }
  std::array<float, kFew> kept;
  size_t count = 0;
  for (uint64_t rest = allowed; rest != 0; rest &= rest - 1) {
    kept[count++] = logits[static_cast<size_t>(std::countr_zero(rest))];
  }
  std::ranges::fill(logits, kForbidden);
  count = 0;
  for (uint64_t rest = allowed; rest != 0; rest &= rest - 1) {
    logits[static_cast<size_t>(std::countr_zero(rest))] = kept[count++];
  }
}

}  // namespace

TokenTree::TokenTree(const text::Tokenizer& tokenizer, uint32_t vocab_size)
    : next_token_(vocab_size, -1), bytes_(vocab_size) {
  const text::Vocab& vocab = tokenizer.vocab();
  end_tokens_ = vocab.end_of_generation;
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocab.size() && static_cast<uint32_t>(id) < vocab_size; ++id) {
    const text::TokenType type = vocab.types[static_cast<size_t>(id)];
    if (type == text::TokenType::kControl) {
      const std::string& name = vocab.tokens[static_cast<size_t>(id)];
      if (name.empty() || name.size() + 2 > kMaxTokenBytes) continue;
      controls_.push_back(kMark + name + kMark);
      bytes_[static_cast<size_t>(id)] = controls_.back();
      ids.push_back(id);
      continue;
    }
    const bool is_text = type == text::TokenType::kNormal ||
                         type == text::TokenType::kUserDefined || type == text::TokenType::kByte;
    const auto bytes = tokenizer.TokenBytes(id);
    if (!is_text || !bytes.ok() || bytes->empty() || bytes->size() > kMaxTokenBytes) continue;
    // A token that begins like a control token's spelling.
    if (bytes->find(kMark) != std::string_view::npos) continue;
    bytes_[static_cast<size_t>(id)] = *bytes;
    ids.push_back(id);
  }
  std::ranges::sort(ids, {}, [&](int32_t id) { return std::pair(BytesOf(id), id); });
  std::vector<uint32_t> open;  // nodes on the path to the last token
  std::string_view last;
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) {
      nodes_[open.back()].size = static_cast<uint32_t>(nodes_.size()) - open.back();
    }
  };
  for (const int32_t id : ids) {
    const std::string_view bytes = BytesOf(id);
    const size_t shared =
        static_cast<size_t>(std::ranges::mismatch(last, bytes).in1 - last.begin());
    close_to(shared);
    for (size_t depth = shared; depth < bytes.size(); ++depth) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {.byte = static_cast<uint8_t>(bytes[depth]), .depth = static_cast<uint8_t>(depth)});
    }
    Node& node = nodes_[open.back()];
    next_token_[static_cast<size_t>(id)] = node.first_token;
    node.first_token = id;
    last = bytes;
  }
  close_to(0);
}

std::string TokenTree::Spelled(std::string_view markup) const {
  std::string spelled;
  while (!markup.empty()) {
    std::string_view longest;
    for (const std::string_view control : controls_) {
      const std::string_view name = control.substr(1, control.size() - 2);
      if (control.size() > longest.size() && markup.starts_with(name)) longest = control;
    }
    spelled += longest.empty() ? markup.substr(0, 1) : longest;
    markup.remove_prefix(longest.empty() ? 1 : longest.size() - 2);
  }
  return spelled;
}

MaskCache::MaskCache(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree)
    : grammar_(std::move(grammar)),
      tree_(std::move(tree)),
      matcher_(std::make_unique<Matcher>(*grammar_)) {}

void MaskCache::BeginToken() {
  if (has_failed()) return;
  if (matcher_->is_full()) {
    // Nothing of the full matcher is kept: masks that are needed again are computed again.
    const uint64_t left = matcher_->work_left();
    matcher_ = std::make_unique<Matcher>(*grammar_);
    matcher_->LimitWork(left);
    allowed_.clear();
    inside_.clear();
    exit_count_ = 0;
    ++generation_;
  }
  matcher_->AddWork(kWorkForToken);
}

void MaskCache::Allow(int32_t first_token, Bits& allowed) const {
  for (int32_t token = first_token; token >= 0; token = tree_->NextToken(token)) {
    allowed[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
  }
}

// Walks the whole tree from a place, without knowing the places below it.
const MaskCache::Inside& MaskCache::WalkInside(StateId state) {
  const auto found = inside_.find(state);
  if (found != inside_.end()) return found->second;
  if (inside_.size() >= kMaxMasks || exit_count_ > kMaxExits) {
    inside_.clear();
    exit_count_ = 0;
  }
  Inside inside;
  inside.allowed.resize((tree_->vocab_size() + 63) / 64);
  std::array<StateId, kMaxTokenBytes + 1> way = {state};
  const auto& nodes = tree_->nodes();
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTree::Node& node = nodes[i];
    const StateId next = matcher_->Next(way[node.depth], node.byte);
    if (next == kDead) {
      i += node.size;
      continue;
    }
    way[node.depth + 1U] = next;
    Allow(node.first_token, inside.allowed);
    if (matcher_->CanEnd(next) && node.size > 1) inside.exits.push_back(i);
    ++i;
  }
  exit_count_ += inside.exits.size();
  return inside_.emplace(state, std::move(inside)).first->second;
}

// Walks the part below a node; `state` is the state after it.
void MaskCache::WalkBelow(uint32_t at, StateId state, Bits& allowed) {
  const auto& nodes = tree_->nodes();
  std::array<StateId, kMaxTokenBytes + 2> way;
  way[nodes[at].depth + 1U] = state;
  for (uint32_t i = at + 1; i < at + nodes[at].size;) {
    const TokenTree::Node& node = nodes[i];
    const StateId next = matcher_->Next(way[node.depth], node.byte);
    if (next == kDead) {
      i += node.size;
      continue;
    }
    way[node.depth + 1U] = next;
    Allow(node.first_token, allowed);
    ++i;
  }
}

const MaskCache::Bits& MaskCache::AllowedIn(StateId state) {
  const auto found = allowed_.find(state);
  if (found != allowed_.end()) return found->second;
  if (allowed_.size() >= kMaxMasks) allowed_.clear();
  const Matcher::Split split = matcher_->SplitAtCommon(state);
  const Inside& inside = WalkInside(split.inside);
  Bits allowed = inside.allowed;
  if (split.below != kDead) {
    for (const uint32_t exit : inside.exits) WalkBelow(exit, split.below, allowed);
  }
  return allowed_.emplace(state, std::move(allowed)).first->second;
}

TokenMasks::TokenMasks(std::shared_ptr<MaskCache> cache)
    : cache_(std::move(cache)),
      generation_(cache_->generation()),
      states_{cache_->matcher().start()} {}

StateId TokenMasks::Follow(std::span<const int32_t> answer) {
  Matcher& matcher = cache_->matcher();
  if (std::exchange(generation_, cache_->generation()) != cache_->generation()) {
    followed_.clear();
    states_ = {matcher.start()};
  }
  const size_t shared =
      static_cast<size_t>(std::ranges::mismatch(followed_, answer).in1 - followed_.begin());
  followed_.resize(shared);
  states_.resize(shared + 1);
  const TokenTree& tree = cache_->tree();
  for (const int32_t token : answer.subspan(shared)) {
    StateId state = states_.back();
    const bool is_known = token >= 0 && static_cast<uint32_t>(token) < tree.vocab_size();
    const std::string_view bytes = is_known ? tree.BytesOf(token) : std::string_view();
    for (const char c : bytes) state = matcher.Next(state, static_cast<uint8_t>(c));
    followed_.push_back(token);
    states_.push_back(state);
  }
  return states_.back();
}

void TokenMasks::Apply(std::span<const int32_t> answer, std::span<float> logits) {
  cache_->BeginToken();
  const StateId state = Follow(answer);
  const bool can_end = state == kDead || cache_->matcher().CanEnd(state);
  const TokenTree& tree = cache_->tree();
  std::vector<float> ends;
  for (const int32_t end : tree.end_tokens()) ends.push_back(logits[static_cast<size_t>(end)]);
  if (state == kDead) {
    // Nothing can follow: the answer ends.
    std::ranges::fill(logits, kForbidden);
  } else {
    const MaskCache::Bits& allowed = cache_->AllowedIn(state);
    for (size_t word = 0; word < allowed.size(); ++word) {
      const size_t begin = word * 64;
      ForbidOthers(allowed[word],
                   logits.subspan(begin, std::min<size_t>(64, logits.size() - begin)));
    }
  }
  if (has_failed()) {
    std::ranges::fill(logits, kForbidden);
    return;
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    logits[static_cast<size_t>(tree.end_tokens()[i])] = can_end ? ends[i] : kForbidden;
  }
}

}  // namespace aster::grammar
