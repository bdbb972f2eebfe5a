// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/binder.h"

#include <fmt/format.h>

#include "jinja/lexer.h"
#include "jinja/symbols.h"

namespace aster::jinja {
namespace {

// Where a node stands.
struct Place {
  Symbols& symbols;
  // Within an if, where an unknown filter matters only once it is used.
  bool is_soft = false;
  bool is_in_loop = false;
  bool is_top_level = false;

  Place Within(Symbols& inner) const { return {inner, false, is_in_loop, false}; }
  Place Soft() const { return {symbols, true, is_in_loop, is_top_level}; }
};

class Binder {
 public:
  explicit Binder(Template& parsed) : template_(parsed) {}

  Status Run() {
    FunctionScope function(nullptr, template_.function);
    Symbols symbols(nullptr, function);
    symbols.AnalyzeAll(template_.body);
    TRY(BindAll(template_.body, Place{.symbols = symbols, .is_top_level = true}));
    template_.scope = symbols.MakeScope(true);
    if (block_names_.empty()) template_.top_level.clear();
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
      case NodeKind::kName:
        BindName(static_cast<Name&>(node), place);
        return Ok();
      case NodeKind::kNamespaceTarget: {
        auto& target = static_cast<NamespaceTarget&>(node);
        target.ref = place.symbols.RefOf(target.name);
        return Ok();
      }
      case NodeKind::kConditional:
        return BindChildren(node, place.Soft());
      case NodeKind::kFilter:
      case NodeKind::kTest:
        TRY(CheckName(static_cast<const Application&>(node), place));
        return BindChildren(node, place);
      case NodeKind::kFor:
        return BindFor(static_cast<For&>(node), place);
      case NodeKind::kIf:
        return BindChildren(node, place.Soft());
      case NodeKind::kSetBlock:
        return BindSetBlock(static_cast<SetBlock&>(node), place);
      case NodeKind::kMacro: {
        auto& macro = static_cast<Macro&>(node);
        TRY(BindMacroCode(macro.code, macro.line, place));
        macro.target = place.symbols.RefOf(macro.code.name);
        if (place.is_top_level) NoteTopLevel(macro.code.name, macro.target);
        return Ok();
      }
      case NodeKind::kCallBlock: {
        auto& block = static_cast<CallBlock&>(node);
        TRY(BindMacroCode(block.code, block.line, place));
        return block.call ? BindNode(*block.call, place) : Ok();
      }
      case NodeKind::kFilterBlock:
        return BindFilterBlock(static_cast<FilterBlock&>(node), place);
      case NodeKind::kWith:
        return BindWith(static_cast<With&>(node), place);
      case NodeKind::kBlock:
        return BindBlock(static_cast<Block&>(node));
      case NodeKind::kBreak:
      case NodeKind::kContinue:
        if (place.is_in_loop) return Ok();
        return ErrorAt(node.line, node.kind == NodeKind::kBreak ? "'break' outside loop"
                                                                : "'continue' not in loop");
      default:
        return BindChildren(node, place);
    }
  }

  void BindName(Name& name, const Place& place) {
    name.ref = place.symbols.RefOf(name.name);
    if (name.use == Name::Use::kStore && place.is_top_level) NoteTopLevel(name.name, name.ref);
  }

  void NoteTopLevel(const std::string& name, VariableRef ref) {
    template_.top_level.emplace_back(name, ref.slot);
  }

