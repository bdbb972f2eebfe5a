// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Files that hold nothing but the block for multi-token prediction (MTP), given along with a
// model's own: how they are told apart, and what of them counts. Published ones say of themselves
// what is not so of the model (another architecture, one layer more), and repeat some of its
// tensors in other types. Must not know what the block computes.
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
  kModel,  // layers of the model, or whatever else
  kApart,  // the block alone, named mtp.0.*
  // The block as the layer behind the model's last: blk.N.*. Beside it, copies of the model's
  // embedding and head, and the block's own merging head under the name of the model's.
  kCompanion,
  kDrafter,  // a drafter of blocks, a model of its own kind: none of its tensors is the model's
};

// general.architecture of drafters of blocks.
inline constexpr std::string_view kDrafterArchitecture = "dflash";

// Of each file; `set_of_file` says which of them are parts of one split. Where there is nothing but
// blocks, they are taken for models. Looks at the names that heads list, so that it is the same
// whatever of the files is there.
std::vector<Holding> HoldingsOf(std::span<const File> files, std::span<const size_t> set_of_file);

// Gives the tensors of a companion that mean another one in the model the names that blocks inside
// a model have: output_hc_* becomes blk.N.nextn.hc_head_*.
void NameAsInside(File& companion);

// Whether a tensor of such a file is the block's, and not a copy of one of the model's.
bool IsOfBlock(Holding holding, std::string_view tensor);

// That the numbers which a block's file gives of its model are those of this one.
Status CheckBlockKeys(const File& block, const Metadata& model);

}  // namespace aster::gguf
