// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "stage/row_offers.h"

#include <algorithm>

#include "base/clock.h"
#include "kernels/rope.h"
#include "kv/parcel.h"
#include "kv/prefix_hash.h"
#include "model/memory.h"
#include "stage/export_rows.h"
#include "stage/parcel_encoding.h"
#include "stage/stage_memory.h"

namespace aster::stage {
namespace {

constexpr size_t kMaxQueries = 1024;  // of all who ask
// A conductor asks once for each request that it runs (ConductorOptions::max_running), and asks
// anew before it hears of its last question's end.
constexpr size_t kMaxQueriesOfOne = 128;
// Long texts, all of them together.
constexpr size_t kMaxQueriedTokens = size_t{16} << 20;
constexpr size_t kMaxRefusals = 1024;
constexpr size_t kMaxGivings = 256;
constexpr uint32_t kMaxLayers = 4096;
constexpr int64_t kForgottenNs = 60 * kNsPerSecond;  // since anybody spoke of it
constexpr uint32_t kPage = kernels::kPagePositions;

using Tokens = std::span<const int32_t>;

// How many positions each layer has in these slices' memory, and then below it.
std::vector<uint32_t> LengthsOf(const wire::Seek& seek, const RowPlaces& places) {
  std::vector<uint32_t> lengths(seek.layer_count);
  for (const auto& [model, encoding] : places.models) {
    const kv::LayerRange layers = model->layers();
    if (model->layout().digest() != seek.digest || layers.end > seek.layer_count) continue;
    kv::PageTable table = model->NewTable();
    const uint32_t length = table.Adopt(seek.tokens, kv::AdoptFrom::kMemory);
    for (uint32_t layer = layers.begin; layer < layers.end; ++layer) {
      lengths[layer] = std::max(lengths[layer], length);
    }
  }
  if (places.parcels == nullptr) return lengths;
  Hash128 prefix = seek.digest;
  for (uint32_t begin = 0; begin + kPage <= seek.tokens.size(); begin += kPage) {
    prefix = kv::ExtendPrefixHash(prefix, Tokens(seek.tokens).subspan(begin, kPage));
    for (const kv::LayerRange layers : places.parcels->LayersOf(prefix)) {
      for (uint32_t layer = layers.begin; layer < std::min(layers.end, seek.layer_count); ++layer) {
        if (lengths[layer] == begin) lengths[layer] = begin + kPage;
      }
    }
    if (*std::ranges::max_element(lengths) <= begin) break;
  }
  return lengths;
}

struct Read {
  wire::Payload parcel;
  wire::RowEncoding encoding = wire::RowEncoding::kF32;
};

// The rows of [begin, end) in layers from `layers.begin` on, as many of them as one place has.
Result<Read> ReadFrom(const RowPlaces& places, const Hash128& digest, Tokens tokens, uint32_t begin,
                      kv::LayerRange layers) {
  const auto end = static_cast<uint32_t>(tokens.size());
  for (const auto& [model, encoding] : places.models) {
    const kv::LayerRange held = model->layers();
    if (model->layout().digest() != digest || !held.Contains({layers.begin, layers.begin + 1})) {
      continue;
    }
    kv::PageTable table = model->NewTable();
    if (table.Adopt(tokens, kv::AdoptFrom::kMemory) < end) continue;
    wire::Payload parcel;
    const Status exported =
        ExportRows(table, {layers.begin, std::min(layers.end, held.end)}, begin, end, parcel);
    if (!exported.ok()) continue;
    if (encoding == wire::RowEncoding::kF32) return Read{.parcel = std::move(parcel)};
    return Read{.parcel = TRY(ShrinkParcel(model->layout(), model->isa(), parcel)),
                .encoding = encoding};
  }
  // What is on a disk is exact.
  if (places.parcels != nullptr && begin % kPage == 0 && end == begin + kPage) {
    const Hash128 prefix = kv::ExtendPrefixHash(digest, tokens);
    for (const kv::LayerRange held : places.parcels->LayersOf(prefix)) {
      if (!held.Contains({layers.begin, layers.begin + 1})) continue;
      auto parcel =
          places.parcels->ReadParcel(prefix, {layers.begin, std::min(layers.end, held.end)});
      if (parcel.ok()) return Read{.parcel = {parcel->begin(), parcel->end()}};
    }
  }
  return NotFound("the rows are not here any more");
}

}  // namespace

std::optional<wire::Found> RowOffers::Seek(const wire::NodeId& from, const wire::Seek& seek,
                                           const RowPlaces& places, int64_t now_ns) {
  const QueryKey key{from, seek.query};
  // Whoever begins anew counts anew: what is given belongs to the question that was asked.
  queries_.erase(key);
  std::erase_if(givings_, [&](const Giving& giving) {
    return giving.from == from && giving.give.query == seek.query;
  });
  if (seek.tokens.empty()) return std::nullopt;
  wire::Found found{.query = seek.query, .held = {}};
  if (seek.tokens.size() >= kernels::kRopePositions || seek.layer_count == 0 ||
      seek.layer_count > kMaxLayers) {
    return found;
  }
  const std::vector<uint32_t> lengths = LengthsOf(seek, places);
  for (uint32_t layer = 0; layer < seek.layer_count; ++layer) {
    if (lengths[layer] == 0) continue;
    const bool goes_on = !found.held.empty() && found.held.back().layer_end == layer &&
                         found.held.back().length == lengths[layer];
    if (!goes_on) found.held.push_back({layer, layer, lengths[layer]});
    found.held.back().layer_end = layer + 1;
  }
  if (found.held.empty()) return found;
  DropOld(from, seek.tokens.size(), now_ns);
  queries_[key] = {.digest = seek.digest, .tokens = seek.tokens, .used_ns = now_ns};
  return found;
}

// So that there is room for one more, and nobody takes it all.
void RowOffers::DropOld(const wire::NodeId& from, size_t token_count, int64_t now_ns) {
  std::erase_if(queries_,
                [&](const auto& item) { return now_ns - item.second.used_ns >= kForgottenNs; });
  const auto drop_oldest = [&](const auto& is_meant) {
    auto oldest = queries_.end();
    for (auto query = queries_.begin(); query != queries_.end(); ++query) {
      if (!is_meant(query->first)) continue;
      if (oldest == queries_.end() || query->second.used_ns < oldest->second.used_ns) {
        oldest = query;
      }
    }
    if (oldest == queries_.end()) return false;
    queries_.erase(oldest);
    return true;
  };
  const auto is_his = [&](const QueryKey& key) { return key.first == from; };
  const auto count =
      std::ranges::count_if(queries_, [&](const auto& item) { return is_his(item.first); });
  if (static_cast<size_t>(count) >= kMaxQueriesOfOne) drop_oldest(is_his);
  const auto anybodys = [](const QueryKey&) { return true; };
  if (queries_.size() >= kMaxQueries) drop_oldest(anybodys);
  const auto tokens = [this] {
    size_t sum = 0;
    for (const auto& [key, query] : queries_) sum += query.tokens.size();
    return sum;
  };
  while (tokens() + token_count > kMaxQueriedTokens && drop_oldest(anybodys)) {
  }
}

bool RowOffers::Give(const wire::NodeId& from, const wire::Give& give, int64_t now_ns) {
  const auto query = queries_.find({from, give.query});
  if (query == queries_.end() || givings_.size() >= kMaxGivings || give.begin >= give.end ||
      give.end > query->second.tokens.size() || give.layer_begin >= give.layer_end ||
      give.layer_end > kMaxLayers) {
    // Who waits for it would wait for its deadline otherwise, and think this node slow.
    if (refusals_.size() < kMaxRefusals) {
      refusals_.push_back({from, wire::Found{.query = give.query, .held = {}}});
    }
    return false;
  }
  query->second.used_ns = now_ns;
  givings_.push_back(
      {.from = from, .give = give, .next = give.begin, .ready = {}, .under_way = {}});
  return true;
}

void RowOffers::Took(const wire::NodeId& from, const wire::Took& took) {
  for (Giving& giving : givings_) {
    if (giving.give.to.node != from || giving.give.route != took.route ||
        giving.give.sequence != took.sequence || giving.give.epoch != took.epoch) {
      continue;
    }
    std::erase_if(giving.under_way, [&](const UnderWay& sent) {
      return sent.until.layer_begin == took.layer_begin && sent.until.layer_end == took.layer_end &&
             sent.until.end == took.end;
    });
  }
}

void RowOffers::Forget(const wire::NodeId& node) {
  std::erase_if(queries_, [&](const auto& item) { return item.first.first == node; });
  std::erase_if(refusals_, [&](const Outgoing& refusal) { return refusal.to == node; });
  std::erase_if(givings_, [&](const Giving& giving) {
    const bool is_lost = giving.from == node || giving.give.to.node == node;
    if (is_lost && giving.from != node) {
      refusals_.push_back({giving.from, wire::Found{.query = giving.give.query, .held = {}}});
    }
    return is_lost;
  });
}

std::optional<RowOffers::Outgoing> RowOffers::Next(const RowPlaces& places) {
  if (!refusals_.empty()) {
    Outgoing refusal = std::move(refusals_.front());
    refusals_.pop_front();
    return refusal;
  }
  for (size_t i = 0; i < givings_.size();) {
    auto outgoing = NextOf(givings_[i], places);
    const bool is_over = givings_[i].next >= givings_[i].give.end && givings_[i].ready.empty();
    const bool is_given = is_over && givings_[i].under_way.empty();
    const bool has_failed = outgoing && std::holds_alternative<wire::Found>(outgoing->message);
    if (is_given || has_failed) {
      givings_.erase(givings_.begin() + static_cast<ptrdiff_t>(i));
    } else if (!outgoing) {
      ++i;
    }
    if (outgoing) return outgoing;
  }
  return std::nullopt;
}

std::optional<RowOffers::Outgoing> RowOffers::NextOf(Giving& giving, const RowPlaces& places) {
  const bool is_over = giving.ready.empty() && giving.next >= giving.give.end;
  if (is_over || !under_way_->MayGo(giving.give.to.node, !giving.under_way.empty())) {
    return std::nullopt;
  }
  if (giving.ready.empty()) {
    const auto query = queries_.find({giving.from, giving.give.query});
    const bool is_ready = query != queries_.end() && Prepare(giving, query->second, places).ok();
    if (!is_ready) {
      return Outgoing{giving.from, wire::Found{.query = giving.give.query, .held = {}}};
    }
  }
  wire::Rows rows = std::move(giving.ready.front());
  giving.ready.pop_front();
  ByteReader reader(rows.parcel);
  const kv::ParcelHeader header = kv::ReadHeader(reader).value();
  giving.under_way.push_back({.until = {.route = rows.route,
                                        .sequence = rows.sequence,
                                        .epoch = rows.epoch,
                                        .ticket = 0,
                                        .layer_begin = header.layers.begin,
                                        .layer_end = header.layers.end,
                                        .end = header.end},
                              .share = {under_way_, giving.give.to.node, rows.parcel.size()}});
  return Outgoing{giving.give.to.node, std::move(rows)};
}

// The next page in all of its layers; or all that is left, where a window has left the pages
// between behind.
Status RowOffers::Prepare(Giving& giving, const Query& query, const RowPlaces& places) {
  const wire::Give& give = giving.give;
  if (give.end > query.tokens.size()) return NotFound("another text was asked about since");
  const auto prepare = [&](uint32_t end) -> Status {
    giving.ready.clear();
    for (kv::LayerRange left = {give.layer_begin, give.layer_end}; left.begin < left.end;) {
      Read from =
          TRY(ReadFrom(places, query.digest, Tokens(query.tokens).first(end), giving.next, left));
      const kv::LayerRange read = TRY(LayersOfParcel(from.parcel));
      giving.ready.push_back({.route = give.route,
                              .sequence = give.sequence,
                              .epoch = give.epoch,
                              .ticket = 0,
                              .parcel = std::move(from.parcel),
                              .encoding = from.encoding});
      if (read.end <= left.begin) return DataLoss("a parcel of other layers");
      left.begin = read.end;
    }
    giving.next = end;
    return Ok();
  };
  const uint32_t page_end = std::min((giving.next / kPage + 1) * kPage, give.end);
  if (prepare(page_end).ok()) return Ok();
  return prepare(give.end);
}

}  // namespace aster::stage
