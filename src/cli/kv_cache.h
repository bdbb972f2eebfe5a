// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// --kv-cache: pages of keys and values on the disk, and what a command tells of them. Must not know
// what is computed.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}
namespace aster::disk {
class DiskPages;
}

namespace aster::cli {

struct KvCacheOptions {
  std::string folder;  // empty: none
  std::string size = "8GiB";

  void Declare(CLI::App& app);
  // Null where none is wanted.
  Result<std::shared_ptr<disk::DiskPages>> Open() const;
  // For another process of this program.
  std::vector<std::string> Arguments() const;
};

// What it was good for until now, a line for people; nothing where nothing was asked of it. Waits
// until what was computed is on the disk.
std::string DescribeKvCache(disk::DiskPages& pages);
nlohmann::ordered_json KvCacheToJson(disk::DiskPages& pages);

}  // namespace aster::cli
