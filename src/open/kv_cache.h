// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// --kv-cache: pages of keys and values on the disk, and what is told of them. Must not know what is
// computed.
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

  // Null where none is wanted.
  Result<std::shared_ptr<disk::DiskPages>> Open() const;
  // For another process of this program.
  std::vector<std::string> Arguments() const;
};

// What it was good for until now. Waits until what was computed is on the disk.
disk::DiskPagesCounts CountsOf(disk::DiskPages& pages);
// A line for people.
std::string DescribeKvCache(const disk::DiskPagesCounts& counts);
nlohmann::ordered_json KvCacheToJson(const disk::DiskPagesCounts& counts);

// Between a command and the nodes that it has started, on the node's standard input and output: it
// is asked with one line, and answers with one. Nothing where it has no cache.
inline constexpr std::string_view kKvCacheQuestion = "kv cache?\n";
std::string KvCacheToLine(disk::DiskPages* pages);
std::optional<disk::DiskPagesCounts> ParseKvCacheLine(std::string_view line);
// Of another process that uses the same folder and has other layers of the same texts.
void AddKvCache(const disk::DiskPagesCounts& other, disk::DiskPagesCounts& all);

}  // namespace aster::open
