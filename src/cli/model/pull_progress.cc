// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/model/pull_progress.h"

#include <memory>
#include <optional>

#include "base/clock.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress.h"
#include "pull/library.h"

namespace aster::cli {

Result<pull::Pulled> PullModel(const pull::Source& source, const std::string& folder,
                               const std::string& token_path, Console& console) {
  SystemClock clock;
  const InterruptGuard guard;
  const auto http = pull::MakeHttpClient([] { return InterruptGuard::Interrupted(); });
  std::optional<Progress> progress;
  std::string shown;
  pull::PullOptions options;
  options.folder = folder.empty() ? TRY(pull::LibraryFolder()) : folder;
  options.hub = TRY(pull::Hub::FromEnvironment(token_path));
  options.on_progress = [&](const pull::RemoteFile& file, uint64_t done, uint64_t total) {
    if (shown != file.name) {
      progress.emplace(console, clock, Harmless(file.name), Progress::Unit::kBytes,
                       Progress::WithoutTerminal::kPlainLines);
      shown = file.name;
    }
    progress->Update(done, total);
  };
  options.on_note = [&](const std::string& note) {
    progress.reset();
    shown.clear();
    console.Note(Harmless(note));
  };
  return pull::Pull(*http, source, clock, options);
}

}  // namespace aster::cli
