// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A parsed template: statements and expressions, and the place of each variable, which the binder
// sets. Constant once bound, so any number of threads may render it at the same time. Must not know
// how anything is evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "jinja/arithmetic.h"
#include "jinja/builtin.h"
#include "jinja/compare.h"

namespace aster::jinja {

enum class NodeKind : uint8_t {
  // Expressions.
  kLiteral,
  kName,
  kNamespaceTarget,
  kList,
  kTuple,
  kDict,
  kUnary,
  kBinary,
  kLogic,
  kCompare,
  kConcat,
  kConditional,
  kAttribute,
  kItem,
  kSlice,
  kCall,
  kFilter,
  kTest,
  // Statements.
  kText,
  kPrint,
  kFor,
  kIf,
  kSet,
  kSetBlock,
  kMacro,
  kGeneration,
  kFilterBlock,
  kBreak,
  kContinue,
};

struct Node {
  Node(NodeKind node_kind, int node_line) : kind(node_kind), line(node_line) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  // Every child node, in the order in which the original searches for names.
  using Visitor = FunctionRef<void(Node&)>;
  virtual void VisitChildren(Visitor /*visit*/) {}

  const NodeKind kind;
  const int line;
  int height = 1;  // levels of nodes from here down; limited by the parser
};

using NodePtr = std::unique_ptr<Node>;
using Body = std::vector<NodePtr>;

// The place of a variable: `hops` functions outwards from the running one, in `slot`.
struct VariableRef {
  uint32_t hops = 0;
  uint32_t slot = 0;
};

// The initial value of a scope's variable.
struct ScopeLoad {
  enum class From : uint8_t {
    kContext,  // a variable of the rendering, or a global
    kOuter,    // a copy of the outer variable of that name
    kNothing,  // unset
  };
  From from;
  uint32_t slot;
  VariableRef outer;
  std::string name;
};

// A region of a function with variables of its own.
struct Scope {
  std::vector<ScopeLoad> loads;
  std::vector<uint32_t> cleared;  // slots unset at the end
};

struct Literal final : Node {
  explicit Literal(int node_line) : Node(NodeKind::kLiteral, node_line) {}
  std::variant<std::nullptr_t, bool, int64_t, double, std::string> value = nullptr;
  uint32_t index = 0;  // among the template's literals
};

struct Name final : Node {
  enum class Use : uint8_t { kLoad, kStore, kParameter };
  Name(std::string variable, Use how, int node_line)
      : Node(NodeKind::kName, node_line), name(std::move(variable)), use(how) {}
  const std::string name;
  Use use;
  VariableRef ref;
};

// namespace.attribute as the target of an assignment.
struct NamespaceTarget final : Node {
  NamespaceTarget(std::string variable, std::string member, int node_line)
      : Node(NodeKind::kNamespaceTarget, node_line),
        name(std::move(variable)),
        attribute(std::move(member)) {}
  const std::string name;
  const std::string attribute;
  VariableRef ref;
};

// A list or a tuple.
struct Sequence final : Node {
  using Node::Node;
  void VisitChildren(Visitor visit) override {
    for (const NodePtr& item : items) visit(*item);
  }
  Body items;
};

struct DictDisplay final : Node {
  explicit DictDisplay(int node_line) : Node(NodeKind::kDict, node_line) {}
  void VisitChildren(Visitor visit) override {
    for (const auto& [key, value] : items) {
      visit(*key);
      visit(*value);
    }
  }
  std::vector<std::pair<NodePtr, NodePtr>> items;
};

struct Unary final : Node {
  enum class Op : uint8_t { kNot, kMinus, kPlus };
  Unary(Op sign, NodePtr inner, int node_line)
      : Node(NodeKind::kUnary, node_line), op(sign), operand(std::move(inner)) {}
  void VisitChildren(Visitor visit) override { visit(*operand); }
  const Op op;
  const NodePtr operand;
};

struct Binary final : Node {
  Binary(Operator sign, NodePtr a, NodePtr b, int node_line)
      : Node(NodeKind::kBinary, node_line), op(sign), left(std::move(a)), right(std::move(b)) {}
  void VisitChildren(Visitor visit) override {
    visit(*left);
    visit(*right);
  }
  const Operator op;
  const NodePtr left;
  const NodePtr right;
};

// `and` or `or`.
struct Logic final : Node {
  Logic(bool is_conjunction, NodePtr a, NodePtr b, int node_line)
      : Node(NodeKind::kLogic, node_line),
        is_and(is_conjunction),
        left(std::move(a)),
        right(std::move(b)) {}
  void VisitChildren(Visitor visit) override {
    visit(*left);
    visit(*right);
  }
  const bool is_and;
  const NodePtr left;
  const NodePtr right;
};

// a < b <= c …
struct Comparison final : Node {
  enum class Op : uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIn,
    kNotIn
  };
  explicit Comparison(int node_line) : Node(NodeKind::kCompare, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*first);
    for (const auto& [op, operand] : rest) visit(*operand);
  }
  NodePtr first;
  std::vector<std::pair<Op, NodePtr>> rest;
};

