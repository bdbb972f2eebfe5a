// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names the mapped file when it cannot be read any more, as when another program has truncated it
// or its disk has failed: then the system ends the process at the read (SIGBUS) without a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aster {

// For the whole process; that signal still ends it.
void NameLostFiles();

// Records a mapping. Only the first few hundred files get names. Safe for concurrent use.
void NoteMapping(const uint8_t* data, size_t size, const std::string& path);
void ForgetMapping(const uint8_t* data);

}  // namespace aster
