// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/commands.h"

int main(int argc, char** argv) { return aster::cli::Main(argc, argv); }
