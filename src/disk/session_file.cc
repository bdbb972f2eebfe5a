// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/session_file.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/bytes.h"

namespace aster::disk {
namespace {

// A user's conversations are private: only the owner can read files.
constexpr uint32_t kOnlyOwnerReads = 0600;

// In the order of the file.
enum RecordType : uint32_t {
  kAbout = 1,    // the model, when it was saved, the system message
  kMessage = 2,  // of the conversation; any number
  kMarked = 3,
  kTokens = 4,
  kPage = 5,      // a page file in the folder; any number
  kPageFile = 6,  // one that follows the record; any number
  kEnd = 7,       // how many records there were
};
constexpr size_t kHeadBytes = 24;
constexpr size_t kPreambleBytes = 16;
constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 30;

void WriteText(std::string_view text, ByteWriter& out) {
  out.Write(static_cast<uint64_t>(text.size()));
  out.WriteBytes(AsBytes(text));
}

Result<std::string> ReadText(ByteReader& in) {
  const uint64_t size = TRY(in.ReadCount<uint64_t>(1));
  return std::string(AsText(TRY(in.ReadBytes(size))));
}

void WriteHash(const Hash128& hash, ByteWriter& out) {
  out.Write(hash.low);
  out.Write(hash.high);
}

Result<Hash128> ReadHash(ByteReader& in) {
  Hash128 hash;
  hash.low = TRY(in.Read<uint64_t>());
  hash.high = TRY(in.Read<uint64_t>());
  return hash;
}

// Depends on the record's offset, so that records cannot change places.
uint64_t ChecksumOf(uint32_t type, uint64_t offset, Bytes payload) {
  ByteWriter about;
  about.Write(type);
  about.Write(offset);
  about.Write(static_cast<uint64_t>(payload.size()));
  return Hash64Of(payload, Hash64Of(about.bytes()));
}

Status ReadAbout(ByteReader& in, Session& session) {
  session.model.name = TRY(ReadText(in));
  session.model.path = TRY(ReadText(in));
  session.model.fingerprint = TRY(ReadHash(in));
  session.model.vocab_size = TRY(in.Read<uint32_t>());
  session.model.layout = TRY(ReadHash(in));
  session.model.layout_description = TRY(ReadText(in));
  session.saved_ns = TRY(in.Read<int64_t>());
  session.system = TRY(ReadText(in));
  return Ok();
}

Status ReadTokens(ByteReader& in, Session& session) {
  const uint64_t count = TRY(in.ReadCount<uint64_t>(sizeof(int32_t)));
  if (count > kv::kMaxPositions) return DataLoss("more tokens than a sequence has");
  const Bytes bytes = TRY(in.ReadBytes(count * sizeof(int32_t)));
  session.tokens.resize(count);
  if (count > 0) std::memcpy(session.tokens.data(), bytes.data(), bytes.size());
  return Ok();
}

void WritePage(const SessionPage& page, ByteWriter& out) {
  WriteHash(page.name.prefix_at_end, out);
  WriteHash(page.name.prefix_at_begin, out);
  out.Write(page.name.begin);
  out.Write(page.name.end);
  out.Write(page.name.layers.begin);
  out.Write(page.name.layers.end);
  out.Write(page.bytes);
}

Result<SessionPage> ReadPage(ByteReader& in) {
  SessionPage page;
  page.name.prefix_at_end = TRY(ReadHash(in));
  page.name.prefix_at_begin = TRY(ReadHash(in));
  page.name.begin = TRY(in.Read<uint32_t>());
  page.name.end = TRY(in.Read<uint32_t>());
  page.name.layers.begin = TRY(in.Read<uint32_t>());
  page.name.layers.end = TRY(in.Read<uint32_t>());
  page.bytes = TRY(in.Read<uint64_t>());
  // It must be a valid file name.
  if (PageFileName::Parse(page.name.ToText()) != page.name) return DataLoss("no page's name");
  return page;
}

// Reads one record after the other.
class Reader {
 public:
  explicit Reader(const InputFile& file) : file_(file) {}

