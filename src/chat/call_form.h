// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The markup around the calls of a reply, cut out of what a chat template makes of calls whose
// names and arguments are known: the same markup with other names and arguments is what the model
// has been taught. Must not know families, nor tokens.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace aster::chat {

// They stand for themselves in no markup.
inline constexpr char kNumberHere = '\x01';  // the number of the call
inline constexpr char kIdHere = '\x02';      // its id: nine letters or digits

struct CallForm {
  std::string open;    // from what opens the calls to the first name
  std::string middle;  // from a name to the arguments
  std::string close;   // from the arguments to the end of the turn
  std::string next;    // from the arguments to the next name; empty where a reply has one call

  // Whether each argument has a tag of its own; otherwise they are one JSON object.
  bool has_tags = false;
  std::string key_open = {};    // before an argument's name
  std::string value_open = {};  // from there to a text
  std::string json_open = {};   // or to any other value
  std::string value_close = {};
  // Or they are one object that is not written in JSON: what stands around texts then. Names of
  // members stand without it.
  std::string quote = {};
};

struct CallProbe {
  // What the template makes of a conversation that ends with this message; nothing where it cannot.
  std::function<std::optional<std::string>(const nlohmann::ordered_json& message)> render;
  std::string_view mark;  // what opens the calls
  std::string_view eos;   // what may end a turn
  bool has_tags = false;
  bool takes_text = false;  // arguments may be given as a text
};
// Nothing where the template does not write calls in any way that is known.
std::optional<CallForm> FindCallForm(const CallProbe& probe);

}  // namespace aster::chat
