// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "discovery/discovery.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace aster::discovery {
namespace {

// Between two checks of this machine's addresses.
constexpr int64_t kLookNs = 2 * kNsPerSecond;
constexpr int64_t kHiddenNs = 500 * kNsPerMs;
// More per second stay in the system's queue, which drops them.
constexpr int kMaxDatagramsPerSecond = 1000;
constexpr size_t kMaxAskedHidden = 8;

std::string TextOf(const IpAddress& address, uint16_t port) {
  return address.is_v6 ? fmt::format("[{}]:{}", address.ToText(), port)
                       : fmt::format("{}:{}", address.ToText(), port);
}

}  // namespace

namespace discovery_internal {

std::optional<uint16_t> PortOn(const LinkAddress& link, const std::vector<std::string>& listening) {
  const std::string_view any = link.address.is_v6 ? "::" : "0.0.0.0";
  const std::string own = link.address.ToText();
  for (const std::string& each : listening) {
    const auto place = net::ParseHostPort(each);
    if (!place.ok() || (place->host != own && place->host != any)) continue;
    uint16_t port = 0;
    const char* const end = place->port.data() + place->port.size();
    if (std::from_chars(place->port.data(), end, port).ec == std::errc() && port != 0) return port;
  }
  return std::nullopt;
}

std::vector<LinkAddress> ChooseLinks(const std::vector<LinkAddress>& links,
                                     const std::vector<std::string>& listening) {
  std::vector<LinkAddress> chosen;
  for (const LinkAddress& link : links) {
    if (PortOn(link, listening)) chosen.push_back(link);
  }
  // A program that listens on all addresses need not be found from this machine by loopback if
  // there is another way.
  const auto is_named = [&](const LinkAddress& link) {
    return std::ranges::any_of(listening, [&](const std::string& each) {
      return each.starts_with(link.address.ToText() + ":");
    });
  };
  if (!std::ranges::all_of(chosen, &LinkAddress::is_loopback))
    std::erase_if(chosen,
                  [&](const LinkAddress& each) { return each.is_loopback && !is_named(each); });
  return chosen.empty() ? links : chosen;
}

}  // namespace discovery_internal

Result<std::optional<uint16_t>> PortFromEnvironment() {
  const char* const value = std::getenv("ASTER_DISCOVERY");
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty()) return std::optional(kUsualPort);
  if (text == "off") return std::optional<uint16_t>();
  uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure == std::errc() && end == text.data() + text.size() && port != 0)
    return std::optional(port);
  return InvalidArgument(
      fmt::format("ASTER_DISCOVERY={}: this is off, or the number of a UDP port (without it: {})",
                  text, kUsualPort));
}

