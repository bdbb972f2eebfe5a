// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/symbols.h"

#include <fmt/format.h>

#include "base/check.h"

namespace aster::jinja {
namespace {

class UndeclaredFinder {
 public:
  explicit UndeclaredFinder(std::set<std::string> names) : names_(std::move(names)) {}

  void Visit(Node& node) {
    if (node.kind == NodeKind::kName) {
      const auto& name = static_cast<const Name&>(node);
      if (name.use != Name::Use::kLoad) {
        names_.erase(name.name);
      } else if (names_.contains(name.name)) {
        found_.insert(name.name);
      }
      return;
    }
    node.VisitChildren([this](Node& child) { Visit(child); });
  }

  std::set<std::string> Take() { return std::move(found_); }

 private:
  std::set<std::string> names_;
  std::set<std::string> found_;
};

}  // namespace

std::set<std::string> FindUndeclared(const Body& body, std::set<std::string> names) {
  UndeclaredFinder finder(std::move(names));
  for (const NodePtr& node : body) finder.Visit(*node);
  return finder.Take();
}

Symbols Symbols::Branch(const Symbols& base) {
  Symbols branch(base.parent_, *base.function_);
  branch.base_ = &base;
  return branch;
}

const std::string* Symbols::OwnIdentifier(const std::string& name) const {
  for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->base_) {
    const auto it = symbols->identifiers_.find(name);
    if (it != symbols->identifiers_.end()) return &it->second;
  }
  return nullptr;
}

bool Symbols::Stores(const std::string& name) const {
  return stores_.contains(name) || (base_ != nullptr && base_->Stores(name));
}

std::optional<Symbols::Found> Symbols::Find(const std::string& name) const {
  for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent_) {
    if (const std::string* identifier = symbols->OwnIdentifier(name)) {
      return Found{symbols->function_, *identifier};
    }
  }
  return std::nullopt;
}

VariableRef Symbols::RefTo(const Found& found) const {
  VariableRef ref;
  for (FunctionScope* function = function_; function != found.function;
       function = function->parent()) {
    CHECK(function != nullptr);
    ++ref.hops;
  }
  ref.slot = found.function->SlotOf(found.identifier);
  return ref;
}

VariableRef Symbols::RefOf(const std::string& name) const {
  const std::optional<Found> found = Find(name);
  CHECK_NOTE(found.has_value(), name);
  return RefTo(*found);
}

void Symbols::Define(const std::string& name, std::optional<Origin> origin) {
  const std::string identifier = fmt::format("{}:{}", level_, name);
  identifiers_[name] = identifier;
  if (origin) origins_[identifier] = *std::move(origin);
}

void Symbols::DeclareParameter(const std::string& name) {
  stores_.insert(name);
  Define(name, Origin{Origin::From::kParameter, {}, {}});
}

void Symbols::Load(const std::string& name) {
  if (!Find(name)) Define(name, Origin{Origin::From::kContext, name, {}});
}

void Symbols::Store(const std::string& name) {
  stores_.insert(name);
  if (OwnIdentifier(name) != nullptr) return;
  if (const std::optional<Found> outer = FindOutside(name)) {
    Define(name, Origin{Origin::From::kOuter, {}, *outer});
  } else {
    Define(name, Origin{Origin::From::kNothing, {}, {}});
  }
}

void Symbols::AnalyzeAll(const Body& body) {
  for (const NodePtr& node : body) Analyze(*node);
}

void Symbols::AnalyzeParameters(Node& target) {
  if (target.kind == NodeKind::kName) {
    DeclareParameter(static_cast<const Name&>(target).name);
  } else {
    target.VisitChildren([this](Node& child) { AnalyzeParameters(child); });
  }
}

void Symbols::Analyze(Node& node) {
  switch (node.kind) {
    case NodeKind::kName: {
      const auto& name = static_cast<const Name&>(node);
      if (name.use == Name::Use::kLoad) {
        Load(name.name);
      } else if (name.use == Name::Use::kStore) {
        Store(name.name);
      } else {
        DeclareParameter(name.name);
      }
      return;
    }
    case NodeKind::kNamespaceTarget:
      return Load(static_cast<const NamespaceTarget&>(node).name);
    case NodeKind::kIf:
      return AnalyzeIf(static_cast<If&>(node));
    case NodeKind::kMacro:
      return Store(static_cast<const Macro&>(node).name);
    case NodeKind::kSet:
      Analyze(*static_cast<const Set&>(node).value);
      return Analyze(*static_cast<const Set&>(node).target);
    case NodeKind::kSetBlock:
      return Analyze(*static_cast<const SetBlock&>(node).target);
    case NodeKind::kFor:
      return Analyze(*static_cast<const For&>(node).iterable);
    case NodeKind::kFilterBlock:
      return Analyze(*static_cast<const FilterBlock&>(node).filter);
    case NodeKind::kGeneration:
      return;
    default:
      node.VisitChildren([this](Node& child) { Analyze(child); });
  }
}

void Symbols::AnalyzeIf(If& node) {
  Analyze(*node.test);
  std::vector<Symbols> branches(3, Branch(*this));
  branches[0].AnalyzeAll(node.body);
  branches[1].AnalyzeAll(node.elifs);
  branches[2].AnalyzeAll(node.else_body);
  MergeBranches(branches);
}

void Symbols::MergeBranches(const std::vector<Symbols>& branches) {
  std::map<std::string, size_t> branch_counts;  // by name that is set in a branch and not before
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores_) {
      if (!Stores(name)) ++branch_counts[name];
    }
  }
  // The scope takes over the names of its branches.
  for (const Symbols& branch : branches) {
    for (const auto& [name, identifier] : branch.identifiers_) identifiers_[name] = identifier;
    for (const auto& [identifier, origin] : branch.origins_) origins_[identifier] = origin;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  // A name that not every branch sets must have its outer value if it is not set.
  for (const auto& [name, count] : branch_counts) {
    if (count == branches.size()) continue;
    const std::optional<Found> found = Find(name);
    CHECK_NOTE(found.has_value(), name);
    const std::optional<Found> outer = FindOutside(name);
    origins_[found->identifier] =
        outer ? Origin{Origin::From::kOuter, {}, *outer} : Origin{Origin::From::kContext, name, {}};
  }
}

Scope Symbols::MakeScope(bool ends_with_function) const {
  Scope scope;
  for (const auto& [identifier, origin] : origins_) {
    const uint32_t slot = function_->SlotOf(identifier);
    if (!ends_with_function) scope.cleared.push_back(slot);
    switch (origin.from) {
      case Origin::From::kParameter:
        break;
      case Origin::From::kContext:
        scope.loads.push_back({ScopeLoad::From::kContext, slot, {}, origin.name});
        break;
      case Origin::From::kOuter:
        scope.loads.push_back({ScopeLoad::From::kOuter, slot, RefTo(origin.outer), {}});
        break;
      case Origin::From::kNothing:
        scope.loads.push_back({ScopeLoad::From::kNothing, slot, {}, {}});
        break;
    }
  }
  return scope;
}

}  // namespace aster::jinja
