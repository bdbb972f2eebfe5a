// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "base/utf8.h"
#include "chat/history.h"
#include "jinja/fallback.h"

namespace aster::chat {
namespace {

// Plane 15 is for private use: character kFirstMark + i represents control token i. (If a user
// writes such a character, it becomes the token's name as plain text.)
constexpr uint32_t kFirstMark = 0xf0000;
constexpr size_t kMaxMarks = 0xfffd;
// All of them have four bytes in UTF-8, and begin with this one.
constexpr char kMarkByte = '\xf3';
constexpr size_t kMarkBytes = 4;

std::string MarkOf(size_t index) {
  const uint32_t character = kFirstMark + static_cast<uint32_t>(index);
  return {static_cast<char>(0xf0 | (character >> 18)),
          static_cast<char>(0x80 | ((character >> 12) & 0x3f)),
          static_cast<char>(0x80 | ((character >> 6) & 0x3f)),
          static_cast<char>(0x80 | (character & 0x3f))};
}

// The control token at the text's beginning, if that is a mark.
std::optional<size_t> IndexOfMark(std::string_view text, size_t mark_count) {
  if (text.size() < kMarkBytes || text[0] != kMarkByte) return std::nullopt;
  uint32_t character = 0x3;
  for (size_t i = 1; i < kMarkBytes; ++i) {
    character = (character << 6) | (static_cast<uint8_t>(text[i]) & 0x3fU);
  }
  if (character < kFirstMark || character - kFirstMark >= mark_count) return std::nullopt;
  return character - kFirstMark;
}

// gpt-oss has three efforts, and thinking cannot be turned off.
void FitEffort(nlohmann::ordered_json& variables) {
  const auto has = [&](const char* key, const nlohmann::ordered_json& value) {
    const auto found = variables.find(key);
    return found != variables.end() && *found == value;
  };
  if (has("enable_thinking", false)) {
    variables["reasoning_effort"] = "low";
  } else if (has("reasoning_effort", "xhigh") || has("reasoning_effort", "max")) {
    variables["reasoning_effort"] = "high";
  }
}

void Append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace

void AddReasoning(bool reasons, nlohmann::ordered_json& variables) {
  variables["enable_thinking"] = reasons;
  variables["thinking"] = reasons;
}

std::string SpecialTokenText(const gguf::Metadata& metadata, std::string_view role) {
  const auto id = metadata.Get<uint64_t>(fmt::format("tokenizer.ggml.{}_token_id", role));
  const auto tokens = metadata.Get<gguf::Array>("tokenizer.ggml.tokens");
  if (!id.ok() || !tokens.ok() || *id >= tokens->size()) return "";
  const auto strings = tokens->Strings();
  if (!strings.ok()) return "";
  auto token = strings->begin();
  for (uint64_t i = 0; i < *id; ++i) ++token;
  return std::string(*token);
}

std::string ChatTemplateSource(const gguf::Metadata& metadata) {
  const auto source = metadata.Get<std::string_view>("tokenizer.chat_template");
  const auto architecture = metadata.Get<std::string_view>("general.architecture");
  if (!source.ok())
    return architecture.ok() ? std::string(jinja::FallbackTemplate(*architecture)) : "";
  std::string better =
      architecture.ok() ? jinja::ReplacementTemplate(*architecture, *source) : std::string();
  return better.empty() ? std::string(*source) : better;
}

Result<ChatPrompt> ChatPrompt::Make(const gguf::Metadata& metadata,
                                    const text::Tokenizer& tokenizer) {
  ChatPrompt prompt(tokenizer);
  prompt.bos_text_ = SpecialTokenText(metadata, "bos");
  prompt.eos_text_ = SpecialTokenText(metadata, "eos");
  prompt.source_ = ChatTemplateSource(metadata);
  if (!prompt.source_.empty()) {
    prompt.template_ =
        TRY(jinja::ChatTemplate::Parse(prompt.source_).In("the model's chat template"));
  }
  const text::Vocab& vocab = tokenizer.vocab();
  for (int32_t id = 0; id < vocab.size(); ++id) {
    const auto index = static_cast<size_t>(id);
    const text::TokenType type = vocab.types[index];
    const bool hidden = type == text::TokenType::kControl || type == text::TokenType::kUnknown;
    if (hidden && !vocab.tokens[index].empty()) {
      prompt.control_texts_.push_back(vocab.tokens[index]);
    }
  }
  std::stable_sort(prompt.control_texts_.begin(), prompt.control_texts_.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  prompt.control_texts_.resize(std::min(prompt.control_texts_.size(), kMaxMarks));
  prompt.control_order_.resize(prompt.control_texts_.size());
  std::iota(prompt.control_order_.begin(), prompt.control_order_.end(), size_t{0});
  std::ranges::sort(prompt.control_order_, [&](size_t a, size_t b) {
    return std::tie(prompt.control_texts_[a], a) < std::tie(prompt.control_texts_[b], b);
  });
  return prompt;
}

// The longest control token at the text's beginning; nothing if there is none.
std::optional<size_t> ChatPrompt::ControlAt(std::string_view text) const {
  std::optional<size_t> longest;
  auto low = control_order_.begin();
  auto high = control_order_.end();
  // Tokens that share the text's beginning are adjacent; fewer with each byte.
  for (size_t depth = 0; depth < text.size(); ++depth) {
    const auto byte_of = [&](size_t index) {
      return static_cast<int>(static_cast<uint8_t>(control_texts_[index][depth]));
    };
    const int byte = static_cast<uint8_t>(text[depth]);
    low = std::ranges::lower_bound(low, high, byte, {}, byte_of);
    high = std::ranges::upper_bound(low, high, byte, {}, byte_of);
    if (low == high) return longest;
    if (control_texts_[*low].size() == depth + 1) longest = *low++;
    while (low != high && control_texts_[*low].size() == depth + 1) ++low;
    if (low == high) return longest;
  }
  return longest;
}

std::string ChatPrompt::Marked(std::string_view content) const {
  std::string marked;
  size_t begin = 0;  // of the text that is not written yet
  for (size_t at = 0; at < content.size();) {
    const auto index = ControlAt(content.substr(at));
    if (!index) {
      ++at;
      continue;
    }
    marked += content.substr(begin, at - begin);
    marked += MarkOf(*index);
    at += control_texts_[*index].size();
    begin = at;
  }
  marked += content.substr(begin);
  return marked;
}

Result<std::string> ChatPrompt::Render(std::span<const Message> messages) const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Message& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  return Render(list, nullptr);
}

nlohmann::ordered_json ChatPrompt::MarkedJson(const nlohmann::ordered_json& json) const {
  if (json.is_string()) return Marked(json.get_ref<const std::string&>());
  if (json.is_object()) {
    // Templates write names of members as well: those of arguments and of their schemas.
    nlohmann::ordered_json marked = nlohmann::ordered_json::object();
    for (const auto& [key, value] : json.items()) marked[Marked(key)] = MarkedJson(value);
    return marked;
  }
  nlohmann::ordered_json marked = json;
  if (json.is_array()) {
    for (nlohmann::ordered_json& element : marked) element = MarkedJson(element);
  }
  return marked;
}

nlohmann::ordered_json ChatPrompt::MarkedMessages(const nlohmann::ordered_json& messages) const {
  nlohmann::ordered_json marked = MarkedJson(messages);
  // Templates compare roles; these are not text of a conversation.
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].is_object() && messages[i].contains("role"))
      marked[i]["role"] = messages[i]["role"];
  }
  return marked;
}