  Status Begin() {
    std::vector<uint8_t> preamble(kPreambleBytes);
    if (file_.size_bytes() < kPreambleBytes) return file_.Damaged(0, "too short for a session");
    TRY(file_.ReadAt(0, preamble.size(), preamble.data()));
    ByteReader in{Bytes(preamble)};
    // Another kind of file, another version, or damage: each has its own error.
    if (TRY(in.Read<uint64_t>()) != kSessionMagic) {
      return InvalidArgument(file_.path() + ": is not a session that this program has saved");
    }
    const uint32_t version = TRY(in.Read<uint32_t>());
    if (version != kSessionVersion) {
      return Unimplemented(fmt::format("{}: a session of version {}; this program reads version {}",
                                       file_.path(), version, kSessionVersion));
    }
    if (TRY(in.Read<uint32_t>()) != 0) return file_.Damaged(12, "differs from its checksum");
    offset_ = kPreambleBytes;
    return Ok();
  }

  // Reads one into the session. After the last one, is_done().
  Status Next(Session& session) {
    const uint64_t begin = offset_;
    const Status status = Take(session);
    if (status.ok() || status.error().code() != Code::kDataLoss) return status;
    // The damage may have been found by code that does not know the file's name.
    return status.error().message().starts_with(file_.path())
               ? Status(status)
               : file_.Damaged(begin, status.error().message());
  }
  bool is_done() const { return is_done_; }
  uint32_t count() const { return count_; }
  // Whether all records before this type have been read.
  bool has_read(RecordType type) const { return last_type_ >= type; }

 private:
  Status Take(Session& session) {
    // Head first: type, size and checksum of the record.
    std::vector<uint8_t> head(kHeadBytes);
    if (file_.size_bytes() - offset_ < kHeadBytes) {
      return file_.Damaged(file_.size_bytes(), "its end is missing");
    }
    TRY(file_.ReadAt(offset_, head.size(), head.data()));
    ByteReader in{Bytes(head)};
    const uint32_t type = TRY(in.Read<uint32_t>());
    const uint32_t zero = TRY(in.Read<uint32_t>());
    const uint64_t size = TRY(in.Read<uint64_t>());
    const uint64_t checksum = TRY(in.Read<uint64_t>());
    // Sizes are compared with the file before anything is allocated for them.
    const bool is_in_order = count_ == 0 ? type == kAbout : type > kAbout && type >= last_type_;
    if (zero != 0 || type > kEnd || !is_in_order || size > kMaxPayloadBytes) {
      return DataLoss("no record that can stand there");
    }
    if (size > file_.size_bytes() - offset_ - kHeadBytes) {
      return file_.Damaged(file_.size_bytes(), "it ends within a record");
    }
    // The checksum covers type and offset; then the payload must match the type exactly.
    std::vector<uint8_t> payload(size);
    TRY(file_.ReadAt(offset_ + kHeadBytes, size, payload.data()));
    if (ChecksumOf(type, offset_, payload) != checksum) return DataLoss("its checksum is another");
    offset_ += kHeadBytes + size;
    ByteReader rest{Bytes(payload)};
    TRY(TakePayload(type, rest, session));
    if (!rest.at_end()) return DataLoss("a record that is too long");
    last_type_ = type;
    ++count_;
    return Ok();
  }

