// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jinja/text.h"

namespace aster::jinja {
namespace {

// Text, and the field after it.
struct Part {
  std::string text;
  std::optional<std::string_view> field;  // the text between its braces
};

// Removes the first part of `rest`.
Result<Part> TakePart(std::string_view& rest) {
  Part part;
  while (!rest.empty()) {
    const size_t brace = std::min(rest.find_first_of("{}"), rest.size());
    part.text += rest.substr(0, brace);
    rest.remove_prefix(brace);
    const bool is_doubled = rest.size() > 1 && rest[1] == rest[0];
    if (rest.empty()) break;
    if (!is_doubled) {
      const size_t end = rest.find('}');
      if (rest[0] == '}' || end == std::string_view::npos) {
        return TemplateError("a format string with a single brace; write it twice");
      }
      part.field = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
      break;
    }
    part.text += rest[0];
    rest.remove_prefix(2);
  }
  if (part.field && part.field->find_first_of("{!:.[") != std::string_view::npos) {
    return Unimplemented(fmt::format(
        "the format '{{{}}}' is not supported; use {{}}, {{0}} or {{name}}", *part.field));
  }
  return part;
}

// Finds the values of fields.
class Fields {
 public:
  explicit Fields(const Arguments& arguments) : arguments_(arguments) {}

  Result<Value> Find(std::string_view field) {
    size_t index = next_;
    if (field.empty()) {
      ++next_;
    } else {
      const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), index);
      if (error != std::errc() || stop != field.data() + field.size()) return Named(field);
    }
    // Python refuses {} together with {0}.
    if (is_numbered_ && *is_numbered_ == field.empty()) {
      return TemplateError("cannot switch between manual and automatic field numbering");
    }
    is_numbered_ = !field.empty();
    if (index < arguments_.positional.size()) return arguments_.positional[index];
    return TemplateError(fmt::format("no argument {} for the format string", index));
  }

 private:
  Result<Value> Named(std::string_view name) const {
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) return value;
    }
    return TemplateError(fmt::format("no argument '{}' for the format string", name));
  }

  const Arguments& arguments_;
  size_t next_ = 0;
  std::optional<bool> is_numbered_;  // set by the first field without a name
};

}  // namespace

Status CheckFormat(std::string_view format) {
  while (!format.empty()) TRY(TakePart(format));
  return Ok();
}

Result<std::string> Format(Runtime& runtime, std::string_view format, const Arguments& arguments) {
  Fields fields(arguments);
  TextBuilder builder(runtime);
  while (!format.empty() && !builder.overflowed()) {
    const Part part = TRY(TakePart(format));
    builder.Append(part.text);
    if (part.field) TRY(AppendStr(runtime, builder, TRY(fields.Find(*part.field))));
    TRY(runtime.Charge());
  }
  return builder.Take();
}

}  // namespace aster::jinja
