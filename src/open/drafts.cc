// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/drafts.h"

#include <fmt/format.h>

#include <string_view>

#include "drafting/load_drafter.h"
#include "model/files/block_shape.h"
#include "model/files/support.h"
#include "open/builtin_models.h"
#include "open/load_model.h"
#include "text/vocab_reader.h"

namespace aster::open {
namespace {

constexpr std::string_view kNodePrefix = "node:";

}  // namespace

// The drafter's files may repeat the vocabulary.
Status CheckBlockDrafter(const gguf::ModelFiles& drafter, const gguf::ModelFiles& files) {
  if (text::HasVocab(drafter.metadata())) TRY(drafting::CheckSameVocabulary(files, drafter));
  TRY(model::BlockShapeOf(drafter, files.metadata(), TRY(model::ShapeOf(files))));
  return Ok();
}

engine::DraftOptions DraftOptions::ForEngine() const {
  const auto kind = draft.empty()      ? engine::DraftKind::kNone
                    : draft == "mtp"   ? engine::DraftKind::kMtp
                    : draft == "ngram" ? engine::DraftKind::kNgram
                                       : engine::DraftKind::kModel;
  return {.kind = kind, .most = most};
}

std::optional<std::string> DraftOptions::NodeToAsk() const {
  if (draft == "auto") return "";
  if (draft.starts_with(kNodePrefix)) return draft.substr(kNodePrefix.size());
  return std::nullopt;
}

Status DraftOptions::CheckFor(const gguf::ModelFiles& files) const {
  const engine::DraftKind kind = ForEngine().kind;
  if (kind == engine::DraftKind::kMtp && files.drafter() != nullptr) {
    return CheckBlockDrafter(*files.drafter(), files).In("--draft mtp");
  }
  if (kind == engine::DraftKind::kMtp) {
    const model::Support support = model::CheckSupport(files);
    if (support.shape && support.shape->mtp_layers > 0) return Ok();
    return FailedPrecondition(
        "--draft mtp: the model has no MTP block; use ngram, or a smaller model");
  }
  if (kind != engine::DraftKind::kModel || NodeToAsk()) return Ok();
  const std::string path = TRY(FindModel(draft).In("--draft"));
  const std::string where = fmt::format("--draft {}", path);
  const auto drafter = TRY(gguf::ModelFiles::Open(path).In("--draft"));
  return (model::HoldsBlockDrafter(drafter.metadata())
              ? CheckBlockDrafter(drafter, files)
              : drafting::CheckSameVocabulary(files, drafter))
      .In(where);
}

Result<std::unique_ptr<Drafts>> Drafts::Load(const DraftOptions& flags,
                                             const gguf::ModelFiles& files,
                                             const ModelOptions& model,
                                             const ClusterOptions& cluster, Reporter& reporter) {
  auto drafts = std::make_unique<Drafts>();
  if (const auto node = flags.NodeToAsk()) {
    drafts->remote_ =
        TRY(RemoteDrafts::Find(*node, files, cluster, flags.keeps_looking).In("--draft"));
    return drafts;
  }
  if (flags.ForEngine().kind == engine::DraftKind::kMtp && files.drafter() != nullptr) {
    TRY(CheckBlockDrafter(*files.drafter(), files).In("--draft mtp"));
    drafts->drafter_ = files.drafter();
  }
  if (flags.ForEngine().kind != engine::DraftKind::kModel) return drafts;
  const std::string path = TRY(FindModel(flags.draft).In("--draft"));
  const std::string where = fmt::format("--draft {}", path);
  auto drafter =
      std::make_unique<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(path).In("--draft")));
  if (model::HoldsBlockDrafter(drafter->metadata())) {
    TRY(CheckBlockDrafter(*drafter, files).In(where));
    drafts->drafter_ = std::move(drafter);
    return drafts;
  }
  drafts->files_ = std::move(drafter);
  TRY(drafting::CheckSameVocabulary(files, *drafts->files_).In(where));
  ModelOptions own = model;
  own.kv_cache = {};
  // A window, if any, is meant for the model that answers.
  own.kv_window = 0;
  own.kv_sinks = 0;
  drafts->model_ = TRY(LoadModel(*drafts->files_, own, reporter).In(where));
  return drafts;
}

engine::ProposerSource& Drafts::For(engine::LocalModel* answers, net::Network* network) {
  if (remote_ != nullptr) return remote_->Source(network);
  proposers_ = std::make_unique<draft::Proposers>(answers, model_.get());
  return *proposers_;
}

std::string DescribeDrafts(const engine::DraftCounts& counts) {
  if (counts.steps == 0) return "";
  const auto steps = static_cast<double>(counts.steps);
  const auto accepted = static_cast<double>(counts.accepted);
  std::string text = "drafts: ";
  text += counts.drafted == 0
              ? "none"
              : fmt::format("{:.1f} % of {} draft tokens accepted",
                            100 * accepted / static_cast<double>(counts.drafted), counts.drafted);
  return text + fmt::format(", {:.2f} tokens a step", 1 + accepted / steps);
}

}  // namespace aster::open
