// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cost in messages of a drafter on another machine, on loopback: the time from a draft token
// until the front end has it, and the time from sending a token to the arrival of the draft tokens
// behind it. The drafter itself takes no time, and both sides sleep until something arrives, as
// they do while models compute.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "crypto/secrets.h"
#include "drafting/draft_server.h"
#include "drafting/remote_proposers.h"
#include "engine/request.h"
#include "net/certificate.h"
#include "net/tcp_network.h"

namespace aster {
namespace {

constexpr int kTokens = 5000;
constexpr int kWarmUp = 500;
constexpr Hash128 kDrafter{1, 2};
constexpr drafting::Vocabulary kVocabulary{.digest = {3, 4}, .size = 1 << 20};

const SystemClock kClock;

// Drafts one token behind each text.
class OneToken final : public engine::ProposerSource {
 public:
  Result<std::unique_ptr<engine::Proposer>> Make(const engine::Request& /*request*/) override {
    return std::make_unique<Proposer>();
  }

 private:
  class Proposer final : public engine::Proposer {
   public:
    Status Propose(std::span<const int32_t> history, uint32_t /*most*/,
                   std::vector<int32_t>& drafts) override {
      drafts.push_back(history.back() + 1);
      return Ok();
    }
  };
};

double MedianUs(std::vector<int64_t> times_ns) {
  const auto middle = times_ns.begin() + static_cast<ptrdiff_t>(times_ns.size() / 2);
  std::ranges::nth_element(times_ns, middle);
  return static_cast<double>(*middle) / kNsPerUs;
}

std::pair<net::TcpOptions, net::TcpOptions> Sides(bool has_tls) {
  net::TcpOptions front, node;
  if (has_tls) {
    const std::string key = net::MakePrivateKey().value();
    const int64_t now_s = kClock.WallNs() / kNsPerSecond;
    const net::Validity validity{now_s - 60, now_s + 3600};
    const std::string authority = net::MakeAuthority(key, "bench", validity).value();
    for (net::TcpOptions* side : {&front, &node}) {
      side->credentials.authority = authority;
      side->credentials.key = net::MakePrivateKey().value();
      side->credentials.certificate =
          net::Certify(authority, key, net::MakeRequest(side->credentials.key, "node").value(),
                       "node", validity)
              .value();
    }
  } else {
    front.credentials.password = node.credentials.password = crypto::RandomSecret(32).value();
    front.credentials.node = {{1, 1}};
    node.credentials.node = {{2, 2}};
  }
  node.listen = {"127.0.0.1:0"};
  return {front, node};
}

void Measure(bool has_tls) {
  auto [front_options, node_options] = Sides(has_tls);
  const auto front = net::TcpNetwork::Start(std::move(front_options)).value();
  const auto node = net::TcpNetwork::Start(std::move(node_options)).value();
  std::atomic<bool> is_over = false;
  std::atomic<int64_t> drafted_ns = 0;
  std::thread drafter([&] {
    OneToken source;
    drafting::DraftServer server(
        *node, {{.name = kDrafter, .vocabulary = kVocabulary, .source = &source}});
    while (!is_over) {
      const auto event = node->Receive(kClock.NowNs() + 20 * kNsPerMs);
      if (event) server.Handle(*event);
      drafted_ns = kClock.NowNs();
      while (server.has_work()) server.Work();
    }
  });
  std::vector<int64_t> pushed_ns, answered_ns;
  {
    drafting::RemoteProposers source(front.get(),
                                     {{.node = node->self(),
                                       .name = "bench",
                                       .addresses = node->addresses(),
                                       .drafter = kDrafter}},
                                     {.vocabulary = kVocabulary});
    engine::Request request;
    request.draft = {.kind = engine::DraftKind::kModel, .most = 1};
    const auto answer = source.Make(request).value();
    std::vector<int32_t> text{0}, drafts;
    for (int i = 0; i < kTokens; ++i) {
      const int64_t told_ns = kClock.NowNs();
      answer->Follow(text, 0, {});
      drafts.clear();
      while (drafts.empty()) {
        const auto event = front->Receive(kClock.NowNs() + kNsPerSecond);
        if (event) source.Handle(*event);
        CHECK(answer->Propose(text, 1, drafts).ok());
      }
      const int64_t now_ns = kClock.NowNs();
      if (i >= kWarmUp) {
        pushed_ns.push_back(now_ns - drafted_ns);
        answered_ns.push_back(now_ns - told_ns);
      }
      // The token is never the draft token, so that each one needs a new draft.
      text.push_back(text.back() + 5);
    }
  }
  is_over = true;
  drafter.join();
  fmt::print(
      "{:<8} {:7.1f} us from a draft token to the front end, {:7.1f} us from a token to the "
      "draft token behind it\n",
      has_tls ? "TLS" : "no TLS", MedianUs(pushed_ns), MedianUs(answered_ns));
}

}  // namespace
}  // namespace aster

int main() {
  for (const bool has_tls : {false, true}) aster::Measure(has_tls);
}
