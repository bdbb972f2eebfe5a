// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "jinja/expression_parser.h"
#include "jinja/token_stream.h"
#include "jinja/unsupported.h"

namespace aster::jinja {
namespace {

constexpr size_t kMostParameters = 255;

using EndNames = std::initializer_list<std::string_view>;

// A second copy of the target of a loop.
NodePtr CopyOfTarget(const Node& target) {
  if (target.kind == NodeKind::kName) {
    const auto& name = static_cast<const Name&>(target);
    return std::make_unique<Name>(name.name, name.use, name.line);
  }
  auto tuple = std::make_unique<Sequence>(NodeKind::kTuple, target.line);
  for (const NodePtr& item : static_cast<const Sequence&>(target).items) {
    tuple->items.push_back(CopyOfTarget(*item));
  }
  return tuple;
}

class StatementParser {
 public:
  explicit StatementParser(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), expressions_(tokens_) {}

  Result<Template> Parse() {
    Template result;
    result.body = TRY(ParseBody({}));
    result.literal_count = expressions_.literal_count();
    return result;
  }

 private:
  using Method = Status (StatementParser::*)(Body& out);
  struct Tag {
    std::string_view name;
    Method parse;
  };

  // Statements up to a tag with one of these names, which becomes the current token; up to the end
  // of the template if there are no names.
  Result<Body> ParseBody(EndNames end_names) {
    const ExpressionParser::Nesting nesting(expressions_);
    TRY(nesting.Check());
    Body body;
    while (!tokens_.Is(TokenKind::kEnd)) {
      const Token token = tokens_.current();
      tokens_.Skip();
      if (token.Is(TokenKind::kData)) {
        body.push_back(std::make_unique<Text>(token.text, token.line));
      } else if (token.Is(TokenKind::kVariableBegin)) {
        NodePtr value = TRY(expressions_.ParseTuple({}));
        TRY(Add(body, std::make_unique<Print>(std::move(value), token.line)));
        TRY(tokens_.Expect(TokenKind::kVariableEnd));
      } else {
        if (tokens_.Is(TokenKind::kName) &&
            std::ranges::find(end_names, tokens_.current().text) != end_names.end()) {
          return body;
        }
        TRY(ParseStatement(body));
        TRY(tokens_.Expect(TokenKind::kBlockEnd));
      }
    }
    if (end_names.size() > 0) return MissingEnd();
    return body;
  }

  // The rest of an opening tag, then statements up to one of the names. With `takes_end` the name
  // is consumed, too.
  Result<Body> ParseBlockBody(EndNames end_names, bool takes_end) {
    tokens_.SkipOperator(":");
    TRY(tokens_.Expect(TokenKind::kBlockEnd));
    Body body = TRY(ParseBody(end_names));
    if (takes_end) tokens_.Skip();
    return body;
  }

  Status Add(Body& out, NodePtr node) {
    out.push_back(TRY(expressions_.Finish(std::move(node))));
    return Ok();
  }

  Error MissingEnd() const {
    const auto& [name, line] = open_.back();
    return tokens_.Fail(
        fmt::format("the template ends, but the tag '{}' of line {} is not closed", name, line));
  }

  Error UnknownTag(std::string_view name) const {
    if (open_.empty()) return tokens_.Fail(fmt::format("Encountered unknown tag '{}'.", name));
    return tokens_.Fail(
        fmt::format("Encountered unknown tag '{}'. The innermost block that needs to be closed is "
                    "'{}' of line {}.",
                    name, open_.back().first, open_.back().second));
  }

  Status ParseStatement(Body& out) {
    static constexpr Tag kTags[] = {
        {"break", &StatementParser::ParseJump},
        {"continue", &StatementParser::ParseJump},
        {"filter", &StatementParser::ParseFilterBlock},
        {"for", &StatementParser::ParseFor},
        {"generation", &StatementParser::ParseGeneration},
        {"if", &StatementParser::ParseIf},
        {"macro", &StatementParser::ParseMacro},
        {"set", &StatementParser::ParseSet},
    };
    if (!tokens_.Is(TokenKind::kName)) return tokens_.Fail("tag name expected");
    const std::string name = tokens_.current().text;
    const auto* tag = std::ranges::find(kTags, name, &Tag::name);
    if (tag != std::end(kTags)) {
      open_.emplace_back(name, tokens_.line());
      TRY((this->*tag->parse)(out));
      open_.pop_back();
      return Ok();
    }
    if (IsUnsupportedTag(name)) return NotSupportedAt(tokens_.line(), "tag", name);
    return UnknownTag(name);
  }

  Status ParseJump(Body& out) {
    const NodeKind kind = tokens_.IsName("break") ? NodeKind::kBreak : NodeKind::kContinue;
    out.push_back(std::make_unique<Jump>(kind, tokens_.line()));
    tokens_.Skip();
    return Ok();
  }

