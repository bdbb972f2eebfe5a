// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/load_drafter.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/machine.h"
#include "base/thread_pool.h"
#include "draft/model_proposer.h"
#include "draft/proposers.h"
#include "gguf/fingerprint.h"
#include "model/files/support.h"
#include "model/memory/memory.h"
#include "model/shape/shape.h"
#include "plan/route_model.h"
#include "text/vocab_reader.h"

namespace aster::drafting {

Status CheckSameVocabulary(const gguf::ModelFiles& answers, const gguf::ModelFiles& drafts) {
  if (text::HasVocab(answers.metadata()) && text::HasVocab(drafts.metadata())) {
    return draft::CheckSameVocabulary(TRY(text::ReadVocab(answers.metadata())),
                                      TRY(text::ReadVocab(drafts.metadata())));
  }
  const uint32_t mine = TRY(model::ReadShape(answers.metadata())).vocab_size;
  const uint32_t other = TRY(model::ReadShape(drafts.metadata())).vocab_size;
  if (mine == other) return Ok();
  return InvalidArgument(fmt::format(
      "it has {} tokens and the answering model {}: a draft model needs the same vocabulary", other,
      mine));
}

namespace {

// The layout digests of a model's KV cache, for all types of rows.
std::set<Hash128> LayoutsOf(const model::Shape& shape, const Hash128& fingerprint) {
  std::set<Hash128> layouts;
  using kernels::KvType;
  for (const KvType type : {KvType::kF16, KvType::kBf16, KvType::kQ8, KvType::kQ8Int}) {
    for (const bool is_plain : {false, true}) {
      const model::MemoryOptions memory{.type = type, .plain_rows = is_plain};
      const auto layout = plan::LayoutOf(shape, memory, fingerprint);
      if (layout.ok()) layouts.insert(layout->digest());
    }
  }
  return layouts;
}

// Makes n-gram lookup use the texts that this machine holds, too.
Status AddTexts(const gguf::ModelFiles& answers, size_t threads, const TextFolders& folders,
                Clock& clock, OwnDrafter& own) {
  ThreadPool pool(threads > 0 ? threads : UsableCpuCount());
  const Hash128 fingerprint = TRY(gguf::FingerprintModel(answers, pool)).model;
  const model::Shape shape = TRY(model::ShapeOf(answers));
  auto index = std::make_shared<TextIndex>();
  own.source = std::make_unique<IndexSource>(std::move(own.source), index);
  own.texts =
      std::make_unique<HeldTextsReader>(HeldTextsOptions{.sessions_folder = folders.sessions,
                                                         .pages_folder = folders.pages,
                                                         .vocab_size = own.vocabulary.size,
                                                         .fingerprint = fingerprint,
                                                         .layouts = LayoutsOf(shape, fingerprint)},
                                        clock, index);
  return Ok();
}

}  // namespace

Result<OwnDrafter> LoadDrafter(const DraftFor& wanted, const engine::LocalModelOptions& options,
                               const TextFolders& folders, Clock& clock) {
  const gguf::ModelFiles answers = TRY(gguf::ModelFiles::Open(wanted.model_path));
  OwnDrafter own;
  own.model = wanted.model;
  own.drafter = wanted.drafter;
  own.vocabulary = TRY(VocabularyOf(answers).In(wanted.model_path));
  if (wanted.drafter_path.empty()) {
    own.source = std::make_unique<draft::Proposers>(/*answers=*/nullptr);
    if (folders.any()) TRY(AddTexts(answers, options.threads, folders, clock, own));
  } else {
    own.kind = engine::DraftKind::kModel;
    own.files =
        std::make_shared<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(wanted.drafter_path)));
    TRY(CheckSameVocabulary(answers, *own.files).In(wanted.drafter_path));
    own.loaded = TRY(engine::LocalModel::Load(*own.files, options).In(wanted.drafter_path));
    own.name = own.loaded->name();
    own.source = std::make_unique<draft::Proposers>(/*answers=*/nullptr, own.loaded.get());
  }
  own.tokens_per_s = MeasureDrafter(own, clock);
  return own;
}

}  // namespace aster::drafting
