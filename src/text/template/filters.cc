// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "text/template/filters.h"

#include "text/template/registry.h"
#include "text/template/text.h"

namespace aster::text::jinja {

const Builtin* FindFilter(std::string_view name) {
  static const Registry registry({TextFilters(), LayoutFilters(), NumberFilters(),
                                  SequenceFilters(), OrderFilters(), LazyFilters(), JsonFilters()});
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

}  // namespace aster::text::jinja
