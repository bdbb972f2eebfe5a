// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include <gtest/gtest.h>

#include <charconv>
#include <string_view>

#include "engine/answers_for_test.h"
#include "sim_options.h"

namespace aster::sim {

SimOptions& Options() {
  static SimOptions options{.seeds = kSanitized ? 40u : 1000u};
  return options;
}

}  // namespace aster::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  aster::sim::SimOptions& options = aster::sim::Options();
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--print") {
      options.print = true;
      continue;
    }
    if ((name != "--seeds" && name != "--first") || i + 1 == argc) return 2;
    const std::string_view value = argv[++i];
    uint64_t& number = name == "--seeds" ? options.seeds : options.first;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) return 2;
  }
  return RUN_ALL_TESTS();
}
