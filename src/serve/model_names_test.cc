// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/model_names.h"

#include <gtest/gtest.h>

namespace aster::serve {
namespace {

TEST(ModelNames, AsPeopleWriteThem) {
  for (const char* written : {"nova", "Nova", "nova:latest", "NOVA.gguf", "/models/nova.gguf",
                              "C:\\models\\Nova.GGUF", "nova.gguf:latest"}) {
    EXPECT_EQ(PlainName(written), "nova") << written;
  }
  EXPECT_EQ(PlainName("org/nova"), "org/nova") << "only the path of a file has folders";
  EXPECT_EQ(PlainName("nova:7b"), "nova:7b");
  EXPECT_EQ(PlainName(""), "");
}

}  // namespace
}  // namespace aster::serve
