// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/choice.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace aster::vulkan {

Result<GpuChoice> ParseGpuChoice(std::optional<std::string_view> text) {
  if (!text || text->empty()) return GpuChoice{};
  if (*text == "off") return GpuChoice{.kind = GpuChoice::Kind::kOff};
  GpuChoice choice{.kind = GpuChoice::Kind::kIndex};
  const char* const end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, choice.index);
  if (problem != std::errc() || stop != end) {
    return InvalidArgument(fmt::format(
        "ASTER_GPU={}: give off, or the number of a device that `aster devices` lists", *text));
  }
  return choice;
}

Result<GpuChoice> GpuChoiceOfEnvironment() {
  const char* const text = std::getenv("ASTER_GPU");
  if (text == nullptr) return ParseGpuChoice(std::nullopt);
  return ParseGpuChoice(text);
}

}  // namespace aster::vulkan
