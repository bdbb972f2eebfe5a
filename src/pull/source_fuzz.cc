// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any text is a source or an error; a source's text parses to the same source.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "pull/source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto source = aster::pull::ParseSource(text);
  if (!source.ok()) return 0;
  if (const auto* url = std::get_if<aster::pull::UrlSource>(&*source)) {
    const auto name = aster::pull::FileNameOf(*url);
    CHECK(!name.ok() || name->find('/') == std::string::npos);
    return 0;
  }
  CHECK(aster::pull::ParseSource(aster::pull::ToText(*source)).value() == *source);
  return 0;
}
