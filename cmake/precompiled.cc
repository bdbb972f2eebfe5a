// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The source without which CMake precompiles no headers (modules.cmake).
