// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Chat templates: the Jinja templates in model files, rendered as by the Python original, byte for
// byte. docs/templates.md says what is supported. Must not know where templates come from, nor how
// the prompt is used.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/options.h"

namespace aster::jinja {

// A parsed template. Constant, so any number of threads may render it at once; cheap to copy.
class ChatTemplate {
 public:
  // The error names the line: "line 12: …".
  static Result<ChatTemplate> Parse(std::string_view source);

  // `variables` is an object with the template's variables: messages, tools, add_generation_prompt,
  // bos_token, eos_token and anything else. Errors name the line; that of raise_exception() ends
  // with the template's own message and has the code kFailedPrecondition.
  Result<std::string> Render(const nlohmann::ordered_json& variables,
                             const RenderOptions& options = {}) const;

  // The same, from the object's text. Integers keep all digits.
  Result<std::string> RenderJson(std::string_view variables,
                                 const RenderOptions& options = {}) const;

  ChatTemplate(const ChatTemplate&);
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(const ChatTemplate&);
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

}  // namespace aster::jinja