  Status TakePayload(uint32_t type, ByteReader& in, Session& session) {
    switch (type) {
      case kAbout:
        return ReadAbout(in, session);
      case kMessage:
        session.messages.push_back({TRY(ReadText(in)), TRY(ReadText(in))});
        return Ok();
      case kMarked:
        session.marked = TRY(ReadText(in));
        return Ok();
      case kTokens:
        return ReadTokens(in, session);
      case kPage:
        session.pages.push_back(TRY(ReadPage(in)));
        return Ok();
      case kPageFile: {
        SessionPage page = TRY(ReadPage(in));
        page.offset = offset_;
        if (page.bytes > file_.size_bytes() - offset_) {
          return file_.Damaged(file_.size_bytes(), "it ends within the rows of a page");
        }
        offset_ += page.bytes;
        session.pages.push_back(page);
        return Ok();
      }
      default:
        if (TRY(in.Read<uint32_t>()) != count_ || !has_read(kTokens)) {
          return DataLoss("records are missing");
        }
        if (offset_ != file_.size_bytes()) return DataLoss("more follows than belongs to it");
        is_done_ = true;
        return Ok();
    }
  }

  const InputFile& file_;
  uint64_t offset_ = 0;
  uint32_t count_ = 0;
  uint32_t last_type_ = kAbout;
  bool is_done_ = false;
};

}  // namespace

Result<SessionWriter> SessionWriter::Create(const std::string& path) {
  SessionWriter writer(TRY(AtomicFile::Create(path, kOnlyOwnerReads)));
  ByteWriter preamble;
  preamble.Write(kSessionMagic);
  preamble.Write(kSessionVersion);
  preamble.Write(uint32_t{0});
  TRY(writer.file_.Write(preamble.bytes()));
  return writer;
}

Status SessionWriter::Record(uint32_t type, Bytes payload, Bytes more) {
  ByteWriter out;
  out.Write(type);
  out.Write(uint32_t{0});
  out.Write(static_cast<uint64_t>(payload.size()));
  out.Write(ChecksumOf(type, file_.size_bytes(), payload));
  out.WriteBytes(payload);
  TRY(file_.Write(out.bytes()));
  if (!more.empty()) TRY(file_.Write(more));
  ++record_count_;
  return Ok();
}

Status SessionWriter::Begin(const Session& session) {
  ByteWriter about;
  WriteText(session.model.name, about);
  WriteText(session.model.path, about);
  WriteHash(session.model.fingerprint, about);
  about.Write(session.model.vocab_size);
  WriteHash(session.model.layout, about);
  WriteText(session.model.layout_description, about);
  about.Write(session.saved_ns);
  WriteText(session.system, about);
  TRY(Record(kAbout, about.bytes()));
  for (const SessionMessage& message : session.messages) {
    ByteWriter out;
    WriteText(message.role, out);
    WriteText(message.content, out);
    TRY(Record(kMessage, out.bytes()));
  }
  ByteWriter marked;
  WriteText(session.marked, marked);
  TRY(Record(kMarked, marked.bytes()));
  ByteWriter tokens;
  tokens.Write(static_cast<uint64_t>(session.tokens.size()));
  tokens.WriteBytes({reinterpret_cast<const uint8_t*>(session.tokens.data()),
                     session.tokens.size() * sizeof(int32_t)});
  return Record(kTokens, tokens.bytes());
}

Status SessionWriter::AddPage(const SessionPage& page) {
  ByteWriter out;
  WritePage(page, out);
  return Record(kPage, out.bytes());
}

Status SessionWriter::AddPageFile(const PageFileName& name, Bytes file) {
  ByteWriter out;
  WritePage({.name = name, .bytes = file.size()}, out);
  return Record(kPageFile, out.bytes(), file);
}

Status SessionWriter::Commit() {
  ByteWriter end;
  end.Write(record_count_);
  TRY(Record(kEnd, end.bytes()));
  return file_.Commit();
}

Result<ReadSession> ReadSessionFile(const InputFile& file) {
  Reader reader(file);
  TRY(reader.Begin());
  ReadSession read;
  while (!reader.is_done()) {
    Status next = reader.Next(read.session);
    if (next.ok()) continue;
    if (reader.count() == 0 || next.error().code() != Code::kDataLoss) {
      return std::move(next).error();
    }
    read.damage = std::move(next).error();
    break;
  }
  read.has_messages = reader.has_read(kMarked);
  read.has_tokens = reader.has_read(kTokens);
  return read;
}

}  // namespace aster::disk
