// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Scores many replies in one run, for scoring_test.py. Each line of the input is a JSON list: the
// reply, the answer, and how the answer is extracted; each line of the output is "true" or "false".
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "eval/answer.h"

namespace {

bool ReadLine(std::string& line) {
  line.clear();
  for (int c = std::getc(stdin); c != EOF; c = std::getc(stdin)) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  return !line.empty();
}

}  // namespace

int main() {
  std::string line;
  while (ReadLine(line)) {
    const auto request = nlohmann::json::parse(line);
    const auto extract =
        aster::eval::ParseExtract(request[2].get_ref<const std::string&>()).value();
    const bool right = aster::eval::IsRight(request[0].get_ref<const std::string&>(),
                                            request[1].get_ref<const std::string&>(), extract);
    std::puts(right ? "true" : "false");
  }
  return 0;
}
