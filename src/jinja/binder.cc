// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/binder.h"

#include <algorithm>

#include "jinja/lexer.h"
#include "jinja/symbols.h"
#include "jinja/unsupported.h"

namespace aster::jinja {
namespace {

// The place of a node.
struct Place {
  Symbols& symbols;
  bool is_in_loop = false;

  Place Within(Symbols& inner) const { return {inner, is_in_loop}; }
};

class Binder {
 public:
  explicit Binder(Template& parsed) : template_(parsed) {}

  Status Run() {
    FunctionScope function(nullptr, template_.function);
    Symbols symbols(nullptr, function);
    symbols.AnalyzeAll(template_.body);
    TRY(BindAll(template_.body, {symbols}));
    template_.scope = symbols.MakeScope(true);
    return Ok();
  }

 private:
  Status BindAll(const Body& body, const Place& place) {
    for (const NodePtr& node : body) TRY(BindNode(*node, place));
    return Ok();
  }

  Status BindChildren(Node& node, const Place& place) {
    Status status = Ok();
    node.VisitChildren([&](Node& child) {
      if (status.ok()) status = BindNode(child, place);
    });
    return status;
  }

  Status BindNode(Node& node, const Place& place) {
    switch (node.kind) {
      case NodeKind::kName: {
        auto& name = static_cast<Name&>(node);
        name.ref = place.symbols.RefOf(name.name);
        return Ok();
      }
      case NodeKind::kNamespaceTarget: {
        auto& target = static_cast<NamespaceTarget&>(node);
        target.ref = place.symbols.RefOf(target.name);
        return Ok();
      }
      case NodeKind::kFor:
        return BindFor(static_cast<For&>(node), place);
      case NodeKind::kSetBlock:
        return BindSetBlock(static_cast<SetBlock&>(node), place);
      case NodeKind::kMacro:
        return BindMacro(static_cast<Macro&>(node), place);
      case NodeKind::kGeneration:
        return BindGeneration(static_cast<Generation&>(node), place);
      case NodeKind::kFilterBlock:
        return BindFilterBlock(static_cast<FilterBlock&>(node), place);
      case NodeKind::kBreak:
      case NodeKind::kContinue:
        if (place.is_in_loop) return Ok();
        return ErrorAt(node.line, node.kind == NodeKind::kBreak ? "'break' outside loop"
                                                                : "'continue' not in loop");
      default:
        return BindChildren(node, place);
    }
  }

  // Nothing in a loop may set `loop`.
  static Status CheckLoopVariable(Node& node) {
    if (node.kind == NodeKind::kName) {
      const auto& name = static_cast<const Name&>(node);
      if (name.use == Name::Use::kStore && name.name == "loop") {
        return ErrorAt(name.line, "Can't assign to special loop variable in for-loop target");
      }
    }
    Status status = Ok();
    node.VisitChildren([&](Node& child) {
      if (status.ok()) status = CheckLoopVariable(child);
    });
    return status;
  }

  Status BindFor(For& loop, const Place& place) {
    TRY(CheckLoopVariable(loop));
    TRY(BindNode(*loop.iterable, place));
    Symbols& outer = place.symbols;
    if (loop.test) TRY(BindLoopTest(loop, place));

    // The body, with the loop's own variables.
    Symbols symbols(&outer, outer.function());
    loop.has_loop_variable = FindUndeclared(loop.body, {"loop"}).contains("loop");
    if (loop.has_loop_variable) symbols.DeclareParameter("loop");
    symbols.AnalyzeParameters(*loop.target);
    symbols.AnalyzeAll(loop.body);
    Place body_place = place.Within(symbols);
    body_place.is_in_loop = true;
    TRY(BindNode(*loop.target, body_place));
    TRY(BindAll(loop.body, body_place));
    if (loop.has_loop_variable) loop.loop_variable = symbols.RefOf("loop");
    loop.scope = symbols.MakeScope(false);

    // The else block, for no items, belongs to the enclosing scope.
    Symbols else_symbols(&outer, outer.function());
    else_symbols.AnalyzeAll(loop.else_body);
    TRY(BindAll(loop.else_body, place.Within(else_symbols)));
    loop.else_scope = else_symbols.MakeScope(false);
    return Ok();
  }

  // The test runs as a separate function, which also sets the target's names.
  Status BindLoopTest(For& loop, const Place& place) {
    FunctionScope function(&place.symbols.function(), loop.test_function);
    Symbols symbols(&place.symbols, function);
    symbols.AnalyzeParameters(*loop.test_target);
    symbols.Analyze(*loop.test);
    const Place inner = place.Within(symbols);
    TRY(BindNode(*loop.test_target, inner));
    TRY(BindNode(*loop.test, inner));
    loop.test_scope = symbols.MakeScope(true);
    return Ok();
  }

  Status BindSetBlock(SetBlock& block, const Place& place) {
    Symbols symbols(&place.symbols, place.symbols.function());
    symbols.AnalyzeAll(block.body);
    if (block.filter) symbols.Analyze(*block.filter);
    const Place inner = place.Within(symbols);
    TRY(BindAll(block.body, inner));
    if (block.filter) TRY(BindNode(*block.filter, inner));
    block.scope = symbols.MakeScope(false);
    return BindNode(*block.target, place);
  }

  Status BindFilterBlock(FilterBlock& block, const Place& place) {
    Symbols symbols(&place.symbols, place.symbols.function());
    symbols.AnalyzeAll(block.body);
    symbols.Analyze(*block.filter);
    const Place inner = place.Within(symbols);
    TRY(BindAll(block.body, inner));
    TRY(BindNode(*block.filter, inner));
    block.scope = symbols.MakeScope(false);
    return Ok();
  }

  Status BindMacro(Macro& macro, const Place& place) {
    for (const std::string& name : FindUndeclared(macro.body, {"caller", "kwargs", "varargs"})) {
      if (!HasParameter(macro, name)) return NotSupportedAt(macro.line, "variable of macros", name);
    }
    FunctionScope function(&place.symbols.function(), macro.function);
    Symbols symbols(&place.symbols, function);
    for (const NodePtr& parameter : macro.parameters) symbols.Analyze(*parameter);
    symbols.AnalyzeAll(macro.defaults);
    symbols.AnalyzeAll(macro.body);
    const Place inner{symbols};
    TRY(BindAll(macro.parameters, inner));
    TRY(BindAll(macro.defaults, inner));
    TRY(BindAll(macro.body, inner));
    macro.scope = symbols.MakeScope(true);
    macro.target = place.symbols.RefOf(macro.name);
    return Ok();
  }

  static bool HasParameter(const Macro& macro, std::string_view name) {
    return std::ranges::any_of(macro.parameters, [&](const NodePtr& parameter) {
      return static_cast<const Name&>(*parameter).name == name;
    });
  }

  Status BindGeneration(Generation& block, const Place& place) {
    FunctionScope function(&place.symbols.function(), block.function);
    Symbols symbols(&place.symbols, function);
    symbols.AnalyzeAll(block.body);
    TRY(BindAll(block.body, Place{symbols}));
    block.scope = symbols.MakeScope(true);
    return Ok();
  }

  Template& template_;
};

}  // namespace

Status Bind(Template& parsed) { return Binder(parsed).Run(); }

}  // namespace aster::jinja
