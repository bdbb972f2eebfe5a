// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/kv_server.h"

#include <algorithm>

#include "base/clock.h"
#include "kernels/rope.h"
#include "kv/prefix_hash.h"
#include "model/memory/memory.h"
#include "stage/export_kv_chunk.h"
#include "stage/kv_chunk_encoding.h"
#include "stage/stage_memory.h"

namespace aster::stage {
namespace {

constexpr size_t kMaxQueries = 1024;  // of all nodes
// A conductor has one query for each request that it runs (ConductorOptions::max_running), and may
// send the next one before it ends the last.
constexpr size_t kMaxQueriesOfOne = 128;
constexpr size_t kMaxQueriedTokens = size_t{16} << 20;
constexpr size_t kMaxRefusals = 1024;
constexpr size_t kMaxFetches = 256;
constexpr uint32_t kMaxLayers = 4096;
constexpr int64_t kForgottenNs = 60 * kNsPerSecond;  // since a query was last used
constexpr uint32_t kPage = kernels::kPagePositions;

using Tokens = std::span<const int32_t>;

// For each layer, how many positions of the prefix this node has.
std::vector<uint32_t> LengthsOf(const wire::FindKv& find, const KvPlaces& places) {
  // In memory: what a new sequence of the slice would adopt.
  std::vector<uint32_t> lengths(find.layer_count);
  for (const auto& [model, encoding] : places.models) {
    const kv::LayerRange layers = model->layers();
    if (model->layout().digest() != find.digest || layers.end > find.layer_count) continue;
    kv::PageTable table = model->NewTable();
    const uint32_t length = table.Adopt(find.tokens, kv::AdoptFrom::kMemory);
    for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
      lengths[layer] = std::max(lengths[layer], length);
    }
  }
  // On disk, page by page: a page counts for layers whose rows it continues.
  if (places.chunks == nullptr) return lengths;
  Hash128 prefix = find.digest;
  for (uint32_t begin = 0; begin + kPage <= find.tokens.size(); begin += kPage) {
    prefix = kv::ExtendPrefixHash(prefix, Tokens(find.tokens).subspan(begin, kPage));
    for (const kv::LayerRange layers : places.chunks->LayersOf(prefix)) {
      for (uint32_t layer = layers.begin; layer < std::min(layers.end, find.layer_count); ++layer) {
        if (lengths[layer] == begin) lengths[layer] = begin + kPage;
      }
    }
    if (*std::ranges::max_element(lengths) <= begin) break;
  }
  return lengths;
}

struct Read {
  kv::LayerRange layers;
  wire::Payload chunk;
  wire::RowEncoding encoding = wire::RowEncoding::kF32;
};

// The rows of [begin, end) in layers from `layers.begin` on, as many layers as one place has.
Result<Read> ReadFrom(const KvPlaces& places, const Hash128& digest, Tokens tokens, uint32_t begin,
                      kv::LayerRange layers) {
  const auto end = static_cast<uint32_t>(tokens.size());
  for (const auto& [model, encoding] : places.models) {
    const kv::LayerRange held = model->layers();
    if (model->layout().digest() != digest || !held.Contains({layers.begin, layers.begin + 1})) {
      continue;
    }
    // The table keeps the pages from being evicted while they are exported.
    kv::PageTable table = model->NewTable();
    if (table.Adopt(tokens, kv::AdoptFrom::kMemory) < end) continue;
    Read read{.layers = {layers.begin, std::min(layers.end, held.end)},
              .chunk = {},
              .encoding = encoding};
    if (!ExportKvChunk(table, read.layers, begin, end, read.chunk).ok()) continue;
    if (encoding != wire::RowEncoding::kF32) {
      const kv::KvChunk plain = TRY(kv::ParseKvChunk(read.chunk));
      read.chunk = TRY(CompressKvChunk(model->layout(), model->isa(), plain));
    }
    return read;
  }
  // On disk there are exact rows of whole pages.
  if (places.chunks != nullptr && begin % kPage == 0 && end == begin + kPage) {
    const Hash128 prefix = kv::ExtendPrefixHash(digest, tokens);
    for (const kv::LayerRange held : places.chunks->LayersOf(prefix)) {
      if (!held.Contains({layers.begin, layers.begin + 1})) continue;
      const kv::LayerRange part = {layers.begin, std::min(layers.end, held.end)};
      const auto chunk = places.chunks->ReadChunk(prefix, part);
      if (chunk.ok()) return Read{.layers = part, .chunk = {chunk->begin(), chunk->end()}};
    }
  }
  return NotFound("the rows were evicted");
}

}  // namespace

