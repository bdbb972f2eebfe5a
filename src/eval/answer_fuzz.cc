// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any reply gets a verdict, the same every time, which agrees with the answer found.
#include "base/bytes.h"
#include "base/check.h"
#include "eval/answer.h"
#include "eval/canonical_json.h"

// The first byte chooses how the answer is found; the first line of the rest is the answer, and the
// rest the reply.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using aster::eval::Extract;
  if (size < 1) return 0;
  const auto extract = static_cast<Extract>(data[0] % 4);
  const std::string_view rest = aster::AsText({data + 1, size - 1});
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view answer = rest.substr(0, end);
  const std::string_view reply = rest.substr(std::min(end + 1, rest.size()));

  const bool right = aster::eval::IsRight(reply, answer, extract);
  const auto found = aster::eval::FindAnswer(reply, extract);
  CHECK(found || !right);
  if (found) CHECK(found->data() >= reply.data() && found->size() <= reply.size());
  const std::string plain = aster::eval::PlainText(reply);
  CHECK(aster::eval::PlainText(plain).size() <= plain.size());
  if (extract == Extract::kWhole) {
    CHECK(aster::eval::IsRight(reply, reply, extract));
    CHECK(right == (plain == aster::eval::PlainText(answer)));
  }
  CHECK(aster::eval::SameJson(reply, answer) == aster::eval::SameJson(answer, reply));
  if (right && extract == Extract::kJson) CHECK(aster::eval::CanonicalJson(reply).has_value());
  return 0;
}
