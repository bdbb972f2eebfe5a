// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The KV cache of a conversation, cut into page files and put together again: KV chunks in whatever
// layers and lengths they come, one file for each page of positions, and back. Must not know where
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
// Keeps the rows of one page.
using PageTaker =
    FunctionRef<Status(const kv::KvChunkHeader& header, std::span<const kv::Block> blocks)>;

// `tokens` are the whole history's. An error of the source, of the taker, or where the rows are of
// another layout or history.
Status CutIntoPages(const kv::Layout& layout, std::span<const int32_t> tokens, RowsSource source,
                    PageTaker take);

using PageOpener = FunctionRef<Result<PageFile>(const SessionPage&)>;
// Takes a KV chunk (engine::Generator::ImportRows does).
using KvChunkTaker = FunctionRef<Status(Bytes chunk)>;

// Makes KV chunks of page files, as far as they are whole and follow each other; what precedes an
// error has been taken. Where layers have windows, and only what was in them at the end was kept,
// rows of a shorter history may be of no use: then nothing of these layers is taken.
Status PutTogether(const kv::Layout& layout, std::span<const int32_t> tokens,
                   std::span<const SessionPage> pages, PageOpener open, KvChunkTaker take);

}  // namespace aster::disk
