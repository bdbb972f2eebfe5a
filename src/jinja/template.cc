// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/template.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "jinja/binder.h"
#include "jinja/evaluator.h"
#include "jinja/json.h"
#include "jinja/parser.h"

namespace aster::jinja {
namespace {

// Far above any real template (the largest known have some 20 KB), and still fast to parse.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;

Result<std::string> RenderValue(const Template& bound, Runtime& runtime, const Value& variables) {
  if (!variables.Is(Kind::kDict)) {
    return InvalidArgument("the template's variables must be a JSON object");
  }
  Evaluator evaluator(bound, runtime, variables.ref<Dict>());
  Result<std::string> text = evaluator.Run();
  if (text.ok()) return text;
  return Error(text.error().code(),
               fmt::format("line {}: {}", evaluator.failed_line(), text.error().message()));
}

}  // namespace

struct ChatTemplate::State {
  Template bound;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
ChatTemplate::ChatTemplate(const ChatTemplate&) = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(const ChatTemplate&) = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return InvalidArgument(fmt::format("the template is larger than {} KiB; is it a template?",
                                       kMaxSourceBytes >> 10));
  }
  if (!IsValidUtf8(source)) return InvalidArgument("the template is not valid UTF-8");
  auto state = std::make_shared<State>();
  state->bound = TRY(ParseTemplate(source));
  TRY(Bind(state->bound));
  return ChatTemplate(std::move(state));
}

Result<std::string> ChatTemplate::Render(const nlohmann::ordered_json& variables,
                                         const RenderOptions& options) const {
  Runtime runtime(options);
  return RenderValue(state_->bound, runtime, TRY(FromJson(runtime, variables)));
}

Result<std::string> ChatTemplate::RenderJson(std::string_view variables,
                                             const RenderOptions& options) const {
  Runtime runtime(options);
  const Value value = TRY(ParseJson(runtime, variables).In("the variables"));
  return RenderValue(state_->bound, runtime, value);
}

}  // namespace aster::jinja
