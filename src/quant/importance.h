// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Importance matrices: how much each column of a weight matrix matters, measured elsewhere as the
// mean square of its inputs. Reads both published forms, GGUF files and the older plain ones
// (.dat), and trusts neither. Must not know what the numbers are used for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace aster::quant {

// Constant after it is made, so any number of threads may read.
class ImportanceMatrix {
 public:
  static Result<ImportanceMatrix> Load(const std::string& path);
  // Parses bytes in memory.
  static Result<ImportanceMatrix> Parse(Bytes bytes);

  // One number for each column, for one matrix of the tensor after the other; empty if unknown.
  // Finite and not negative.
  std::span<const float> Find(std::string_view tensor_name) const;

  size_t size() const { return values_.size(); }
  // How many chunks of text it was measured on; 0 if unknown.
  uint32_t chunk_count() const { return chunk_count_; }
  const std::map<std::string, std::vector<float>, std::less<>>& all() const { return values_; }

 private:
  friend class ImportanceReader;

  std::map<std::string, std::vector<float>, std::less<>> values_;
  uint32_t chunk_count_ = 0;
};

}  // namespace aster::quant
