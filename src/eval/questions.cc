// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/utf8.h"

namespace aster::eval {
namespace {

using nlohmann::ordered_json;

// Tools describe their parameters in a few levels.
constexpr size_t kMaxDepth = 64;

// Checks the text, so that no deep value is ever built.
bool IsTooDeep(std::string_view json) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Result<std::string> TextOf(const ordered_json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_string()) {
    return InvalidArgument(fmt::format("\"{}\" is missing or no text", key));
  }
  return member->get<std::string>();
}

Status CheckMessages(const ordered_json& object) {
  const auto messages = object.find("messages");
  if (messages == object.end() || !messages->is_array() || messages->empty()) {
    return InvalidArgument("\"messages\" is missing or no list of messages");
  }
  for (const ordered_json& message : *messages) {
    if (!message.is_object()) return InvalidArgument("a message is no object");
    TRY(TextOf(message, "role").In("in a message"));
    const auto content = message.find("content");
    if (content == message.end() || (!content->is_string() && !content->is_null())) {
      return InvalidArgument("in a message: \"content\" is missing or no text");
    }
  }
  return Ok();
}

Result<Question> ParseQuestion(std::string_view line) {
  if (IsTooDeep(line)) return InvalidArgument("nested too deep for a question");
  ordered_json object = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return InvalidArgument("is no JSON object");
  TRY(CheckMessages(object));
  Question question;
  question.id = TRY(TextOf(object, "id"));
  question.category = TRY(TextOf(object, "category"));
  question.answer = TRY(TextOf(object, "answer"));
  question.extract = TRY(ParseExtract(TRY(TextOf(object, "extract"))));
  if (question.id.empty()) return InvalidArgument("\"id\" is empty");
  if (question.category.empty()) return InvalidArgument("\"category\" is empty");
  question.messages = std::move(object["messages"]);
  if (const auto tools = object.find("tools"); tools != object.end() && !tools->is_null()) {
    if (!tools->is_array()) return InvalidArgument("\"tools\" is no list");
    question.tools = std::move(*tools);
  }
  return question;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// The form in which categories are compared with typed names.
std::string TypedName(std::string_view name) {
  std::string typed(name);
  for (char& c : typed) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == '_') c = ' ';
  }
  return typed;
}

Status CheckCategories(const QuestionSet& set, const Selection& selection) {
  for (const std::string& wanted : selection.categories) {
    const bool known = std::ranges::any_of(set.categories, [&](const std::string& category) {
      return TypedName(category) == TypedName(wanted);
    });
    if (known) continue;
    return InvalidArgument(
        fmt::format("there is no category \"{}\"; there are {}", ForDisplay(wanted),
                    ForDisplay(fmt::format("{}", fmt::join(set.categories, ", ")))));
  }
  return Ok();
}

bool IsWanted(const Selection& selection, const std::string& category) {
  if (selection.categories.empty()) return true;
  return std::ranges::any_of(selection.categories, [&](const std::string& wanted) {
    return TypedName(wanted) == TypedName(category);
  });
}

// How many each category gives, taking turns, so that together they give `limit`.
std::vector<size_t> FairShares(const std::vector<size_t>& sizes, uint64_t limit) {
  std::vector<size_t> shares(sizes.size(), 0);
  for (bool any = true; any && limit > 0;) {
    any = false;
    for (size_t i = 0; i < sizes.size() && limit > 0; ++i) {
      if (shares[i] == sizes[i]) continue;
      ++shares[i];
      --limit;
      any = true;
    }
  }
  return shares;
}

}  // namespace

Result<QuestionSet> ParseQuestions(std::string_view text) {
  QuestionSet set;
  set.hash = Hash128Of(AsBytes(text));
  std::unordered_set<std::string> ids;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (IsBlank(line)) continue;
    Question question = TRY(ParseQuestion(line).In(fmt::format("line {}", number)));
    if (!ids.insert(question.id).second) {
      return InvalidArgument(fmt::format("line {}: a second question with the id \"{}\"", number,
                                         ForDisplay(question.id)));
    }
    if (std::ranges::find(set.categories, question.category) == set.categories.end()) {
      set.categories.push_back(question.category);
    }
    set.questions.push_back(std::move(question));
  }
  if (set.questions.empty()) return InvalidArgument("there are no questions");
  return set;
}

Result<std::vector<size_t>> Select(const QuestionSet& set, const Selection& selection) {
  TRY(CheckCategories(set, selection));
  std::vector<size_t> chosen;
  std::map<std::string, std::vector<size_t>> by_category;
  for (size_t i = 0; i < set.questions.size(); ++i) {
    const std::string& category = set.questions[i].category;
    if (IsWanted(selection, category)) by_category[category].push_back(i);
  }
  std::vector<std::vector<size_t>> groups;  // in the file's order
  std::vector<size_t> sizes;
  for (const std::string& category : set.categories) {
    if (!by_category.contains(category)) continue;
    groups.push_back(std::move(by_category[category]));
    sizes.push_back(groups.back().size());
  }
  const std::vector<size_t> shares =
      selection.limit == 0 ? sizes : FairShares(sizes, selection.limit);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t i = 0; i < shares[g]; ++i) chosen.push_back(groups[g][i * sizes[g] / shares[g]]);
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace aster::eval
