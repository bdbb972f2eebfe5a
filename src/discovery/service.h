// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages of multicast DNS service discovery (RFC 6763) between machines of clusters: the machines
// with a program of the service _aster._tcp, its port, and its labels. A label is a tag that
// reveals nothing to machines that do not know it already: of a cluster, or of an invitation.
// Messages have no names, addresses or versions; the address is the sender's. Must not know sockets
// or time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/dns_message.h"

namespace aster::discovery {

// The label of a cluster, from the certificate of its authority, which all of its machines have.
std::string ClusterLabel(std::string_view ca_certificate);
// The label of an invitation, from the secret that its code and the inviting machine share. It
// reveals neither the secret nor the invitation's id.
std::string InvitationLabel(Bytes secret);
bool IsInvitationLabel(std::string_view label);

// Random, new each time that a program starts.
std::string DrawInstance();

// A machine's announcement of itself.
struct Offer {
  std::string instance;
  std::vector<std::string> labels;
  uint16_t port = 0;
};

// Sent as an announcement, and as a reply; `is_over`: the program ends.
DnsMessage OfferMessage(const Offer& offer, bool is_over = false);
// Asks for machines with these labels, other than the sender.
DnsMessage AskMessage(std::span<const std::string> labels, std::string_view instance);

struct Sighting {
  std::string instance;
  std::string label;
  uint16_t port = 0;

  bool operator==(const Sighting&) const = default;
};

// The content of a message about this service.
struct Heard {
  std::vector<std::string> asked;  // labels; an empty one: the whole service
  std::vector<std::string> known;  // instances that need not answer
  std::vector<Sighting> sightings;
};
Heard HearMessage(const DnsMessage& message);

}  // namespace aster::discovery
