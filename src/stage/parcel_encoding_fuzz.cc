// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Parcels in fewer bits that nobody vouches for. Checksums would stop nearly all of them at the
// door, so the input says what a parcel claims of itself, and the checksums are made to fit; or, if
// its first byte is odd, it is the parcel as it stands.
#include <memory>
#include <vector>

#include "base/check.h"
#include "kernels/isa_choice.h"
#include "kv/parcel.h"
#include "kv/prefix_hash.h"
#include "stage/parcel_encoding.h"

namespace aster::stage {
namespace {

kv::Stream StreamOf(const char* format, size_t row_bytes) {
  return {.codec = std::make_shared<kv::PlainCodec>(format, row_bytes, 16)};
}

const kv::Layout& FuzzLayout() {
  static const kv::Layout layout =
      kv::Layout::Create(Hash128{1, 2}, 16, 0,
                         {{StreamOf("f16 a", 2)},
                          {StreamOf("f16 b", 140), StreamOf("bf16 c", 64)},
                          {StreamOf("q8 d", 34)}})
          .value();
  return layout;
}

template <typename T>
T Take(ByteReader& in) {
  Result<T> value = in.Read<T>();
  return value.ok() ? *value : T{0};
}

// What follows is widened, and what could be widened keeps its size when it is made small again.
void CheckParcel(Bytes parcel) {
  const kv::Layout& layout = FuzzLayout();
  const Result<wire::Payload> wide = WidenParcel(layout, kernels::Isa::kRef, parcel);
  if (!wide.ok()) {
    CHECK(!wide.error().message().empty());
    return;
  }
  CHECK(wide->size() <= 2 * parcel.size());
  CHECK(WidenParcel(layout, kernels::FastestIsa(), parcel).value() == *wide);
  const wire::Payload small = ShrinkParcel(layout, kernels::Isa::kRef, *wide).value();
  CHECK(small.size() == parcel.size());
  CHECK(ShrinkParcel(layout, kernels::FastestIsa(), *wide).value() == small);
}

std::vector<uint8_t> TakeParcel(ByteReader& in) {
  const kv::Layout& layout = FuzzLayout();
  kv::ParcelHeader header;
  header.digest = header.prefix_at_begin = layout.digest();
  if (Take<uint8_t>(in) == 1) header.digest.low ^= 1;
  header.layers = {0, 3};
  header.prefix_at_end = kv::ExtendPrefixHash(header.prefix_at_begin, header.tokens);
  ByteWriter blocks;
  const auto wanted = static_cast<uint32_t>(Take<uint8_t>(in) % 8);
  for (uint32_t i = 0; i < wanted; ++i) {
    kv::Block block;
    block.layer = Take<uint8_t>(in) % 4;
    block.stream = Take<uint8_t>(in) % 3;
    block.first_row = Take<uint8_t>(in);
    block.row_count = Take<uint8_t>(in) % 20;
    const bool is_there =
        block.layer < layout.layer_count() && block.stream < layout.streams(block.layer).size();
    const auto flaw = Take<uint8_t>(in);
    block.row_bytes = flaw % 16 == 1 || !is_there
                          ? flaw
                          : static_cast<uint32_t>(RowBytesOnTheWay(
                                wire::RowEncoding::kQ8, layout.streams(block.layer)[block.stream]));
    std::vector<uint8_t> rows(uint64_t{block.row_count} * block.row_bytes);
    for (uint8_t& byte : rows) byte = Take<uint8_t>(in);
    block.rows = rows;
    kv::WriteBlockHead(block, header.prefix_at_end, blocks);
    blocks.WriteBytes(rows);
    ++header.block_count;
  }
  if (Take<uint8_t>(in) == 1) header.block_count = Take<uint32_t>(in);
  ByteWriter parcel;
  kv::WriteHeader(header, parcel);
  parcel.WriteBytes(blocks.bytes());
  return std::move(parcel).Release();
}

}  // namespace
}  // namespace aster::stage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const aster::Bytes bytes = aster::Bytes(data, size).subspan(1);
  if (data[0] % 2 == 1) {
    aster::stage::CheckParcel(bytes);
    return 0;
  }
  aster::ByteReader in(bytes);
  aster::stage::CheckParcel(aster::stage::TakeParcel(in));
  return 0;
}
