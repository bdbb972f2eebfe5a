// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/filters.h"

#include "jinja/registry.h"
#include "jinja/text.h"

namespace aster::jinja {

const Builtin* FindFilter(std::string_view name) {
  static const Registry registry({TextFilters(), NumberFilters(), SequenceFilters(), OrderFilters(),
                                  LazyFilters(), JsonFilters()});
  return registry.Find(name);
}

const Builtin* FindTest(std::string_view name) {
  static const Registry registry({Tests()});
  return registry.Find(name);
}

Result<Ref<String>> SoftString(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value.ref<String>();
  return runtime.NewString(TRY(StrOf(runtime, value)));
}

}  // namespace aster::jinja
