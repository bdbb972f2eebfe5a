// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A conversation whose calls carry their arguments as text, made into a prompt in which they stand
// byte for byte as the model wrote them: only so is its memory of them found again. Must not know
// how a template is rendered.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::chat {

// Words that stand for arguments while a template is rendered.
class ArgumentTexts {
 public:
  // Messages as chat templates take them. Arguments that are no text stay as they are.
  explicit ArgumentTexts(const nlohmann::ordered_json& messages);
  ~ArgumentTexts();

  // With words in the place of argument texts.
  const nlohmann::ordered_json& messages() const { return *messages_; }
  bool empty() const { return texts_.empty(); }

  // Whether each word stands in the prompt once: then the template has not looked into them.
  bool AllStandIn(std::string_view prompt) const;
  // The prompt with what they stand for, as `mark` changes it; quotes around a word go.
  std::string Restore(std::string_view prompt,
                      const std::function<std::string(std::string_view)>& mark) const;

 private:
  // One of the words in a prompt.
  struct Place {
    size_t index = 0;  // of the text
    size_t at = 0;
    size_t size = 0;
  };
  std::vector<Place> FindWords(std::string_view prompt) const;

  std::unique_ptr<nlohmann::ordered_json> messages_;
  std::string word_;  // another one each time; each text has it with a number behind
  std::vector<std::string> texts_;
};

// The messages with arguments that are texts made into objects. An error names those that are not
// JSON objects.
Result<nlohmann::ordered_json> WithArgumentObjects(const nlohmann::ordered_json& messages);

}  // namespace aster::chat
