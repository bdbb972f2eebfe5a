// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Names the mapped file that cannot be read any more, as when another program has cut it or its
// disk has failed: the system ends the process when it reads there (SIGBUS), and says nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace aster {

// For the whole process, before it ends by that signal.
void NameLostFiles();

// What is mapped where. Of more than a few hundred files the others have no name. Safe for
// concurrent use.
void NoteMapping(const uint8_t* data, size_t size, const std::string& path);
void ForgetMapping(const uint8_t* data);

}  // namespace aster
