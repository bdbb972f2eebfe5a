// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/globals.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "jinja/methods.h"
#include "jinja/registry.h"
#include "jinja/strftime.h"
#include "jinja/text.h"

namespace aster::jinja {
namespace {

Result<Value> MakeRange(const Call& call) {
  // The same limit as in the original's sandbox.
  constexpr uint64_t kMostItems = 100000;
  const int64_t first = TRY(WantInt(call[0]));
  const int64_t start = call[1].is_missing() ? 0 : first;
  const int64_t stop = call[1].is_missing() ? first : TRY(WantInt(call[1]));
  const int64_t step = call[2].is_missing() ? 1 : TRY(WantInt(call[2]));
  if (step == 0) return TemplateError("range() arg 3 must not be zero");
  const Ref<Range> range = call.runtime.heap().New<Range>(start, stop, step);
  if (range->size() > kMostItems) {
    return TemplateError(fmt::format("Range too big: at most {} items", kMostItems));
  }
  return Value(range);
}

Result<Value> MakeDict(const Call& call) {
  const Ref<Dict> dict = call.runtime.NewDict();
  TRY(UpdateDict(call.runtime, *dict, call.given));
  return Value(dict);
}

Result<Value> MakeNamespace(const Call& call) {
  const Ref<Dict> attributes = call.runtime.NewDict();
  TRY(UpdateDict(call.runtime, *attributes, call.given));
  return Value(call.runtime.heap().New<Namespace>(attributes));
}

Result<Value> RaiseException(const Call& call) {
  return FailedPrecondition(TRY(StrOf(call.runtime, call[0])));
}

Result<Value> StrftimeNow(const Call& call) {
  const std::string_view format = TRY(WantString(call[0], "the format of the time"));
  TRY(call.runtime.CheckBytes(format.size() * 16));
  const int64_t now_s =
      call.runtime.options().now_unix_s.value_or(SystemClock().WallNs() / kNsPerSecond);
  return Value(call.runtime.NewString(TRY(FormatTime(format, now_s))));
}

constexpr Builtin kGlobals[] = {
    {"dict", "...", MakeDict},
    {"namespace", "...", MakeNamespace},
    {"raise_exception", "message", RaiseException},
    {"range", "/start stop? step?", MakeRange},
    {"strftime_now", "format", StrftimeNow},
};

}  // namespace

const Builtin* FindGlobal(std::string_view name) {
  static const Registry registry({kGlobals});
  return registry.Find(name);
}

}  // namespace aster::jinja
