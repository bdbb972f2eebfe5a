// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/request_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/files.h"
#include "base/json_string.h"
#include "base/random.h"

namespace aster::serve {
namespace {

constexpr double kNsPerUs = 1e3;
constexpr size_t kMaxIdInName = 64;

std::string PlainOf(std::string_view id) {
  std::string plain(id.substr(0, kMaxIdInName));
  for (char& c : plain) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_plain) c = '_';
  }
  return plain;
}

std::string QuotedName(std::string_view text) {
  std::string quoted;
  AppendJsonString(quoted, text);
  return quoted;
}

}  // namespace

std::string RequestTrace::ToJson(const TracedRequest& request, int64_t end_ns) const {
  const auto us = [this](int64_t ns) { return static_cast<double>(ns - start_ns_) / kNsPerUs; };
  std::string events;
  const auto span = [&](const char* name, int64_t begin_ns, int64_t until_ns) {
    events += fmt::format(
        "{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":{:.3f},\"dur\":{:.3f}}},\n",
        name, us(begin_ns), us(until_ns) - us(begin_ns));
  };
  // A phase lasts until the next one begins; the time of one that never began belongs to the one
  // before.
  const int64_t first_ns = tokens_.empty() ? 0 : tokens_.front().at_ns;
  struct Phase {
    const char* name;
    int64_t begin_ns;
  };
  const Phase phases[] = {{"preparing", start_ns_},
                          {"waiting", moments_[kQueued]},
                          {"prefill", moments_[kBegun]},
                          {"answering", first_ns}};
  for (size_t i = 0; i < std::size(phases); ++i) {
    if (phases[i].begin_ns == 0) continue;
    int64_t until_ns = end_ns;
    for (size_t next = i + 1; next < std::size(phases); ++next) {
      if (phases[next].begin_ns == 0) continue;
      until_ns = phases[next].begin_ns;
      break;
    }
    span(phases[i].name, phases[i].begin_ns, until_ns);
  }
  for (const Token& token : tokens_) {
    events += fmt::format(
        "{{\"name\":\"token\",\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":{},\"ts\":{:.3f}}},\n",
        token.choice, us(token.at_ns));
  }
  return fmt::format(
      "{{\"traceEvents\":[\n{}{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{{"
      "\"name\":{}}}}}],\n\"otherData\":{{\"id\":{},\"path\":{},\"model\":{},\"status\":{},"
      "\"client_gone\":{},\"prompt_tokens\":{},\"cached_tokens\":{},\"answer_tokens\":{},"
      "\"duration_us\":{:.3f}}}}}\n",
      events, QuotedName(request.id), QuotedName(request.id), QuotedName(request.path),
      QuotedName(request.model), request.status, request.is_gone, request.prompt_tokens,
      request.cached_tokens, request.answer_tokens, us(end_ns));
}

Status RequestTrace::Save(const std::string& folder, const TracedRequest& request,
                          const Clock& clock) const {
  const std::string text = ToJson(request, clock.NowNs());
  // Two requests may have the same id.
  const std::string path = fmt::format("{}/{}-{}-{:08x}.json", folder, clock.WallNs() / kNsPerMs,
                                       PlainOf(request.id), static_cast<uint32_t>(SystemSeed()));
  return WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace aster::serve
