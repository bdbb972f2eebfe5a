// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/synth/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "gguf/writer.h"
#include "model/families/shape_phi3.h"
#include "model/shape/write_metadata.h"
#include "model/synth/synth_vocab.h"
#include "quant/quantize.h"

namespace aster::model {
namespace {

// Weights drawn and quantised between two writes.
constexpr uint64_t kChunkElements = 1 << 20;

// How a tensor's weights are spread: mean + deviation · normal.
struct Spread {
  float mean = 0.0f;
  float deviation = 1.0f;
};

bool EndsWith(const TensorSpec& spec, std::string_view suffix) {
  return spec.name.ends_with(suffix);
}

Spread SpreadOf(const TensorSpec& spec) {
  if (EndsWith(spec, "norm.weight") || EndsWith(spec, "norm_1.weight") ||
      EndsWith(spec, "norm_2.weight") || EndsWith(spec, ".scale"))
    return {.mean = 1.0f, .deviation = 0.1f};
  if (EndsWith(spec, "exp_probs_b.bias")) return {.mean = 0.0f, .deviation = 0.3f};
  // Wide enough that the limits of gpt-oss's experts are reached at times.
  if (EndsWith(spec, "_exps.bias")) return {.mean = 0.0f, .deviation = 3.0f};
  // States that decay slowly, so that early tokens matter.
  if (EndsWith(spec, "ssm_a")) return {.mean = -0.05f, .deviation = 0.01f};
  if (EndsWith(spec, ".bias")) return {.mean = 0.0f, .deviation = 0.02f};
  if (EndsWith(spec, "_sinks.weight")) return {.mean = 0.0f, .deviation = 1.0f};
  if (EndsWith(spec, "_scale.weight")) return {.mean = 0.9f, .deviation = 0.1f};
  if (EndsWith(spec, "_base.weight") || EndsWith(spec, "_ape.weight"))
    return {.mean = 0.0f, .deviation = 0.5f};
  const float root = std::sqrt(static_cast<float>(spec.dims[0]));
  // Twice the neutral size, so that logits differ enough.
  if (spec.part != Part::kLayer) return {.mean = 0.0f, .deviation = 2.0f / root};
  return {.mean = 0.0f, .deviation = 1.0f / root};
}

// Frequency factors as in models with RoPE scaling: fast pairs unchanged, slow ones slower
// by `slowest`, and a ramp between.
float RopeFactor(uint64_t index, uint64_t count, float slowest) {
  const uint64_t ramp_begin = count * 3 / 8;
  const uint64_t ramp_end = count * 5 / 8;
  if (index < ramp_begin) return 1.0f;
  if (index >= ramp_end) return slowest;
  return 1.0f + (slowest - 1.0f) * static_cast<float>(index - ramp_begin) /
                    static_cast<float>(ramp_end - ramp_begin);
}

// In Gemma 4 slow pairs do not turn.
float SlowestOf(const TensorSpec& spec, const Shape& shape) {
  if (shape.is_gemma4()) return 1e30f;
  return spec.name == kShortPhiFactors ? 1.5f : 32.0f;
}

// The experts of every token: all different, and all equally often.
std::vector<uint8_t> ExpertTable(const TensorSpec& spec, uint32_t expert_count, uint64_t seed) {
  const uint64_t used = spec.dims[0];
  std::vector<uint8_t> bytes(used * spec.dims[1] * sizeof(int32_t));
  Random random(seed, Hash64Of(AsBytes(spec.name)));
  for (uint64_t token = 0; token < spec.dims[1]; ++token) {
    const uint64_t first = random.NextBelow(expert_count);
    for (uint64_t i = 0; i < used; ++i) {
      // At equal distances, so that neighbours are not always used together.
      const auto expert = static_cast<int32_t>((first + i * expert_count / used) % expert_count);
      std::memcpy(bytes.data() + (token * used + i) * sizeof(expert), &expert, sizeof(expert));
    }
  }
  return bytes;
}

// The weights of one tensor, addressed by element.
class RandomWeights {
 public:
  RandomWeights(const TensorSpec& spec, const Shape& shape, uint64_t seed)
      : spread_(SpreadOf(spec)),
        is_rope_factors_(spec.name.starts_with("rope_f")),
        slowest_(SlowestOf(spec, shape)),
        count_(spec.dims[0]),
        seed_(seed),
        stream_(Hash64Of(AsBytes(spec.name))) {}

  void Fill(uint64_t first, std::span<float> out) const {
    if (is_rope_factors_) {
      for (size_t i = 0; i < out.size(); ++i) out[i] = RopeFactor(first + i, count_, slowest_);
      return;
    }
    FillNormal(seed_, stream_, first, out);
    for (float& weight : out) weight = spread_.mean + spread_.deviation * weight;
  }

 private:
  const Spread spread_;
  const bool is_rope_factors_;
  const float slowest_;
  const uint64_t count_;
  const uint64_t seed_;
  const uint64_t stream_;
};

std::string_view PretokenizerOf(Arch arch) {
  if (arch == Arch::kLlama) return "llama-bpe";
  if (arch == Arch::kMistral3) return "tekken";
  if (arch == Arch::kGptOss || arch == Arch::kPhi3) return "gpt-4o";
  if (arch == Arch::kGlm4Moe || arch == Arch::kGlmDsa) return "glm4";
  if (arch == Arch::kMiniMaxM2) return "minimax-m2";
  if (arch == Arch::kDeepSeek2 || arch == Arch::kDeepSeek32) return "deepseek-v3";
  if (arch == Arch::kQwen35 || arch == Arch::kQwen35Moe) return "qwen35";
  const bool is_v4 = arch == Arch::kDeepSeek4 || arch == Arch::kDeepSeek41;
  return is_v4 ? "joyai-llm" : "qwen2";
}

class SynthWriter {
 public:
  SynthWriter(const SynthOptions& options, ThreadPool& pool, const ByteProgress& progress)
      : options_(options), pool_(pool), progress_(progress) {}

