// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What others remember of a text, asked for before it is computed: by nodes whose layers have
// changed hands, by nodes of other routes, and by those of none. Whatever goes wrong with it costs
// a moment, and the text is computed.

#include <algorithm>
#include <utility>

#include "conduct/conductor.h"
#include "conduct/live_request.h"
#include "stage/kv_chunk_encoding.h"

namespace aster::conduct {
namespace {

// Nodes that did not answer, or stopped giving, are left in peace for so long.
constexpr int64_t kSlowNs = 10 * kNsPerSecond;
// The longest that an answer is waited for where computing takes long, and which part of that.
constexpr int64_t kLongestAskNs = 2 * kNsPerSecond;
constexpr double kAskPart = 0.1;
// What takes so much longer than computing would have is given up.
constexpr double kPatience = 2;
constexpr int64_t kLeastPatienceNs = kNsPerSecond;
// Less says more about delays than about rates.
constexpr uint64_t kWorthMeasuringBytes = uint64_t{1} << 20;

constexpr double kNs = 1e9;

wire::StageAddress AddressOf(const plan::PlanNode& node) {
  wire::StageAddress address;
  address.node = node.id;
  address.name = node.name;
  address.addresses = node.addresses;
  return address;
}

}  // namespace

// Every node once.
std::vector<KvPeer> Conductor::PeersToAsk() const {
  std::map<wire::NodeId, KvPeer> peers = former_;
  for (const plan::PlanStage& stage : route_->stages()) peers[stage.node.id] = {.node = stage.node};
  if (options_.peers) {
    for (KvPeer& peer : options_.peers()) peers[peer.node.id] = std::move(peer);
  }
  std::vector<KvPeer> all;
  const int64_t now_ns = network_.clock().NowNs();
  for (auto& [id, peer] : peers) {
    const auto slow = slow_until_ns_.find(id);
    if (slow == slow_until_ns_.end() || slow->second <= now_ns) all.push_back(std::move(peer));
  }
  return all;
}

// Whether others were asked, so that the request waits for them.
bool Conductor::StartSearch(Live& live) {
  if (live.has_searched || !options_.searches_peers || live.sink != nullptr || live.length() == 0) {
    return false;
  }
  live.has_searched = true;
  const uint32_t goal = (live.length() - 1) / page_positions_ * page_positions_;
  const uint32_t known = std::max(HeldBy(live, ReadingPath()), HeldBy(live, DecodingPath()));
  if (goal < known + page_positions_) return false;
  std::vector<KvPeer> peers = PeersToAsk();
  // A node alone has looked already.
  if (peers.size() < 2) return false;
  const auto& nodes = route_->nodes();
  const std::vector<int32_t>& tokens = live.request.sequence().tokens();
  live.search = std::make_unique<Live::Search>(++last_query_, layout_->layer_count());
  Live::Search& search = *live.search;
  search.goal = goal;
  search.held = HeldBy(live, DecodingPath());
  search.begun_ns = search.heard_ns = network_.clock().NowNs();
  for (KvPeer& peer : peers) {
    const wire::NodeId id = peer.node.id;
    const bool is_far = std::ranges::count(nodes, id) == 0 && id != network_.self();
    if (is_far) network_.Introduce(id, peer.node.addresses);
    const Status sent =
        network_.Send(id, wire::FindKv{.query = search.rows.query(),
                                       .digest = digest_,
                                       .layer_count = layout_->layer_count(),
                                       .tokens = {tokens.begin(), tokens.begin() + goal}});
    if (!sent.ok()) continue;
    search.rows.Ask(id);
    search.peers[id] = std::move(peer);
  }
  live.phase = Live::Phase::kSearching;
  TracePhase(live, "asking others");
  if (search.rows.silent().empty()) live.search.reset();
  return live.search != nullptr;
}

void Conductor::OnFoundKv(const wire::NodeId& from, const wire::FoundKv& found) {
  for (const auto& live : running_) {
    if (!live->search || live->search->rows.query() != found.query ||
        !live->search->peers.contains(from)) {
      continue;
    }
    if (live->phase == Live::Phase::kFetching) {
      // It has not what it said it had. Who only answers late gives nothing.
      if (IsSource(*live, from)) GiveUpFetching(*live);
      return;
    }
    live->search->rows.Take(from, found);
    if (live->search->rows.silent().empty()) ChooseSources(*live);
    return;
  }
}

bool Conductor::IsSource(const Live& live, const wire::NodeId& node) {
  return std::ranges::count(live.search->sources.fetches, node, &KvFetch::from) > 0;
}

void Conductor::OnGone(const wire::NodeId& node) {
  for (const auto& live : running_) {
    if (!live->search) continue;
    live->search->rows.Lose(node);
    if (live->phase == Live::Phase::kSearching && live->search->rows.silent().empty()) {
      ChooseSources(*live);
    } else if (live->phase == Live::Phase::kFetching && IsSource(*live, node)) {
      GiveUpFetching(*live);
    }
  }
}

// Of whoever answers: those who only read get from these what they lack.
std::vector<KvWant> Conductor::WantsOf(const Live& live) const {
  std::vector<KvWant> wants;
  const Path path = DecodingPath();
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    const plan::PlanStage& target = route_->stages()[stage];
    wants.push_back({.node = target.node.id,
                     .layers = {target.slice.layer_begin, target.slice.layer_end},
                     .held = live.holds.at(stage)});
  }
  return wants;
}

