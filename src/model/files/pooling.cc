// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/pooling.h"

#include <fmt/format.h>

#include <string>

namespace aster::model {

std::string_view PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kLast:
      return "last";
    case Pooling::kFirst:
      return "cls";
    case Pooling::kMean:
      return "mean";
    case Pooling::kRank:
      return "rank";
  }
  return "";
}

Result<Pooling> ReadPooling(const gguf::Metadata& metadata) {
  const std::string arch = TRY(metadata.Get<std::string>("general.architecture"));
  const std::string key = arch + ".pooling_type";
  const auto type = TRY(metadata.GetOr<uint64_t>(key, 0));
  // 0 means that the model does not pool.
  constexpr Pooling kByType[] = {Pooling::kLast, Pooling::kMean, Pooling::kFirst, Pooling::kLast,
                                 Pooling::kRank};
  if (type < std::size(kByType)) return kByType[type];
  return Unimplemented(
      fmt::format("{} is {}; 0 to {} are known", key, type, std::size(kByType) - 1));
}

bool NamesPooling(const gguf::Metadata& metadata) {
  const auto arch = metadata.Get<std::string>("general.architecture");
  if (!arch.ok()) return false;
  const auto type = metadata.GetOr<uint64_t>(*arch + ".pooling_type", 0);
  return type.ok() && *type != 0;
}

}  // namespace aster::model
