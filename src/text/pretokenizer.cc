// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/pretokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/split_steps.h"

namespace aster::text {
namespace {

using namespace steps;  // tidy: allow(using-namespace) short names here only

constexpr SplitStep kGpt2[] = {Gpt2Words};
constexpr SplitStep kDefault[] = {PlainPunctuation, Gpt2Words, NumberRuns, ThreeAsciiDigits};
constexpr SplitStep kSingleDigits[] = {EachNumber, Gpt2Words};
constexpr SplitStep kFalcon[] = {FalconPunctuation, Gpt2Words, ThreeAsciiDigits};
constexpr SplitStep kLlama3[] = {Llama3Words};
constexpr SplitStep kQwen2[] = {Qwen2Words};
constexpr SplitStep kQwen35[] = {Qwen35Words};
constexpr SplitStep kJais2[] = {Jais2Words};
constexpr SplitStep kSeedCoder[] = {SeedWords};
constexpr SplitStep kExaoneMoe[] = {ExaoneMoeWords};
constexpr SplitStep kGpt4o[] = {Gpt4oWords};
constexpr SplitStep kTinyAya[] = {WordDigitsByThreeFromRight, Gpt4oWords};
constexpr SplitStep kTekken[] = {TekkenWords};
constexpr SplitStep kKimi[] = {KimiWords};
constexpr SplitStep kYoutu[] = {YoutuScripts, YoutuWords};
constexpr SplitStep kDeepseekLlm[] = {EachNewline,   DeepseekLetters,    DeepseekPunctuation,
                                      TrailingSpace, DeepseekIdeographs, NumberRuns};
constexpr SplitStep kDeepseekCoder[] = {EachNewline, SpacedLetters, SpacedPunctuation,
                                        DeepseekIdeographs, EachNumber};
constexpr SplitStep kDeepseekV3[] = {NumbersByThree, CjkRuns, DeepseekV3Words};
constexpr SplitStep kAfmoe[] = {NumbersByThreeFromRight, AsianRuns, DeepseekV3Words};
constexpr SplitStep kBloom[] = {BloomWords};
constexpr SplitStep kViking[] = {BloomWords, EachNumber};
constexpr SplitStep kSuperBpe[] = {NumberRuns, DigitBoundaries};
constexpr SplitStep kChameleon[] = {ChameleonSentinels, ChameleonImages,      ChameleonSpaces,
                                    EachNumber,         ChameleonPunctuation, Gpt2Words};
// Only for vocabularies of the kind "gemma4".
constexpr SplitStep kGemma4[] = {NewlineRuns};

// Sorted by name, for searching.
constexpr Pretokenizer kPretokenizers[] = {
    {.name = "a.x-4.0", .steps = kGpt2},
    {.name = "afmoe", .steps = kAfmoe},
    {.name = "bailingmoe", .steps = kQwen2},
    {.name = "bailingmoe2", .steps = kQwen2},
    {.name = "bloom", .steps = kBloom},
    {.name = "chameleon", .steps = kChameleon, .adds_bos = true},
    {.name = "chatglm-bpe", .steps = kLlama3},
    {.name = "codeshell", .steps = kSingleDigits},
    {.name = "cohere2moe", .steps = kTinyAya},
    {.name = "command-r", .steps = kSingleDigits},
    {.name = "dbrx", .steps = kLlama3},
    {.name = "deepseek-coder", .steps = kDeepseekCoder},
    {.name = "deepseek-llm", .steps = kDeepseekLlm},
    {.name = "deepseek-r1-qwen", .steps = kQwen2},
    {.name = "deepseek-v3", .steps = kDeepseekV3},
    {.name = "default", .steps = kDefault},
    {.name = "exaone", .steps = kSingleDigits},
    {.name = "exaone-moe", .steps = kExaoneMoe},
    {.name = "exaone4", .steps = kGpt2},
    {.name = "f2llmv2", .steps = kQwen2},
    {.name = "falcon", .steps = kFalcon},
    {.name = "falcon-h1", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "falcon3", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "gemma4", .steps = kGemma4},
    {.name = "gigachat", .steps = kGpt2},
    {.name = "glm4", .steps = kLlama3},
    {.name = "gpt-2", .steps = kGpt2},
    {.name = "gpt-4o", .steps = kGpt4o},
    {.name = "gpt3-finnish", .steps = kBloom},
    {.name = "granite-docling", .steps = kGpt2},
    {.name = "grok-2", .steps = kQwen2},
    {.name = "hunyuan", .steps = kQwen2},
    {.name = "hunyuan-dense", .steps = kDeepseekV3},
    {.name = "jais", .steps = kGpt2},
    {.name = "jais-2", .steps = kJais2},
    {.name = "jina-de", .steps = kGpt2},
    {.name = "jina-es", .steps = kGpt2},
    {.name = "jina-v1-en", .steps = kGpt2},
    {.name = "jina-v2-code", .steps = kGpt2},
    {.name = "jina-v2-de", .steps = kGpt2},
    {.name = "jina-v2-es", .steps = kGpt2},
    {.name = "jina-v5-nano", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "joyai-llm", .steps = kDeepseekV3},
    {.name = "kanana2", .steps = kGpt4o},
    {.name = "kimi-k2", .steps = kKimi},
    {.name = "kormo", .steps = kQwen2},
    {.name = "lfm2", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "llada-moe", .steps = kQwen2},
    {.name = "llama-bpe", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "llama-v3", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "llama3", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "llama4", .steps = kGpt4o},
    {.name = "megrez", .steps = kQwen2},
    {.name = "mellum", .steps = kGpt2},
    {.name = "mellum2", .steps = kSingleDigits},
    {.name = "midm-2.0", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "minerva-7b", .steps = kSingleDigits},
    {.name = "minimax-m2", .steps = kGpt4o},
    {.name = "modern-bert", .steps = kGpt2},
    {.name = "mpt", .steps = kGpt2},
    {.name = "olmo", .steps = kGpt2},
    {.name = "openpangu", .steps = kQwen2},
    {.name = "phi-2", .steps = kGpt2},
    {.name = "pixtral", .steps = kLlama3, .whole_pieces_first = true, .adds_bos = true},
    {.name = "poro-chat", .steps = kBloom},
    {.name = "qwen2", .steps = kQwen2},
    {.name = "qwen35", .steps = kQwen35},
    {.name = "refact", .steps = kSingleDigits},
    {.name = "roberta-bpe", .steps = kGpt2},
    {.name = "seed-coder", .steps = kSeedCoder},
    {.name = "smaug-bpe", .steps = kLlama3},
    {.name = "smollm", .steps = kSingleDigits},
    {.name = "solar-open", .steps = kQwen2},
    {.name = "stablelm2", .steps = kQwen2},
    {.name = "starcoder", .steps = kSingleDigits},
    {.name = "superbpe", .steps = kSuperBpe},
    {.name = "talkie", .steps = kGpt4o},
    {.name = "tekken", .steps = kTekken, .whole_pieces_first = true, .adds_bos = true},
    {.name = "tiny_aya", .steps = kTinyAya},
    {.name = "trillion", .steps = kGpt2},
    {.name = "viking", .steps = kViking},
    {.name = "youtu", .steps = kYoutu, .whole_pieces_first = true},
};
static_assert(std::ranges::is_sorted(kPretokenizers, {}, &Pretokenizer::name));

void SplitFrom(size_t step, const Pretokenizer& pretokenizer, const Piece& piece,
               FunctionRef<void(std::string_view)> sink) {
  if (step == pretokenizer.steps.size()) return sink(piece.text());
  size_t begin = piece.begin();
  pretokenizer.steps[step](piece, [&](size_t end) {
    SplitFrom(step + 1, pretokenizer, piece.Sub(begin, end), sink);
    begin = end;
  });
}

}  // namespace

const Pretokenizer* FindPretokenizer(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kPretokenizers, name, {}, &Pretokenizer::name);
  return found != std::end(kPretokenizers) && found->name == name ? found : nullptr;
}

std::string PretokenizerNames() {
  std::vector<std::string_view> names;
  for (const Pretokenizer& pretokenizer : kPretokenizers) names.push_back(pretokenizer.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void Split(const Pretokenizer& pretokenizer, std::string_view text,
           FunctionRef<void(std::string_view piece)> sink) {
  if (text.empty()) return;
  SplitFrom(0, pretokenizer, Piece(text, 0, text.size()), sink);
}

}  // namespace aster::text