  Status ParseSet(Body& out) {
    const int line = tokens_.line();
    tokens_.Skip();
    NodePtr target;
    if (tokens_.next().IsOperator(".")) {
      const Token name = TRY(tokens_.Expect(TokenKind::kName));
      TRY(tokens_.ExpectOperator("."));
      const Token attribute = TRY(tokens_.Expect(TokenKind::kName));
      target = std::make_unique<NamespaceTarget>(name.text, attribute.text, name.line);
    } else {
      target = TRY(expressions_.ParseTarget());
    }
    if (tokens_.SkipOperator("=")) {
      auto set = std::make_unique<Set>(line);
      set->target = std::move(target);
      set->value = TRY(expressions_.ParseTuple({}));
      return Add(out, std::move(set));
    }
    auto set = std::make_unique<SetBlock>(line);
    set->target = std::move(target);
    set->filter = TRY(expressions_.ParseFilters(nullptr, false));
    set->body = TRY(ParseBlockBody({"endset"}, true));
    return Add(out, std::move(set));
  }

  Status ParseFor(Body& out) {
    auto loop = std::make_unique<For>(tokens_.line());
    tokens_.Skip();
    loop->target = TRY(expressions_.ParseTarget("in"));
    TRY(tokens_.ExpectName("in"));
    loop->iterable =
        TRY(expressions_.ParseTuple({.with_conditional = false, .end_name = "recursive"}));
    if (tokens_.SkipName("if")) {
      loop->test = TRY(expressions_.ParseExpression());
      loop->test_target = CopyOfTarget(*loop->target);
    }
    if (tokens_.IsName("recursive")) return NotSupportedAt(tokens_.line(), "a recursive loop is");
    loop->body = TRY(ParseBlockBody({"endfor", "else"}, false));
    const bool has_else = tokens_.IsName("else");
    tokens_.Skip();
    if (has_else) loop->else_body = TRY(ParseBlockBody({"endfor"}, true));
    return Add(out, std::move(loop));
  }

  Status ParseIf(Body& out) {
    auto first = std::make_unique<If>(tokens_.line());
    tokens_.Skip();
    TRY(ParseBranch(*first));
    while (tokens_.IsName("elif")) {
      auto elif = std::make_unique<If>(tokens_.line());
      tokens_.Skip();
      TRY(ParseBranch(*elif));
      first->elifs.push_back(TRY(expressions_.Finish(std::move(elif))));
    }
    const bool has_else = tokens_.IsName("else");
    tokens_.Skip();
    if (has_else) first->else_body = TRY(ParseBlockBody({"endif"}, true));
    return Add(out, std::move(first));
  }

  Status ParseBranch(If& branch) {
    branch.test = TRY(expressions_.ParseTuple({.with_conditional = false}));
    branch.body = TRY(ParseBlockBody({"elif", "else", "endif"}, false));
    return Ok();
  }

  Status ParseSignature(Macro& macro) {
    TRY(tokens_.ExpectOperator("("));
    while (!tokens_.IsOperator(")")) {
      if (!macro.parameters.empty()) TRY(tokens_.ExpectOperator(","));
      const Token name = TRY(tokens_.Expect(TokenKind::kName));
      if (tokens_.SkipOperator("=")) {
        macro.defaults.push_back(TRY(expressions_.ParseExpression()));
      } else if (!macro.defaults.empty()) {
        return tokens_.Fail("non-default argument follows default argument");
      }
      if (macro.parameters.size() == kMostParameters) return tokens_.Fail("too many parameters");
      for (const NodePtr& other : macro.parameters) {
        if (static_cast<const Name&>(*other).name == name.text) {
          return tokens_.Fail(fmt::format("duplicate argument '{}'", name.text));
        }
      }
      macro.parameters.push_back(
          std::make_unique<Name>(name.text, Name::Use::kParameter, name.line));
    }
    return tokens_.ExpectOperator(")");
  }

  Status ParseMacro(Body& out) {
    auto macro = std::make_unique<Macro>(tokens_.line());
    tokens_.Skip();
    macro->name = TRY(tokens_.Expect(TokenKind::kName)).text;
    TRY(ParseSignature(*macro));
    macro->body = TRY(ParseBlockBody({"endmacro"}, true));
    return Add(out, std::move(macro));
  }

  Status ParseGeneration(Body& out) {
    auto block = std::make_unique<Generation>(tokens_.line());
    tokens_.Skip();
    block->body = TRY(ParseBlockBody({"endgeneration"}, true));
    return Add(out, std::move(block));
  }

  Status ParseFilterBlock(Body& out) {
    auto block = std::make_unique<FilterBlock>(tokens_.line());
    tokens_.Skip();
    block->filter = TRY(expressions_.ParseFilters(nullptr, true));
    block->body = TRY(ParseBlockBody({"endfilter"}, true));
    return Add(out, std::move(block));
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  std::vector<std::pair<std::string, int>> open_;  // the enclosing tags, with their lines
};

}  // namespace

Result<Template> ParseTemplate(std::string_view source) {
  return StatementParser(TRY(Tokenize(source))).Parse();
}

}  // namespace aster::jinja
