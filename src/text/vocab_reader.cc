// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/vocab_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "text/pretokenizer.h"

namespace aster::text {
namespace {

using gguf::Metadata;

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string KeyOf(std::string_view name) { return fmt::format("{}{}", kPrefix, name); }

bool MeansNone(std::string_view model) { return model == "none" || model == "no_vocab"; }

Result<VocabKind> KindOf(std::string_view model) {
  if (model == "gpt2") return VocabKind::kByteLevelBpe;
  if (model == "llama") return VocabKind::kSentencePiece;
  if (model == "gemma4") return VocabKind::kSentencePieceBpe;
  if (MeansNone(model)) {
    return FailedPrecondition(
        fmt::format("the model has no tokenizer (tokenizer.ggml.model is \"{}\"); give it token "
                    "ids instead of text",
                    model));
  }
  return Unimplemented(
      fmt::format("tokenizers of the kind \"{}\" are not supported; those of the "
                  "kinds gpt2, llama and gemma4 are",
                  model));
}

TokenType TypeOf(int32_t number) {
  const bool is_known = number >= 0 && number <= static_cast<int32_t>(TokenType::kByte);
  return is_known ? static_cast<TokenType>(number) : TokenType::kUndefined;
}

// Reads one array of at least `count` values, or nothing if the key is missing.
template <typename T>
Result<std::optional<std::vector<T>>> ReadPerToken(const Metadata& metadata, std::string_view name,
                                                   size_t count) {
  const std::string key = KeyOf(name);
  auto values = TRY(metadata.GetIfPresent<std::vector<T>>(key));
  if (!values) return values;
  if (values->size() < count) {
    return InvalidArgument(
        fmt::format("{} has {} entries for {} tokens", key, values->size(), count));
  }
  values->resize(count);
  return values;
}

Result<std::vector<std::string>> ReadStrings(const Metadata& metadata, std::string_view name,
                                             size_t limit) {
  const std::string key = KeyOf(name);
  const auto array = TRY(metadata.Get<gguf::Array>(key));
  if (array.size() > limit) {
    return InvalidArgument(
        fmt::format("{} has {} entries; at most {} are supported", key, array.size(), limit));
  }
  const gguf::StringRange range = TRY(array.Strings());
  return std::vector<std::string>(range.begin(), range.end());
}

Status ReadTokens(const Metadata& metadata, Vocab& vocab) {
  vocab.tokens = TRY(ReadStrings(metadata, "tokens", kMaxTokens));
  const size_t count = vocab.tokens.size();
  const auto types = TRY(ReadPerToken<int32_t>(metadata, "token_type", count));
  vocab.types.assign(count, TokenType::kNormal);
  if (types) std::ranges::transform(*types, vocab.types.begin(), TypeOf);
  auto scores = TRY(ReadPerToken<float>(metadata, "scores", count));
  if (scores) {
    vocab.scores = *std::move(scores);
  } else if (vocab.kind == VocabKind::kSentencePiece) {
    return InvalidArgument(
        "tokenizer.ggml.scores is missing, and tokenizers of the kind llama merge by score");
  }
  if (vocab.kind != VocabKind::kSentencePiece) {
    vocab.merges = TRY(ReadStrings(metadata, "merges", UINT32_MAX / 2));
  }
  return Ok();
}

struct SpecialKey {
  std::string_view name;
  std::string_view old_name = {};
};

// Sets `id` from the first existing key. An id out of range counts as missing: real files have such
// mistakes for tokens that are never used.
Status ReadTokenId(const Metadata& metadata, const SpecialKey& names, TokenId& id, Vocab& vocab) {
  for (const std::string_view name : {names.name, names.old_name}) {
    if (name.empty()) continue;
    const std::string key = KeyOf(name);
    const auto value = TRY(metadata.GetIfPresent<int64_t>(key));
    if (!value) continue;
    if (*value >= 0 && *value < vocab.size()) {
      id = static_cast<TokenId>(*value);
      return Ok();
    }
    vocab.notes.push_back(fmt::format("{} is {}, but there are only {} tokens; it is ignored", key,
                                      *value, vocab.size()));
  }
  return Ok();
}

Status ReadSpecialTokens(const Metadata& metadata, Vocab& vocab) {
  SpecialTokens& special = vocab.special;
  if (vocab.kind == VocabKind::kSentencePiece && vocab.size() > 2) {
    special = {.bos = 1, .eos = 2, .unk = 0};  // SentencePiece's own defaults
  }
  const std::pair<SpecialKey, TokenId*> roles[] = {
      {{"bos_token_id"}, &special.bos},
      {{"eos_token_id"}, &special.eos},
      {{"eot_token_id"}, &special.eot},
      {{"eom_token_id"}, &special.eom},
      {{"unknown_token_id"}, &special.unk},
      {{"seperator_token_id"}, &special.sep},  // the spelling of the format
      {{"padding_token_id"}, &special.pad},
      {{"mask_token_id"}, &special.mask},
      {{"fim_pre_token_id", "prefix_token_id"}, &special.fim_prefix},
      {{"fim_suf_token_id", "suffix_token_id"}, &special.fim_suffix},
      {{"fim_mid_token_id", "middle_token_id"}, &special.fim_middle},
      {{"fim_pad_token_id"}, &special.fim_pad},
      {{"fim_rep_token_id"}, &special.fim_repo},
      {{"fim_sep_token_id"}, &special.fim_file},
  };
  for (const auto& [names, id] : roles) TRY(ReadTokenId(metadata, names, *id, vocab));
  return Ok();
}

Status ReadPretokenizer(const Metadata& metadata, Vocab& vocab) {
  const auto name = TRY(metadata.GetIfPresent<std::string>(KeyOf("pre")));
  if (name) {
    vocab.pretokenizer = *name;
    return Ok();
  }
  return InvalidArgument(fmt::format(
      "tokenizer.ggml.pre is missing, and without it the tokenizer's patterns are not known; "
      "convert the model again with a newer converter, which sets it to one of: {}",
      PretokenizerNames()));
}

// Whether texts begin and end with special tokens and spaces: by the file or its kind.
Status ReadAdditions(const Metadata& metadata, Vocab& vocab) {
  const bool is_sentence_piece = vocab.kind == VocabKind::kSentencePiece;
  const Pretokenizer* pretokenizer = FindPretokenizer(vocab.pretokenizer);
  const bool usual_bos = is_sentence_piece || (pretokenizer != nullptr && pretokenizer->adds_bos);
  vocab.add_bos = TRY(metadata.GetOr<bool>(KeyOf("add_bos_token"), usual_bos));
  vocab.add_eos = TRY(metadata.GetOr<bool>(KeyOf("add_eos_token"), false));
  vocab.add_space_prefix =
      is_sentence_piece && TRY(metadata.GetOr<bool>(KeyOf("add_space_prefix"), true));
  if (vocab.kind == VocabKind::kSentencePieceBpe && !vocab.add_bos) {
    // Some files of this kind deny it, but the models do not work without.
    vocab.add_bos = vocab.special.bos != kNoToken;
  }
  return Ok();
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Some tokenizers drop the white space beside their special tokens. The format has no key for it,
// so the models are recognised by architecture or name.
Status ReadStripping(const Metadata& metadata, Vocab& vocab) {
  std::string name = TRY(metadata.GetOr<std::string>("general.name", ""));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto arch = TRY(metadata.GetOr<std::string>("general.architecture", ""));
  // Phi 4, which has the same architecture, has another kind of vocabulary.
  const bool is_phi3 = (arch == "phi3" && vocab.kind == VocabKind::kSentencePiece) ||
                       Contains(name, "phi-3") || Contains(name, "phi3");
  const bool is_jina = vocab.pretokenizer.starts_with("jina-v2-");
  if (!is_phi3 && !is_jina) return Ok();
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string& text = vocab.tokens[static_cast<size_t>(id)];
    if (!IsMatchedInText(vocab.types[static_cast<size_t>(id)])) continue;
    if (is_phi3 && text != "<unk>" && text != "<s>" && text != "<|endoftext|>") {
      vocab.strips_right.push_back(id);
    }
    if (is_jina && text == "<mask>") vocab.strips_left.push_back(id);
  }
  return Ok();
}

}  // namespace

bool HasVocab(const Metadata& metadata) {
  const auto model = metadata.Get<std::string>(KeyOf("model"));
  return metadata.Contains(KeyOf("model")) && !(model.ok() && MeansNone(*model));
}

Result<Vocab> ReadVocab(const gguf::Metadata& metadata) {
  Vocab vocab;
  const auto model = TRY(metadata.Get<std::string_view>(KeyOf("model")));
  vocab.kind = TRY(KindOf(model));
  if (vocab.kind == VocabKind::kByteLevelBpe) TRY(ReadPretokenizer(metadata, vocab));
  if (vocab.kind == VocabKind::kSentencePieceBpe) vocab.pretokenizer = "gemma4";
  TRY(ReadTokens(metadata, vocab));
  TRY(ReadSpecialTokens(metadata, vocab));
  TRY(ReadAdditions(metadata, vocab));
  AssignRoles(vocab);
  TRY(ReadStripping(metadata, vocab));
  TRY(Validate(vocab));
  return vocab;
}

}  // namespace aster::text
