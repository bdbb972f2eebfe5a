// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jinja/filters.h"
#include "jinja/number_text.h"
#include "jinja/unsupported.h"

namespace aster::jinja {
namespace {

// The original's limit is about 75 nested brackets.
constexpr int kMostNesting = 120;
// The original's limit is about 200 levels of nodes, where a + b + c has one level more than a + b.
constexpr int kMostHeight = 400;

std::optional<Comparison::Op> ComparisonOf(const Token& token) {
  if (!token.Is(TokenKind::kOperator)) return std::nullopt;
  using Op = Comparison::Op;
  constexpr std::pair<std::string_view, Op> kOps[] = {
      {"==", Op::kEqual},       {"!=", Op::kNotEqual}, {"<", Op::kLess},
      {"<=", Op::kLessOrEqual}, {">", Op::kGreater},   {">=", Op::kGreaterOrEqual}};
  for (const auto& [sign, op] : kOps) {
    if (token.text == sign) return op;
  }
  return std::nullopt;
}

std::optional<Operator> SumOf(const Token& token) {
  if (token.IsOperator("+")) return Operator::kAdd;
  if (token.IsOperator("-")) return Operator::kSubtract;
  return std::nullopt;
}

std::optional<Operator> ProductOf(const Token& token) {
  if (token.IsOperator("*")) return Operator::kMultiply;
  if (token.IsOperator("/")) return Operator::kDivide;
  if (token.IsOperator("//")) return Operator::kFloorDivide;
  if (token.IsOperator("%")) return Operator::kRemainder;
  return std::nullopt;
}

bool IsText(const Node& node) {
  return node.kind == NodeKind::kLiteral &&
         std::holds_alternative<std::string>(static_cast<const Literal&>(node).value);
}

// Makes a parsed expression the target of an assignment, if possible.
Status MakeTarget(Node& node) {
  if (node.kind == NodeKind::kName) {
    static_cast<Name&>(node).use = Name::Use::kStore;
    return Ok();
  }
  if (node.kind != NodeKind::kTuple) return ErrorAt(node.line, "can't assign to that expression");
  for (const NodePtr& item : static_cast<Sequence&>(node).items) TRY(MakeTarget(*item));
  return Ok();
}

}  // namespace

Status ExpressionParser::Nesting::Check() const {
  if (parser_.nesting_ <= kMostNesting) return Ok();
  return parser_.tokens_.Fail("too many levels within each other");
}

Result<NodePtr> ExpressionParser::Finish(NodePtr node) {
  int height = 0;
  node->VisitChildren([&](Node& child) { height = std::max(height, child.height); });
  node->height = height + 1;
  if (node->height > kMostHeight) return ErrorAt(node->line, "the expression is too deep");
  return node;
}

NodePtr ExpressionParser::NewLiteral(int line, decltype(Literal::value) value) {
  auto literal = std::make_unique<Literal>(line);
  literal->value = std::move(value);
  literal->index = literal_count_++;
  return literal;
}

bool ExpressionParser::IsTupleEnd(std::string_view end_name) const {
  return tokens_.Is(TokenKind::kVariableEnd) || tokens_.Is(TokenKind::kBlockEnd) ||
         tokens_.IsOperator(")") || (!end_name.empty() && tokens_.IsName(end_name));
}

Result<NodePtr> ExpressionParser::ParseTuple(const TupleRules& rules) {
  auto tuple = std::make_unique<Sequence>(NodeKind::kTuple, tokens_.line());
  bool has_comma = false;
  for (;;) {
    if (IsTupleEnd(rules.end_name)) break;
    tuple->items.push_back(rules.only_primaries ? TRY(ParsePrimary())
                                                : TRY(ParseExpression(rules.with_conditional)));
    if (!tokens_.SkipOperator(",")) break;
    has_comma = true;
  }
  if (!has_comma) {
    if (!tuple->items.empty()) return std::move(tuple->items[0]);
    if (!rules.in_parentheses) {
      return tokens_.Fail(
          fmt::format("Expected an expression, got '{}'", Describe(tokens_.current())));
    }
  }
  return Finish(std::move(tuple));
}

Result<NodePtr> ExpressionParser::ParseTarget(std::string_view end_name) {
  NodePtr target = TRY(ParseTuple({.only_primaries = true, .end_name = end_name}));
  TRY(MakeTarget(*target));
  return target;
}

Result<NodePtr> ExpressionParser::ParseExpression(bool with_conditional) {
  const Nesting nesting(*this);
  TRY(nesting.Check());
  return with_conditional ? ParseConditional() : ParseOr();
}

Result<NodePtr> ExpressionParser::ParseConditional() {
  const Nesting nesting(*this);
  TRY(nesting.Check());
  NodePtr node = TRY(ParseOr());
  while (tokens_.IsName("if")) {
    auto conditional = std::make_unique<Conditional>(tokens_.line());
    tokens_.Skip();
    conditional->yes = std::move(node);
    conditional->test = TRY(ParseOr());
    if (tokens_.SkipName("else")) conditional->no = TRY(ParseConditional());
    node = TRY(Finish(std::move(conditional)));
  }
  return node;
}

Result<NodePtr> ExpressionParser::ParseOr() {
  NodePtr node = TRY(ParseAnd());
  while (tokens_.IsName("or")) {
    const int line = tokens_.line();
    tokens_.Skip();
    NodePtr right = TRY(ParseAnd());
    node = TRY(Finish(std::make_unique<Logic>(false, std::move(node), std::move(right), line)));
  }
  return node;
}

Result<NodePtr> ExpressionParser::ParseAnd() {
  NodePtr node = TRY(ParseNot());
  while (tokens_.IsName("and")) {
    const int line = tokens_.line();
    tokens_.Skip();
    NodePtr right = TRY(ParseNot());
    node = TRY(Finish(std::make_unique<Logic>(true, std::move(node), std::move(right), line)));
  }
  return node;
}

Result<NodePtr> ExpressionParser::ParseNot() {
  if (!tokens_.IsName("not")) return ParseComparison();
  const Nesting nesting(*this);
  TRY(nesting.Check());
  const int line = tokens_.line();
  tokens_.Skip();
  return Finish(std::make_unique<Unary>(Unary::Op::kNot, TRY(ParseNot()), line));
}

Result<NodePtr> ExpressionParser::ParseComparison() {
  const int line = tokens_.line();
  NodePtr node = TRY(ParseSum());
  std::unique_ptr<Comparison> comparison;
  for (;;) {
    std::optional<Comparison::Op> op = ComparisonOf(tokens_.current());
    size_t words = 1;
    if (tokens_.IsName("in")) {
      op = Comparison::Op::kIn;
    } else if (tokens_.IsName("not") && tokens_.next().IsName("in")) {
      op = Comparison::Op::kNotIn;
      words = 2;
    }
    if (!op) break;
    tokens_.Skip(words);
    if (!comparison) {
      comparison = std::make_unique<Comparison>(line);
      comparison->first = std::move(node);
    }
    comparison->rest.emplace_back(*op, TRY(ParseSum()));
  }
  if (!comparison) return node;
  return Finish(std::move(comparison));
}

Result<NodePtr> ExpressionParser::ParseSum() {
  NodePtr node = TRY(ParseConcat());
  while (const std::optional<Operator> op = SumOf(tokens_.current())) {
    const int line = tokens_.line();
    tokens_.Skip();
    NodePtr right = TRY(ParseConcat());
    node = TRY(Finish(std::make_unique<Binary>(*op, std::move(node), std::move(right), line)));
  }
  return node;
}

Result<NodePtr> ExpressionParser::ParseConcat() {
  const int line = tokens_.line();
  NodePtr node = TRY(ParseProduct());
  if (!tokens_.IsOperator("~")) return node;
  auto concat = std::make_unique<Concat>(line);
  concat->parts.push_back(std::move(node));
  while (tokens_.SkipOperator("~")) concat->parts.push_back(TRY(ParseProduct()));
  return Finish(std::move(concat));
}

Result<NodePtr> ExpressionParser::ParseProduct() {
  NodePtr node = TRY(ParseUnary(true));
  while (const std::optional<Operator> op = ProductOf(tokens_.current())) {
    const int line = tokens_.line();
    tokens_.Skip();
    if (op == Operator::kRemainder && IsText(*node)) {
      return NotSupportedAt(line, "formatting with '%' is");
    }
    NodePtr right = TRY(ParseUnary(true));
    node = TRY(Finish(std::make_unique<Binary>(*op, std::move(node), std::move(right), line)));
  }
  if (tokens_.IsOperator("**")) return NotSupportedAt(tokens_.line(), "operator", "**");
  return node;
}

Result<NodePtr> ExpressionParser::ParseUnary(bool with_filters) {
  NodePtr node;
  if (tokens_.IsOperator("-") || tokens_.IsOperator("+")) {
    const Nesting nesting(*this);
    TRY(nesting.Check());
    const Unary::Op op = tokens_.IsOperator("-") ? Unary::Op::kMinus : Unary::Op::kPlus;
    const int line = tokens_.line();
    tokens_.Skip();
    node = TRY(Finish(std::make_unique<Unary>(op, TRY(ParseUnary(false)), line)));
  } else {
    node = TRY(ParsePrimary());
  }
  node = TRY(ParsePostfix(std::move(node)));
  if (!with_filters) return node;
  return ParseFiltersAndTests(std::move(node));
}

Result<NodePtr> ExpressionParser::ParsePrimary() {
  const int line = tokens_.line();
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return ParseName();
    case TokenKind::kString:
      return ParseString();
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return ParseNumber();
    default:
      break;
  }
  if (tokens_.SkipOperator("(")) {
    NodePtr node = TRY(ParseTuple({.in_parentheses = true}));
    TRY(tokens_.ExpectOperator(")"));
    return node;
  }
  if (tokens_.SkipOperator("[")) return ParseList();
  if (tokens_.SkipOperator("{")) return ParseDict();
  return ErrorAt(line, fmt::format("unexpected '{}'", Describe(tokens_.current())));
}

