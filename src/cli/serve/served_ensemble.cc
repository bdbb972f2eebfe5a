// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/served_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "ensemble/open_members.h"

namespace aster::cli {
namespace {

// The fingerprint of all in order; empty if one is unknown.
std::string Together(const std::vector<std::string>& fingerprints) {
  Hasher hasher;
  for (const std::string& one : fingerprints) {
    if (one.empty()) return "";
    hasher.Add({reinterpret_cast<const uint8_t*>(one.data()), one.size()});
  }
  return hasher.Digest().ToHex();
}

// Answers depend on the members' weights and on the policy, too.
serve::ModelFacts FactsOf(const std::vector<const serve::ServedModel*>& members,
                          const std::vector<double>& weights, ensemble::Policy policy) {
  serve::ModelFacts facts = members.front()->facts;
  facts.architecture = "ensemble";
  facts.parameters = facts.bytes = 0;
  std::vector<std::string> files, answers;
  for (const serve::ServedModel* const member : members) {
    facts.parameters += member->facts.parameters;
    facts.bytes += member->facts.bytes;
    facts.trained_context = std::min(facts.trained_context, member->facts.trained_context);
    facts.modified_s = std::max(facts.modified_s, member->facts.modified_s);
    files.push_back(member->facts.fingerprint);
    answers.push_back(member->facts.fingerprint_of_answers);
  }
  facts.fingerprint = Together(files);
  answers.push_back(fmt::format("{}", fmt::join(weights, ",")));
  if (policy != ensemble::Policy::kChoose) answers.emplace_back(ensemble::PolicyName(policy));
  facts.fingerprint_of_answers = Together(answers);
  if (!facts.fingerprint_of_answers.empty())
    facts.fingerprint_of_answers = "fp_" + facts.fingerprint_of_answers.substr(0, 16);
  return facts;
}

}  // namespace

Result<std::unique_ptr<ServedEnsemble>> ServedEnsemble::Make(
    const EnsembleSpec& spec, const std::vector<const serve::ServedModel*>& members,
    const ensemble::EnsembleOptions& options, size_t most_questions, Clock& clock) {
  auto served = std::make_unique<ServedEnsemble>();
  // The members, which answer in their own loops.
  std::vector<std::string> names;
  for (const serve::ServedModel* const member : members) names.push_back(member->context.name);
  names = ensemble::Distinct(names);
  std::vector<double> weights = spec.weights;
  weights.resize(members.size(), 1);
  std::vector<ensemble::Member> all;
  for (size_t i = 0; i < members.size(); ++i) {
    const serve::ServedModel& member = *members[i];
    if (!member.context.model.prompt->has_template()) {
      return FailedPrecondition(fmt::format(
          "{} has no chat template, which a member of an ensemble needs", member.context.name));
    }
    served->engines_.push_back(
        std::make_unique<serve::LoopEngine>(*member.context.loop, member.defaults.vocab_size));
    all.push_back({.name = names[i],
                   .model = member.context.model,
                   .engine = served->engines_.back().get(),
                   .is_elsewhere = member.context.is_elsewhere,
                   .weight = weights[i],
                   .context_limit = member.context.context_limit,
                   .draft = member.context.draft});
  }
  TRY(ensemble::CheckMembers(all));
  // The ensemble, and what its clients see.
  served->ensemble_ = std::make_unique<ensemble::Ensemble>(std::move(all), clock, options);
  served->loop_ = std::make_unique<serve::EnsembleLoop>(*served->ensemble_, clock, most_questions);
  serve::ServedModel& model = served->model_;
  model = *members.front();
  model.facts = FactsOf(members, weights, spec.policy);
  model.context.name = spec.name;
  model.context.ensemble = served->loop_.get();
  model.context.metrics = &served->metrics_;
  const Error no_rows = Unimplemented(fmt::format(
      "{} is an ensemble, and only a model has embeddings: ask one of its members", spec.name));
  model.context.pooling = no_rows;
  model.context.rank_head = no_rows;
  for (const serve::ServedModel* const member : members) {
    model.defaults.vocab_size = std::min(model.defaults.vocab_size, member->defaults.vocab_size);
    model.defaults.context_limit =
        std::min(model.defaults.context_limit, member->defaults.context_limit);
  }
  model.context.context_limit = model.defaults.context_limit;
  return served;
}

serve::ServedModel ServedEnsemble::Model(std::vector<std::string> aliases) {
  serve::ServedModel model = model_;
  model.aliases = std::move(aliases);
  return model;
}

}  // namespace aster::cli
