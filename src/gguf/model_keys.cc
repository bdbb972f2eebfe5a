// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/model_keys.h"

namespace aster::gguf {

bool KeyMatters(std::string_view key) {
  if (key == "general.architecture") return true;
  for (const std::string_view prefix :
       {"general.", "split.", "quantize.", "tokenizer.chat_template"}) {
    if (key.starts_with(prefix)) return false;
  }
  return true;
}

}  // namespace aster::gguf
