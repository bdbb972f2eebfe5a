// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/methods.h"

#include <algorithm>
#include <iterator>

#include "jinja/registry.h"

namespace aster::jinja {

const Builtin* FindMethod(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kString: {
      static const Registry registry({StringMethods()});
      return registry.Find(name);
    }
    case Kind::kList: {
      static const Registry registry({ListMethods()});
      return registry.Find(name);
    }
    case Kind::kDict: {
      static const Registry registry({DictMethods()});
      return registry.Find(name);
    }
    default:
      return nullptr;
  }
}

bool IsRefusedMutation(Kind kind, std::string_view name) {
  constexpr std::string_view kOfLists[] = {"append", "extend", "insert", "reverse"};
  constexpr std::string_view kOfDicts[] = {"pop", "setdefault", "update"};
  if (kind == Kind::kList) return std::ranges::find(kOfLists, name) != std::end(kOfLists);
  if (kind == Kind::kDict) return std::ranges::find(kOfDicts, name) != std::end(kOfDicts);
  return false;
}

}  // namespace aster::jinja
