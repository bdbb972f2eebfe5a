// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What machines of clusters tell each other by multicast DNS service discovery (RFC 6763): who has
// a program of the service _aster._tcp, at which port, and under which labels. A label is a tag
// that tells nothing to a machine which does not know it already: of a cluster, or of an
// invitation. There are no names, addresses or versions; the address is where the message came
// from. Must not know sockets or time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/dns_message.h"

namespace aster::discovery {

// Of a cluster, by the certificate of its authority, which all of its machines have.
std::string ClusterLabel(std::string_view ca_certificate);
// Of an invitation, by the secret that its code and the inviting machine have. The secret does not
// follow from it, nor the invitation's id.
std::string InvitationLabel(Bytes secret);
bool IsInvitationLabel(std::string_view label);

// Another one each time that a program starts.
std::string DrawInstance();

// A machine as it tells others of itself.
struct Offer {
  std::string instance;
  std::vector<std::string> labels;
  uint16_t port = 0;
};

// Told unasked, and as an answer; `is_over`: the program ends.
DnsMessage OfferMessage(const Offer& offer, bool is_over = false);
// Who has these labels? The one that asks does not mean itself.
DnsMessage AskMessage(std::span<const std::string> labels, std::string_view instance);

struct Sighting {
  std::string instance;
  std::string label;
  uint16_t port = 0;

  bool operator==(const Sighting&) const = default;
};

// What a message says of this service.
struct Heard {
  std::vector<std::string> asked;  // labels; an empty one: all of the service
  std::vector<std::string> known;  // instances that need not answer
  std::vector<Sighting> sightings;
};
Heard HearMessage(const DnsMessage& message);

}  // namespace aster::discovery