struct Concat final : Node {
  explicit Concat(int node_line) : Node(NodeKind::kConcat, node_line) {}
  void VisitChildren(Visitor visit) override {
    for (const NodePtr& part : parts) visit(*part);
  }
  Body parts;
};

// yes if test else no
struct Conditional final : Node {
  explicit Conditional(int node_line) : Node(NodeKind::kConditional, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*test);
    visit(*yes);
    if (no) visit(*no);
  }
  NodePtr test;
  NodePtr yes;
  NodePtr no;  // may be absent
};

struct Attribute final : Node {
  Attribute(NodePtr owner, std::string member, int node_line)
      : Node(NodeKind::kAttribute, node_line), object(std::move(owner)), name(std::move(member)) {}
  void VisitChildren(Visitor visit) override { visit(*object); }
  const NodePtr object;
  const std::string name;
};

struct Item final : Node {
  Item(NodePtr owner, NodePtr index, int node_line)
      : Node(NodeKind::kItem, node_line), object(std::move(owner)), key(std::move(index)) {}
  void VisitChildren(Visitor visit) override {
    visit(*object);
    visit(*key);
  }
  const NodePtr object;
  const NodePtr key;
};

// object[start:stop:step]
struct Slice final : Node {
  explicit Slice(int node_line) : Node(NodeKind::kSlice, node_line) {}
  void VisitChildren(Visitor visit) override {
    if (object) visit(*object);
    for (const NodePtr* bound : {&start, &stop, &step}) {
      if (*bound) visit(**bound);
    }
  }
  NodePtr object;
  NodePtr start;  // this and the next may be absent
  NodePtr stop;
  NodePtr step;
};

struct CallArguments {
  void Visit(Node::Visitor visit) {
    for (const NodePtr& argument : positional) visit(*argument);
    for (const auto& [name, argument] : named) visit(*argument);
  }
  Body positional;
  std::vector<std::pair<std::string, NodePtr>> named;
};

struct CallNode final : Node {
  explicit CallNode(int node_line) : Node(NodeKind::kCall, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*callee);
    arguments.Visit(visit);
  }
  NodePtr callee;
  CallArguments arguments;
};

// A filter or a test.
struct Application final : Node {
  Application(NodeKind node_kind, std::string builtin_name, int node_line)
      : Node(node_kind, node_line), name(std::move(builtin_name)) {}
  void VisitChildren(Visitor visit) override {
    if (input) visit(*input);
    arguments.Visit(visit);
  }
  NodePtr input;  // absent if a filter applies to a block
  const std::string name;
  CallArguments arguments;
  const Builtin* builtin = nullptr;  // never null once parsed
};

}  // namespace aster::jinja
