// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Makes a prompt of a conversation whose calls have their arguments as text, in which these are
// byte for byte as the model wrote them: otherwise their KV cache would not be found. Must not know
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

// Placeholders for arguments while a template is rendered.
class ArgumentTexts {
 public:
  // Messages as for chat templates. Arguments that are not text are unchanged.
  explicit ArgumentTexts(const nlohmann::ordered_json& messages);
  ~ArgumentTexts();

  // With placeholders in place of argument texts.
  const nlohmann::ordered_json& messages() const { return *messages_; }
  bool empty() const { return texts_.empty(); }

  // Whether each placeholder is in the prompt once: then the template has not read it.
  bool AllStandIn(std::string_view prompt) const;
  // The prompt with the original texts, changed by `mark`; quotes around a placeholder are removed.
  std::string Restore(std::string_view prompt,
                      const std::function<std::string(std::string_view)>& mark) const;

 private:
  // A placeholder in a prompt.
  struct Place {
    size_t index = 0;  // of the text
    size_t at = 0;
    size_t size = 0;
  };
  std::vector<Place> FindWords(std::string_view prompt) const;

  std::unique_ptr<nlohmann::ordered_json> messages_;
  std::string word_;  // different each time; placeholders have a number after it
  std::vector<std::string> texts_;
};

// The messages with arguments parsed to objects if they are texts. The error names texts that are
// not JSON objects.
Result<nlohmann::ordered_json> WithArgumentObjects(const nlohmann::ordered_json& messages);

}  // namespace aster::chat
