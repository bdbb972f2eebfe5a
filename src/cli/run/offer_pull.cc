// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/run/offer_pull.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/model/pull_progress.h"
#include "open/builtin_models.h"
#include "pull/source.h"

namespace aster::cli {
namespace {

// Whether the answer to a question is yes, also by the Enter key alone.
bool IsYes(const std::string& question, Console& console) {
  fmt::print(console.err(), "{} [Y/n] ", question);
  std::fflush(console.err());
  std::string answer;
  for (int c = std::fgetc(stdin); c != '\n'; c = std::fgetc(stdin)) {
    if (c == EOF) return false;
    answer += static_cast<char>(c);
  }
  return answer.empty() || answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

Status OfferPull(open::ModelOptions& model, Console& console) {
  const bool has_person = isatty(STDIN_FILENO) == 1 && console.shows_progress();
  if (!has_person || model.paths.size() != 1) return Ok();
  const std::string& name = model.paths.front();
  if (!pull::LooksLikeSource(name) || open::FindModel(name).ok()) return Ok();
  const pull::Source source = TRY(pull::ParseSource(name));
  const std::string question =
      fmt::format("{} is not on this machine. Download it now?", Harmless(pull::ToText(source)));
  if (!IsYes(question, console)) return Ok();
  model.paths = TRY(PullModel(source, /*folder=*/"", /*token_path=*/"", console)).paths;
  return Ok();
}

}  // namespace aster::cli
