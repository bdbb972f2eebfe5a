// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// --kv-cache: the KV cache on disk that the options ask for, and its counters. Must not know what
// is computed.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aster::disk {
class DiskPages;
struct DiskPagesCounts;
}  // namespace aster::disk

namespace aster::open {

struct KvCacheOptions {
  std::string folder;  // empty: none
  std::string size = "8GiB";

  // Null if the options ask for none.
  Result<std::shared_ptr<disk::DiskPages>> Open() const;
  // The same options for another process of this program.
  std::vector<std::string> Arguments() const;
};

// Waits until all pages that were offered are written, and returns the counters.
disk::DiskPagesCounts CountsOf(disk::DiskPages& pages);
// One line for users.
std::string DescribeKvCache(const disk::DiskPagesCounts& counts);
nlohmann::ordered_json KvCacheToJson(const disk::DiskPagesCounts& counts);

// How a command asks the nodes that it has started for their counters: one line on the node's
// standard input, and one on its standard output. A node without a cache does not answer.
inline constexpr std::string_view kKvCacheQuestion = "kv cache?\n";
std::string KvCacheToLine(disk::DiskPages* pages);
std::optional<disk::DiskPagesCounts> ParseKvCacheLine(std::string_view line);
// Adds the counters of another process, which uses the same folder and has other layers of the same
// texts.
void AddKvCache(const disk::DiskPagesCounts& other, disk::DiskPagesCounts& all);

}  // namespace aster::open
