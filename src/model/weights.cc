// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/weights.h"

#include <fmt/format.h>

#include "model/description.h"
#include "model/support.h"
#include "quant/dequantize.h"

namespace aster::model {
namespace {

uint64_t BytesOf(const ExpertWeights& expert) {
  return expert.gate.bytes() + expert.up.bytes() + expert.down.bytes();
}

class Loader {
 public:
  Loader(const gguf::ModelFiles& files, const Shape& shape, compute::Context& context,
         const LoadProgress& progress)
      : files_(files), shape_(shape), context_(context), progress_(progress) {}

  Result<Weights> Load(const Slice& slice) {
    CountBytes(slice);
    Weights weights;
    weights.shape = shape_;
    weights.slice = slice;
    if (slice.embedding) weights.embedding = files_.FindTensor("token_embd.weight");
    if (shape_.rope_factors) weights.rope_factors = TRY(Floats("rope_freqs.weight"));
    for (uint32_t layer = slice.layer_begin; layer < slice.layer_end; ++layer) {
      weights.layers.push_back(TRY(Layer(layer)));
    }
    if (slice.head) {
      weights.output_norm = TRY(Floats("output_norm.weight"));
      weights.head = TRY(Matrix(shape_.tied_head ? "token_embd.weight" : "output.weight"));
    }
    return weights;
  }

 private:
  void CountBytes(const Slice& slice) {
    for (const TensorSpec& spec : TensorsOf(shape_)) {
      // The embedding stays in its file: rows are read as tokens ask for them.
      const bool is_packed = spec.part != Part::kEmbedding || spec.name == "rope_freqs.weight" ||
                             (slice.head && shape_.tied_head);
      if (slice.Needs(shape_, spec) && is_packed) {
        total_bytes_ += files_.FindTensor(spec.name)->data.size();
      }
    }
  }

  Result<LayerWeights> Layer(uint32_t index) {
    layer_ = index;
    LayerWeights layer;
    layer.attention_norm = TRY(Floats(Name("attn_norm.weight")));
    layer.query = TRY(Matrix(Name("attn_q.weight")));
    layer.key = TRY(Matrix(Name("attn_k.weight")));
    layer.value = TRY(Matrix(Name("attn_v.weight")));
    if (shape_.qkv_bias()) {
      layer.query_bias = TRY(Floats(Name("attn_q.bias")));
      layer.key_bias = TRY(Floats(Name("attn_k.bias")));
      layer.value_bias = TRY(Floats(Name("attn_v.bias")));
    }
    if (shape_.qk_norm()) {
      layer.query_norm = TRY(Floats(Name("attn_q_norm.weight")));
      layer.key_norm = TRY(Floats(Name("attn_k_norm.weight")));
    }
    layer.output = TRY(Matrix(Name("attn_output.weight")));
    layer.feed_forward_norm = TRY(Floats(Name("ffn_norm.weight")));
    if (shape_.experts.count == 0) {
      layer.dense.gate = TRY(Matrix(Name("ffn_gate.weight")));
      layer.dense.up = TRY(Matrix(Name("ffn_up.weight")));
      layer.dense.down = TRY(Matrix(Name("ffn_down.weight")));
    } else {
      layer.router = TRY(Matrix(Name("ffn_gate_inp.weight")));
      TRY(Experts(layer.experts));
    }
    return layer;
  }

  Status Experts(std::vector<ExpertWeights>& experts) {
    experts.resize(shape_.experts.count);
    TRY(ExpertMatrices(Name("ffn_gate_exps.weight"), experts, &ExpertWeights::gate));
    TRY(ExpertMatrices(Name("ffn_up_exps.weight"), experts, &ExpertWeights::up));
    return ExpertMatrices(Name("ffn_down_exps.weight"), experts, &ExpertWeights::down);
  }

  Status ExpertMatrices(const std::string& name, std::vector<ExpertWeights>& experts,
                        compute::Matrix ExpertWeights::* member) {
    const gguf::Tensor& tensor = *files_.FindTensor(name);
    for (size_t i = 0; i < experts.size(); ++i) {
      experts[i].*member = TRY(compute::Matrix::Pack(tensor, i, context_));
    }
    Done(tensor);
    return Ok();
  }

  std::string Name(std::string_view suffix) const {
    return fmt::format("blk.{}.{}", layer_, suffix);
  }

  Result<compute::Matrix> Matrix(const std::string& name) {
    const gguf::Tensor& tensor = *files_.FindTensor(name);
    compute::Matrix matrix = TRY(compute::Matrix::Pack(tensor, 0, context_));
    Done(tensor);
    return matrix;
  }

  Result<std::vector<float>> Floats(const std::string& name) {
    const gguf::Tensor& tensor = *files_.FindTensor(name);
    std::vector<float> values(tensor.element_count);
    TRY(quant::Dequantize(tensor.type, tensor.data, values).In(name));
    Done(tensor);
    return values;
  }

  // The tensor has been read: its pages can go, so that a file and its packed copy never stand in
  // memory together.
  void Done(const gguf::Tensor& tensor) {
    for (const gguf::File& file : files_.files()) {
      const Bytes bytes = file.mapped().bytes();
      if (tensor.data.data() >= bytes.data() && tensor.data.data() < bytes.data() + bytes.size()) {
        file.mapped().DontNeed(static_cast<size_t>(tensor.data.data() - bytes.data()),
                               tensor.data.size());
      }
    }
    done_bytes_ += tensor.data.size();
    if (progress_) progress_(done_bytes_, total_bytes_);
  }

  const gguf::ModelFiles& files_;
  const Shape& shape_;
  compute::Context& context_;
  const LoadProgress& progress_;
  uint32_t layer_ = 0;  // being loaded
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace

uint64_t Weights::PackedBytes() const {
  uint64_t bytes = head.bytes();
  for (const LayerWeights& layer : layers) {
    bytes += layer.query.bytes() + layer.key.bytes() + layer.value.bytes() + layer.output.bytes();
    bytes += BytesOf(layer.dense) + layer.router.bytes();
    for (const ExpertWeights& expert : layer.experts) bytes += BytesOf(expert);
  }
  return bytes;
}

Result<Weights> LoadWeights(const gguf::ModelFiles& files, const Slice& slice,
                            compute::Context& context, const LoadProgress& progress) {
  const Support support = CheckSupport(files, slice);
  if (!support.ok()) {
    return Unimplemented(
        fmt::format("this model cannot be run: {}", fmt::join(support.obstacles, "; ")));
  }
  const Shape& shape = *support.shape;
  if (slice.layer_begin >= slice.layer_end || slice.layer_end > shape.layer_count) {
    return InvalidArgument(fmt::format("layers {} to {} of a model of {} layers", slice.layer_begin,
                                       slice.layer_end, shape.layer_count));
  }
  return Loader(files, shape, context, progress).Load(slice);
}

}  // namespace aster::model