  Status Write(const std::string& path) {
    const std::vector<TensorSpec> specs = TensorsOf(options_);
    const gguf::MetadataBuilder metadata = TRY(Metadata());
    std::vector<gguf::TensorSpec> tensors;
    for (const TensorSpec& spec : specs) {
      const gguf::TensorType type =
          spec.is_table ? gguf::TensorType::kI32 : options_.choose_type(spec);
      tensors.push_back({spec.name, type, spec.dims});
      total_bytes_ += TRY(gguf::TensorBytes(tensors.back().type, spec.dims).In(spec.name));
    }
    gguf::Writer writer = TRY(gguf::Writer::Create(path, metadata, tensors));
    for (size_t i = 0; i < specs.size(); ++i) {
      TRY(WriteTensor(specs[i], tensors[i].type, writer).In(specs[i].name));
    }
    return writer.Finish();
  }

 private:
  Result<gguf::MetadataBuilder> Metadata() const {
    const Shape& shape = options_.shape;
    gguf::MetadataBuilder metadata;
    if (options_.drafter) {
      WriteBlockShape(*options_.drafter, metadata);
    } else {
      WriteShape(shape, metadata);
    }
    metadata.Set("general.name", options_.name);
    metadata.Set("general.file_type", options_.file_type);
    metadata.Set("general.quantization_version", uint32_t{2});
    const SynthVocab vocab = TRY(MakeSynthVocab(shape.vocab_size));
    metadata.Set("tokenizer.ggml.model", "gpt2");
    metadata.Set("tokenizer.ggml.pre", PretokenizerOf(shape.arch));
    metadata.Set("tokenizer.ggml.tokens", vocab.tokens);
    metadata.Set("tokenizer.ggml.token_type", vocab.types);
    metadata.Set("tokenizer.ggml.merges", vocab.merges);
    metadata.Set("tokenizer.ggml.bos_token_id", vocab.start_id);
    metadata.Set("tokenizer.ggml.eos_token_id", vocab.end_id);
    metadata.Set("tokenizer.ggml.add_bos_token", false);
    metadata.Set("tokenizer.chat_template", kSynthChatTemplate);
    return metadata;
  }

  Status WriteTensor(const TensorSpec& spec, gguf::TensorType type, gguf::Writer& writer) {
    if (spec.is_table) {
      return writer.Append(spec.name,
                           ExpertTable(spec, options_.shape.experts.count, options_.seed));
    }
    const RandomWeights weights(spec, options_.shape, options_.seed);
    const uint64_t row_elements = spec.dims[0];
    uint64_t row_count = 1;
    for (size_t i = 1; i < spec.dims.size(); ++i) row_count *= spec.dims[i];
    const uint64_t row_bytes = *gguf::RowBytes(type, row_elements);
    const uint64_t chunk_rows = std::max<uint64_t>(1, kChunkElements / row_elements);
    for (uint64_t row = 0; row < row_count; row += chunk_rows) {
      const uint64_t rows = std::min(chunk_rows, row_count - row);
      chunk_.resize(rows * row_bytes);
      TRY(FillRows(weights, type, row, row_elements));
      TRY(writer.Append(spec.name, chunk_));
      done_bytes_ += chunk_.size();
      if (progress_) progress_(done_bytes_, total_bytes_);
    }
    return Ok();
  }

  // Draws and quantises rows from first_row on, as many as fit chunk_.
  Status FillRows(const RandomWeights& weights, gguf::TensorType type, uint64_t first_row,
                  uint64_t row_elements) {
    const uint64_t row_bytes = *gguf::RowBytes(type, row_elements);
    std::vector<Status> statuses(pool_.thread_count());
    pool_.ParallelFor(chunk_.size() / row_bytes, [&](size_t begin, size_t end, size_t thread) {
      std::vector<float> row(row_elements);
      for (size_t i = begin; i < end && statuses[thread].ok(); ++i) {
        weights.Fill((first_row + i) * row_elements, row);
        statuses[thread] =
            quant::Quantize(type, row, std::span(chunk_).subspan(i * row_bytes, row_bytes));
      }
    });
    for (Status& status : statuses) TRY(std::move(status));
    return Ok();
  }

  const SynthOptions& options_;
  ThreadPool& pool_;
  const ByteProgress& progress_;
  std::vector<uint8_t> chunk_;  // the current rows
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace

std::vector<TensorSpec> TensorsOf(const SynthOptions& options) {
  return options.drafter ? TensorsOf(*options.drafter) : TensorsOf(options.shape);
}

Status WriteSyntheticModel(const SynthOptions& options, const std::string& path, ThreadPool& pool,
                           const ByteProgress& progress) {
  TRY(CheckShape(options.shape));
  return SynthWriter(options, pool, progress).Write(path);
}

}  // namespace aster::model
