// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "conduct/prefix_search.h"

#include <algorithm>
#include <set>

#include "kernels/pages.h"

namespace aster::conduct {
namespace {

constexpr uint32_t kPage = kernels::kPagePositions;
constexpr double kNs = 1e9;
// Nodes may take longer than options.ask_ns to reply for a long prompt: up to this part of the time
// that computing it would take, and up to this time.
constexpr int64_t kLongestAskNs = 2 * kNsPerSecond;
constexpr double kAskPart = 0.1;
// A fetch is abandoned when it takes this many times as long as computing would.
constexpr double kPatience = 2;
constexpr int64_t kLeastPatienceNs = kNsPerSecond;

wire::StageAddress AddressOf(const plan::PlanNode& node) {
  wire::StageAddress address;
  address.node = node.id;
  address.name = node.name;
  address.addresses = node.addresses;
  return address;
}

}  // namespace

// --- Asking.

PrefixSearch::Next PrefixSearch::Start(LiveRequest& live) {
  // Once for each request on a route; never if all rows must be computed here.
  const bool is_late = live.searched_route == at_.route.id();
  if (is_late || !options_.is_enabled || live.logits.is_wanted() || live.length() == 0) {
    return Next::kRun;
  }
  live.searched_route = at_.route.id();
  live.fetch_s = live.actual_fetch_s = 0;
  // The last token is always computed, and whole pages are fetched.
  const uint32_t goal = (live.length() - 1) / kPage * kPage;
  const uint32_t decoded = live.HeldBy(at_.route.decode_path());
  if (goal < std::max(live.HeldBy(at_.route.prefill_path()), decoded) + kPage) return Next::kRun;
  // All nodes that may hold rows of this model, except those that were slow lately.
  std::vector<KvPeer> peers = at_.peers.ToAsk(at_.route.stages(), NowNs());
  // A single node has already searched its own cache.
  if (peers.size() < 2) return Next::kRun;
  const uint64_t query = ++at_.numbers.query;
  Search& search =
      searches_
          .emplace(live.request.id(), Search{.live = &live,
                                             .holdings = {query, at_.route.layout().layer_count()},
                                             .peers = {},
                                             .goal = goal,
                                             .held = decoded,
                                             .sources = {},
                                             .begun_ns = NowNs(),
                                             .heard_ns = NowNs()})
          .first->second;
  Ask(search, std::move(peers));
  // No node could be asked.
  if (search.holdings.silent().empty()) {
    searches_.erase(live.request.id());
    return Next::kRun;
  }
  live.phase = RequestPhase::kSearching;
  return Next::kWait;
}

void PrefixSearch::Ask(Search& search, std::vector<KvPeer> peers) {
  const auto& nodes = at_.route.nodes();
  for (KvPeer& peer : peers) {
    const wire::NodeId id = peer.node.id;
    const bool is_new = std::ranges::count(nodes, id) == 0 && id != at_.network.self();
    if (is_new) at_.network.Introduce(id, peer.node.addresses);
    // No reply is awaited from a node that cannot be reached.
    if (!at_.network.Send(id, Query(search, search.goal)).ok()) continue;
    search.holdings.Ask(id);
    search.peers[id] = std::move(peer);
  }
}

// The query for the first `length` tokens; 0 ends it.
wire::FindKv PrefixSearch::Query(const Search& search, uint32_t length) const {
  const std::vector<int32_t>& tokens = search.live->request.sequence().tokens();
  return {.query = search.holdings.query(),
          .digest = at_.route.layout().digest(),
          .layer_count = at_.route.layout().layer_count(),
          .tokens = {tokens.begin(), tokens.begin() + length}};
}

std::pair<LiveRequest*, PrefixSearch::Next> PrefixSearch::OnFoundKv(const wire::NodeId& from,
                                                                    const wire::FoundKv& found) {
  const auto place = std::ranges::find_if(searches_, [&](const auto& item) {
    return item.second.holdings.query() == found.query && item.second.peers.contains(from);
  });
  if (place == searches_.end()) return {nullptr, Next::kWait};
  Search& search = place->second;
  LiveRequest* const live = search.live;
  // While the request is kSearching, this may be the last reply; in kFetching it is a refusal.
  if (live->phase == RequestPhase::kFetching) {
    // A source has evicted the rows since its reply. Replies of other nodes are only late.
    return {live, IsSource(search, from) ? GiveUp(search) : Next::kWait};
  }
  search.holdings.Take(from, found);
  return {live, search.holdings.silent().empty() ? Choose(search) : Next::kWait};
}

PrefixSearch::Next PrefixSearch::OnDown(LiveRequest& live, const wire::NodeId& node) {
  Search* const search = Find(live);
  if (search == nullptr) return Next::kWait;
  search->holdings.MarkUnreachable(node);
  if (live.phase == RequestPhase::kFetching) {
    return IsSource(*search, node) ? GiveUp(*search) : Next::kWait;
  }
  return search->holdings.silent().empty() ? Choose(*search) : Next::kWait;
}

// --- Fetching.

// No more replies are awaited: fetches rows if that takes less time than computing them, or if the
// time to fetch them is not known.
PrefixSearch::Next PrefixSearch::Choose(Search& search) {
  const auto rate_of = [&](const wire::NodeId& node) {
    const auto peer = search.peers.find(node);
    return peer == search.peers.end() ? 0 : at_.costs.BytesPerSecond(peer->second);
  };
  search.sources = search.holdings.Choose(
      DestinationsOf(*search.live), search.goal, rate_of,
      [&](kv::LayerRange of) { return at_.costs.BytesPerPosition(at_.route.layout(), of); });
  // Fetching needs to gain at least a page.
  const KvSources& sources = search.sources;
  const bool is_enough = sources.end >= search.held + kPage;
  const double computing_s = is_enough ? at_.costs.SecondsToCompute(sources.end - search.held) : 0;
  const bool is_slower = sources.seconds > 0 && computing_s > 0 && sources.seconds > computing_s;
  if (is_enough && !is_slower) return Fetch(search);
  End(*search.live);
  return Next::kRun;
}

// The stages that lack rows: those of the decode path, which then sends them to the prefill path.
std::vector<KvDestination> PrefixSearch::DestinationsOf(const LiveRequest& live) const {
  std::vector<KvDestination> destinations;
  const Path path = at_.route.decode_path();
  for (uint32_t stage = path.begin; stage < path.end; ++stage) {
    const plan::PlanStage& target = at_.route.stages()[stage];
    destinations.push_back({.node = target.node.id,
                            .layers = {target.slice.layer_begin, target.slice.layer_end},
                            .held = live.holds.at(stage)});
  }
  return destinations;
}

PrefixSearch::Next PrefixSearch::Fetch(Search& search) {
  LiveRequest& live = *search.live;
  // From here on the sources have to send rows: both times start again.
  live.phase = RequestPhase::kFetching;
  live.fetch_s = search.sources.seconds;
  search.begun_ns = search.heard_ns = NowNs();
  const std::vector<KvDestination> destinations = DestinationsOf(live);
  for (const KvFetch& fetch : search.sources.fetches) {
    const uint32_t stage = at_.route.decode_path().begin + static_cast<uint32_t>(fetch.destination);
    // From the start of the page in which the stage's rows end: pages on disk are sent as a whole,
    // and rows that the stage holds already do no harm.
    const uint32_t begin = destinations[fetch.destination].held / kPage * kPage;
    const Status sent = at_.network.Send(
        fetch.from, wire::FetchKv{.query = search.holdings.query(),
                                  .route = at_.route.id(),
                                  .sequence = live.memory->id(),
                                  .epoch = live.epoch,
                                  .layer_begin = fetch.layers.begin,
                                  .layer_end = fetch.layers.end,
                                  .begin = begin,
                                  .end = search.sources.end,
                                  .to = AddressOf(at_.route.stages()[stage].node)});
    if (!sent.ok()) return GiveUp(search);
  }
  return Next::kFetch;
}

PrefixSearch::Next PrefixSearch::OnHolds(LiveRequest& live) {
  Search* const search = Find(live);
  if (search == nullptr) return Next::kWait;
  search->heard_ns = NowNs();
  // Once all stages of the decode path have their rows, the request continues.
  if (live.HeldBy(at_.route.decode_path()) < search->sources.end) return Next::kWait;
  Count(*search);
  End(live);
  return Next::kRun;
}

void PrefixSearch::Count(const Search& search) {
  // The positions that all stages of the decode path have gained.
  const uint32_t count = search.live->HeldBy(at_.route.decode_path()) - search.held;
  const std::vector<KvDestination> destinations = DestinationsOf(*search.live);
  BytesByNode bytes;
  for (const KvFetch& fetch : search.sources.fetches) {
    // Rows from other slices of the same node are not sent over the network.
    const bool is_own = fetch.from == destinations[fetch.destination].node;
    bytes[fetch.from] +=
        is_own ? 0 : at_.costs.BytesPerPosition(at_.route.layout(), fetch.layers) * count;
  }
  at_.counters.fetched_tokens += count;
  for (const auto& [node, sent] : bytes) {
    FetchedFrom& from = at_.fetched[node];
    from.name = search.peers.at(node).node.name;
    from.tokens += count;
    from.bytes += static_cast<uint64_t>(sent);
    at_.counters.fetched_bytes += static_cast<uint64_t>(sent);
    at_.costs.LearnTransfer(node, sent, search.heard_ns - search.begun_ns);
  }
}

PrefixSearch::Next PrefixSearch::GiveUp(LiveRequest& live) {
  Search* const search = Find(live);
  return search == nullptr ? Next::kBegin : GiveUp(*search);
}

// Abandons a fetch; rows that have come are kept.
PrefixSearch::Next PrefixSearch::GiveUp(Search& search) {
  ++at_.counters.fetches_given_up;
  if (search.live->HeldBy(at_.route.decode_path()) > search.held) Count(search);
  End(*search.live);
  return Next::kBegin;
}

void PrefixSearch::End(LiveRequest& live) {
  const auto ended = searches_.extract(live.request.id());
  if (ended.empty()) return;
  if (live.phase == RequestPhase::kFetching)
    live.actual_fetch_s = static_cast<double>(NowNs() - ended.mapped().begun_ns) / kNs;
  for (const wire::NodeId& node : ended.mapped().holdings.answered()) {
    // A node that cannot be reached drops the query after a while.
    static_cast<void>(at_.network.Send(node, Query(ended.mapped(), 0)));
  }
}

// --- Time.

int64_t PrefixSearch::NextTickNs(const LiveRequest& live) const {
  const Search* const search = Find(live);
  if (search == nullptr) return kNeverNs;
  return live.phase == RequestPhase::kSearching ? AskedUntilNs(*search) : FetchedUntilNs(*search);
}

int64_t PrefixSearch::AskedUntilNs(const Search& search) const {
  // Shorter for a short prompt: searching must not cost more than it can save.
  const double part_ns = at_.costs.SecondsToCompute(search.goal - search.held) * kAskPart * kNs;
  const int64_t longest_ns = std::max(options_.ask_ns, kLongestAskNs);
  return search.begun_ns + std::clamp(static_cast<int64_t>(std::min(part_ns, kNs * 1e3)),
                                      options_.ask_ns, longest_ns);
}

int64_t PrefixSearch::FetchedUntilNs(const Search& search) const {
  const int64_t silent_ns = search.heard_ns + options_.fetch_silence_ns;
  const double computing_s = at_.costs.SecondsToCompute(search.sources.end - search.held);
  if (computing_s <= 0) return silent_ns;
  const auto patience_ns = static_cast<int64_t>(std::min(computing_s, 1e6) * kPatience * kNs);
  return std::min(silent_ns, search.begun_ns + std::max(patience_ns, kLeastPatienceNs));
}

PrefixSearch::Next PrefixSearch::Tick(LiveRequest& live) {
  if (NextTickNs(live) > NowNs()) return Next::kWait;
  // Its time is up: a search continues with the replies so far, a fetch is abandoned.
  Search& search = *Find(live);
  if (live.phase == RequestPhase::kSearching) {
    // Nodes without a reply are left out, and not asked for a while.
    const std::set<wire::NodeId> silent = search.holdings.silent();
    for (const wire::NodeId& node : silent) {
      at_.peers.AddSlow(node, NowNs());
      search.holdings.MarkUnreachable(node);
    }
    return Choose(search);
  }
  for (const KvFetch& fetch : search.sources.fetches) at_.peers.AddSlow(fetch.from, NowNs());
  return GiveUp(search);
}

PrefixSearch::Search* PrefixSearch::Find(const LiveRequest& live) {
  const auto place = searches_.find(live.request.id());
  return place == searches_.end() ? nullptr : &place->second;
}

const PrefixSearch::Search* PrefixSearch::Find(const LiveRequest& live) const {
  const auto place = searches_.find(live.request.id());
  return place == searches_.end() ? nullptr : &place->second;
}

bool PrefixSearch::IsSource(const Search& search, const wire::NodeId& node) const {
  return std::ranges::count(search.sources.fetches, node, &KvFetch::from) > 0;
}

}  // namespace aster::conduct
