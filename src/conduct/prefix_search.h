// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What other nodes hold of a request's text, asked for before the text is computed: nodes whose
// layers have changed, nodes of other routes and of none. Whatever goes wrong with a search costs a
// moment, and the text is computed. Must not know frames.
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
  int64_t ask_ns = 500 * kNsPerMs;              // that answers are waited for
  int64_t fetch_silence_ns = 5 * kNsPerSecond;  // without any rows: these are computed instead
};

// What nodes held of texts and sent, since the conductor was made.
using FetchedByNode = std::map<wire::NodeId, FetchedFrom>;

// Of all requests on one route. All that it is given outlives it.
class PrefixSearch {
 public:
  // What follows for a request.
  enum class Next : uint8_t {
    kWait,   // for what was asked for before
    kFetch,  // for rows that nodes were asked for just now
    kRun,    // nothing: what is lacking is computed
    kBegin,  // for stages to say anew what they hold: rows that come late are of another epoch
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

  // Stages have said what they hold. kWait where other nodes were asked, too: once on a route, and
  // where a page or more is lacking. The request is kSearching then.
  Next Start(LiveRequest& live);
  // A node says what it holds; of which request, or null.
  std::pair<LiveRequest*, Next> OnFoundKv(const wire::NodeId& from, const wire::FoundKv& found);
  // It cannot be reached any more.
  Next OnDown(LiveRequest& live, const wire::NodeId& node);
  // A stage holds more of a request that is kFetching.
  Next OnHolds(LiveRequest& live);
  // Rows for a request that is kFetching find no memory.
  Next GiveUp(LiveRequest& live);
  Next Tick(LiveRequest& live);
  int64_t NextTickNs(const LiveRequest& live) const;
  // There is none for the request any more. Nodes that hold rows for it are told.
  void End(LiveRequest& live);

 private:
  struct Search {
    LiveRequest* live;
    KvHoldings holdings;
    std::map<wire::NodeId, KvPeer> peers;  // that were asked
    uint32_t goal = 0;                     // positions
    uint32_t held = 0;                     // by the decode path, before
    KvSources sources;                     // of kFetching
    int64_t begun_ns = 0;                  // its phase
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
  std::vector<KvWant> WantsOf(const LiveRequest& live) const;
  wire::FindKv Query(const Search& search, uint32_t length) const;
  int64_t AskedUntilNs(const Search& search) const;
  int64_t FetchedUntilNs(const Search& search) const;
  int64_t NowNs() const { return at_.network.clock().NowNs(); }

  const Context at_;
  const PrefixSearchOptions options_;
  std::map<engine::RequestId, Search> searches_;
};

}  // namespace aster::conduct