std::optional<wire::FoundKv> KvServer::FindKv(const wire::NodeId& from, const wire::FindKv& find,
                                              const KvPlaces& places, int64_t now_ns) {
  const QueryKey key{from, find.query};
  // A conductor that was restarted counts its queries from 1 again: fetches of an earlier query of
  // this number end with it.
  queries_.erase(key);
  std::erase_if(fetches_, [&](const Fetch& fetch) {
    return fetch.from == from && fetch.order.query == find.query;
  });
  if (find.tokens.empty()) return std::nullopt;
  wire::FoundKv found{.query = find.query, .held = {}};
  if (find.tokens.size() >= kernels::kRopePositions || find.layer_count == 0 ||
      find.layer_count > kMaxLayers) {
    return found;
  }
  // Neighbouring layers of the same length make one range.
  const std::vector<uint32_t> lengths = LengthsOf(find, places);
  for (uint32_t layer = 0; layer < find.layer_count; ++layer) {
    if (lengths[layer] == 0) continue;
    const bool goes_on = !found.held.empty() && found.held.back().layer_end == layer &&
                         found.held.back().length == lengths[layer];
    if (!goes_on) found.held.push_back({layer, layer, lengths[layer]});
    found.held.back().layer_end = layer + 1;
  }
  // Only a query that found something can be followed by a fetch.
  if (found.held.empty()) return found;
  DropOldQueries(from, find.tokens.size(), now_ns);
  queries_[key] = {.digest = find.digest, .tokens = find.tokens, .used_ns = now_ns};
  return found;
}

// Makes room for one more query of `token_count` tokens. Each node has a limit of its own, so that
// it cannot evict all queries of others.
void KvServer::DropOldQueries(const wire::NodeId& from, size_t token_count, int64_t now_ns) {
  std::erase_if(queries_,
                [&](const auto& item) { return now_ns - item.second.used_ns >= kForgottenNs; });
  // The least recently used query of those that may go.
  const auto drop_oldest = [&](const auto& may_go) {
    auto oldest = queries_.end();
    for (auto query = queries_.begin(); query != queries_.end(); ++query) {
      if (!may_go(query->first)) continue;
      if (oldest == queries_.end() || query->second.used_ns < oldest->second.used_ns) {
        oldest = query;
      }
    }
    if (oldest == queries_.end()) return false;
    queries_.erase(oldest);
    return true;
  };
  // First the limit of the asking node, then that of all nodes.
  const auto is_of_node = [&](const QueryKey& key) { return key.first == from; };
  const auto count =
      std::ranges::count_if(queries_, [&](const auto& item) { return is_of_node(item.first); });
  if (static_cast<size_t>(count) >= kMaxQueriesOfOne) drop_oldest(is_of_node);
  const auto is_any = [](const QueryKey&) { return true; };
  if (queries_.size() >= kMaxQueries) drop_oldest(is_any);
  const auto tokens = [this] {
    size_t sum = 0;
    for (const auto& [key, query] : queries_) sum += query.tokens.size();
    return sum;
  };
  while (tokens() + token_count > kMaxQueriedTokens && drop_oldest(is_any)) {
  }
}

bool KvServer::FetchKv(const wire::NodeId& from, const wire::FetchKv& order, int64_t now_ns) {
  const auto query = queries_.find({from, order.query});
  if (query == queries_.end() || fetches_.size() >= kMaxFetches || order.begin >= order.end ||
      order.end > query->second.tokens.size() || order.layer_begin >= order.layer_end ||
      order.layer_end > kMaxLayers) {
    // Without a reply the conductor would wait until its deadline and count this node as slow.
    if (refusals_.size() < kMaxRefusals) {
      refusals_.push_back({from, wire::FoundKv{.query = order.query, .held = {}}});
    }
    return false;
  }
  query->second.used_ns = now_ns;
  fetches_.push_back(
      {.from = from, .order = order, .next = order.begin, .ready = {}, .in_flight = {}});
  return true;
}