nlohmann::ordered_json ChatPrompt::CommonVariables(ReasoningEffort effort) const {
  nlohmann::ordered_json variables = {{"bos_token", bos_text_}, {"eos_token", eos_text_}};
  if (effort == ReasoningEffort::kDefault) return variables;
  AddReasoning(effort != ReasoningEffort::kOff, variables);
  if (effort == ReasoningEffort::kHigh) variables["reasoning_effort"] = "high";
  if (effort == ReasoningEffort::kMax) variables["reasoning_effort"] = "max";
  if (is_harmony()) FitEffort(variables);
  return variables;
}

bool ChatPrompt::SupportsReasoningEffort() const {
  if (!template_) return false;
  const auto prompt = [this](ReasoningEffort effort) {
    nlohmann::ordered_json variables = CommonVariables(effort);
    variables["messages"].push_back({{"role", "user"}, {"content", "why?"}});
    variables["add_generation_prompt"] = true;
    return template_->Render(variables);
  };
  const Result<std::string> without = prompt(ReasoningEffort::kOff);
  const Result<std::string> with = prompt(ReasoningEffort::kMax);
  return without.ok() && with.ok() && *without != *with;
}

Dialect ChatPrompt::FindDialect() const {
  return template_ ? chat::FindDialect(source_, *template_, CommonVariables(effort_)) : Dialect();
}

