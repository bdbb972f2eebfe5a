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

// {{ value }}
struct Print final : Node {
  Print(NodePtr shown, int node_line)
      : Node(NodeKind::kPrint, node_line), value(std::move(shown)) {}
  void VisitChildren(Visitor visit) override { visit(*value); }
  const NodePtr value;
};

inline void VisitAll(const Body& body, Node::Visitor visit) {
  for (const NodePtr& node : body) visit(*node);
}

// Code with variables of its own, numbered from 0.
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
  NodePtr test_target;  // a second copy of the target, as the test runs apart from the body

  // Bound:
  bool has_loop_variable = false;
  VariableRef loop_variable;
  Scope scope;
  Scope test_scope;
  Scope else_scope;
  FunctionInfo test_function;
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

struct Macro final : Node {
  explicit Macro(int node_line) : Node(NodeKind::kMacro, node_line) {}
  void VisitChildren(Visitor visit) override {
    VisitAll(parameters, visit);
    VisitAll(defaults, visit);
    VisitAll(body, visit);
  }
  std::string name;
  Body parameters;  // of type Name
  Body defaults;    // of the last parameters, as many as there are defaults
  Body body;

  // Bound:
  VariableRef target;
  Scope scope;
  FunctionInfo function;
};

// {% generation %}: marks the model's own output. Variables that it sets end with it.
struct Generation final : Node {
  explicit Generation(int node_line) : Node(NodeKind::kGeneration, node_line) {}
  void VisitChildren(Visitor visit) override { VisitAll(body, visit); }
  Body body;
  Scope scope;
  FunctionInfo function;
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
};

}  // namespace aster::jinja
