// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/facts_of_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "chat/prompt.h"
#include "kernels/arithmetic_version.h"
#include "model/files/description.h"

namespace aster::cli {
namespace {

// The type of most of its bytes.
std::string MainType(const model::Mix& mix) {
  const auto largest = std::ranges::max_element(
      mix.by_type, {}, [](const auto& entry) { return entry.second.bytes; });
  return largest == mix.by_type.end() ? "" : std::string(gguf::TensorTypeName(largest->first));
}

std::string TextOf(const text::Tokenizer& tokenizer, text::TokenId id) {
  if (id == text::kNoToken) return "";
  const auto text = tokenizer.Decode({&id, 1}, {});
  return text.ok() ? *text : "";
}

}  // namespace

serve::ModelFacts FactsOf(const gguf::ModelFiles& files, const text::Tokenizer& tokenizer,
                          const std::optional<Hash128>& fingerprint) {
  const model::Description description = model::Describe(files);
  serve::ModelFacts facts;
  facts.architecture = description.architecture;
  facts.type = MainType(description.whole);
  facts.parameters = description.whole.all.parameter_count;
  facts.layers = description.layer_count.value_or(0);
  facts.trained_context = description.context_length.value_or(0);
  const auto width = files.metadata().Get<uint64_t>(facts.architecture + ".embedding_length");
  if (width.ok()) facts.embedding = *width;
  for (const gguf::File& file : files.files()) facts.bytes += file.size_bytes();
  facts.modified_s = files.files().front().mapped().identity().modified_ns / kNsPerSecond;
  if (fingerprint) {
    facts.fingerprint = fingerprint->ToHex();
    facts.fingerprint_of_answers =
        fmt::format("fp_{}_{}", facts.fingerprint.substr(0, 16), kernels::kArithmeticVersion);
  }
  facts.chat_template = chat::ChatTemplateSource(files.metadata());
  facts.bos = TextOf(tokenizer, tokenizer.vocab().special.bos);
  facts.eos = TextOf(tokenizer, tokenizer.vocab().special.eos);
  return facts;
}

}  // namespace aster::cli
