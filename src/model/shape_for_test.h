// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Shapes by way of files' metadata, for tests.
#pragma once

#include <string>

#include "base/files.h"
#include "gguf/file.h"
#include "gguf/writer.h"
#include "model/shape.h"
#include "model/write_metadata.h"

namespace aster::model {

// What a file with this metadata would say.
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

}  // namespace aster::model
