// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace aster {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kSample[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

TEST(ByteReader, ReadsLittleEndianInOrder) {
  ByteReader reader(kSample);
  EXPECT_EQ(reader.Read<uint8_t>().value(), 1);
  EXPECT_EQ(reader.Read<uint16_t>().value(), 0x0302);
  EXPECT_EQ(reader.Read<uint32_t>().value(), 0x07060504U);
  EXPECT_EQ(reader.offset(), 7U);
  EXPECT_EQ(reader.left(), 5U);
  EXPECT_EQ(AsText(reader.ReadBytes(2).value()), "\x08\x09");
  EXPECT_TRUE(reader.Skip(3).ok());
  EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, NeverReadsPastTheEnd) {
  for (size_t size = 0; size < 8; ++size) {
    ByteReader reader(Bytes(kSample).first(size));
    const auto wanted = reader.Read<uint64_t>();
    ASSERT_FALSE(wanted.ok());
    EXPECT_EQ(wanted.error().code(), Code::kDataLoss);
    EXPECT_EQ(reader.offset(), 0U);
    EXPECT_FALSE(reader.ReadBytes(size + 1).ok());
    EXPECT_FALSE(reader.Skip(size + 1).ok());
    EXPECT_TRUE(reader.ReadBytes(size).ok());
  }
}

TEST(ByteReader, HugeLengthsDoNotWrapAround) {
  ByteReader reader(kSample);
  ASSERT_TRUE(reader.Skip(5).ok());
  for (uint64_t size : {std::numeric_limits<uint64_t>::max(), uint64_t{1} << 63,
                        std::numeric_limits<uint64_t>::max() - 4, uint64_t{8}}) {
    EXPECT_FALSE(reader.ReadBytes(size).ok());
    EXPECT_FALSE(reader.Skip(size).ok());
  }
  EXPECT_EQ(reader.offset(), 5U);
}

TEST(ByteReader, CountsAreComparedWithWhatIsLeft) {
  const auto count_of = [](uint32_t count, size_t element_bytes) {
    ByteWriter writer;
    writer.Write(count);
    writer.WriteBytes(kSample);
    ByteReader reader(writer.bytes());
    return reader.ReadCount<uint32_t>(element_bytes);
  };
  EXPECT_EQ(count_of(12, 1).value(), 12U);
  EXPECT_EQ(count_of(3, 4).value(), 3U);
  EXPECT_EQ(count_of(0, 4).value(), 0U);
  EXPECT_FALSE(count_of(13, 1).ok());
  EXPECT_FALSE(count_of(4, 4).ok());
  // The product would wrap around to a small number.
  EXPECT_FALSE(count_of(0x80000001U, std::numeric_limits<size_t>::max() / 2).ok());
  EXPECT_THAT(count_of(0xFFFFFFFF, 8).error().message(), HasSubstr("4294967295 elements"));
  EXPECT_FALSE(ByteReader({}).ReadCount<uint64_t>(1).ok());
}

TEST(ByteReader, TruncationSaysWhereAndHowMuch) {
  ByteReader reader(kSample);
  ASSERT_TRUE(reader.Skip(10).ok());
  EXPECT_EQ(reader.Read<uint32_t>().error().message(),
            "truncated: 4 bytes wanted at offset 10, 2 left");
}

TEST(ByteWriter, WhatIsWrittenIsRead) {
  ByteWriter writer;
  writer.Write<int8_t>(-1);
  writer.PadTo(4);
  EXPECT_EQ(writer.size(), 4U);
  writer.PadTo(4);
  EXPECT_EQ(writer.size(), 4U);
  writer.Write(1.5F);
  writer.Write(-0.0);
  writer.Write(true);
  writer.WriteBytes(AsBytes("end"));
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.Read<int8_t>().value(), -1);
  ASSERT_TRUE(reader.Skip(3).ok());
  EXPECT_EQ(reader.Read<float>().value(), 1.5F);
  EXPECT_TRUE(std::signbit(reader.Read<double>().value()));
  EXPECT_EQ(reader.Read<uint8_t>().value(), 1);
  EXPECT_EQ(AsText(reader.ReadBytes(3).value()), "end");
}

TEST(Bytes, UnalignedLoads) {
  EXPECT_EQ(LoadUnaligned<uint32_t>(kSample + 1), 0x05040302U);
  EXPECT_EQ(LoadUnaligned<uint16_t>(kSample + 3), 0x0504U);
}

}  // namespace
}  // namespace aster
