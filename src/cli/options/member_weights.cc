// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/member_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/float_text.h"
#include "eval/competence.h"
#include "eval/result_file.h"
#include "open/placed_model.h"

namespace aster::cli {
namespace {

std::optional<double> NumberOf(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = FloatFromChars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

std::string StemOf(const std::string& path) { return std::filesystem::path(path).stem().string(); }

// nova, nova.gguf and /models/nova.gguf@desk are one model.
std::string ModelOf(const std::string& member) {
  const std::string name =
      std::filesystem::path(open::PlacedModel::Parse(member).model).filename().string();
  return name.ends_with(".gguf") ? StemOf(name) : name;
}

Result<std::vector<double>> OfResults(const std::vector<std::string>& paths,
                                      const std::vector<std::string>& members) {
  std::vector<eval::Results> all;
  for (size_t i = 0; i < paths.size(); ++i) {
    all.push_back(TRY(eval::ReadResults(paths[i])));
    const std::string& model = all.back().header.model;
    if (StemOf(model) != ModelOf(members[i])) {
      return InvalidArgument(
          fmt::format("{} has results of {}, not of {}: give them in the order "
                      "of the members",
                      paths[i], model, members[i]));
    }
  }
  return eval::WeightsByResults(all);
}

}  // namespace

Result<std::vector<double>> ReadMemberWeights(const std::vector<std::string>& values,
                                              const std::vector<std::string>& members) {
  std::vector<double> numbers;
  if (values.empty()) return numbers;
  if (values.size() != members.size()) {
    return InvalidArgument(
        fmt::format("{} weights for {} members: give one for each", values.size(), members.size()));
  }
  for (const std::string& value : values) {
    if (const auto number = NumberOf(value)) numbers.push_back(*number);
  }
  if (numbers.size() == values.size()) return numbers;
  if (numbers.empty()) return OfResults(values, members);
  return InvalidArgument("give numbers or files of results, not both");
}

}  // namespace aster::cli