Discovery::Discovery(DiscoveryOptions options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      schedule_(SystemSeed(), clock.NowNs()),
      hidden_ns_(clock.NowNs() - kHiddenNs),
      buffer_(kMaxMessageBytes) {}

Result<std::unique_ptr<Discovery>> Discovery::Start(DiscoveryOptions options, Clock& clock) {
  // tidy: allow(ownership) make_unique does not reach a private constructor
  std::unique_ptr<Discovery> discovery(new Discovery(std::move(options), clock));
  try {
    discovery->thread_ = std::thread([self = discovery.get()] { self->Main(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted(std::string("no thread for discovery: ") + error.what());
  }
  return discovery;
}

Discovery::~Discovery() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  waker_.Wake();
  thread_.join();
}

void Discovery::Main() {
  while (true) {
    LookForLinks();
    Speak(schedule_.Take(clock_.NowNs()));
    Wait();
    const MutexLock lock(mu_);
    if (stopping_) break;
  }
  for (const Link& link : links_) SendOffer(link, /*is_over=*/true);
}

void Discovery::LookForLinks() {
  const int64_t now_ns = clock_.NowNs();
  if (now_ns < look_ns_) return;
  look_ns_ = now_ns + kLookNs;
  const auto found = FindLinks();
  if (!found.ok()) return log::Debug("no networks to search", {{"why", found.error().message()}});
  auto chosen = discovery_internal::ChooseLinks(*found, options_.listening);
  if (chosen == addresses_) return;
  addresses_ = std::move(chosen);
  links_.clear();
  for (const LinkAddress& address : addresses_) {
    auto link = Link::Open(address, options_.port);
    if (link.ok()) {
      links_.push_back(*std::move(link));
    } else {
      log::Info("nodes cannot be discovered on a network",
                {{"address", address.address.ToText()}, {"why", link.error().message()}});
    }
  }
  schedule_.Restart(now_ns);
}

void Discovery::Speak(Schedule::Due due) {
  if (!due.offer) return;
  for (const Link& link : links_) {
    SendOffer(link, /*is_over=*/false);
    if (due.ask && !options_.wanted.empty())
      link.Send(FormatDnsMessage(AskMessage(options_.wanted, instance_)));
  }
  asked_hidden_.clear();
}

void Discovery::SendOffer(const Link& link, bool is_over) {
  const auto port = discovery_internal::PortOn(link.address(), options_.listening);
  Offer offer{.instance = instance_, .labels = options_.offers, .port = port.value_or(0)};
  offer.labels.insert(offer.labels.end(), asked_hidden_.begin(), asked_hidden_.end());
  if (port && !offer.labels.empty()) link.Send(FormatDnsMessage(OfferMessage(offer, is_over)));
}

// Waits until it must send, receive or check.
void Discovery::Wait() {
  const int64_t now_ns = clock_.NowNs();
  if (now_ns - second_ns_ >= kNsPerSecond) {
    second_ns_ = now_ns;
    datagrams_ = 0;
  }
  const bool hears = datagrams_ < kMaxDatagramsPerSecond;
  int64_t until_ns = std::min(schedule_.next_ns(), look_ns_);
  if (!hears) until_ns = std::min(until_ns, second_ns_ + kNsPerSecond);
  std::vector<pollfd> polled = {{waker_.descriptor(), POLLIN, 0}};
  for (const Link& link : links_) {
    if (hears) polled.push_back({link.descriptor(), POLLIN, 0});
  }
  const int64_t wait_ms = (std::max<int64_t>(until_ns - now_ns, 0) + kNsPerMs - 1) / kNsPerMs;
  if (poll(polled.data(), polled.size(), static_cast<int>(wait_ms)) <= 0) return;
  for (size_t i = 1; i < polled.size(); ++i) {
    if (polled[i].revents != 0) ReceiveAll(links_[i - 1]);
  }
}

void Discovery::ReceiveAll(const Link& link) {
  while (datagrams_ < kMaxDatagramsPerSecond) {
    const auto datagram = link.Receive(buffer_);
    if (!datagram) return;
    ++datagrams_;
    if (datagram->is_from_neighbour) OnDatagram(link, *datagram);
  }
}

void Discovery::OnDatagram(const Link& link, const Link::Datagram& datagram) {
  const auto message = ParseDnsMessage(datagram.bytes);
  if (!message.ok()) return;  // many programs send to the group
  const Heard heard = HearMessage(*message);
  const bool is_known = std::ranges::count(heard.known, instance_) > 0;
  for (const std::string& label : heard.asked) {
    if (is_known || !discovery_internal::PortOn(link.address(), options_.listening)) break;
    if (HasLabel(label)) schedule_.Answer(clock_.NowNs());
  }
  for (const Sighting& sighting : heard.sightings) {
    const bool is_wanted = std::ranges::count(options_.wanted, sighting.label) > 0;
    if (!is_wanted || sighting.instance == instance_ || !options_.on_found) continue;
    options_.on_found(TextOf(datagram.from, sighting.port));
    return;  // one address per message, whatever it says
  }
}

bool Discovery::HasLabel(const std::string& label) {
  if (label.empty()) return !options_.offers.empty();
  if (std::ranges::count(options_.offers, label) > 0) return true;
  if (!options_.hidden || !IsInvitationLabel(label)) return false;
  const int64_t now_ns = clock_.NowNs();
  if (now_ns - hidden_ns_ >= kHiddenNs) {
    hidden_ns_ = now_ns;
    hidden_ = options_.hidden();
  }
  if (std::ranges::count(hidden_, label) == 0) return false;
  if (std::ranges::count(asked_hidden_, label) == 0 && asked_hidden_.size() < kMaxAskedHidden)
    asked_hidden_.push_back(label);
  return true;
}

}  // namespace aster::discovery
