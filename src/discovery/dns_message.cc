// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/dns_message.h"

#include <fmt/format.h>

#include <string_view>

#include "base/check.h"

namespace aster::discovery {
namespace {

constexpr size_t kMaxLabelBytes = 63;
constexpr size_t kMaxNameBytes = 255;  // with the length before each label, and the end
constexpr size_t kMaxPointers = 16;    // per name
constexpr uint16_t kIsAnswer = 0x8000;
constexpr uint16_t kIsAuthoritative = 0x0400;
constexpr uint16_t kInternet = 1;
// In a record: replaces earlier ones; in a question: the sender accepts a unicast reply.
constexpr uint16_t kClassFlag = 0x8000;

Error CutOff() { return DataLoss("a DNS message ends too early"); }

char ReadableOf(uint8_t byte) {
  const char c = static_cast<char>(byte);
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  return is_plain ? c : '?';
}

// Reads a message. After the first failure everything reads as empty, and status() has the error.
class DnsReader {
 public:
  explicit DnsReader(Bytes bytes) : bytes_(bytes) {}

  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  size_t offset() const { return offset_; }

  uint16_t Short() {
    if (!Has(2)) return 0;
    const auto value = static_cast<uint16_t>(bytes_[offset_] << 8 | bytes_[offset_ + 1]);
    offset_ += 2;
    return value;
  }
  uint32_t Long() {
    const uint32_t high = Short();
    return high << 16 | Short();
  }
  // Begins a part of `size` bytes; returns its end.
  size_t Part(size_t size) { return Has(size) ? offset_ + size : offset_; }
  void GoTo(size_t offset) {
    if (ok()) offset_ = offset;
  }
  void Refuse(std::string_view why) {
    if (ok()) status_ = DataLoss(std::string(why));
  }
  std::string Name();

 private:
  bool Has(size_t size) {
    if (ok() && size > bytes_.size() - offset_) status_ = CutOff();
    return ok();
  }

  const Bytes bytes_;
  size_t offset_ = 0;
  Status status_;
};

// Each pointer of a chain must go further back than the one before, so there are no loops.
std::string DnsReader::Name() {
  std::string name;
  size_t at = offset_, bound = offset_, end = 0, size = 1, pointers = 0;
  while (ok()) {
    if (at >= bytes_.size()) break;
    const size_t length = bytes_[at];
    if (length == 0) {
      offset_ = end > 0 ? end : at + 1;
      return name;
    }
    if (length >= 0xC0) {
      if (bytes_.size() - at < 2) break;
      const size_t target = (length & 0x3F) << 8 | bytes_[at + 1];
      if (end == 0) end = at + 2;
      if (target >= bound || ++pointers > kMaxPointers) Refuse("a name in a DNS message is a loop");
      at = bound = target;
      continue;
    }
    size += length + 1;
    if (length > kMaxLabelBytes || size > kMaxNameBytes) {
      Refuse("a name in a DNS message is too long");
    } else if (length >= bytes_.size() - at) {
      break;
    }
    if (!ok()) return "";
    if (!name.empty()) name += '.';
    for (const uint8_t byte : bytes_.subspan(at + 1, length)) name += ReadableOf(byte);
    at += length + 1;
  }
  if (ok()) status_ = CutOff();
  return "";
}

DnsQuestion ReadQuestion(DnsReader& reader) {
  DnsQuestion question;
  question.name = reader.Name();
  question.type = reader.Short();
  if ((reader.Short() & ~kClassFlag) != kInternet) question.type = 0;  // another class
  return question;
}

DnsRecord ReadRecord(DnsReader& reader) {
  DnsRecord record;
  record.name = reader.Name();
  record.type = reader.Short();
  if ((reader.Short() & ~kClassFlag) != kInternet) record.type = 0;
  record.ttl_s = reader.Long();
  const size_t end = reader.Part(reader.Short());
  if (record.type == kServiceRecord) {
    reader.Long();  // priority and weight
    record.port = reader.Short();
  }
  if (record.type == kServiceRecord || record.type == kPointerRecord) {
    record.target = reader.Name();
    if (reader.offset() != end) reader.Refuse("a record of a DNS message has another length");
  }
  reader.GoTo(end);
  return record;
}

class DnsWriter {
 public:
  void Short(size_t value) {
    bytes_.push_back(static_cast<uint8_t>(value >> 8));
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  void Long(uint32_t value) {
    Short(value >> 16);
    Short(value & 0xFFFF);
  }
  void Name(std::string_view name) {
    CHECK(name.size() + 2 <= kMaxNameBytes);
    while (!name.empty()) {
      const std::string_view label = name.substr(0, name.find('.'));
      CHECK(!label.empty() && label.size() <= kMaxLabelBytes);
      bytes_.push_back(static_cast<uint8_t>(label.size()));
      for (const char c : label) bytes_.push_back(static_cast<uint8_t>(c));
      name.remove_prefix(std::min(name.size(), label.size() + 1));
    }
    bytes_.push_back(0);
  }
  void Record(const DnsRecord& record) {
    Name(record.name);
    Short(record.type);
    // Many machines have pointers with one name; other records have one owner.
    Short(record.type == kPointerRecord ? kInternet : kInternet | kClassFlag);
    Long(record.ttl_s);
    DnsWriter data;
    if (record.type == kServiceRecord) {
      data.Long(0);
      data.Short(record.port);
    }
    if (record.type == kServiceRecord || record.type == kPointerRecord) data.Name(record.target);
    if (record.type == kTextRecord) data.bytes_.push_back(0);  // a single, empty text
    Short(data.bytes_.size());
    bytes_.insert(bytes_.end(), data.bytes_.begin(), data.bytes_.end());
  }

  std::vector<uint8_t> Take() && { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace

Result<DnsMessage> ParseDnsMessage(Bytes bytes) {
  if (bytes.size() > kMaxMessageBytes) return DataLoss("a DNS message is too long");
  DnsReader reader(bytes);
  DnsMessage message;
  reader.Short();  // the id, for unicast replies
  const uint16_t flags = reader.Short();
  // Operation and result are zero in multicast DNS.
  if ((flags & 0x780F) != 0) return DataLoss("a DNS message is of another kind");
  message.is_answer = (flags & kIsAnswer) != 0;
  const size_t question_count = reader.Short();
  const size_t record_count = size_t{reader.Short()} + reader.Short() + reader.Short();
  if (question_count + record_count > kMaxEntries)
    return DataLoss(fmt::format("a DNS message has {} entries", question_count + record_count));
  for (size_t i = 0; i < question_count && reader.ok(); ++i)
    message.questions.push_back(ReadQuestion(reader));
  for (size_t i = 0; i < record_count && reader.ok(); ++i)
    message.records.push_back(ReadRecord(reader));
  TRY(reader.status());
  return message;
}

std::vector<uint8_t> FormatDnsMessage(const DnsMessage& message) {
  DnsWriter writer;
  writer.Short(0);
  writer.Short(message.is_answer ? kIsAnswer | kIsAuthoritative : 0);
  writer.Short(message.questions.size());
  writer.Short(message.records.size());
  writer.Long(0);
  for (const DnsQuestion& question : message.questions) {
    writer.Name(question.name);
    writer.Short(question.type);
    writer.Short(kInternet);
  }
  for (const DnsRecord& record : message.records) writer.Record(record);
  return std::move(writer).Take();
}

}  // namespace aster::discovery
