// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small files that the kernel makes: /proc, /sys and others like them. Below a folder of their own
// in tests. Must not know what they say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

class KernelFiles {
 public:
  // `root` stands before every path: "" on this machine.
  explicit KernelFiles(std::string root = "") : root_(std::move(root)) {}

  // Without blanks at its end; empty where the file cannot be read.
  std::string Read(std::string_view path) const;
  bool Has(std::string_view path) const;
  // Names in a folder, in alphabetical order; none where there is no such folder.
  std::vector<std::string> List(std::string_view path) const;

 private:
  const std::string root_;
};

}  // namespace aster::cli