Result<NodePtr> ExpressionParser::ParseName() {
  const Token token = TRY(tokens_.Expect(TokenKind::kName));
  if (token.text == "true" || token.text == "True") return NewLiteral(token.line, true);
  if (token.text == "false" || token.text == "False") return NewLiteral(token.line, false);
  if (token.text == "none" || token.text == "None") return NewLiteral(token.line, nullptr);
  return NodePtr(std::make_unique<Name>(token.text, Name::Use::kLoad, token.line));
}

Result<NodePtr> ExpressionParser::ParseNumber() {
  const Token token = tokens_.current();
  tokens_.Skip();
  if (token.Is(TokenKind::kFloat)) {
    return NewLiteral(token.line, ParseFloat(token.text).value_or(0));
  }
  int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (error != std::errc()) return ErrorAt(token.line, IntegerTooLarge().message());
  return NewLiteral(token.line, value);
}

// Consecutive strings are one.
Result<NodePtr> ExpressionParser::ParseString() {
  const int line = tokens_.line();
  std::string text;
  for (; tokens_.Is(TokenKind::kString); tokens_.Skip()) text += tokens_.current().text;
  return NewLiteral(line, std::move(text));
}

Result<NodePtr> ExpressionParser::ParseList() {
  auto list = std::make_unique<Sequence>(NodeKind::kList, tokens_.line());
  while (!tokens_.IsOperator("]")) {
    if (!list->items.empty()) TRY(tokens_.ExpectOperator(","));
    if (tokens_.IsOperator("]")) break;
    list->items.push_back(TRY(ParseExpression()));
  }
  TRY(tokens_.ExpectOperator("]"));
  return Finish(std::move(list));
}

Result<NodePtr> ExpressionParser::ParseDict() {
  auto dict = std::make_unique<DictDisplay>(tokens_.line());
  while (!tokens_.IsOperator("}")) {
    if (!dict->items.empty()) TRY(tokens_.ExpectOperator(","));
    if (tokens_.IsOperator("}")) break;
    NodePtr key = TRY(ParseExpression());
    TRY(tokens_.ExpectOperator(":"));
    dict->items.emplace_back(std::move(key), TRY(ParseExpression()));
  }
  TRY(tokens_.ExpectOperator("}"));
  return Finish(std::move(dict));
}

}  // namespace aster::jinja
