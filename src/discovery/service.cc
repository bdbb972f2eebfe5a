// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/service.h"

#include <fmt/format.h>

#include "base/random.h"
#include "crypto/sha256.h"

namespace aster::discovery {
namespace {

constexpr std::string_view kService = "_aster._tcp.local";
// A label is a subtype of the service: machines without it do not answer.
constexpr std::string_view kBelow = "._sub._aster._tcp.local";
constexpr std::string_view kOfCluster = "_c";
constexpr std::string_view kOfInvitation = "_i";
constexpr size_t kTagDigits = 16;
constexpr uint32_t kTtlS = 120;

std::string TagOf(std::string_view purpose, Bytes bytes) {
  crypto::Sha256 hash;
  hash.Add(AsBytes(purpose));
  hash.Add(bytes);
  return crypto::ToHex(hash.Finish()).substr(0, kTagDigits);
}

std::string SubtypeOf(std::string_view label) { return fmt::format("{}{}", label, kBelow); }

// Empty if the name has no label.
std::string_view LabelOf(std::string_view name) {
  return name.ends_with(kBelow) ? name.substr(0, name.size() - kBelow.size()) : "";
}

bool AsksForPointers(const DnsQuestion& question) {
  return question.type == kPointerRecord || question.type == kAnyRecord;
}

}  // namespace

std::string ClusterLabel(std::string_view ca_certificate) {
  return fmt::format("{}{}", kOfCluster, TagOf("asterism cluster tag:", AsBytes(ca_certificate)));
}

std::string InvitationLabel(Bytes secret) {
  return fmt::format("{}{}", kOfInvitation, TagOf("asterism invitation tag:", secret));
}

bool IsInvitationLabel(std::string_view label) { return label.starts_with(kOfInvitation); }

std::string DrawInstance() { return fmt::format("{:016x}.{}", SystemSeed(), kService); }

DnsMessage OfferMessage(const Offer& offer, bool is_over) {
  const uint32_t ttl_s = is_over ? 0 : kTtlS;
  DnsMessage message{.is_answer = true, .questions = {}, .records = {}};
  const auto add = [&](std::string name, uint16_t type, std::string target, uint16_t port) {
    message.records.push_back({std::move(name), type, ttl_s, std::move(target), port});
  };
  add(std::string(kService), kPointerRecord, offer.instance, 0);
  for (const std::string& label : offer.labels)
    add(SubtypeOf(label), kPointerRecord, offer.instance, 0);
  // The service's host name is the instance's.
  add(offer.instance, kServiceRecord, offer.instance, offer.port);
  add(offer.instance, kTextRecord, "", 0);
  return message;
}

DnsMessage AskMessage(std::span<const std::string> labels, std::string_view instance) {
  DnsMessage message;
  for (const std::string& label : labels) {
    message.questions.push_back({SubtypeOf(label), kPointerRecord});
    message.records.push_back({SubtypeOf(label), kPointerRecord, kTtlS, std::string(instance), 0});
  }
  return message;
}

Heard HearMessage(const DnsMessage& message) {
  Heard heard;
  if (!message.is_answer) {
    for (const DnsQuestion& question : message.questions) {
      if (!AsksForPointers(question)) continue;
      const std::string_view label = LabelOf(question.name);
      if (!label.empty() || question.name == kService) heard.asked.emplace_back(label);
    }
  }
  for (const DnsRecord& pointer : message.records) {
    const std::string_view label = LabelOf(pointer.name);
    if (pointer.type != kPointerRecord || pointer.ttl_s == 0 || label.empty()) continue;
    if (!message.is_answer) {
      heard.known.push_back(pointer.target);
      continue;
    }
    for (const DnsRecord& service : message.records) {
      if (service.type != kServiceRecord || service.name != pointer.target) continue;
      if (service.port == 0 || service.ttl_s == 0) continue;
      heard.sightings.push_back({pointer.target, std::string(label), service.port});
      break;
    }
  }
  return heard;
}

}  // namespace aster::discovery