void KvServer::OnKvTaken(const wire::NodeId& from, const wire::KvTaken& taken) {
  for (Fetch& fetch : fetches_) {
    if (fetch.order.to.node != from || fetch.order.route != taken.route ||
        fetch.order.sequence != taken.sequence || fetch.order.epoch != taken.epoch) {
      continue;
    }
    const Part part{.layers = {taken.layer_begin, taken.layer_end}, .end = taken.end};
    std::erase_if(fetch.in_flight, [&](const Sent& sent) { return sent.part == part; });
  }
}

void KvServer::Forget(const wire::NodeId& node) {
  std::erase_if(queries_, [&](const auto& item) { return item.first.first == node; });
  std::erase_if(refusals_, [&](const OutgoingKv& refusal) { return refusal.to == node; });
  std::erase_if(fetches_, [&](const Fetch& fetch) {
    // The order came from the node, or its rows were to go there.
    const bool is_lost = fetch.from == node || fetch.order.to.node == node;
    if (is_lost && fetch.from != node) {
      refusals_.push_back({fetch.from, wire::FoundKv{.query = fetch.order.query, .held = {}}});
    }
    return is_lost;
  });
}

std::optional<KvServer::OutgoingKv> KvServer::Next(const KvPlaces& places) {
  if (!refusals_.empty()) {
    OutgoingKv refusal = std::move(refusals_.front());
    refusals_.pop_front();
    return refusal;
  }
  // The oldest fetch first. A fetch stays until its last rows were taken: they count as in flight.
  for (size_t i = 0; i < fetches_.size();) {
    auto outgoing = NextOf(fetches_[i], places);
    const bool is_over = fetches_[i].next >= fetches_[i].order.end && fetches_[i].ready.empty();
    const bool is_done = is_over && fetches_[i].in_flight.empty();
    const bool has_failed = outgoing && std::holds_alternative<wire::FoundKv>(outgoing->message);
    if (is_done || has_failed) {
      fetches_.erase(fetches_.begin() + static_cast<ptrdiff_t>(i));
    } else if (!outgoing) {
      ++i;
    }
    if (outgoing) return outgoing;
  }
  return std::nullopt;
}

std::optional<KvServer::OutgoingKv> KvServer::NextOf(Fetch& fetch, const KvPlaces& places) {
  const bool is_over = fetch.ready.empty() && fetch.next >= fetch.order.end;
  if (is_over || !in_flight_->MaySend(fetch.order.to.node, !fetch.in_flight.empty())) {
    return std::nullopt;
  }
  // Reads the next page of all layers; if its rows were evicted, tells the conductor.
  if (fetch.ready.empty()) {
    const auto query = queries_.find({fetch.from, fetch.order.query});
    const bool is_ready = query != queries_.end() && Prepare(fetch, query->second, places).ok();
    if (!is_ready) {
      return OutgoingKv{fetch.from, wire::FoundKv{.query = fetch.order.query, .held = {}}};
    }
  }
  // In flight from here on, until the receiver says that it has taken the rows.
  Ready next = std::move(fetch.ready.front());
  fetch.ready.pop_front();
  fetch.in_flight.push_back(
      {.part = next.part, .bytes = {in_flight_, fetch.order.to.node, next.rows.chunk.size()}});
  return OutgoingKv{fetch.order.to.node, std::move(next.rows)};
}

// Reads the next page in all layers of the order; or all remaining rows, if pages between them are
// outside a sliding window and were freed.
Status KvServer::Prepare(Fetch& fetch, const Query& query, const KvPlaces& places) {
  const wire::FetchKv& order = fetch.order;
  if (order.end > query.tokens.size()) return NotFound("the query is of another text now");
  const auto prepare = [&](uint32_t end) -> Status {
    fetch.ready.clear();
    // One place may have only some of the layers: the next one begins behind them.
    for (kv::LayerRange left = {order.layer_begin, order.layer_end}; left.begin < left.end;) {
      Read from =
          TRY(ReadFrom(places, query.digest, Tokens(query.tokens).first(end), fetch.next, left));
      left.begin = from.layers.end;
      fetch.ready.push_back({.part = {.layers = from.layers, .end = end},
                             .rows = {.route = order.route,
                                      .sequence = order.sequence,
                                      .epoch = order.epoch,
                                      .ticket = 0,
                                      .chunk = std::move(from.chunk),
                                      .encoding = from.encoding}});
    }
    fetch.next = end;
    return Ok();
  };
  const uint32_t page_end = std::min((fetch.next / kPage + 1) * kPage, order.end);
  if (prepare(page_end).ok()) return Ok();
  return prepare(order.end);
}

}  // namespace aster::stage
