// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Finds other machines of a cluster on this machine's networks, and is found by them, without an
// address from the user. Found addresses are unverified: the caller checks who is there. Must not
// know certificates, nodes or what is asked of them.
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
  // HOST:PORT where this machine listens, numeric; empty: it only asks.
  std::vector<std::string> listening = {};
  std::vector<std::string> offers = {};  // labels of this machine, announced
  // Labels that only machines that ask for them get. Called by the thread, twice a second at most.
  std::function<std::vector<std::string>()> hidden = {};
  std::vector<std::string> wanted = {};  // labels of others
  // Called by the thread with HOST:PORT; repeatedly for the same one.
  std::function<void(const std::string& address)> on_found = {};
};

// The user's environment, ASTER_DISCOVERY: off (nullopt), another port, or the usual one.
Result<std::optional<uint16_t>> PortFromEnvironment();

// Start and the destructor belong to one thread.
class Discovery {
 public:
  // The clock outlives it. Networks may come and go at any time; none is no error.
  static Result<std::unique_ptr<Discovery>> Start(DiscoveryOptions options, Clock& clock);
  // Announces that this machine's program ends.
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

 private:
  Discovery(DiscoveryOptions options, Clock& clock);
  void Main();
  void LookForLinks();
  void Speak(Schedule::Due due);
  void SendOffer(const Link& link, bool is_over);
  void Wait();
  void ReceiveAll(const Link& link);
  void OnDatagram(const Link& link, const Link::Datagram& datagram);
  bool HasLabel(const std::string& label);

  const DiscoveryOptions options_;
  Clock& clock_;
  const std::string instance_ = DrawInstance();
  net::Waker waker_;
  Mutex mu_;
  bool stopping_ GUARDED_BY(mu_) = false;

  // Used by the thread only.
  std::vector<LinkAddress> addresses_;  // their sockets were made, or could not be
  std::vector<Link> links_;
  Schedule schedule_;
  std::vector<std::string> hidden_;
  std::vector<std::string> asked_hidden_;  // to be sent with the next offer
  int64_t hidden_ns_;                      // when they were asked for
  int64_t look_ns_ = 0;
  int64_t second_ns_ = 0;  // the start of the second in which datagrams are counted
  int datagrams_ = 0;
  std::vector<uint8_t> buffer_;
  std::thread thread_;
};

// For tests.
namespace discovery_internal {

// The port by which a neighbour on this link reaches this machine.
std::optional<uint16_t> PortOn(const LinkAddress& link, const std::vector<std::string>& listening);
// The links to send on: those where this machine is reachable, or all if it is nowhere.
std::vector<LinkAddress> ChooseLinks(const std::vector<LinkAddress>& links,
                                     const std::vector<std::string>& listening);

}  // namespace discovery_internal

}  // namespace aster::discovery
