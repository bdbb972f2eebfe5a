// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Cuts the KV cache of a conversation into page files, and joins them again: KV chunks with any
// layers and lengths become one file for each page of positions, and back. Must not know where
// files are, nor who computes.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "disk/page_file.h"
#include "disk/session_file.h"
#include "kv/chunk.h"
#include "kv/layout.h"

namespace aster::disk {

// Writes KV chunks into a sink (engine::Generator::ExportRows does).
using RowsSource = FunctionRef<Status(FunctionRef<Status(Bytes)>)>;
// Stores the rows of one page.
using PageTaker =
    FunctionRef<Status(const kv::KvChunkHeader& header, std::span<const kv::Block> blocks)>;

// `tokens`: of the whole history. An error of the source, of the taker, or if the rows have another
// layout or history.
Status CutIntoPages(const kv::Layout& layout, std::span<const int32_t> tokens, RowsSource source,
                    PageTaker take);

using PageOpener = FunctionRef<Result<PageFile>(const SessionPage&)>;
// Takes a KV chunk (engine::Generator::ImportRows does).
using KvChunkTaker = FunctionRef<Status(Bytes chunk)>;

// Makes KV chunks of page files, as far as they are whole and contiguous; chunks before an error
// have been passed on. If layers have windows, and only the rows in them at the end were kept, rows
// of a shorter history may be useless: then nothing of these layers is passed on.
Status PutTogether(const kv::Layout& layout, std::span<const int32_t> tokens,
                   std::span<const SessionPage> pages, PageOpener open, KvChunkTaker take);

}  // namespace aster::disk
