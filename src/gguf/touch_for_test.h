// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads everything in a parsed file, for tests and fuzzers with sanitizers.
#pragma once

#include <cstdint>
#include <string_view>

#include "gguf/file.h"

namespace aster::gguf {

// Reads everything in a parsed file; sanitizers then find any view that reaches outside of it.
inline uint64_t TouchEverything(const File& file) {
  uint64_t sum = 0;
  for (const Value& value : file.metadata()) {
    sum += ToText(value).size() + value.TypeText().size();
    if (const auto array = value.As<Array>(); array.ok()) {
      sum += array->First(1000).size();
      if (const auto strings = array->Strings(); strings.ok()) {
        for (const std::string_view text : *strings) {
          for (const char c : text) sum += static_cast<uint8_t>(c);
        }
      }
      if (const auto numbers = array->ToVector<double>(); numbers.ok()) sum += numbers->size();
    }
  }
  for (const Tensor& tensor : file.tensors()) {
    for (const uint8_t byte : tensor.data) sum += byte;
    sum += file.FindTensor(tensor.name) == &tensor ? 1 : 0;
  }
  return sum;
}

}  // namespace aster::gguf