  static Status CheckName(const Application& node, const Place& place) {
    if (node.builtin != nullptr || place.is_soft) return Ok();
    return ErrorAt(node.line,
                   fmt::format("No {} named '{}'.",
                               node.kind == NodeKind::kFilter ? "filter" : "test", node.name));
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
    if (loop.test) {
      FunctionScope function(&outer.function(), loop.test_function);
      Symbols symbols(&outer, function);
      symbols.AnalyzeParameters(*loop.test_target);
      symbols.Analyze(*loop.test);
      const Place test_place = place.Within(symbols);
      TRY(BindNode(*loop.test_target, test_place));
      TRY(BindNode(*loop.test, test_place));
      loop.test_scope = symbols.MakeScope(true);
    }
    FunctionScope own_function(&outer.function(), loop.recursive_function);
    FunctionScope& function = loop.is_recursive ? own_function : outer.function();
    Symbols symbols(&outer, function);
    loop.has_loop_variable =
        loop.is_recursive || FindUndeclared(loop.body, {"loop"}).contains("loop");
    if (loop.has_loop_variable) symbols.DeclareParameter("loop");
    symbols.AnalyzeParameters(*loop.target);
    symbols.AnalyzeAll(loop.body);
    Place body_place = place.Within(symbols);
    body_place.is_in_loop = true;
    TRY(BindNode(*loop.target, body_place));
    TRY(BindAll(loop.body, body_place));
    if (loop.has_loop_variable) loop.loop_variable = symbols.RefOf("loop");
    loop.scope = symbols.MakeScope(loop.is_recursive && loop.else_body.empty());

    Symbols else_symbols(&outer, function);
    else_symbols.AnalyzeAll(loop.else_body);
    Place else_place = place.Within(else_symbols);
    if (loop.is_recursive) else_place.is_in_loop = false;
    TRY(BindAll(loop.else_body, else_place));
    loop.else_scope = else_symbols.MakeScope(false);
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

  Status BindWith(With& with, const Place& place) {
    TRY(BindAll(with.values, place));
    Symbols symbols(&place.symbols, place.symbols.function());
    for (const NodePtr& target : with.targets) symbols.AnalyzeParameters(*target);
    symbols.AnalyzeAll(with.body);
    const Place inner = place.Within(symbols);
    TRY(BindAll(with.targets, inner));
    TRY(BindAll(with.body, inner));
    with.scope = symbols.MakeScope(false);
    return Ok();
  }

  Status BindMacroCode(MacroCode& code, int line, const Place& place) {
    FunctionScope function(&place.symbols.function(), code.function);
    Symbols symbols(&place.symbols, function);
    for (const NodePtr& parameter : code.parameters) symbols.Analyze(*parameter);
    symbols.AnalyzeAll(code.defaults);
    symbols.AnalyzeAll(code.body);
    TRY(DeclareSpecialParameters(code, line, symbols));
    const Place inner{.symbols = symbols};
    TRY(BindAll(code.parameters, inner));
    TRY(BindAll(code.defaults, inner));
    TRY(BindAll(code.body, inner));
    code.scope = symbols.MakeScope(true);
    return Ok();
  }

  // A macro that mentions caller, kwargs or varargs gets them.
  static Status DeclareSpecialParameters(MacroCode& code, int line, Symbols& symbols) {
    const std::set<std::string> wanted = FindUndeclared(code.body, {"caller", "kwargs", "varargs"});
    auto position_of = [&](std::string_view name) -> std::optional<size_t> {
      for (size_t i = 0; i < code.parameters.size(); ++i) {
        if (static_cast<const Name&>(*code.parameters[i]).name == name) return i;
      }
      return std::nullopt;
    };
    const std::optional<size_t> caller = position_of("caller");
    code.has_explicit_caller = caller.has_value();
    if (wanted.contains("caller")) {
      if (caller && *caller < code.parameters.size() - code.defaults.size()) {
        return ErrorAt(
            line,
            "When defining macros or call blocks the special \"caller\" argument must be "
            "omitted or be given a default.");
      }
      if (!caller) {
        symbols.DeclareParameter("caller");
        code.caller = symbols.RefOf("caller");
      }
    }
    if (wanted.contains("kwargs") && !position_of("kwargs")) {
      symbols.DeclareParameter("kwargs");
      code.kwargs = symbols.RefOf("kwargs");
    }
    if (wanted.contains("varargs") && !position_of("varargs")) {
      symbols.DeclareParameter("varargs");
      code.varargs = symbols.RefOf("varargs");
    }
    return Ok();
  }

  // Blocks see the top level and what the template was given, not the scopes around them.
  Status BindBlock(Block& block) {
    if (!block_names_.insert(block.name).second) {
      return ErrorAt(block.line, fmt::format("block '{}' defined twice", block.name));
    }
    FunctionScope function(nullptr, block.function);
    Symbols symbols(nullptr, function);
    symbols.AnalyzeAll(block.body);
    TRY(BindAll(block.body, Place{.symbols = symbols}));
    block.scope = symbols.MakeScope(true);
    return Ok();
  }

  Template& template_;
  std::set<std::string> block_names_;
};

}  // namespace

Status Bind(Template& parsed) { return Binder(parsed).Run(); }

}  // namespace aster::jinja
