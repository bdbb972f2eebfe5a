// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A small model, and peers that have it and misbehave as a test wants. Only for tests.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "fetch/manifest.h"
#include "fetch/parts.h"
#include "fetch/weight_peer.h"
#include "gguf/fingerprint.h"
#include "gguf/metadata_builder.h"
#include "gguf/writer.h"
#include "model/files/support.h"
#include "model/forward/runner_for_test.h"
#include "model/shape/tensors.h"

namespace aster::fetch {

inline constexpr uint32_t kModelLayers = 4;

class SourceModel {
 public:
  static SourceModel& Get() {
    static SourceModel model;
    return model;
  }

  const gguf::ModelFiles& files() const { return file_.files(); }
  const Hash128& fingerprint() const { return fingerprint_.model; }
  const model::Shape& shape() const { return shape_; }
  const rpc::ModelManifest& manifest() const { return manifest_; }

 private:
  static model::Shape SmallShape() {
    model::Shape shape = model::SmallShape(model::Arch::kQwen2);  // its head is not tied
    shape.layer_count = kModelLayers;
    return shape;
  }
  SourceModel()
      : file_(SmallShape(), gguf::TensorType::kF32),
        shape_(*model::CheckSupport(file_.files()).shape) {
    ThreadPool pool(1);
    fingerprint_ =
        gguf::FingerprintModel(file_.files(), pool, {.hashing = {}, .use_cache = false}).value();
    manifest_ = MakeManifest(file_.files(), fingerprint_);
  }

  model::ModelFile file_;
  const model::Shape shape_;
  gguf::Fingerprint fingerprint_;
  rpc::ModelManifest manifest_;
};

// Serves the model in pieces of a few kilobytes.
class FakePeer : public WeightPeer {
 public:
  // Called with every piece before it is sent, and may change it; an error ends the call.
  using OnPiece =
      std::function<Status(std::string_view tensor, uint64_t offset, std::vector<uint8_t>& piece)>;

  explicit FakePeer(std::string name, OnPiece on_piece = nullptr)
      : name_(std::move(name)), on_piece_(std::move(on_piece)) {}

  std::string name() const override { return name_; }
  Result<rpc::ModelManifest> FetchManifest(const Hash128& fingerprint) override {
    if (fingerprint != SourceModel::Get().fingerprint()) return NotFound("no such model");
    return manifest ? manifest() : SourceModel::Get().manifest();
  }
  Status FetchTensor(const Hash128&, std::string_view tensor, uint64_t offset,
                     const rpc::ByteSink& sink) override {
    ++calls;
    const auto& files = SourceModel::Get().files();
    const auto cut = [&](Bytes whole) -> Status {
      for (size_t i = 0; i < whole.size(); i += kPieceBytes) {
        const Bytes part = whole.subspan(i, std::min(kPieceBytes, whole.size() - i));
        std::vector<uint8_t> piece(part.begin(), part.end());
        if (on_piece_) TRY(on_piece_(tensor, offset, piece));
        offset += part.size();
        sent_bytes += piece.size();
        TRY(sink(piece));
      }
      return Ok();
    };
    return ReadTensor(files, tensor, offset, cut);
  }

  static constexpr size_t kPieceBytes = 4096;

  std::function<Result<rpc::ModelManifest>()> manifest;
  std::atomic<uint64_t> sent_bytes = 0;
  std::atomic<int> calls = 0;

 private:
  const std::string name_;
  const OnPiece on_piece_;
};

// Files that each hold some of the model's layers, in a folder of their own.
class Halves {
 public:
  // [0, 2) with the embedding, and the others with the head.
  const PartHere& low() const { return low_; }
  const PartHere& high() const { return high_; }
  // Like `high`, with other numbers: the half of another model.
  const PartHere& high_of_other() const { return other_; }
  std::string LowPath() const { return folder_.File("low.gguf"); }

  static bool IsLow(std::string_view name) {
    return name.starts_with("blk.0.") || name.starts_with("blk.1.") || name.starts_with("token_");
  }

  PartHere Write(const std::string& name, bool is_low, uint8_t flip) const {
    const gguf::ModelFiles& source = SourceModel::Get().files();
    gguf::MetadataBuilder keys;
    keys.CopyAll(source.metadata());
    std::vector<gguf::TensorSpec> specs;
    for (const auto& entry : source.entries()) {
      if (IsLow(entry.tensor->name) == is_low) {
        specs.push_back(gguf::TensorSpec::Like(*entry.tensor));
      }
    }
    const std::string path = folder_.File(name + ".gguf");
    {
      auto writer = gguf::Writer::Create(path, keys, specs).value();
      for (const gguf::TensorSpec& spec : specs) {
        const Bytes data = source.FindTensor(spec.name)->data;
        std::vector<uint8_t> changed(data.begin(), data.end());
        changed[0] ^= flip;
        CHECK(writer.Append(spec.name, changed).ok());
      }
      CHECK(writer.Finish().ok());
    }
    PartHere half;
    half.files = std::make_shared<gguf::ModelFiles>(gguf::ModelFiles::Open(path).value());
    ThreadPool pool(1);
    half.fingerprint =
        gguf::FingerprintModel(*half.files, pool, {.hashing = {}, .use_cache = false}).value();
    half.part.manifest = MakeManifest(*half.files, half.fingerprint);
    half.part.description = {
        .fingerprint = half.fingerprint.model,
        .name = name,
        .architecture = "qwen2",
        .layer_count = kModelLayers,
        .layers = {is_low ? cluster::LayerRange{0, 2} : cluster::LayerRange{2, kModelLayers}},
        .embedding = is_low,
        .head = !is_low};
    return half;
  }

 private:
  const TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  const PartHere low_ = Write("low", /*is_low=*/true, 0);
  const PartHere high_ = Write("high", /*is_low=*/false, 0);
  const PartHere other_ = Write("other", /*is_low=*/false, 1);
};

inline std::vector<std::shared_ptr<WeightPeer>> Peers(
    std::initializer_list<std::shared_ptr<WeightPeer>> peers) {
  return peers;
}

// The tensors of a slice.
inline std::map<std::string, Bytes> TensorsIn(const model::Slice& slice) {
  std::map<std::string, Bytes> tensors;
  const SourceModel& source = SourceModel::Get();
  for (const model::TensorSpec& spec : model::TensorsOf(source.shape())) {
    if (slice.Needs(source.shape(), spec)) {
      tensors[spec.name] = source.files().FindTensor(spec.name)->data;
    }
  }
  return tensors;
}

inline uint64_t BytesIn(const model::Slice& slice) {
  uint64_t bytes = 0;
  for (const auto& [name, data] : TensorsIn(slice)) bytes += data.size();
  return bytes;
}

// Whether the files hold exactly the slice's tensors, and the right bytes.
inline bool IsSlice(const gguf::ModelFiles& files, const model::Slice& slice) {
  const auto expected = TensorsIn(slice);
  if (files.entries().size() != expected.size()) return false;
  return std::ranges::all_of(expected, [&](const auto& item) {
    const gguf::Tensor* tensor = files.FindTensor(item.first);
    return tensor != nullptr && std::ranges::equal(tensor->data, item.second);
  });
}

}  // namespace aster::fetch
