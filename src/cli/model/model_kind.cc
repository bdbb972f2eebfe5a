// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/model/model_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "model/files/description.h"

namespace aster::cli {

std::string DescribeKind(const gguf::ModelFiles& files) {
  const model::Description description = model::Describe(files);
  const auto& by_type = description.whole.by_type;
  const auto most =
      std::ranges::max_element(by_type, {}, [](const auto& entry) { return entry.second.bytes; });
  return fmt::format("{} {} {}", description.architecture,
                     FormatCount(description.whole.all.parameter_count),
                     most == by_type.end() ? "" : gguf::TensorTypeName(most->first));
}

}  // namespace aster::cli
