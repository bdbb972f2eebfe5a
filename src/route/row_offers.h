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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/local_model.h"
#include "kv/page_parcels.h"
#include "wire/messages.h"

namespace aster::route {

// Where rows may be, at this moment.
struct RowPlaces {
  struct Memory {
    engine::LocalModel* model;
    wire::RowEncoding encoding;  // in which its rows travel
  };
  std::vector<Memory> models;
  kv::PageParcels* parcels = nullptr;  // or nothing
};

// Belongs to the thread that computes.
class RowOffers {
 public:
  struct Outgoing {
    wire::NodeId to;
    wire::Message message;  // Rows, or Found where they are not there any more
  };

  // What is there of a text; nothing is said to a question that only ends another one.
  std::optional<wire::Found> Seek(const wire::NodeId& from, const wire::Seek& seek,
                                  const RowPlaces& places, int64_t now_ns);
  // Rows are wanted elsewhere: Next brings them. One that makes no sense is forgotten.
  void Give(const wire::NodeId& from, const wire::Give& give, int64_t now_ns);
  // Somebody has taken rows: more may follow.
  void Took(const wire::NodeId& from, const wire::Took& took);
  // The node is gone: it does not ask any more, and whoever wanted rows to go there is told.
  void Forget(const wire::NodeId& node);

  // What is to be sent now, if anything is; call it until nothing is.
  std::optional<Outgoing> Next(const RowPlaces& places);

 private:
  using QueryKey = std::pair<wire::NodeId, uint64_t>;
  struct Query {
    Hash128 digest;
    std::vector<int32_t> tokens;
    int64_t used_ns = 0;
  };
  struct UnderWay {
    wire::Took until;  // this is said of it
    uint64_t bytes = 0;
  };
  struct Giving {
    wire::NodeId from;
    wire::Give give;
    uint32_t next = 0;
    std::deque<wire::Rows> ready;
    std::deque<UnderWay> under_way;
    uint64_t under_way_bytes = 0;
  };

  void DropOld(const wire::NodeId& from, int64_t now_ns);
  Status Prepare(Giving& giving, const Query& query, const RowPlaces& places);
  std::optional<Outgoing> NextOf(Giving& giving, const RowPlaces& places);

  std::map<QueryKey, Query> queries_;
  std::vector<Giving> givings_;
  std::deque<Outgoing> refusals_;
};

}  // namespace aster::route
