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
#include "kv/page_parcels.h"
#include "stage/rows_under_way.h"
#include "wire/messages.h"

namespace aster::stage {

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
  // `under_way` is shared by all that send rows from this node.
  explicit RowOffers(std::shared_ptr<RowsUnderWay> under_way = std::make_shared<RowsUnderWay>())
      : under_way_(std::move(under_way)) {}

  struct Outgoing {
    wire::NodeId to;
    wire::Message message;  // Rows, or Found where they are not there any more
  };

  // What is there of a text; nothing is said to a question that only ends another one.
  std::optional<wire::Found> Seek(const wire::NodeId& from, const wire::Seek& seek,
                                  const RowPlaces& places, int64_t now_ns);
  // Rows are wanted elsewhere: Next brings them. False where that makes no sense, or not any more:
  // then Next brings an empty Found.
  bool Give(const wire::NodeId& from, const wire::Give& give, int64_t now_ns);
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
    RowsUnderWay::Share share;
  };
  struct Giving {
    wire::NodeId from;
    wire::Give give;
    uint32_t next = 0;
    std::deque<wire::Rows> ready;
    std::deque<UnderWay> under_way;
  };

  void DropOld(const wire::NodeId& from, size_t token_count, int64_t now_ns);
  Status Prepare(Giving& giving, const Query& query, const RowPlaces& places);
  std::optional<Outgoing> NextOf(Giving& giving, const RowPlaces& places);

  const std::shared_ptr<RowsUnderWay> under_way_;
  std::map<QueryKey, Query> queries_;
  std::deque<Giving> givings_;
  std::deque<Outgoing> refusals_;
};

}  // namespace aster::stage
