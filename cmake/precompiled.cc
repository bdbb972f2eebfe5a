// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// CMake needs a source to precompile headers (modules.cmake).