// Of rows that travel a page at a time: at its end not all of a window's are needed any more.
double Conductor::BytesPerPosition(kv::LayerRange layers) const {
  double bytes = 0;
  for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
    for (const kv::Stream& stream : layout_->streams(layer)) {
      const uint32_t page = stream.page_positions();
      const uint32_t index = stream.SinkPages() + stream.window / page + 1;
      const uint32_t rows =
          stream.codec->page_rows() - stream.FirstRowNeeded(index, (index + 1) * page);
      const size_t row_bytes = stage::EncodedRowBytes(options_.route.kv_encoding, stream);
      bytes += static_cast<double>(row_bytes) * rows / page;
    }
  }
  return bytes;
}

// As it was seen, or as it was measured before.
double Conductor::KvRateOf(const Live& live, const wire::NodeId& node) const {
  const auto seen = kv_rates_.find(node);
  if (seen != kv_rates_.end()) return seen->second;
  if (live.search) {
    const auto peer = live.search->peers.find(node);
    return peer == live.search->peers.end() ? 0 : peer->second.bytes_per_s;
  }
  for (const KvPeer& peer : options_.peers ? options_.peers() : std::vector<KvPeer>()) {
    if (peer.node.id == node) return peer.bytes_per_s;
  }
  return 0;
}

// That computing so many tokens takes, in seconds; 0: not known.
double Conductor::SecondsToCompute(uint32_t count) const {
  const double rate = prefill_rate_ > 0 ? prefill_rate_ : options_.prefill_tokens_per_s;
  return rate > 0 ? count / rate : 0;
}

void Conductor::ChooseSources(Live& live) {
  const Live::Search& search = *live.search;
  KvSources sources = search.rows.Choose(
      WantsOf(live), search.goal, [&](const wire::NodeId& node) { return KvRateOf(live, node); },
      [this](kv::LayerRange layers) { return BytesPerPosition(layers); });
  const bool is_worth_it = sources.end >= search.held + page_positions_;
  const double computing_s = is_worth_it ? SecondsToCompute(sources.end - search.held) : 0;
  const bool is_slower = sources.seconds > 0 && computing_s > 0 && sources.seconds > computing_s;
  if (is_worth_it && !is_slower) return Fetch(live, std::move(sources));
  EndSearch(live);
  StartRunning(live);
}

void Conductor::Fetch(Live& live, KvSources sources) {
  Live::Search& search = *live.search;
  search.sources = std::move(sources);
  search.begun_ns = search.heard_ns = network_.clock().NowNs();
  live.phase = Live::Phase::kFetching;
  TracePhase(live, "fetching what others remember");
  const std::vector<KvWant> wants = WantsOf(live);
  // Pages below memory are given whole; what is held of the first one already does no harm.
  const auto begin_of = [&](uint32_t held) { return held / page_positions_ * page_positions_; };
  for (const KvFetch& fetch : search.sources.fetches) {
    const plan::PlanStage& target = route_->stages()[DecodingPath().begin + fetch.want];
    const Status sent =
        network_.Send(fetch.from, wire::FetchKv{.query = search.rows.query(),
                                                .route = route_->id(),
                                                .sequence = live.memory->id(),
                                                .epoch = live.epoch,
                                                .layer_begin = fetch.layers.begin,
                                                .layer_end = fetch.layers.end,
                                                .begin = begin_of(wants[fetch.want].held),
                                                .end = search.sources.end,
                                                .to = AddressOf(target.node)});
    if (!sent.ok()) return GiveUpFetching(live);
  }
}

