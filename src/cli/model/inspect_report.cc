// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/model/inspect_report.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/terminal/table.h"
#include "jinja/fallback.h"
#include "model/files/block_shape.h"

namespace aster::cli {
namespace {

using gguf::TensorTypeName;
using model::Mix;

std::string TextOr(const gguf::Metadata& metadata, std::string_view key, std::string fallback) {
  const gguf::Value* value = metadata.Find(key);
  if (value == nullptr) return fallback;
  auto text = value->As<std::string>();
  return text.ok() ? ForDisplay(*text) : gguf::ToText(*value);
}

// "Q4_K 82 %, Q6_K 18 %" by bytes, the largest first.
std::string MixText(const Mix& mix) {
  std::vector<std::pair<uint64_t, gguf::TensorType>> shares;
  shares.reserve(mix.by_type.size());
  for (const auto& [type, totals] : mix.by_type) shares.emplace_back(totals.bytes, type);
  std::sort(shares.rbegin(), shares.rend());
  std::string text;
  for (const auto& [bytes, type] : shares) {
    const double percent =
        mix.all.bytes == 0 ? 0.0 : 100.0 * static_cast<double>(bytes) / mix.all.bytes;
    if (!text.empty()) text += ", ";
    text += TensorTypeName(type);
    if (shares.size() > 1) text += percent < 1.0 ? " <1 %" : fmt::format(" {:.0f} %", percent);
  }
  return text;
}

// "2nd", "3rd", "6th".
std::string Ordinal(uint32_t number) {
  constexpr std::string_view kEndings[] = {"th", "st", "nd", "rd"};
  const bool is_teen = number / 10 % 10 == 1;
  const uint32_t last = number % 10;
  return fmt::format("{}{}", number, kEndings[is_teen || last > 3 ? 0 : last]);
}

std::string ExpertsText(const model::Shape& shape) {
  const model::Experts& experts = shape.experts;
  const std::string shared =
      experts.shared > 0 ? fmt::format(" and {} shared", experts.shared) : "";
  const std::string dense = experts.dense_layers > 0
                                ? fmt::format(", {} of {} layers dense of {}", experts.dense_layers,
                                              shape.layer_count, shape.feed_forward)
                                : "";
  const std::string groups = experts.groups > 1 ? fmt::format(", from {} of {} groups",
                                                              experts.used_groups, experts.groups)
                                                : "";
  return fmt::format(", {} experts of {} ({} used{}{}){}", experts.count, experts.feed_forward,
                     experts.used, groups, shared, dense);
}

// Gemma 4: the own parameters of layers with a window, and the layers that share.
std::string KindsText(const model::Shape& shape) {
  const model::LayerKinds& kinds = shape.kinds;
  std::string text = fmt::format(" with heads of {} ({} for keys and values)",
                                 kinds.window_head_dim, kinds.window_kv_heads);
  if (kinds.keys_are_values) text += ", keys as values in the others";
  if (kinds.sharing > 0)
    text += fmt::format(", KV rows shared by the last {} layers", kinds.sharing);
  if (kinds.input > 0) text += fmt::format(", an embedding of {} for each layer", kinds.input);
  return text;
}

// DeepSeek V4.1: the layers that make compressed rows and choose among them, and its n-grams.
std::string SharedText(const model::Shape& shape) {
  const model::Ngrams& ngrams = *shape.ngrams;
  return fmt::format(
      ", made in {} and chosen in {} of them, n-grams of up to {} tokens in {} layers",
      std::ranges::count(shape.latent.makes_rows, 1),
      std::ranges::count(shape.latent.chooses_rows, 1), ngrams.length, ngrams.layers.size());
}

std::string ShapeLine(const model::Shape& shape) {
  std::string line = fmt::format("embedding {}, {} heads of {}", shape.embedding, shape.head_count,
                                 shape.head_dim);
  if (shape.kv_head_count != shape.head_count)
    line += fmt::format(" ({} for keys and values)", shape.kv_head_count);
  const bool has_both = shape.is_gemma4() && shape.experts.count > 0;
  if (shape.experts.count == 0 || has_both)
    line += fmt::format(", feed-forward {}", shape.feed_forward);
  if (shape.experts.count > 0) line += ExpertsText(shape);
  if (shape.sliding_window > 0 && !shape.is_latent()) {
    const std::string which =
        shape.full_every > 0 ? fmt::format(" in all layers but every {}", Ordinal(shape.full_every))
                             : "";
    line += fmt::format(", a sliding window of {}{}", shape.sliding_window, which);
  }
  if (shape.is_gemma4()) line += KindsText(shape);
  if (shape.is_mimo2()) {
    line += fmt::format(
        " and the first, with {} heads for keys and values and a sink for each; "
        "values of {}",
        shape.kinds.window_kv_heads, shape.kinds.value_dim);
  }
  if (shape.is_latent()) {
    const auto& ratios = shape.latent.ratios;
    const auto compressed = shape.layer_count - std::ranges::count(ratios, 0u);
    line += fmt::format(", {} streams, compressed rows in {} of {} layers", shape.streams.count,
                        compressed, shape.layer_count);
    if (shape.shares_compressed_rows()) line += SharedText(shape);
  }
  if (shape.is_mla()) line += fmt::format(", one KV row of {} for all heads (MLA)", shape.head_dim);
  if (shape.is_indexed()) {
    const auto own = std::ranges::count(shape.index.own, 1);
    line += fmt::format(", of which an index of {} heads of {} chooses {}", shape.index.heads,
                        shape.index.dim, shape.index.top);
    if (own < shape.layer_count) line += fmt::format(" in {} of {} layers", own, shape.layer_count);
  }
  if (shape.is_recurrent()) {
    const model::Recurrence& recurrence = shape.recurrence;
    line += fmt::format(", {} states of {}x{} in all layers but every {}", recurrence.value_heads,
                        recurrence.key_dim, recurrence.value_dim, Ordinal(recurrence.full_every));
  }
  if (shape.mtp_layers > 0) line += ", an MTP block";
  if (shape.left_out > 0) line += ", MTP blocks left out";
  return line +
         fmt::format(", vocabulary {}{}", shape.vocab_size, shape.tied_head ? " (tied)" : "");
}

std::string TokenizerLine(const gguf::Metadata& metadata) {
  if (!metadata.Contains("tokenizer.ggml.model")) return "none";
  std::string line = TextOr(metadata, "tokenizer.ggml.model", "");
  if (metadata.Contains("tokenizer.ggml.pre"))
    line += " / " + TextOr(metadata, "tokenizer.ggml.pre", "");
  if (auto tokens = metadata.Get<gguf::Array>("tokenizer.ggml.tokens"); tokens.ok()) {
    line += fmt::format(", {} tokens", tokens->size());
  }
  return line;
}

std::string TemplateLine(const InspectReport& report) {
  auto source = report.files->metadata().Get<std::string_view>("tokenizer.chat_template");
  if (!source.ok()) {
    const std::string arch = TextOr(report.files->metadata(), "general.architecture", "");
    return jinja::FallbackTemplate(arch).empty() ? "none" : "none; the built-in one of " + arch;
  }
  if (report.template_problem) return "cannot be used: " + ForDisplay(*report.template_problem);
  return fmt::format("{} of Jinja", FormatBytes(source->size()));
}

// "7 tokens in a block, rows behind layers 1, 3, 5". Files count layers from 1.
std::string DrafterLine(const gguf::Metadata& metadata) {
  const auto block = metadata.GetOr<uint64_t>("dflash.block_size", 0);
  auto taps = metadata.Get<std::vector<uint64_t>>("dflash.target_layers");
  if (taps.ok()) {
    for (uint64_t& tap : *taps) tap -= std::min<uint64_t>(tap, 1);
  }
  return fmt::format("{} tokens in a block, rows behind layers {}", block.ok() ? *block : 0,
                     taps.ok() ? fmt::format("{}", fmt::join(*taps, ", ")) : "unknown");
}

void PrintSummary(const InspectReport& report, Console& console) {
  const gguf::Metadata& metadata = report.files->metadata();
  const Mix& whole = report.description.whole;
  const std::string arch = TextOr(metadata, "general.architecture", "unknown architecture");
  const std::string name = TextOr(metadata, "general.name", "unnamed");
  console.Print("{}  {}, {} parameters, {} layers\n", console.Styled(Style::kBold, name), arch,
                FormatCount(whole.all.parameter_count), report.description.layers.size());

  Table table({Table::Align::kLeft, Table::Align::kLeft});
  for (const gguf::File& file : report.files->files()) {
    table.AddRow({"file", fmt::format("{}  {}, {} tensors, GGUF v{}", ForDisplay(file.path()),
                                      FormatBytes(file.size_bytes()), file.tensors().size(),
                                      file.version())});
  }
  if (report.support.shape) {
    table.AddRow({"shape", ShapeLine(*report.support.shape)});
  }
  if (model::HoldsBlockDrafter(metadata)) table.AddRow({"drafts", DrafterLine(metadata)});
  if (const auto& drafter = report.files->drafter()) {
    table.AddRow(
        {"drafter", fmt::format("{}  {}", ForDisplay(drafter->files().front().path()),
                                report.drafter_problem ? ForDisplay(*report.drafter_problem)
                                                       : DrafterLine(drafter->metadata()))});
  }
  if (const auto context = report.description.context_length) {
    table.AddRow({"context", fmt::format("{} tokens", *context)});
  }
  table.AddRow({"types", fmt::format("{}  ({:.2f} bits per parameter)", MixText(whole),
                                     whole.all.BitsPerParameter())});
  table.AddRow({"tokenizer", TokenizerLine(metadata)});
  table.AddRow({"template", TemplateLine(report)});
  if (report.fingerprint) table.AddRow({"fingerprint", *report.fingerprint});
  console.Write(table.Render(2));
}

void AddPart(Table& table, std::string name, const Mix& mix) {
  if (mix.all.tensor_count == 0) return;
  table.AddRow({std::move(name), fmt::format("{}", mix.all.tensor_count),
                FormatCount(mix.all.parameter_count), FormatBytes(mix.all.bytes), MixText(mix)});
}

bool SameMix(const Mix& a, const Mix& b) {
  return a.all.bytes == b.all.bytes && a.all.parameter_count == b.all.parameter_count &&
         MixText(a) == MixText(b);
}

// Successive equal layers make one line.
void AddLayers(Table& table, const std::map<uint32_t, Mix>& layers) {
  for (auto first = layers.begin(); first != layers.end();) {
    auto last = first;
    for (auto next = std::next(first); next != layers.end() && next->first == last->first + 1 &&
                                       SameMix(next->second, first->second);
         ++next) {
      last = next;
    }
    const std::string name = first == last
                                 ? fmt::format("layer {}", first->first)
                                 : fmt::format("layers {}-{}, each", first->first, last->first);
    AddPart(table, name, first->second);
    first = std::next(last);
  }
}

void PrintParts(const InspectReport& report, Console& console) {
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({console.Styled(Style::kDim, "part"), console.Styled(Style::kDim, "tensors"),
                console.Styled(Style::kDim, "parameters"), console.Styled(Style::kDim, "size"),
                console.Styled(Style::kDim, "types")});
  AddPart(table, "embedding", report.description.embedding);
  AddLayers(table, report.description.layers);
  AddPart(table, "head", report.description.head);
  AddPart(table, "other", report.description.other);
  AddPart(table, "all", report.description.whole);
  console.Print("\n{}", table.Render(2));
}

void PrintTensors(const gguf::ModelFiles& files, Console& console) {
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
  for (const gguf::File& file : files.files()) {
    for (const gguf::Tensor& tensor : file.tensors()) {
      table.AddRow({ForDisplay(tensor.name), TensorTypeName(tensor.type), gguf::ShapeText(tensor),
                    tensor.size_known ? FormatBytes(tensor.data.size()) : "unknown size"});
    }
  }
  console.Print("\n{}", table.Render(2));
}

void PrintMetadata(const gguf::Metadata& metadata, Console& console) {
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  for (const gguf::Value& value : metadata) {
    table.AddRow({ForDisplay(value.key()), console.Styled(Style::kDim, value.TypeText()),
                  ForDisplay(gguf::ToText(value))});
  }
  console.Print("\n{}", table.Render(2));
}

void PrintVerdict(const InspectReport& report, Console& console) {
  console.Write("\n");
  if (model::HoldsBlockDrafter(report.files->metadata())) {
    console.Print(
        "  A drafter of blocks: give it along with its model, for --draft mtp, or by "
        "--draft.\n");
    return;
  }
  for (const std::string& part : report.missing_parts) {
    console.Print("  {} {}\n", console.Styled(Style::kWarn, "not in these files:"), part);
  }
  if (report.support.ok()) {
    console.Print("  {} its architecture, tensors, types and tokenizer\n",
                  console.Styled(Style::kGood, "Asterism knows"));
    return;
  }
  console.Print("  {}\n", console.Styled(Style::kBad, "Asterism cannot run it:"));
  for (const std::string& obstacle : report.support.obstacles)
    console.Print("  - {}\n", ForDisplay(obstacle));
}

}  // namespace

void PrintReport(const InspectReport& report, Console& console) {
  PrintSummary(report, console);
  PrintParts(report, console);
  if (report.list_metadata) PrintMetadata(report.files->metadata(), console);
  if (report.list_tensors) PrintTensors(*report.files, console);
  PrintVerdict(report, console);
}

}  // namespace aster::cli
