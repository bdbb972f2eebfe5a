// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parses expressions: in {{ }} and in the tags of statements. Must not know statements.
#pragma once

#include <string_view>

#include "jinja/ast.h"
#include "jinja/token_stream.h"

namespace aster::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  // Where an expression list may end, apart from the ends of tags: before this name, if not empty.
  struct TupleRules {
    bool with_conditional = true;
    bool in_parentheses = false;  // then nothing is an empty tuple
    bool only_primaries = false;  // for targets of assignments
    std::string_view end_name = {};
  };

  Result<NodePtr> ParseExpression(bool with_conditional = true);
  // One expression, or a tuple if commas follow.
  Result<NodePtr> ParseTuple(const TupleRules& rules);
  // "| filter
  // filter" or, if `is_inline`, "filter
  // filter". `input` may be absent; it is returned unchanged if there are no filters.
  Result<NodePtr> ParseFilters(NodePtr input, bool is_inline);
  Result<NodePtr> ParseTarget(std::string_view end_name = {});

  // Computes the height of a complete node, and refuses a too high one.
  Result<NodePtr> Finish(NodePtr node);

  uint32_t literal_count() const { return literal_count_; }

  // Counts nesting, which must be limited because parsing is recursive.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : parser_(parser) { ++parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --parser_.nesting_; }
    Status Check() const;

   private:
    ExpressionParser& parser_;
  };

 private:
  Result<NodePtr> ParseConditional();
  Result<NodePtr> ParseOr();
  Result<NodePtr> ParseAnd();
  Result<NodePtr> ParseNot();
  Result<NodePtr> ParseComparison();
  Result<NodePtr> ParseSum();
  Result<NodePtr> ParseConcat();
  Result<NodePtr> ParseProduct();
  Result<NodePtr> ParseUnary(bool with_filters);
  Result<NodePtr> ParsePrimary();
  Result<NodePtr> ParseName();
  Result<NodePtr> ParseNumber();
  Result<NodePtr> ParseString();
  Result<NodePtr> ParseList();
  Result<NodePtr> ParseDict();
  Result<NodePtr> ParsePostfix(NodePtr node);
  Result<NodePtr> ParseFiltersAndTests(NodePtr node);
  Result<NodePtr> ParseMember(NodePtr object);
  Result<NodePtr> ParseSubscript(NodePtr object);
  Result<NodePtr> ParseCall(NodePtr callee);
  Result<NodePtr> ParseTest(NodePtr input);
  Result<std::string> ParseDottedName();
  Result<CallArguments> ParseArguments();
  Status ParseArgument(CallArguments& arguments, int line);
  bool IsTupleEnd(std::string_view end_name) const;
  NodePtr NewLiteral(int line, decltype(Literal::value) value);

  TokenStream& tokens_;
  uint32_t literal_count_ = 0;
  int nesting_ = 0;
};

}  // namespace aster::jinja
