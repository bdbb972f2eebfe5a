// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any file of a drafter of blocks is either refused for that model, or has valid tensors, all of
// which the file has, and a valid KV cache layout.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/drafters/block_drafter.h"
#include "model/files/support.h"
#include "model/shape/shape_for_test.h"
#include "model/shape/tensors.h"

namespace {

using aster::model::Shape;

// The metadata of a small model.
class Model {
 public:
  explicit Model(Shape shape)
      : shape_(std::move(shape)), folder_(aster::TemporaryDirectory::Create().value()) {
    const std::string path = folder_.File("model.gguf");
    auto writer = aster::gguf::Writer::Create(path, aster::model::MetadataOf(shape_), {}).value();
    CHECK(writer.Finish().ok());
    file_ = aster::gguf::File::Open(path).value();
  }

  const Shape& shape() const { return shape_; }
  const aster::gguf::Metadata& metadata() const { return file_->metadata(); }

 private:
  const Shape shape_;
  const aster::TemporaryDirectory folder_;
  std::optional<aster::gguf::File> file_;
};

Shape Small(std::string_view preset) {
  Shape shape = aster::model::ShapeOfPreset(preset).value();
  shape.embedding = 32;
  shape.vocab_size = 64;
  return shape;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Model models[] = {Model(Small("tiny")), Model(Small("flash-shape-tiny"))};
  for (const Model& model : models) {
    auto file = aster::gguf::File::Parse({data, size});
    if (!file.ok()) return 0;
    std::vector<aster::gguf::File> all;
    all.push_back(*std::move(file));
    const auto files = aster::gguf::ModelFiles::Join(std::move(all));
    if (!files.ok()) return 0;
    const auto shape = aster::model::BlockShapeOf(*files, model.metadata(), model.shape());
    if (!shape.ok()) {
      CHECK(!shape.error().message().empty());
      continue;
    }
    CHECK(shape->drafts() > 0 && !shape->taps.empty());
    for (const auto& spec : aster::model::TensorsOf(*shape))
      CHECK(aster::model::FindTensor(*files, spec) != nullptr);
    const auto layout = aster::model::MakeBlockLayout(*shape, {}, {1, 2});
    if (!layout.ok()) CHECK(!layout.error().message().empty());
  }
  return 0;
}
