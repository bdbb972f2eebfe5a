// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Builtins by name. Must not know any of them.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>

#include "jinja/builtin.h"

namespace aster::jinja {

// Constant after construction, so any number of threads may search it.
class Registry {
 public:
  Registry(std::initializer_list<std::span<const Builtin>> tables) {
    for (const std::span<const Builtin> table : tables) {
      for (const Builtin& builtin : table) by_name_.emplace(builtin.name, &builtin);
    }
  }

  const Builtin* Find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }

 private:
  std::unordered_map<std::string_view, const Builtin*> by_name_;
};

}  // namespace aster::jinja
