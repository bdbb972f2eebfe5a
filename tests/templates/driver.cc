// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Renders many templates in one run, for differential.py. Each line of the input is a JSON object
// with "template", "variables" (an object) and perhaps "now" (seconds since 1970) and
// "allow_mutation"; each line of the output is one with "text" or "error".
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "jinja/template.h"

namespace {

using aster::jinja::ChatTemplate;
using Json = nlohmann::ordered_json;

// Keeps the last template parsed, because the next request often has the same one.
class Templates {
 public:
  aster::Result<const ChatTemplate*> Parse(const std::string& source) {
    if (last_ && last_source_ == source) return &*last_;
    last_.reset();
    last_ = TRY(ChatTemplate::Parse(source));
    last_source_ = source;
    return &*last_;
  }

 private:
  std::string last_source_;
  std::optional<ChatTemplate> last_;
};

aster::Result<std::string> Render(Templates& templates, const Json& request) {
  aster::jinja::RenderOptions options;
  if (request.contains("now")) options.now_unix_s = request["now"].get<int64_t>();
  options.allow_mutation = request.value("allow_mutation", true);
  const auto& source = request.at("template").get_ref<const std::string&>();
  const ChatTemplate& parsed = *TRY(templates.Parse(source));
  if (request.contains("variables_text")) {
    return parsed.RenderJson(request["variables_text"].get_ref<const std::string&>(), options);
  }
  return parsed.Render(request.at("variables"), options);
}

bool ReadLine(std::string& line) {
  line.clear();
  for (int c = std::getc(stdin); c != EOF; c = std::getc(stdin)) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
  }
  return !line.empty();
}

}  // namespace

int main() {
  Templates templates;
  std::string line;
  while (ReadLine(line)) {
    const aster::Result<std::string> text = Render(templates, Json::parse(line));
    Json reply;
    if (text.ok()) {
      reply["text"] = *text;
    } else {
      reply["error"] = text.error().message();
    }
    // A broken character must be reported as a difference, not end the program.
    const std::string shown =
        reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    std::fflush(stdout);
  }
  return 0;
}
