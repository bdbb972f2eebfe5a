// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The storage of sessions: a folder with a file for each conversation, and beside them the pages of
// all of them, each once. A path instead of a name is a single file that contains its pages. Safe
// for several processes at once. Must not know models, nor who computes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "disk/session_file.h"
#include "disk/session_rows.h"

namespace aster::disk {

// A session that was read, with its rows still in files.
struct OpenSession {
  std::string path;
  std::shared_ptr<const InputFile> file;
  Session session;
  std::optional<Error> damage;  // of the rest of the file; `session` is the part before
  bool has_messages = false;    // all of them
  bool has_tokens = false;
};

// The usable pages of a session.
struct WholePages {
  std::vector<SessionPage> pages;
  std::optional<Error> damage;  // the first page that is missing or wrong
};

struct ListedSession {
  std::string name;
  std::string path;
  std::optional<Error> error;  // if it cannot be read at all
  Session session;
  std::optional<Error> damage;
  uint64_t own_bytes = 0;     // of its file, and of pages that no other session has
  uint64_t shared_bytes = 0;  // of pages that others have, too
};

class SessionFolder {
 public:
  // The user's: sessions/ in the data folder.
  static Result<std::string> DefaultFolder();

  // The clock outlives it. The folder is made by the first save.
  SessionFolder(std::string folder, Clock& clock) : folder_(std::move(folder)), clock_(clock) {}

  // The file of a name, or a path (a text with a slash).
  Result<std::string> PathOf(std::string_view name_or_path) const;

  // Replaces a session with that name. Makes the session's list of pages.
  Status Save(std::string_view name_or_path, const Session& session, const kv::Layout& layout,
              RowsSource rows);
  Result<OpenSession> Open(std::string_view name_or_path) const;
  // Passes its KV chunks to `take`; those before an error have been passed.
  Status LoadRows(const OpenSession& open, const kv::Layout& layout, KvChunkTaker take) const;

  // Checks the pages' files: all of their rows, or only that they exist with the right headers.
  enum class Look : uint8_t { kHeaders, kRows };
  WholePages FindWhole(const OpenSession& open, Look look) const;

  // By name.
  Result<std::vector<ListedSession>> List() const;
  // Returns the number of freed bytes. Pages that others have stay. With `only`: FailedPrecondition
  // unless the name still refers to that very file. A replacement with the same content is another
  // file: it may be the copy that another process relies on.
  Result<uint64_t> Remove(std::string_view name, const OpenSession* only = nullptr);
  // A file with everything in it; and such a file back into the folder.
  Status Export(std::string_view name, const std::string& path) const;
  enum class IfThere : uint8_t {
    kReplace,
    kRefuse,  // even if it is the same session: two machines may see one folder
  };
  Status Import(const std::string& path, std::string_view name,
                IfThere if_there = IfThere::kReplace);
  // Whether this session has that name, wherever its pages are stored.
  bool Has(std::string_view name, const Session& session) const;

 private:
  std::string PagesFolder() const { return folder_ + "/pages"; }
  Result<FileLock> Lock();
  Result<PageFile> OpenPage(const OpenSession& open, const SessionPage& page) const;
  Result<SessionPage> KeepPage(const kv::KvChunkHeader& header, std::span<const kv::Block> blocks);
  Result<std::vector<SessionPage>> KeepPagesOf(const OpenSession& open);
  Status Commit(const std::string& path, const Session& session,
                std::span<const SessionPage> pages);
  uint64_t RemoveUnused();

  const std::string folder_;
  Clock& clock_;
};

}  // namespace aster::disk
