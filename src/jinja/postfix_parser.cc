// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The part of the expression parser for everything after a value: members, subscripts, calls,
// filters and tests.
#include <fmt/format.h>

#include <charconv>

#include "jinja/expression_parser.h"
#include "jinja/filters.h"
#include "jinja/format.h"
#include "jinja/strftime.h"
#include "jinja/unsupported.h"

namespace aster::jinja {
namespace {

constexpr size_t kMostNamedArguments = 255;

bool IsName(const Node& node, std::string_view name) {
  return node.kind == NodeKind::kName && static_cast<const Name&>(node).name == name;
}

// The text of a string literal, or nullptr.
const std::string* TextOf(const Node& node) {
  if (node.kind != NodeKind::kLiteral) return nullptr;
  return std::get_if<std::string>(&static_cast<const Literal&>(node).value);
}

// map('name') and select('name') name a filter and a test.
Status CheckNamedBuiltin(const Application& filter) {
  const bool by_attribute = filter.name == "selectattr" || filter.name == "rejectattr";
  const bool takes_test = by_attribute || filter.name == "select" || filter.name == "reject";
  if (!takes_test && filter.name != "map") return Ok();
  const Body& given = filter.arguments.positional;
  const size_t index = by_attribute ? 1 : 0;
  const std::string* name = index < given.size() ? TextOf(*given[index]) : nullptr;
  if (name == nullptr || (takes_test ? FindTest(*name) : FindFilter(*name)) != nullptr) return Ok();
  return NotSupportedAt(filter.line, takes_test ? "test" : "filter", *name);
}

// Refuses calls that are known to fail before the template runs.
Status CheckCall(const CallNode& call) {
  const Node& callee = *call.callee;
  if (IsName(callee, "loop")) return NotSupportedAt(call.line, "a recursive loop is");
  if (callee.kind == NodeKind::kName) {
    const std::string& name = static_cast<const Name&>(callee).name;
    if (IsUnsupportedFunction(name)) return NotSupportedAt(call.line, "function", name);
    const std::string* text = name == "strftime_now" && call.arguments.positional.size() == 1
                                  ? TextOf(*call.arguments.positional[0])
                                  : nullptr;
    return text == nullptr ? Ok() : CheckTimeFormat(*text).In(fmt::format("line {}", call.line));
  }
  if (callee.kind != NodeKind::kAttribute) return Ok();
  const auto& method = static_cast<const Attribute&>(callee);
  if (IsUnsupportedMethod(method.name)) return NotSupportedAt(call.line, "method", method.name);
  const std::string* text = method.name == "format" ? TextOf(*method.object) : nullptr;
  return text == nullptr ? Ok() : CheckFormat(*text).In(fmt::format("line {}", call.line));
}

}  // namespace

Result<NodePtr> ExpressionParser::ParsePostfix(NodePtr node) {
  for (;;) {
    if (tokens_.IsOperator(".")) {
      node = TRY(ParseMember(std::move(node)));
    } else if (tokens_.IsOperator("[")) {
      node = TRY(ParseSubscript(std::move(node)));
    } else if (tokens_.IsOperator("(")) {
      node = TRY(ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<NodePtr> ExpressionParser::ParseFiltersAndTests(NodePtr node) {
  for (;;) {
    if (tokens_.IsOperator("|")) {
      node = TRY(ParseFilters(std::move(node), false));
    } else if (tokens_.IsName("is")) {
      node = TRY(ParseTest(std::move(node)));
    } else if (tokens_.IsOperator("(")) {
      node = TRY(ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<NodePtr> ExpressionParser::ParseMember(NodePtr object) {
  const int line = tokens_.line();
  TRY(tokens_.ExpectOperator("."));
  const Token member = tokens_.current();
  tokens_.Skip();
  if (member.Is(TokenKind::kName)) {
    if (IsName(*object, "loop") && IsUnsupportedOfLoop(member.text)) {
      return NotSupportedAt(line, "attribute", "loop." + member.text);
    }
    return Finish(std::make_unique<Attribute>(std::move(object), member.text, line));
  }
  int64_t index = 0;
  const auto [stop, error] =
      std::from_chars(member.text.data(), member.text.data() + member.text.size(), index);
  if (!member.Is(TokenKind::kInteger) || error != std::errc()) {
    return ErrorAt(member.line, "expected name or number");
  }
  return Finish(std::make_unique<Item>(std::move(object), NewLiteral(member.line, index), line));
}

// [key], [key, key] or [start:stop:step]
Result<NodePtr> ExpressionParser::ParseSubscript(NodePtr object) {
  const int line = tokens_.line();
  TRY(tokens_.ExpectOperator("["));
  auto keys = std::make_unique<Sequence>(NodeKind::kTuple, line);
  auto slice = std::make_unique<Slice>(line);
  bool is_slice = false;
  auto at_bound = [&] { return !tokens_.IsOperator("]") && !tokens_.IsOperator(","); };
  while (!tokens_.IsOperator("]")) {
    if (!keys->items.empty()) TRY(tokens_.ExpectOperator(","));
    if (!tokens_.IsOperator(":")) keys->items.push_back(TRY(ParseExpression()));
    if (!tokens_.SkipOperator(":")) continue;
    is_slice = true;
    if (keys->items.size() > 1) return tokens_.Fail("a slice cannot be part of a tuple");
    if (!keys->items.empty()) slice->start = std::move(keys->items[0]);
    if (at_bound() && !tokens_.IsOperator(":")) slice->stop = TRY(ParseExpression());
    if (tokens_.SkipOperator(":") && at_bound()) slice->step = TRY(ParseExpression());
    break;
  }
  TRY(tokens_.ExpectOperator("]"));
  if (is_slice) {
    slice->object = std::move(object);
    return Finish(std::move(slice));
  }
  NodePtr key = keys->items.size() == 1 ? std::move(keys->items[0]) : TRY(Finish(std::move(keys)));
  return Finish(std::make_unique<Item>(std::move(object), std::move(key), line));
}

Result<NodePtr> ExpressionParser::ParseCall(NodePtr callee) {
  auto call = std::make_unique<CallNode>(tokens_.line());
  call->callee = std::move(callee);
  call->arguments = TRY(ParseArguments());
  TRY(CheckCall(*call));
  return Finish(std::move(call));
}

Result<CallArguments> ExpressionParser::ParseArguments() {
  const int line = tokens_.line();
  TRY(tokens_.ExpectOperator("("));
  CallArguments arguments;
  bool is_first = true;
  while (!tokens_.IsOperator(")")) {
    if (!is_first) TRY(tokens_.ExpectOperator(","));
    if (tokens_.IsOperator(")")) break;
    is_first = false;
    TRY(ParseArgument(arguments, line));
  }
  TRY(tokens_.ExpectOperator(")"));
  return arguments;
}

Status ExpressionParser::ParseArgument(CallArguments& arguments, int line) {
  if (tokens_.IsOperator("*") || tokens_.IsOperator("**")) {
    return NotSupportedAt(tokens_.line(), "an argument with * or ** is");
  }
  if (tokens_.Is(TokenKind::kName) && tokens_.next().IsOperator("=")) {
    const std::string name = tokens_.current().text;
    tokens_.Skip(2);
    if (arguments.named.size() == kMostNamedArguments) {
      return ErrorAt(line, "too many keyword arguments");
    }
    for (const auto& [other, value] : arguments.named) {
      if (other == name) return ErrorAt(line, fmt::format("keyword argument repeated: {}", name));
    }
    arguments.named.emplace_back(name, TRY(ParseExpression()));
  } else {
    if (!arguments.named.empty()) {
      return ErrorAt(line, "invalid syntax for function call expression");
    }
    arguments.positional.push_back(TRY(ParseExpression()));
  }
  return Ok();
}

Result<std::string> ExpressionParser::ParseDottedName() {
  std::string name = TRY(tokens_.Expect(TokenKind::kName)).text;
  while (tokens_.SkipOperator(".")) name += "." + TRY(tokens_.Expect(TokenKind::kName)).text;
  return name;
}

Result<NodePtr> ExpressionParser::ParseFilters(NodePtr input, bool is_inline) {
  NodePtr node = std::move(input);
  while (is_inline || tokens_.IsOperator("|")) {
    if (!is_inline) tokens_.Skip();
    is_inline = false;
    const int line = tokens_.line();
    auto filter = std::make_unique<Application>(NodeKind::kFilter, TRY(ParseDottedName()), line);
    filter->input = std::move(node);
    filter->builtin = FindFilter(filter->name);
    if (filter->builtin == nullptr) return NotSupportedAt(line, "filter", filter->name);
    if (tokens_.IsOperator("(")) filter->arguments = TRY(ParseArguments());
    TRY(CheckNamedBuiltin(*filter));
    node = TRY(Finish(std::move(filter)));
  }
  return node;
}

Result<NodePtr> ExpressionParser::ParseTest(NodePtr input) {
  const int line = tokens_.line();
  tokens_.Skip();
  const bool is_negated = tokens_.SkipName("not");
  auto test = std::make_unique<Application>(NodeKind::kTest, TRY(ParseDottedName()), line);
  test->input = std::move(input);
  test->builtin = FindTest(test->name);
  if (test->builtin == nullptr) return NotSupportedAt(line, "test", test->name);
  const bool has_argument = tokens_.Is(TokenKind::kName) || tokens_.Is(TokenKind::kString) ||
                            tokens_.Is(TokenKind::kInteger) || tokens_.Is(TokenKind::kFloat) ||
                            tokens_.IsOperator("[") || tokens_.IsOperator("{");
  const bool ends = tokens_.IsName("else") || tokens_.IsName("or") || tokens_.IsName("and");
  if (tokens_.IsOperator("(")) {
    test->arguments = TRY(ParseArguments());
  } else if (has_argument && !ends) {
    if (tokens_.IsName("is")) return tokens_.Fail("You cannot chain multiple tests with is");
    NodePtr argument = TRY(ParsePostfix(TRY(ParsePrimary())));
    test->arguments.positional.push_back(std::move(argument));
  }
  NodePtr node = TRY(Finish(std::move(test)));
  if (!is_negated) return node;
  return Finish(std::make_unique<Unary>(Unary::Op::kNot, std::move(node), line));
}

}  // namespace aster::jinja
