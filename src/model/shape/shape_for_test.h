// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shapes from files' metadata, for tests.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "model/shape/shape.h"
#include "model/shape/write_metadata.h"
#include "model/synth/presets.h"

namespace aster::model {

// The shape that a file with this metadata has.
inline Result<Shape> ReadBack(const gguf::MetadataBuilder& metadata) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create());
  const std::string path = folder.File("model.gguf");
  gguf::Writer writer = TRY(gguf::Writer::Create(path, metadata, {}));
  TRY(writer.Finish());
  const gguf::File file = TRY(gguf::File::Open(path));
  return ReadShape(file.metadata());
}

inline gguf::MetadataBuilder MetadataOf(const Shape& shape) {
  gguf::MetadataBuilder metadata;
  WriteShape(shape, metadata);
  return metadata;
}

// Whether a preset with this value of the key is refused with an error that names the key.
inline bool IsRefused(std::string_view preset, const std::string& key, auto value) {
  const Shape shape = ShapeOfPreset(preset).value();
  gguf::MetadataBuilder metadata = MetadataOf(shape);
  metadata.Set(std::string(ArchName(shape.arch)) + "." + key, value);
  const auto read = ReadBack(metadata);
  return !read.ok() && read.error().message().find(key) != std::string::npos;
}

}  // namespace aster::model
