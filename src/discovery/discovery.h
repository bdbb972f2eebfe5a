// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds other machines of a cluster on this machine's networks, and is found by them, without an
// address that a person typed. What it finds is an address that was claimed: the caller
// verifies who is there. Must not know certificates, nodes or what is asked of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "discovery/link.h"
#include "discovery/schedule.h"
#include "discovery/service.h"
#include "net/waker.h"

namespace aster::discovery {

inline constexpr uint16_t kUsualPort = 5353;  // of multicast DNS

struct DiscoveryOptions {
  uint16_t port = kUsualPort;
  // HOST:PORT, where this machine listens, in numbers; none: it only asks.
  std::vector<std::string> listening = {};
  std::vector<std::string> offers = {};  // labels of this machine, told unasked
  // Labels that are told to machines that name them. Called by the thread, twice a second at most.
  std::function<std::vector<std::string>()> hidden = {};
  std::vector<std::string> wanted = {};  // labels of others
  // Called by the thread, with HOST:PORT; for the same one again and again.
  std::function<void(const std::string& address)> on_found = {};
};

// By the user's environment: off (nothing), another port in ASTER_DISCOVERY, or the usual one.
Result<std::optional<uint16_t>> PortFromEnvironment();

// Start and the end belong to one thread.
class Discovery {
 public:
  // The clock outlives it. Networks that come and go are looked for all the time; none is no error.
  static Result<std::unique_ptr<Discovery>> Start(DiscoveryOptions options, Clock& clock);
  // Tells others that this machine's program ends.
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

 private:
  Discovery(DiscoveryOptions options, Clock& clock);
  void Main();
  void LookForLinks();
  void Speak(Schedule::Due due);
  void SayOffer(const Link& link, bool is_over);
  void Wait();
  void HearAll(const Link& link);
  void Hear(const Link& link, const Link::Datagram& datagram);
  bool HasLabel(const std::string& label);

  const DiscoveryOptions options_;
  Clock& clock_;
  const std::string instance_ = DrawInstance();
  net::Waker waker_;
  Mutex mu_;
  bool stopping_ GUARDED_BY(mu_) = false;

  // The thread's alone.
  std::vector<LinkAddress> addresses_;  // of which sockets were made, or could not be
  std::vector<Link> links_;
  Schedule schedule_;
  std::vector<std::string> hidden_;
  std::vector<std::string> asked_hidden_;  // to be told with the next offer
  int64_t hidden_ns_;                      // when they were asked for
  int64_t look_ns_ = 0;
  int64_t second_ns_ = 0;  // since when datagrams are counted
  int datagrams_ = 0;
  std::vector<uint8_t> buffer_;
  std::thread thread_;
};

// For tests.
namespace discovery_internal {

// At which of these a neighbour on this link reaches this machine.
std::optional<uint16_t> PortOn(const LinkAddress& link, const std::vector<std::string>& listening);
// Of all links those on which to speak: where this machine is reached, or, of one that is nowhere,
// all.
std::vector<LinkAddress> ChooseLinks(const std::vector<LinkAddress>& links,
                                     const std::vector<std::string>& listening);

}  // namespace discovery_internal

}  // namespace aster::discovery
