// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Any bytes sent to the group: refused with a message, or accepted and unchanged after writing and
// reading again; also tests how messages are interpreted.
#include "base/check.h"
#include "discovery/dns_message.h"
#include "discovery/service.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace discovery = aster::discovery;
  const auto message = discovery::ParseDnsMessage({data, size});
  if (!message.ok()) {
    CHECK(!message.error().message().empty());
    return 0;
  }
  CHECK(message->questions.size() + message->records.size() <= discovery::kMaxEntries);
  const std::vector<uint8_t> written = discovery::FormatDnsMessage(*message);
  if (written.size() <= discovery::kMaxMessageBytes) {
    const auto again = discovery::ParseDnsMessage(written);
    CHECK(again.ok() && *again == *message);
  }
  const discovery::Heard heard = discovery::HearMessage(*message);
  for (const discovery::Sighting& sighting : heard.sightings)
    CHECK(sighting.port != 0 && !sighting.label.empty());
  CHECK(heard.sightings.empty() || message->is_answer);
  return 0;
}
