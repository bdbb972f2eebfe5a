// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/choice.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace aster::vulkan {

Result<std::vector<GpuChoice>> ParseGpuChoices(std::optional<std::string_view> text) {
  if (!text || text->empty()) return std::vector{GpuChoice{}};
  if (*text == "off") return std::vector{GpuChoice{.kind = GpuChoice::Kind::kOff}};
  std::vector<GpuChoice> choices;
  const char* at = text->data();
  const char* const end = at + text->size();
  while (true) {
    GpuChoice& choice = choices.emplace_back(GpuChoice{.kind = GpuChoice::Kind::kIndex});
    const auto [stop, problem] = std::from_chars(at, end, choice.index);
    if (problem != std::errc() || (stop != end && *stop != ',')) {
      return InvalidArgument(
          fmt::format("ASTER_GPU={}: give off, or the number of a device that `aster devices` "
                      "lists (several with commas: 0,1)",
                      *text));
    }
    if (stop == end) return choices;
    at = stop + 1;
  }
}

Result<std::vector<GpuChoice>> GpuChoicesOfEnvironment() {
  const char* const text = std::getenv("ASTER_GPU");
  if (text == nullptr) return ParseGpuChoices(std::nullopt);
  return ParseGpuChoices(text);
}

}  // namespace aster::vulkan
