// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads one tool call byte by byte, in its family's form. Arguments are passed on as they come,
// byte for byte, if the markup has them as JSON, with any control characters in strings. Must not
// know the text around a call (reply_parser.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "chat/dialect.h"

namespace aster::chat {

// The request's tools; null functions know nothing.
struct Tools {
  // Whether there is a tool with this name; a call of another name is text.
  std::function<bool(std::string_view name)> has_tool;
  // Whether the value of a parameter is a string without quotes, for markup that does not
  // distinguish strings from other values: `value` is also valid JSON.
  std::function<bool(std::string_view name, std::string_view parameter, std::string_view value)>
      is_string;
};

// Called in this order: one beginning, any number of pieces of arguments, one end.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // `id` is the model's own, or empty.
  virtual void BeginCall(std::string_view name, std::string_view id) = 0;
  virtual void Arguments(std::string_view piece) = 0;
  virtual void EndCall() = 0;
};

class CallReader {
 public:
  enum class Verdict : uint8_t {
    kMore,
    kDone,  // the byte is the call's last
    kBad,   // the byte cannot belong to a call
  };
  virtual ~CallReader() = default;

  // After anything except kMore, Feed must not be called again.
  virtual Verdict Feed(char c, CallSink& sink) = 0;
  bool has_begun() const { return has_begun_; }

 protected:
  bool has_begun_ = false;
};

// Reads the text after the markup that opens a call of the family. Functions of `tools` outlive it.
std::unique_ptr<CallReader> MakeCallReader(Family family, const Tools& tools);
// Mistral's other form: name[ARGS]{…}, or name[CALL_ID]id[ARGS]{…}.
std::unique_ptr<CallReader> MakeNamedCallReader(const Tools& tools);

}  // namespace aster::chat