// Some of it has come.
void Conductor::TakeFetched(Live& live) {
  live.search->heard_ns = network_.clock().NowNs();
  if (HeldBy(live, DecodingPath()) < live.search->sources.end) return;
  CountFetched(live);
  EndSearch(live);
  StartRunning(live);
}

void Conductor::CountFetched(const Live& live) {
  const Live::Search& search = *live.search;
  const uint32_t count = HeldBy(live, DecodingPath()) - search.held;
  const double seconds = static_cast<double>(search.heard_ns - search.begun_ns) / kNs;
  const std::vector<KvWant> wants = WantsOf(live);
  std::map<wire::NodeId, double> bytes;
  for (const KvFetch& fetch : search.sources.fetches) {
    bytes[fetch.from] +=
        fetch.from == wants[fetch.want].node ? 0 : BytesPerPosition(fetch.layers) * count;
  }
  counters_.fetched_tokens += count;
  for (const auto& [node, given] : bytes) {
    FetchedFrom& from = fetched_[node];
    from.name = search.peers.at(node).node.name;
    from.tokens += count;
    from.bytes += static_cast<uint64_t>(given);
    counters_.fetched_bytes += static_cast<uint64_t>(given);
    if (given >= kWorthMeasuringBytes && seconds > 0) kv_rates_[node] = given / seconds;
  }
}

// What has come stays, and what comes late is of another epoch.
void Conductor::GiveUpFetching(Live& live) {
  ++counters_.fetches_given_up;
  if (HeldBy(live, DecodingPath()) > live.search->held) CountFetched(live);
  BeginRequest(live);
}

void Conductor::EndSearch(Live& live) {
  const std::unique_ptr<Live::Search> search = std::move(live.search);
  if (!search) return;
  for (const wire::NodeId& node : search->rows.answered()) {
    // Who is not told forgets it after a while.
    static_cast<void>(network_.Send(node, wire::FindKv{.query = search->rows.query(),
                                                       .digest = digest_,
                                                       .layer_count = layout_->layer_count(),
                                                       .tokens = {}}));
  }
}

int64_t Conductor::NextTickOf(const Live& live) const {
  if (!live.search) return kNeverNs;
  const Live::Search& search = *live.search;
  if (live.phase == Live::Phase::kSearching) {
    const double part_ns = SecondsToCompute(search.goal - search.held) * kAskPart * kNs;
    const int64_t longest_ns = std::max(options_.ask_ns, kLongestAskNs);
    return search.begun_ns + std::clamp(static_cast<int64_t>(std::min(part_ns, kNs * 1e3)),
                                        options_.ask_ns, longest_ns);
  }
  const int64_t silent_ns = search.heard_ns + options_.fetch_silence_ns;
  const double computing_s = SecondsToCompute(search.sources.end - search.held);
  if (computing_s <= 0) return silent_ns;
  const auto patience_ns = static_cast<int64_t>(std::min(computing_s, 1e6) * kPatience * kNs);
  return std::min(silent_ns, search.begun_ns + std::max(patience_ns, kLeastPatienceNs));
}

void Conductor::TickSearches() {
  const int64_t now_ns = network_.clock().NowNs();
  for (const auto& live : running_) {
    if (NextTickOf(*live) > now_ns) continue;
    if (live->phase == Live::Phase::kSearching) {
      const std::set<wire::NodeId> silent = live->search->rows.silent();
      for (const wire::NodeId& node : silent) {
        slow_until_ns_[node] = now_ns + kSlowNs;
        live->search->rows.Lose(node);
      }
      ChooseSources(*live);
    } else {
      for (const KvFetch& fetch : live->search->sources.fetches) {
        slow_until_ns_[fetch.from] = now_ns + kSlowNs;
      }
      GiveUpFetching(*live);
    }
  }
}

}  // namespace aster::conduct
