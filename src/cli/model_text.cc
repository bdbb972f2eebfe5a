// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/model_text.h"

#include "base/utf8.h"
#include "text/template/fallback.h"
#include "text/vocab_reader.h"

namespace aster::cli {

Result<std::unique_ptr<text::Tokenizer>> LoadTokenizer(const gguf::ModelFiles& files,
                                                       std::string_view path, Console& console) {
  auto vocab = text::ReadVocab(files.metadata());
  if (!vocab.ok()) return std::move(vocab).error().In(path);
  for (const std::string& note : vocab->notes) console.Complain("note", ForDisplay(note));
  return text::Tokenizer::Make(*std::move(vocab)).In(path);
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
  if (source.ok()) return std::string(*source);
  const auto architecture = metadata.Get<std::string_view>("general.architecture");
  return architecture.ok() ? std::string(text::FallbackTemplate(*architecture)) : "";
}

}  // namespace aster::cli
