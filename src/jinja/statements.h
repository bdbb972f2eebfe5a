// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The statements of a parsed template. Constant once bound; must not know how anything is
// evaluated.
#pragma once

#include "jinja/ast.h"

namespace aster::jinja {

// Text outside of tags.
struct Text final : Node {
  Text(std::string content, int node_line)
      : Node(NodeKind::kText, node_line), text(std::move(content)) {}
  const std::string text;
};

// {{ value }} or {% do value %}.
struct Print final : Node {
  Print(NodeKind node_kind, NodePtr shown, int node_line)
      : Node(node_kind, node_line), value(std::move(shown)) {}
  void VisitChildren(Visitor visit) override { visit(*value); }
  const NodePtr value;
};

inline void VisitAll(const Body& body, Node::Visitor visit) {
  for (const NodePtr& node : body) visit(*node);
}

// Code that runs with variables of its own, numbered from 0.
struct FunctionInfo {
  uint32_t slot_count = 0;
};

struct For final : Node {
  explicit For(int node_line) : Node(NodeKind::kFor, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*target);
    visit(*iterable);
    VisitAll(body, visit);
    VisitAll(else_body, visit);
    if (test) visit(*test);
  }
  NodePtr target;
  NodePtr iterable;
  Body body;
  Body else_body;
  NodePtr test;         // may be absent
  NodePtr test_target;  // the target once more, for the test runs apart from the body
  bool is_recursive = false;

  // Bound:
  bool has_loop_variable = false;
  VariableRef loop_variable;
  Scope scope;
  Scope test_scope;
  Scope else_scope;
  FunctionInfo test_function;
  FunctionInfo recursive_function;  // if is_recursive
};

struct If final : Node {
  explicit If(int node_line) : Node(NodeKind::kIf, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*test);
    VisitAll(body, visit);
    VisitAll(elifs, visit);
    VisitAll(else_body, visit);
  }
  NodePtr test;
  Body body;
  Body elifs;  // of type If, without elifs or else of their own
  Body else_body;
};

struct Set final : Node {
  explicit Set(int node_line) : Node(NodeKind::kSet, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*target);
    visit(*value);
  }
  NodePtr target;
  NodePtr value;
};

struct SetBlock final : Node {
  explicit SetBlock(int node_line) : Node(NodeKind::kSetBlock, node_line) {}
  void VisitChildren(Visitor visit) override {
    visit(*target);
    if (filter) visit(*filter);
    VisitAll(body, visit);
  }
  NodePtr target;
  NodePtr filter;  // may be absent
  Body body;
  Scope scope;
};

// The parameters and the body of a macro, or of what {% call %} passes on.
struct MacroCode {
  void Visit(Node::Visitor visit) {
    VisitAll(parameters, visit);
    VisitAll(defaults, visit);
    VisitAll(body, visit);
  }
  std::string name;  // empty for {% call %}
  Body parameters;   // of type Name
  Body defaults;     // of the last so many parameters
  Body body;

  // Bound: which of the special parameters the body asks for, and where they go.
  std::optional<VariableRef> caller;
  std::optional<VariableRef> kwargs;
  std::optional<VariableRef> varargs;
  bool has_explicit_caller = false;
  Scope scope;
  FunctionInfo function;
};

struct Macro final : Node {
  explicit Macro(int node_line) : Node(NodeKind::kMacro, node_line) {}
  void VisitChildren(Visitor visit) override { code.Visit(visit); }
  MacroCode code;
  VariableRef target;
};

// {% call macro() %} or, without a call, {% generation %}.
struct CallBlock final : Node {
  explicit CallBlock(int node_line) : Node(NodeKind::kCallBlock, node_line) {}
  void VisitChildren(Visitor visit) override {
    if (call) visit(*call);
    code.Visit(visit);
  }
  NodePtr call;  // of type CallNode, may be absent
  MacroCode code;
};

struct FilterBlock final : Node {
  explicit FilterBlock(int node_line) : Node(NodeKind::kFilterBlock, node_line) {}
  void VisitChildren(Visitor visit) override {
    VisitAll(body, visit);
    visit(*filter);
  }
  NodePtr filter;
  Body body;
  Scope scope;
};

struct With final : Node {
  explicit With(int node_line) : Node(NodeKind::kWith, node_line) {}
  void VisitChildren(Visitor visit) override {
    VisitAll(targets, visit);
    VisitAll(values, visit);
    VisitAll(body, visit);
  }
  Body targets;
  Body values;
  Body body;
  Scope scope;
};

// {% block name %}: there is no inheritance, so it is rendered where it stands.
struct Block final : Node {
  explicit Block(int node_line) : Node(NodeKind::kBlock, node_line) {}
  void VisitChildren(Visitor visit) override { VisitAll(body, visit); }
  std::string name;
  Body body;
  Scope scope;
  FunctionInfo function;
};

// {% break %} or {% continue %}.
struct Jump final : Node {
  using Node::Node;
};

// A whole template.
struct Template {
  Body body;
  uint32_t literal_count = 0;
  Scope scope;
  FunctionInfo function;
  // Variables that the template's top level sets, by which blocks find them.
  std::vector<std::pair<std::string, uint32_t>> top_level;
};

}  // namespace aster::jinja
