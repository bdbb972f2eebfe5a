// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds the markup of calls from a chat template's output for calls with known names and arguments:
// the model has been trained to write the same markup with other names and arguments. Must not know
// families, nor tokens.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace aster::chat {

// Characters that no markup has; they represent:
inline constexpr char kNumberHere = '\x01';  // the number of the call
inline constexpr char kIdHere = '\x02';      // its id: nine letters or digits

struct CallForm {
  std::string open;    // from the opening of the calls to the first name
  std::string middle;  // from a name to the arguments
  std::string close;   // from the arguments to the end of the turn
  std::string next;    // from the arguments to the next name; empty if a reply has one call

  // Whether each argument has a tag of its own; otherwise they are one JSON object.
  bool has_tags = false;
  std::string key_open = {};    // before an argument's name
  std::string value_open = {};  // from there to a text
  std::string json_open = {};   // or to any other value
  std::string value_close = {};
  // Or they are one object in another notation: its quotes of texts. Names of members have none.
  std::string quote = {};
};

struct CallProbe {
  // The template's output for a conversation that ends with this message; nothing on errors.
  std::function<std::optional<std::string>(const nlohmann::ordered_json& message)> render;
  std::string_view mark;  // the opening of the calls
  std::string_view eos;   // a possible end of a turn
  bool has_tags = false;
  bool takes_text = false;  // arguments may be given as a text
};
// Nothing if the template does not write calls in a known form.
std::optional<CallForm> FindCallForm(const CallProbe& probe);

}  // namespace aster::chat
