// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/tls.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/bytes.h"
#include "base/files.h"
#include "net/certificate.h"

namespace aster::net {
namespace {

constexpr int64_t kWallS = 1'800'000'000;  // in 2027

// In a process of its own, as the effect is permanent.
TEST(TlsContext, AServerThatHoldsItsKeyLeavesNoCoreDump) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto put = [&](const std::string& name, const std::string& text) {
    AtomicFile file = AtomicFile::Create(folder.File(name)).value();
    EXPECT_TRUE(file.Write(AsBytes(text)).ok() && file.Commit().ok());
    return folder.File(name);
  };
  const std::string key = MakePrivateKey().value();
  const std::string key_path = put("key.pem", key);
  const std::string certificate_path =
      put("certificate.pem",
          MakeAuthority(key, "desk", {.begin_s = kWallS - 1, .end_s = kWallS + 1'000'000}).value());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const bool is_made = TlsContext::MakeForClients(certificate_path, key_path).ok();
    const bool is_forbidden = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
    _exit(is_made && is_forbidden ? 0 : 1);  // tidy: allow(stopping) the child of a fork
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace aster::net
