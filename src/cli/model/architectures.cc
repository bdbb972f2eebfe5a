// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/model/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "chat/dialect.h"
#include "model/memory/memory.h"
#include "model/parts/group_part.h"
#include "model/shape/shape.h"
#include "model/synth/presets.h"

namespace aster::cli {
namespace {

using chat::Family;
using model::Arch;
using model::Shape;

struct Row {
  Arch arch;
  std::string_view models;
  std::vector<Family> calls;  // in their templates
};

// Facts that no code has: which organisations use an architecture, and the form of their calls.
std::vector<Row> Rows() {
  const Family json = Family::kLlama, hermes = Family::kHermes, coder = Family::kQwenXml;
  return {
      {Arch::kLlama,
       "Llama 2 and 3, Mistral 7B, Nemo and others of this architecture",
       {json, Family::kMistral, hermes}},
      {Arch::kMistral3,
       "Ministral 3, Mistral Small 3, Devstral 2 and Devstral Small 2",
       {Family::kMistral}},
      {Arch::kQwen2, "Qwen2, Qwen2.5", {hermes}},
      {Arch::kQwen3, "Qwen3", {hermes}},
      {Arch::kQwen3Moe, "Qwen3-MoE, Qwen3-Coder", {hermes, coder}},
      {Arch::kQwen3Next, "Qwen3-Next 80B A3B, Qwen3-Coder-Next", {hermes, coder}},
      {Arch::kQwen35, "Qwen3.5 and Qwen3.6, dense, text only", {coder}},
      {Arch::kQwen35Moe, "Qwen3.5 and Qwen3.6 with experts, text only", {coder}},
      {Arch::kGemma2, "Gemma 2 of 2 to 27 B parameters", {json}},
      {Arch::kGemma3, "Gemma 3 of 270 M to 27 B parameters, text only", {json}},
      {Arch::kGemma4, "Gemma 4: E2B, E4B, 31B and 26B A4B, text only", {Family::kGemma}},
      {Arch::kPhi3, "Phi 3, Phi 3.5 mini, Phi 4, Phi 4 mini", {Family::kPhi}},
      {Arch::kGptOss, "gpt-oss-20b, gpt-oss-120b", {Family::kHarmony}},
      {Arch::kGlm4Moe, "GLM 4.5, GLM 4.5 Air, GLM 4.6, GLM 4.7", {Family::kGlm}},
      {Arch::kMiniMaxM2, "MiniMax M2, M2.1, M2.5", {Family::kMiniMax}},
      {Arch::kMimo2, "MiMo V2 Flash, V2.5", {Family::kMimo}},
      {Arch::kDeepSeek2,
       "DeepSeek V2, V2 Lite, V3, R1, V3.1, Kimi K2, GLM 4.7 Flash",
       {Family::kDeepSeek, Family::kKimi, Family::kGlm}},
      {Arch::kDeepSeek32,
       "DeepSeek V3.2, V3.2 Speciale, V3.2-Exp",
       {Family::kDsml32, Family::kDeepSeek}},
      {Arch::kGlmDsa, "GLM 5, 5.1, 5.2", {Family::kGlm}},
      {Arch::kDeepSeek4, "DeepSeek V4 Flash and PRO", {Family::kDsml}},
      {Arch::kDeepSeek41, "DeepSeek V4.1 Flash, text only", {Family::kDsml41}},
  };
}

// The presets of the architecture, or a small shape.
std::vector<Shape> ShapesOf(Arch arch) {
  std::vector<Shape> shapes;
  for (const model::Preset& preset : model::Presets()) {
    if (preset.shape.arch == arch) shapes.push_back(preset.shape);
  }
  if (!shapes.empty()) return shapes;
  shapes.push_back(model::ShapeOfPreset("tiny").value());
  shapes.back().arch = arch;
  return shapes;
}

bool Divides(const Shape& shape) {
  model::GroupPart half;
  half.count = 2;
  half.shares = {1, 1};
  return model::CheckGroup(half, shape).ok();
}

bool Takes(const Shape& shape, const model::MemoryOptions& options) {
  return model::MakeMemoryLayout(shape, model::Narrowed(options, shape), Hash128()).ok();
}

std::string_view YesWhere(bool is_so) { return is_so ? "yes" : ""; }

}  // namespace

std::string ArchitecturesTable() {
  std::string table =
      "| architecture | models | groups | `--kv-type` | `--kv-window` | MTP | tool calls |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Row& row : Rows()) {
    const std::vector<Shape> shapes = ShapesOf(row.arch);
    const Shape& shape = shapes.front();
    std::vector<std::string_view> calls;
    for (const Family family : row.calls) calls.push_back(chat::FamilyName(family));
    table += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", ArchName(row.arch), row.models,
                         YesWhere(std::ranges::any_of(shapes, Divides)),
                         YesWhere(Takes(shape, {.type = kernels::KvType::kQ8})),
                         YesWhere(Takes(shape, {.window = 4096})), YesWhere(CanDraftWithMtp(shape)),
                         fmt::join(calls, ", "));
  }
  return table;
}

}  // namespace aster::cli
