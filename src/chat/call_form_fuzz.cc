// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Templates come with models: any output must be parsed safely, and a found form must be usable.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "chat/call_form.h"

namespace {

using nlohmann::ordered_json;

// Some bytes represent what a template would write there.
std::string Rendered(const std::string& source, const ordered_json& message) {
  const ordered_json calls = message.value("tool_calls", ordered_json::array());
  std::string text;
  for (const char c : source) {
    const auto byte = static_cast<uint8_t>(c);
    const size_t index = byte % 2;
    if (byte < 0xF0) {
      text += c;
    } else if (byte < 0xF2) {
      text += message["content"].get<std::string>();
    } else if (index < calls.size()) {
      const ordered_json& function = calls[index]["function"];
      const ordered_json& arguments = function["arguments"];
      if (byte < 0xF4) {
        text += function["name"].get<std::string>();
      } else if (byte < 0xF8) {
        text += arguments.dump();
      } else if (byte < 0xFA) {
        text += calls[index]["id"].get<std::string>();
      } else if (arguments.is_object()) {
        for (const auto& [key, value] : arguments.items())
          text +=
              "\n<a>" + key + "|" + (value.is_string() ? value.get<std::string>() : "7") + "</a>";
      }
    }
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string source(data + 1, data + size);
  const auto form = aster::chat::FindCallForm(
      {.render = [&](const ordered_json& message) { return Rendered(source, message); },
       .mark = (data[0] & 4) != 0 ? "<c>" : "<",
       .eos = "<eos>",
       .has_tags = (data[0] & 1) != 0,
       .takes_text = (data[0] & 2) != 0});
  if (!form) return 0;
  CHECK(form->open.starts_with('<'));
  // The probe's ids are not a model's.
  for (const std::string* piece : {&form->open, &form->middle, &form->close, &form->next}) {
    CHECK(piece->find("zqidzqid0") == std::string::npos);
    CHECK(piece->find("zqidzqid1") == std::string::npos);
  }
  if (form->has_tags) CHECK(form->value_close.find('<') != std::string::npos);
  return 0;
}
