// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A model in three words. Must not know where its files come from.
#pragma once

#include <string>

#include "gguf/model_files.h"

namespace aster::cli {

// "llama 1.24 B Q4_K": architecture, parameters, the type of most of its weights.
std::string DescribeKind(const gguf::ModelFiles& files);

}  // namespace aster::cli
