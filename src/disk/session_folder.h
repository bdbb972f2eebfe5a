// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Where sessions are kept: a folder with a file for each conversation, and beside them the pages of
// all of them, each once. A path instead of a name is a file by itself, with its pages in it. Safe
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
  std::optional<Error> damage;  // of the rest of the file; `session` is what precedes it
  bool has_messages = false;    // all of them
  bool has_tokens = false;
};

// What of a session's pages can be used.
struct WholePages {
  std::vector<SessionPage> pages;
  std::optional<Error> damage;  // the first that is missing, or is not what it was
};

struct ListedSession {
  std::string name;
  std::string path;
  std::optional<Error> error;  // where it cannot be read at all
  Session session;
  std::optional<Error> damage;
  uint64_t own_bytes = 0;     // of its file, and of pages that no other session has
  uint64_t shared_bytes = 0;  // of pages that others have, too
};

class SessionFolder {
 public:
  // The user's: sessions/ in the data folder.
  static Result<std::string> DefaultFolder();

  // The clock outlives it. The folder is made when something is saved.
  SessionFolder(std::string folder, Clock& clock) : folder_(std::move(folder)), clock_(clock) {}

  // The file that a name stands for, or a path (what has a slash in it).
  Result<std::string> PathOf(std::string_view name_or_path) const;

  // Replaces what has that name. The session's list of pages is made here.
  Status Save(std::string_view name_or_path, const Session& session, const kv::Layout& layout,
              RowsSource rows);
  Result<OpenSession> Open(std::string_view name_or_path) const;
  // Its KV chunks go to `take`; those before an error have been taken.
  Status LoadRows(const OpenSession& open, const kv::Layout& layout, KvChunkTaker take) const;

  // Looks at the pages' files: all of their rows, or whether they are there and what they say
  // they are.
  enum class Look : uint8_t { kHeaders, kRows };
  WholePages FindWhole(const OpenSession& open, Look look) const;

  // By name.
  Result<std::vector<ListedSession>> List() const;
  // Returns how many bytes became free. Pages that others have stay. With `only`:
  // FailedPrecondition unless the name still stands for that very file. One with the same content
  // that has taken its place is another: it may be the copy that another process relies on.
  Result<uint64_t> Remove(std::string_view name, const OpenSession* only = nullptr);
  // A file with everything in it; and such a file back into the folder.
  Status Export(std::string_view name, const std::string& path) const;
  enum class IfThere : uint8_t {
    kReplace,
    kRefuse,  // even where it is the same session: two machines may see one folder
  };
  Status Import(const std::string& path, std::string_view name,
                IfThere if_there = IfThere::kReplace);
  // Whether the session has that name, and is this one: where it is kept does not matter.
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
