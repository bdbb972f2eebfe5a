// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/placed_model.h"

#include <fmt/format.h>

namespace aster::open {

PlacedModel PlacedModel::Parse(std::string_view text) {
  const size_t at = text.rfind('@');
  const bool is_place = at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
                        text.find('/', at) == std::string_view::npos;
  if (!is_place) return {.model = std::string(text)};
  return {.model = std::string(text.substr(0, at)), .place = std::string(text.substr(at + 1))};
}

Result<ClusterOptions> OptionsAt(const ClusterOptions& all, const std::string& place) {
  if (place.empty()) return all;
  // This process needs no nodes.
  if (place == "here" || place == "front") return ClusterOptions{};
  if (!all.cluster) {
    return InvalidArgument(
        fmt::format("@{} names a node of the cluster: give --cluster, too", place));
  }
  ClusterOptions options = all;
  options.split = place;
  options.split_option = "@";
  options.decode.clear();
  return options;
}

}  // namespace aster::open
