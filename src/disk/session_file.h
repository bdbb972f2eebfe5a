// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The bytes of a session: a conversation and its KV cache (docs/sessions.md says the same in
// words). A list of records, each with its own checksum, so that what precedes damage can be used.
// Must not know what the texts mean, nor how rows are made.
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

// What it was held with.
struct SessionModel {
  std::string name;  // for people
  std::string path;  // as it was given, to find it again
  Hash128 fingerprint;
  uint32_t vocab_size = 0;
  Hash128 layout;                  // the digest of what a row is
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
  uint64_t offset = 0;  // where it stands in the session's file; 0: it does not

  bool operator==(const SessionPage&) const = default;
};

struct Session {
  SessionModel model;
  int64_t saved_ns = 0;  // since 1970
  std::string system;
  std::vector<SessionMessage> messages;
  std::string marked;           // the text that the tokens stand for; empty: for no text alone
  std::vector<int32_t> tokens;  // of all that was said
  std::vector<SessionPage> pages;

  bool operator==(const Session&) const = default;
};

// Appends records to a file that appears when it is whole.
class SessionWriter {
 public:
  static Result<SessionWriter> Create(const std::string& path);

  // Everything but the pages; first.
  Status Begin(const Session& session);
  // One that is in the folder of pages.
  Status AddPage(const SessionPage& page);
  // One that travels with the session: a whole page file.
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
  // What is wrong with the rest of the file, with the byte; `session` is what precedes it. The
  // tokens of a text whose end is missing are not there.
  std::optional<Error> damage;
  bool has_messages = false;  // all of them precede it
  bool has_tokens = false;    // they do, too
};

// An error where not even the model is told: the file is no session, or damaged at its beginning,
// or of a newer version. The contents of page files are not looked at.
Result<ReadSession> ReadSessionFile(const InputFile& file);

}  // namespace aster::disk
