// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Small files of the kernel: /proc, /sys and the like. In tests, below another folder. Must not
// know what they mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aster::cli {

class KernelFiles {
 public:
  // `root` is put before every path: "" on this machine.
  explicit KernelFiles(std::string root = "") : root_(std::move(root)) {}

  // Without blanks at its end; empty if the file cannot be read.
  std::string Read(std::string_view path) const;
  bool Has(std::string_view path) const;
  // Names in a folder, in alphabetical order; empty if there is no such folder.
  std::vector<std::string> List(std::string_view path) const;

 private:
  const std::string root_;
};

}  // namespace aster::cli
