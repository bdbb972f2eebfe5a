// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/doctor/kernel_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/files.h"

namespace aster::cli {

std::string KernelFiles::Read(std::string_view path) const {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  auto text = ReadFile(root_ + std::string(path), kMaxBytes);
  if (!text.ok()) return "";
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return std::move(text).value();
}

bool KernelFiles::Has(std::string_view path) const {
  std::error_code ignored;
  return std::filesystem::exists(root_ + std::string(path), ignored);
}

std::vector<std::string> KernelFiles::List(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(root_ + std::string(path), error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace aster::cli
