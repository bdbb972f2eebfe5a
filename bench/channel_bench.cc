// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cost of a channel between two nodes beside bare TCP, on loopback, in one run: the round trip
// of a 64 KiB frame, and of a 2 KiB frame between threads that poll, as the nodes of a group do;
// and the throughput of 4 MiB frames, without and with TLS. The ways take turns, so that a busy
// moment of the machine affects all of them. Bare TCP sends one buffer again and again, which stays
// in a cache; "bare, as many" uses as many buffers as a channel has frames in flight.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "crypto/secrets.h"
#include "net/certificate.h"
#include "net/socket.h"
#include "net/tcp_network.h"

namespace aster {
namespace {

// A message that is sent back and forth.
struct Trip {
  size_t bytes;
  bool is_polled;  // both sides poll, instead of sleeping until it arrives
};
constexpr Trip kTrips[] = {{.bytes = 64 << 10, .is_polled = false},
                           {.bytes = 2 << 10, .is_polled = true}};
constexpr size_t kLargeBytes = 4 << 20;
constexpr int kRoundTrips = 1000;  // per turn
constexpr int kLargeFrames = 100;  // per turn
constexpr int kTurns = 7;
constexpr int kInFlight = 6;  // of the large frames

const SystemClock kClock;

// Two connected sockets, blocking unless they are polled.
std::pair<net::Socket, net::Socket> ConnectedSockets(bool is_polled = false) {
  const auto endpoint = net::Resolve(net::ParseHostPort("127.0.0.1:0").value()).value().front();
  net::Socket listener = net::Listen(endpoint).value();
  net::Socket client = net::BeginConnect(net::LocalEndpoint(listener).value()).value();
  pollfd waiting{listener.descriptor(), POLLIN, 0};
  CHECK(poll(&waiting, 1, 5000) == 1);
  net::Socket accepted(accept(listener.descriptor(), nullptr, nullptr));
  const int on = 1;
  setsockopt(accepted.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // The project's sockets never block; bare TCP uses the mode that is faster for it.
  net::Socket own_client(dup(client.descriptor()));
  for (const net::Socket* socket : {&own_client, &accepted}) {
    const int flags = fcntl(socket->descriptor(), F_GETFL) & ~O_NONBLOCK;
    CHECK(fcntl(socket->descriptor(), F_SETFL, flags | (is_polled ? O_NONBLOCK : 0)) == 0);
  }
  return {std::move(own_client), std::move(accepted)};
}

void SendAll(int descriptor, const std::vector<uint8_t>& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    CHECK(count > 0 || errno == EAGAIN);
    sent += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
}

void ReceiveAll(int descriptor, std::vector<uint8_t>& bytes) {
  for (size_t received = 0; received < bytes.size();) {
    const ssize_t count = recv(descriptor, bytes.data() + received, bytes.size() - received, 0);
    CHECK(count > 0 || (count < 0 && errno == EAGAIN));
    received += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
}

class BareTcp {
 public:
  explicit BareTcp(size_t buffers)
      : sent_(buffers, std::vector<uint8_t>(kLargeBytes)), received_(sent_) {}

  std::vector<double> RoundTripsUs(const Trip& trip) {
    const auto [client, server] = ConnectedSockets(trip.is_polled);
    std::thread echo([&, descriptor = server.descriptor()] {
      std::vector<uint8_t> bytes(trip.bytes);
      for (int i = 0; i < kRoundTrips; ++i) {
        ReceiveAll(descriptor, bytes);
        SendAll(descriptor, bytes);
      }
    });
    std::vector<uint8_t> bytes(trip.bytes);
    std::vector<double> times_us;
    for (int i = 0; i < kRoundTrips; ++i) {
      const int64_t start_ns = kClock.NowNs();
      SendAll(client.descriptor(), bytes);
      ReceiveAll(client.descriptor(), bytes);
      times_us.push_back(static_cast<double>(kClock.NowNs() - start_ns) * 1e-3);
    }
    echo.join();
    return times_us;
  }

  double BytesPerSecond() {
    const auto [client, server] = ConnectedSockets();
    std::thread sender([&, descriptor = client.descriptor()] {
      for (size_t i = 0; i < kLargeFrames; ++i) SendAll(descriptor, sent_[i % sent_.size()]);
    });
    ReceiveAll(server.descriptor(), received_[0]);
    const int64_t start_ns = kClock.NowNs();
    for (size_t i = 1; i < kLargeFrames; ++i)
      ReceiveAll(server.descriptor(), received_[i % received_.size()]);
    const auto duration_ns = static_cast<double>(kClock.NowNs() - start_ns);
    sender.join();
    return static_cast<double>(kLargeBytes) * (kLargeFrames - 1) * 1e9 / duration_ns;
  }

 private:
  std::vector<std::vector<uint8_t>> sent_;
  std::vector<std::vector<uint8_t>> received_;
};

class Channel {
 public:
  explicit Channel(bool has_tls) {
    net::TcpOptions ann;
    net::TcpOptions bob;
    if (has_tls) {
      const int64_t now_s = kClock.WallNs() / kNsPerSecond;
      const net::Validity validity{now_s - 60, now_s + 3600};
      const std::string key = net::MakePrivateKey().value();
      const std::string authority = net::MakeAuthority(key, "bench", validity).value();
      for (net::TcpOptions* options : {&ann, &bob}) {
        net::Credentials& credentials = options->credentials;
        credentials.authority = authority;
        credentials.key = net::MakePrivateKey().value();
        credentials.certificate =
            net::Certify(authority, key, net::MakeRequest(credentials.key, "node").value(), "node",
                         validity)
                .value();
      }
    } else {
      ann.credentials.password = bob.credentials.password = crypto::RandomSecret(32).value();
      ann.credentials.node = {{1, 1}};
      bob.credentials.node = {{2, 2}};
    }
    bob.listen = {"127.0.0.1:0"};
    ann_ = net::TcpNetwork::Start(std::move(ann)).value();
    bob_ = net::TcpNetwork::Start(std::move(bob)).value();
    ann_->Introduce(bob_->self(), bob_->addresses());
    CHECK(Next(*ann_).kind == net::Event::Kind::kUp);
    CHECK(Next(*bob_).kind == net::Event::Kind::kUp);
  }

  std::vector<double> RoundTripsUs(const Trip& trip) {
    std::thread echo([&] {
      for (int i = 0; i < kRoundTrips; ++i) {
        net::Event event = Next(*bob_, trip.is_polled);
        CHECK(bob_->Send(ann_->self(), std::move(event.message)).ok());
      }
    });
    std::vector<double> times_us;
    wire::Payload rows(trip.bytes);
    for (int i = 0; i < kRoundTrips; ++i) {
      const int64_t start_ns = kClock.NowNs();
      wire::Work work;
      work.rows = std::move(rows);
      CHECK(ann_->Send(bob_->self(), std::move(work)).ok());
      net::Event event = Next(*ann_, trip.is_polled);
      times_us.push_back(static_cast<double>(kClock.NowNs() - start_ns) * 1e-3);
      rows = std::move(std::get<wire::Work>(event.message).rows);
      CHECK(rows.size() == trip.bytes);
    }
    echo.join();
    return times_us;
  }

  // The sender makes frames and the receiver discards them, with a few in flight.
  double BytesPerSecond() {
    std::thread sender([&] {
      for (int i = 0; i < kLargeFrames; ++i) {
        if (i >= kInFlight) CHECK(Next(*ann_).kind == net::Event::Kind::kMessage);
        wire::Work work;
        work.rows.resize(kLargeBytes);
        CHECK(ann_->Send(bob_->self(), std::move(work)).ok());
      }
      for (int i = 0; i < kInFlight; ++i) CHECK(Next(*ann_).kind == net::Event::Kind::kMessage);
    });
    int64_t start_ns = 0;
    for (int i = 0; i < kLargeFrames; ++i) {
      const net::Event event = Next(*bob_);
      CHECK(std::get<wire::Work>(event.message).rows.size() == kLargeBytes);
      if (i == 0) start_ns = kClock.NowNs();
      CHECK(bob_->Send(ann_->self(), wire::CloseRoute{}).ok());
    }
    const auto duration_ns = static_cast<double>(kClock.NowNs() - start_ns);
    sender.join();
    return static_cast<double>(kLargeBytes) * (kLargeFrames - 1) * 1e9 / duration_ns;
  }

 private:
  static net::Event Next(net::TcpNetwork& network, bool is_polled = false) {
    const int64_t deadline_ns = network.clock().NowNs() + 30 * kNsPerSecond;
    std::optional<net::Event> event;
    while (is_polled && !event && network.clock().NowNs() < deadline_ns) {
      network.Pump();
      event = network.Receive(0);
    }
    if (!is_polled) event = network.Receive(deadline_ns);
    CHECK_NOTE(event.has_value(), "nothing arrives");
    return std::move(*event);
  }

  std::unique_ptr<net::TcpNetwork> ann_;
  std::unique_ptr<net::TcpNetwork> bob_;
};

double Quantile(std::vector<double> values, double part) {
  const auto place =
      values.begin() + static_cast<ptrdiff_t>(static_cast<double>(values.size() - 1) * part);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

struct Way {
  std::string_view name;
  std::function<std::vector<double>(const Trip&)> round_trips_us;
  std::function<double()> bytes_per_second;
  std::array<std::vector<double>, std::size(kTrips)> all_us{};
  std::vector<double> rates{};
  std::vector<double> parts{};         // shares of bare TCP's rate in the same turn
  std::vector<double> cpu_s_per_gb{};  // of both sides; a busy machine changes it little
};

double CpuSeconds() {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Run() {
  BareTcp bare(1);
  BareTcp spread(kInFlight);
  Channel plain(false);
  Channel tls(true);
  std::vector<Way> ways;
  const auto add = [&](std::string_view name, auto& way) {
    ways.push_back({name, [&way](const Trip& trip) { return way.RoundTripsUs(trip); },
                    [&way] { return way.BytesPerSecond(); }});
  };
  add("bare TCP", bare);
  add("bare, as many", spread);
  add("channel", plain);
  add("channel with TLS", tls);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t trip = 0; trip < std::size(kTrips); ++trip) {
      for (Way& way : ways) {
        const std::vector<double> times_us = way.round_trips_us(kTrips[trip]);
        way.all_us[trip].insert(way.all_us[trip].end(), times_us.begin(), times_us.end());
      }
    }
    for (Way& way : ways) {
      const double before_s = CpuSeconds();
      way.rates.push_back(way.bytes_per_second());
      way.cpu_s_per_gb.push_back((CpuSeconds() - before_s) * 1e9 /
                                 (static_cast<double>(kLargeBytes) * kLargeFrames));
      way.parts.push_back(way.rates.back() / ways.front().rates.back());
    }
  }
  fmt::print("{:<18}{:>14}{:>10}{:>16}{:>10}{:>13}{:>14}{:>11}\n", "on loopback", "64 KiB p50 us",
             "p99 us", "2 KiB polled us", "p99 us", "4 MiB GB/s", "of bare TCP", "CPU s/GB");
  for (const Way& way : ways) {
    fmt::print("{:<18}{:>14.1f}{:>10.1f}{:>16.1f}{:>10.1f}{:>13.2f}{:>13.0f}%{:>11.2f}\n", way.name,
               Quantile(way.all_us[0], 0.5), Quantile(way.all_us[0], 0.99),
               Quantile(way.all_us[1], 0.5), Quantile(way.all_us[1], 0.99),
               Quantile(way.rates, 0.5) * 1e-9, Quantile(way.parts, 0.5) * 100,
               Quantile(way.cpu_s_per_gb, 0.5));
  }
}

}  // namespace
}  // namespace aster

int main() {
  aster::Run();
  return 0;
}