Result<std::string> ChatPrompt::Render(const nlohmann::ordered_json& messages,
                                       const nlohmann::ordered_json& tools) const {
  return Render(messages, tools, nlohmann::ordered_json::object());
}

Result<std::string> ChatPrompt::Render(const nlohmann::ordered_json& messages,
                                       const nlohmann::ordered_json& tools,
                                       const nlohmann::ordered_json& extra) const {
  nlohmann::ordered_json variables = CommonVariables(effort_);
  variables.update(MarkedJson(extra));
  if (is_harmony()) FitEffort(variables);
  ArgumentTexts texts(messages);
  variables["messages"] = MarkedMessages(texts.messages());
  variables["add_generation_prompt"] = true;
  if (!tools.is_null()) variables["tools"] = MarkedJson(tools);
  if (!texts.empty()) {
    if (!WantsArgumentObjects(source_)) {
      auto prompt = template_->Render(variables);
      if (prompt.ok() && texts.AllStandIn(*prompt)) {
        return texts.Restore(*prompt, [&](std::string_view text) { return Marked(text); });
      }
    }
    variables["messages"] = MarkedMessages(TRY(WithArgumentObjects(messages)));
  }
  return template_->Render(variables).In("the model's chat template");
}

Result<std::vector<int32_t>> ChatPrompt::EncodePieces(std::string_view marked) const {
  std::vector<int32_t> ids;
  size_t begin = 0;  // of the text that is not encoded yet
  for (size_t at = 0; at < marked.size();) {
    const auto index = IndexOfMark(marked.substr(at), control_texts_.size());
    if (!index) {
      ++at;
      continue;
    }
    const std::string_view before = marked.substr(begin, at - begin);
    if (!before.empty()) Append(ids, TRY(tokenizer_->Encode(before, {.parse_special = true})));
    Append(ids, TRY(tokenizer_->Encode(control_texts_[*index], {})));
    at += kMarkBytes;
    begin = at;
  }
  const std::string_view rest = marked.substr(begin);
  if (!rest.empty()) Append(ids, TRY(tokenizer_->Encode(rest, {.parse_special = true})));
  return ids;
}

Result<std::vector<int32_t>> ChatPrompt::Encode(std::string_view marked) const {
  std::vector<int32_t> ids = TRY(EncodePieces(marked));
  const text::Vocab& vocab = tokenizer_->vocab();
  // Most templates write it themselves.
  const int32_t bos = vocab.special.bos;
  if (vocab.add_bos && bos != text::kNoToken && (ids.empty() || ids.front() != bos)) {
    ids.insert(ids.begin(), bos);
  }
  return ids;
}

Result<std::optional<std::vector<int32_t>>> ChatPrompt::EncodeNext(std::string_view marked) const {
  using Next = std::optional<std::vector<int32_t>>;
  std::vector<int32_t> ids = TRY(EncodePieces(marked));
  if (ids.empty()) return Next(std::move(ids));
  // The tokens of a part are those in the whole only after a boundary for every tokenizer.
  const text::Vocab& vocab = tokenizer_->vocab();
  const text::TokenType first = vocab.types[static_cast<size_t>(ids.front())];
  if (!text::IsMatchedInText(first)) return Next();
  return Next(std::move(ids));
}

Result<std::vector<int32_t>> ChatPrompt::EncodeRaw(std::string_view text, bool begins) const {
  return tokenizer_->Encode(text, {.add_special = begins, .parse_special = true});
}

}  // namespace aster::chat
