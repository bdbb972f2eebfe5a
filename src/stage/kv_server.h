// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What a node remembers, whatever route it was computed for, told to whoever asks and given to
// whom they name: rows of full pages, from its slices' memory and from what is below it. Holds on
// to nothing meanwhile: what is gone when its turn comes is not given, and that is said. Must not
// know routes, nor how messages travel.
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

// Where rows may be, at this moment.
struct KvPlaces {
  struct Memory {
    engine::LocalModel* model;
    wire::RowEncoding encoding;  // in which its rows travel
  };
  std::vector<Memory> models;
  kv::PageChunks* chunks = nullptr;  // or nothing
};

// Belongs to the thread that computes.
class KvServer {
 public:
  // `under_way` is shared by all that send rows from this node.
  explicit KvServer(std::shared_ptr<KvInFlight> in_flight = std::make_shared<KvInFlight>())
      : in_flight_(std::move(in_flight)) {}

  struct OutgoingKv {
    wire::NodeId to;
    wire::Message message;  // Rows, or Found where they are not there any more
  };

  // What is there of a text; nothing is said to a question that only ends another one.
  std::optional<wire::FoundKv> FindKv(const wire::NodeId& from, const wire::FindKv& find,
                                      const KvPlaces& places, int64_t now_ns);
  // Rows are wanted elsewhere: Next brings them. False where that makes no sense, or not any more:
  // then Next brings an empty Found.
  bool FetchKv(const wire::NodeId& from, const wire::FetchKv& order, int64_t now_ns);
  // Somebody has taken rows: more may follow.
  void OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken);
  // The node is gone: it does not ask any more, and whoever wanted rows to go there is told.
  void Forget(const wire::NodeId& node);

  // What is to be sent now, if anything is; call it until nothing is.
  std::optional<OutgoingKv> Next(const KvPlaces& places);

 private:
  using QueryKey = std::pair<wire::NodeId, uint64_t>;
  struct Query {
    Hash128 digest;
    std::vector<int32_t> tokens;
    int64_t used_ns = 0;
  };
  struct Sent {
    wire::KvTaken until;  // this is said of it
    KvInFlight::InFlightBytes bytes;
  };
  struct Fetch {
    wire::NodeId from;
    wire::FetchKv order;
    uint32_t next = 0;
    std::deque<wire::KvRows> ready;
    std::deque<Sent> in_flight;
  };

  void DropOld(const wire::NodeId& from, size_t token_count, int64_t now_ns);
  Status Prepare(Fetch& fetch, const Query& query, const KvPlaces& places);
  std::optional<OutgoingKv> NextOf(Fetch& fetch, const KvPlaces& places);

  const std::shared_ptr<KvInFlight> in_flight_;
  std::map<QueryKey, Query> queries_;
  std::deque<Fetch> fetches_;
  std::deque<OutgoingKv> refusals_;
};

}  // namespace aster::stage
