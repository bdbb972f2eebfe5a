// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The bytes of a session: a conversation and its KV cache (described in docs/sessions.md). A list
// of records, each with its own checksum, so that the part before any damage can be used. Must not
// know what the texts mean, nor how rows are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/result.h"
#include "disk/input_file.h"
#include "disk/page_file_name.h"

namespace aster::disk {

inline constexpr uint64_t kSessionMagic = 0x3145535245545341;  // "ASTERSE1", little-endian
inline constexpr uint32_t kSessionVersion = 1;

// The model of the session.
struct SessionModel {
  std::string name;  // for users
  std::string path;  // as given, to find it again
  Hash128 fingerprint;
  uint32_t vocab_size = 0;
  Hash128 layout;                  // the digest of the row format
  std::string layout_description;  // in words

  bool operator==(const SessionModel&) const = default;
};

struct SessionMessage {
  std::string role;
  std::string content;

  bool operator==(const SessionMessage&) const = default;
};

// Rows: a page file, in the folder of pages, or within the session's own file.
struct SessionPage {
  PageFileName name;
  uint64_t bytes = 0;   // of the page file
  uint64_t offset = 0;  // in the session's file; 0: it is not in there

  bool operator==(const SessionPage&) const = default;
};

struct Session {
  SessionModel model;
  int64_t saved_ns = 0;  // since 1970
  std::string system;
  std::vector<SessionMessage> messages;
  std::string marked;           // the text of the tokens; empty: unknown
  std::vector<int32_t> tokens;  // of the whole conversation
  std::vector<SessionPage> pages;

  bool operator==(const Session&) const = default;
};

// Appends records to a file that appears when it is complete.
class SessionWriter {
 public:
  static Result<SessionWriter> Create(const std::string& path);

  // Everything but the pages; call it first.
  Status Begin(const Session& session);
  // A page in the folder of pages.
  Status AddPage(const SessionPage& page);
  // A page that the file contains: a whole page file.
  Status AddPageFile(const PageFileName& name, Bytes file);
  Status Commit();

 private:
  explicit SessionWriter(AtomicFile file) : file_(std::move(file)) {}
  Status Record(uint32_t type, Bytes payload, Bytes more = {});

  AtomicFile file_;
  uint32_t record_count_ = 0;
};

struct ReadSession {
  Session session;
  // The error of the rest of the file, with the byte; `session` is the part before. An incomplete
  // list of tokens is left out.
  std::optional<Error> damage;
  bool has_messages = false;  // all of them are before it
  bool has_tokens = false;    // these, too
};

// An error if not even the model is known: the file is no session, or damaged at its beginning, or
// of a newer version. Does not check the contents of page files.
Result<ReadSession> ReadSessionFile(const InputFile& file);

}  // namespace aster::disk
