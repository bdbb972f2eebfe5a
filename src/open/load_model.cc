// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/load_model.h"

#include <fmt/format.h>

#include <utility>

#include "disk/disk_pages.h"
#include "open/model_identity.h"

namespace aster::open {

Result<std::unique_ptr<engine::LocalModel>> LoadModel(const gguf::ModelFiles& files,
                                                      const ModelOptions& options,
                                                      Reporter& reporter, const LoadFor& load_for) {
  engine::LocalModelOptions engine = TRY(options.ForEngine());
  engine.page_store = load_for.store;
  engine.drafter = load_for.drafter;
  if (engine.page_store == nullptr) engine.page_store = TRY(options.kv_cache.Open());
  if (engine.page_store != nullptr || load_for.is_kept) {
    engine.name = TRY(FingerprintOf(files, reporter));
  }
  auto model = TRY(engine::LocalModel::Load(files, engine, reporter.StartProgress("loading")));
  if (!model->gpu_note().empty()) reporter.Complain("note", model->gpu_note());
  if (model->gpu_layers() > 0) {
    const uint32_t layers = model->slice().layer_end - model->slice().layer_begin;
    reporter.Complain("note", fmt::format("{} of {} layers on {}", model->gpu_layers(), layers,
                                          model->gpu_names()));
  }
  return model;
}

}  // namespace aster::open
