// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// One tool call, read byte by byte as its family writes it. Arguments are passed on while they
// come, byte for byte, wherever the markup holds them as JSON. Must not know what stands around a
// call (reply_parser.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "chat/dialect.h"

namespace aster::chat {

// What the request says about a tool; null functions know nothing.
struct Tools {
  // Whether there is a tool of this name: what only looks like a call of one is text.
  std::function<bool(std::string_view name)> has_tool;
  // Whether the value of a parameter is a string as it stands, for markup that does not tell
  // strings from other values: `value` is JSON, too.
  std::function<bool(std::string_view name, std::string_view parameter, std::string_view value)>
      is_string;
};

// Told in this order: one beginning, any number of pieces of arguments, one end.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // `id` is the model's own, as it wrote it, or empty.
  virtual void BeginCall(std::string_view name, std::string_view id) = 0;
  virtual void Arguments(std::string_view piece) = 0;
  virtual void EndCall() = 0;
};

class CallReader {
 public:
  enum class Verdict : uint8_t {
    kMore,
    kDone,  // the byte was the call's last
    kBad,   // the byte cannot belong to a call
  };
  virtual ~CallReader() = default;

  // After anything but kMore, nothing more may be fed.
  virtual Verdict Feed(char c, CallSink& sink) = 0;
  bool has_begun() const { return has_begun_; }

 protected:
  bool has_begun_ = false;
};

// For what follows the markup that opens one call of the family. Functions of `tools` outlive it.
std::unique_ptr<CallReader> MakeCallReader(Family family, const Tools& tools);
// Mistral's second way: name[ARGS]{…}, or name[CALL_ID]id[ARGS]{…}.
std::unique_ptr<CallReader> MakeNamedCallReader(const Tools& tools);

}  // namespace aster::chat
