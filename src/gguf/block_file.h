// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files that only have the MTP block, given together with a model's own: how to recognise them, and
// which of their tensors count. The keys of published ones do not fit the model (another
// architecture, one layer more), and they repeat some of its tensors in other types. Must not know
// what the block computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "gguf/metadata.h"

namespace aster::gguf {

enum class Holding : uint8_t {
  kModel,  // layers of the model, or anything else
  kApart,  // only the block, named mtp.0.*
  // The block as the layer after the model's last: blk.N.*. Also copies of the model's embedding
  // and head, and the block's own merging head under the name of the model's.
  kCompanion,
  kDrafter,  // a drafter of blocks, a separate model: none of its tensors is the model's
};

// general.architecture of drafters of blocks.
inline constexpr std::string_view kDrafterArchitecture = "dflash";

// The kind of each file; `set_of_file` says which of them are parts of one split. If there are only
// blocks, they count as models. Uses the names that heads list, so the result does not depend on
// which data of the files is there.
std::vector<Holding> HoldingsOf(std::span<const File> files, std::span<const size_t> set_of_file);

// Renames tensors of a companion whose names mean another tensor in the model, to the names of
// blocks inside a model: output_hc_* becomes blk.N.nextn.hc_head_*.
void NameAsInside(File& companion);

// Whether a tensor of such a file belongs to the block, and is not a copy of one of the model's.
bool IsOfBlock(Holding holding, std::string_view tensor);

// Checks that the model's numbers in a block's file are those of this model.
Status CheckBlockKeys(const File& block, const Metadata& model);

}  // namespace aster::gguf
