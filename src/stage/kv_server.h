// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Serves this node's KV cache, computed for any route, to other nodes: says which rows of a prefix
// it has, and sends those that are fetched, a page at a time, from the memory of its slices and
// from disk. It pins no pages: if rows were evicted before their turn, the reply is an empty
// FoundKv. Must not know routes, nor how messages travel.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/local_model.h"
#include "kv/page_chunks.h"
#include "stage/kv_in_flight.h"
#include "wire/messages.h"

namespace aster::stage {

// Where the node's KV rows are. Valid during one call.
struct KvPlaces {
  struct Memory {
    engine::LocalModel* model;
    wire::RowEncoding encoding;  // of KV chunks with its rows
  };
  std::vector<Memory> models;
  kv::PageChunks* chunks = nullptr;  // on disk, or null
};

// Belongs to the thread that computes.
class KvServer {
 public:
  // `in_flight` is shared by all that send rows from this node.
  explicit KvServer(std::shared_ptr<KvInFlight> in_flight = std::make_shared<KvInFlight>())
      : in_flight_(std::move(in_flight)) {}

  struct OutgoingKv {
    wire::NodeId to;
    wire::Message message;  // KvRows, or an empty FoundKv if they were evicted
  };

  // Says which rows of a prefix are here. A query without tokens ends an earlier one and has no
  // reply.
  std::optional<wire::FoundKv> FindKv(const wire::NodeId& from, const wire::FindKv& find,
                                      const KvPlaces& places, int64_t now_ns);
  // Takes an order to send rows; Next returns them from now on. False if no query of that node
  // asked for these rows, or if too many fetches are served: then Next returns an empty FoundKv.
  bool FetchKv(const wire::NodeId& from, const wire::FetchKv& order, int64_t now_ns);
  // A node has taken rows: more may follow.
  void OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken);
  // The node is down: its queries and fetches end, and nodes that ordered rows for it get an empty
  // FoundKv.
  void Forget(const wire::NodeId& node);

  // The next message that may be sent now; call it until there is none.
  std::optional<OutgoingKv> Next(const KvPlaces& places);

 private:
  using QueryKey = std::pair<wire::NodeId, uint64_t>;
  struct Query {
    Hash128 digest;
    std::vector<int32_t> tokens;
    int64_t used_ns = 0;
  };
  // Rows of some layers up to a position.
  struct Part {
    kv::LayerRange layers;
    uint32_t end = 0;

    bool operator==(const Part&) const = default;
  };
  struct Ready {
    Part part;
    wire::KvRows rows;
  };
  struct Sent {
    Part part;
    KvInFlight::InFlightBytes bytes;
  };
  // A fetch that is being served.
  struct Fetch {
    wire::NodeId from;
    wire::FetchKv order;
    uint32_t next = 0;        // the first position that was not read yet
    std::deque<Ready> ready;  // read and not sent
    std::deque<Sent> in_flight;
  };

  void DropOldQueries(const wire::NodeId& from, size_t token_count, int64_t now_ns);
  static Status Prepare(Fetch& fetch, const Query& query, const KvPlaces& places);
  std::optional<OutgoingKv> NextOf(Fetch& fetch, const KvPlaces& places);

  const std::shared_ptr<KvInFlight> in_flight_;
  std::map<QueryKey, Query> queries_;
  std::deque<Fetch> fetches_;
  std::deque<OutgoingKv> refusals_;  // empty FoundKv
};

}  // namespace aster::stage
