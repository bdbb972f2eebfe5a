// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Prefix search: before a text is computed, asks other nodes which KV rows of it they hold: nodes
// of former plans, of other routes and of no route. If a search fails, the text is computed after a
// short delay. Must not know frames.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "conduct/counters.h"
#include "conduct/kv_costs.h"
#include "conduct/kv_holdings.h"
#include "conduct/kv_peers.h"
#include "conduct/live_request.h"
#include "conduct/route_client.h"
#include "net/network.h"
#include "wire/messages.h"

namespace aster::conduct {

struct PrefixSearchOptions {
  bool is_enabled = true;
  int64_t ask_ns = 500 * kNsPerMs;              // time to wait for answers
  int64_t fetch_silence_ns = 5 * kNsPerSecond;  // time without rows that ends a fetch
};

// The rows that each node has sent, since the conductor was made.
using FetchedByNode = std::map<wire::NodeId, FetchedFrom>;

// The searches of all requests on one route. Everything that it is given outlives it.
class PrefixSearch {
 public:
  // What the request does next.
  enum class Next : uint8_t {
    kWait,   // wait for answers or rows that were requested before
    kFetch,  // wait for rows that were requested just now
    kRun,    // run: compute missing rows
    kBegin,  // begin again with a new epoch, so that late rows are ignored
  };
  struct Context {
    net::Network& network;
    RouteClient& route;
    KvPeers& peers;
    KvCosts& costs;
    Numbers& numbers;
    ConductorCounters& counters;
    FetchedByNode& fetched;
  };

  PrefixSearch(const Context& context, const PrefixSearchOptions& options)
      : at_(context), options_(options) {}

  // Stages have replied what they hold. If they lack a page or more, asks other nodes, once on each
  // route: then the request is kSearching, and the result is kWait.
  Next Start(LiveRequest& live);
  // A node replies what it holds. Returns the request of that query, or null.
  std::pair<LiveRequest*, Next> OnFoundKv(const wire::NodeId& from, const wire::FoundKv& found);
  // The node cannot be reached any more.
  Next OnDown(LiveRequest& live, const wire::NodeId& node);
  // A stage holds more of a request that is kFetching.
  Next OnHolds(LiveRequest& live);
  // A stage has no memory for the rows of a request that is kFetching.
  Next GiveUp(LiveRequest& live);
  Next Tick(LiveRequest& live);
  int64_t NextTickNs(const LiveRequest& live) const;
  // Ends the request's search, and tells the nodes that hold rows for it.
  void End(LiveRequest& live);

 private:
  struct Search {
    LiveRequest* live;
    KvHoldings holdings;
    std::map<wire::NodeId, KvPeer> peers;  // nodes that were asked
    uint32_t goal = 0;                     // positions
    uint32_t held = 0;                     // positions that the decode path held before
    KvSources sources;                     // of kFetching
    int64_t begun_ns = 0;                  // when its phase began
    int64_t heard_ns = 0;
  };

  Search* Find(const LiveRequest& live);
  const Search* Find(const LiveRequest& live) const;
  void Ask(Search& search, std::vector<KvPeer> peers);
  Next Choose(Search& search);
  Next Fetch(Search& search);
  Next GiveUp(Search& search);
  void Count(const Search& search);
  bool IsSource(const Search& search, const wire::NodeId& node) const;
  std::vector<KvDestination> DestinationsOf(const LiveRequest& live) const;
  wire::FindKv Query(const Search& search, uint32_t length) const;
  int64_t AskedUntilNs(const Search& search) const;
  int64_t FetchedUntilNs(const Search& search) const;
  int64_t NowNs() const { return at_.network.clock().NowNs(); }

  const Context at_;
  const PrefixSearchOptions options_;
  std::map<engine::RequestId, Search> searches_;
};

}  // namespace aster::conduct
