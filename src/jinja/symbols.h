// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which variable a name means, scope by scope. The rules are exactly the original's, because
// templates depend on their details: a name that is set anywhere in a scope belongs to that scope
// from its beginning. It starts as a copy of the outer variable, or of one of the rendering, or
// unset. Must not know how templates are evaluated.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "jinja/statements.h"

namespace aster::jinja {

// Assigns the slots of a function during binding.
class FunctionScope {
 public:
  FunctionScope(FunctionScope* parent, FunctionInfo& info) : parent_(parent), info_(info) {}

  uint32_t SlotOf(const std::string& identifier) {
    const auto [it, is_new] = slots_.emplace(identifier, info_.slot_count);
    if (is_new) ++info_.slot_count;
    return it->second;
  }
  FunctionScope* parent() const { return parent_; }

 private:
  FunctionScope* const parent_;  // the enclosing function; nullptr for the template itself
  FunctionInfo& info_;
  std::map<std::string, uint32_t> slots_;
};

// The names of one scope. Scopes at the same level of the same function share variables of the same
// name, as they never exist at the same time.
class Symbols {
 public:
  // `parent` (which may be nullptr) and `function` outlive it.
  Symbols(const Symbols* parent, FunctionScope& function)
      : parent_(parent), function_(&function), level_(parent == nullptr ? 0 : parent->level_ + 1) {}

  FunctionScope& function() const { return *function_; }

  // Records every name that the node uses in this scope. Scopes within it are not entered.
  void Analyze(Node& node);
  void AnalyzeAll(const Body& body);
  // The target of a loop, whose names are set on entry.
  void AnalyzeParameters(Node& target);

  void DeclareParameter(const std::string& name);
  void Load(const std::string& name);
  void Store(const std::string& name);

  // Seen from the function of this scope. The name must have been analysed.
  VariableRef RefOf(const std::string& name) const;

  // The actions on entry; also at the end, unless the scope ends with its function.
  Scope MakeScope(bool ends_with_function) const;

 private:
  struct Found {
    FunctionScope* function;
    std::string identifier;
  };
  struct Origin {
    enum class From : uint8_t { kParameter, kContext, kOuter, kNothing };
    From from;
    std::string name;  // for kContext
    Found outer;       // for kOuter
  };

  // A branch of an if: records what it adds, and finds the rest in `base`.
  static Symbols Branch(const Symbols& base);

  const std::string* OwnIdentifier(const std::string& name) const;
  std::optional<Found> Find(const std::string& name) const;
  std::optional<Found> FindOutside(const std::string& name) const {
    return parent_ == nullptr ? std::nullopt : parent_->Find(name);
  }
  bool Stores(const std::string& name) const;
  VariableRef RefTo(const Found& found) const;
  void Define(const std::string& name, std::optional<Origin> origin);
  void AnalyzeIf(If& node);
  void MergeBranches(const std::vector<Symbols>& branches);

  const Symbols* base_ = nullptr;  // of a branch
  const Symbols* parent_;
  FunctionScope* function_;
  int level_;
  std::map<std::string, std::string> identifiers_;  // by name
  std::map<std::string, Origin> origins_;           // by identifier
  std::set<std::string> stores_;
};

// Which of the names the body uses before it sets them.
std::set<std::string> FindUndeclared(const Body& body, std::set<std::string> names);

}  // namespace aster::jinja
