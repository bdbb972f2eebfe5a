// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Malformed and malicious files, and the reader's error for each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/raw_file_for_test.h"
#include "gguf/touch_for_test.h"

namespace aster::gguf {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

struct Hostile {
  const char* what;
  std::function<void(RawFile&)> write;
  const char* error;  // a part of the reader's error
};

// A tensor of the given dimensions, type and offset in a file with `data_bytes` of data.
std::function<void(RawFile&)> OneTensor(const std::vector<uint64_t>& dims, uint32_t type,
                                        uint64_t offset, size_t data_bytes) {
  return [=](RawFile& raw) {
    raw.Header(1, 0).Text("t").Put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) raw.Put(dim);
    raw.Put(type).Put(offset).Pad().Fill(data_bytes);
  };
}

// A key whose value is `depth` nested arrays, the innermost empty.
void NestedArrays(RawFile& raw, int depth) {
  raw.Header(0, 1).Text("k").Put(ValueType::kArray);
  for (int i = 1; i < depth; ++i) raw.Put(ValueType::kArray).Put<uint64_t>(1);
  raw.Put(ValueType::kUint8).Put<uint64_t>(0);
}

const Hostile kNotGguf[] = {
    {"nothing", [](RawFile&) {}, "the file is empty"},
    {"half a magic", [](RawFile& r) { r.Put('G').Put('G'); }, "not a GGUF file"},
    {"only a magic", [](RawFile& r) { r.Put<uint32_t>(0x46554747); }, "the version"},
    {"text", [](RawFile& r) { r.Fill(100, 'x'); }, "does not begin with the letters GGUF"},
    {"old GGML", [](RawFile& r) { r.Put<uint32_t>(0x67676a74).Fill(90); }, "from before GGUF"},
    {"version 1", [](RawFile& r) { r.Header(0, 0, 1); }, "version 1; versions 2 and 3"},
    {"version 4", [](RawFile& r) { r.Header(0, 0, 4); }, "version 4"},
    {"big-endian", [](RawFile& r) { r.Header(0, 0, 0x03000000); }, "big-endian"},
};

const Hostile kBadMetadata[] = {
    {"huge key count", [](RawFile& r) { r.Header(0, kHuge); }, "more than fit"},
    {"more keys than bytes", [](RawFile& r) { r.Header(0, 1 << 20).Fill(99); }, "more than fit"},
    {"huge tensor count", [](RawFile& r) { r.Header(kHuge / 2, 0).Fill(99); }, "more than fit"},
    {"huge key length", [](RawFile& r) { r.Header(0, 1).Put(kHuge).Fill(99); }, "truncated"},
    {"empty key", [](RawFile& r) { r.Header(0, 1).Key("", "v").Fill(9); }, "is empty"},
    {"key not UTF-8", [](RawFile& r) { r.Header(0, 1).Key("k\xC0\x80", "v"); }, "not UTF-8"},
    {"long key", [](RawFile& r) { r.Header(0, 1).Key(std::string(70000, 'k'), "v"); },
     "at most 65535"},
    {"unknown value type", [](RawFile& r) { r.Header(0, 1).Text("k").Put<uint32_t>(13).Fill(9); },
     "13 at byte 33 is not the number of a value type"},
    {"duplicate key", [](RawFile& r) { r.Header(0, 2).Key("k", "v").Key("k", "w"); },
     "the key k is there twice"},
    {"string beyond the end",
     [](RawFile& r) { r.Header(0, 1).Text("k").Put(ValueType::kString).Put<uint64_t>(6).Fill(5); },
     "the value of the key k: truncated: 6 bytes wanted"},
    {"array count overflows",
     [](RawFile& r) {
       r.Header(0, 1).Text("k").Put(ValueType::kArray).Put(ValueType::kUint64).Put(kHuge / 8 + 2);
     },
     "truncated"},
    {"array of strings beyond the end",
     [](RawFile& r) {
       r.Header(0, 1).Text("k").Put(ValueType::kArray).Put(ValueType::kString).Put<uint64_t>(2);
       r.Text("one").Put(kHuge);
     },
     "truncated"},
    {"array of an unknown type",
     [](RawFile& r) {
       r.Header(0, 1).Text("k").Put(ValueType::kArray).Put<uint32_t>(77).Put<uint64_t>(0);
     },
     "77 at byte"},
    {"arrays too deep", [](RawFile& r) { NestedArrays(r, 9); }, "more than 8 deep"},
    {"arrays very deep", [](RawFile& r) { NestedArrays(r, 100000); }, "more than 8 deep"},
    {"alignment 0",
     [](RawFile& r) { r.Header(0, 1).Key("general.alignment", ValueType::kUint32, 0U); },
     "a power of two"},
    {"alignment 24",
     [](RawFile& r) { r.Header(0, 1).Key("general.alignment", ValueType::kUint32, 24U); },
     "general.alignment is 24; a power of two"},
    {"alignment 4",
     [](RawFile& r) { r.Header(0, 1).Key("general.alignment", ValueType::kUint32, 4U); },
     "from 8 up"},
    {"alignment is text", [](RawFile& r) { r.Header(0, 1).Key("general.alignment", "32"); },
     "holds \"32\" (string)"},
    {"alignment 2^63",
     [](RawFile& r) {
       r.Header(1, 1).Key("general.alignment", ValueType::kUint64, uint64_t{1} << 63);
       r.Tensor("t", {1}, TensorType::kF32, uint64_t{1} << 63).Fill(99);
     },
     "end behind the end"},
};

const Hostile kBadTensors[] = {
    {"five dimensions", OneTensor({1, 1, 1, 1, 1}, 0, 0, 64), "5 dimensions"},
    {"four billion dimensions",
     [](RawFile& r) { r.Header(1, 0).Text("t").Put<uint32_t>(0xFFFFFFFF).Fill(99); },
     "4294967295 dimensions"},
    {"a dimension of zero", OneTensor({4, 0}, 0, 0, 64), "0 as dimension 1"},
    {"elements overflow", OneTensor({1ULL << 33, 1ULL << 33}, 0, 0, 64), "as dimension 1"},
    {"elements beyond int64", OneTensor({1ULL << 63}, 0, 0, 64), "as dimension 0"},
    {"bytes overflow", OneTensor({1ULL << 62}, 28, 0, 64), "64-bit"},
    {"not whole blocks", OneTensor({33}, 8, 0, 640), "rows of 33 elements cannot be of type Q8_0"},
    {"offset not aligned", OneTensor({4}, 0, 16, 64), "not a multiple"},
    {"data beyond the end", OneTensor({64}, 0, 0, 64), "tensor t: its 256 bytes at offset 0"},
    {"one byte short", OneTensor({16}, 0, 0, 63), "the file is incomplete"},
    {"offset beyond the end", OneTensor({16}, 0, 1 << 20, 64), "behind the end"},
    {"offset overflows", OneTensor({16}, 0, kHuge - 31, 64), "behind the end"},
    {"unknown type beyond the end", OneTensor({16}, 77, 1 << 20, 64), "behind the end"},
    {"name not UTF-8",
     [](RawFile& r) { r.Header(1, 0).Tensor("\xED\xA0\x80", {1}, TensorType::kF32, 0).Fill(99); },
     "not UTF-8"},
    {"entries overlap",
     [](RawFile& r) {
       r.Header(2, 0).Tensor("a", {9}, TensorType::kF32, 0).Tensor("b", {1}, TensorType::kF32, 32);
       r.Pad().Fill(64);
     },
     "a (byte 96, 36 bytes) and b (byte 128) overlap"},
    {"the same place",
     [](RawFile& r) {
       r.Header(2, 0).Tensor("a", {9}, TensorType::kF32, 0).Tensor("b", {9}, TensorType::kF32, 0);
       r.Pad().Fill(64);
     },
     "overlap"},
    {"duplicate tensor",
     [](RawFile& r) {
       r.Header(2, 0).Tensor("a", {8}, TensorType::kF32, 0).Tensor("a", {8}, TensorType::kF32, 32);
       r.Pad().Fill(64);
     },
     "the tensor a is there twice"},
};

void ExpectRefused(std::span<const Hostile> cases) {
  for (const Hostile& hostile : cases) {
    RawFile raw;
    hostile.write(raw);
    const auto file = File::Parse(raw.bytes());
    ASSERT_FALSE(file.ok()) << hostile.what;
    EXPECT_THAT(file.error().message(), HasSubstr(hostile.error)) << hostile.what;
  }
}

TEST(HostileFile, IsNotTakenForGguf) { ExpectRefused(kNotGguf); }
TEST(HostileFile, BadMetadataIsRefused) { ExpectRefused(kBadMetadata); }
TEST(HostileFile, BadTensorsAreRefused) { ExpectRefused(kBadTensors); }

TEST(HostileFile, EightDeepArraysAreRead) {
  RawFile raw;
  NestedArrays(raw, 8);
  EXPECT_TRUE(File::Parse(raw.bytes()).ok());
}

TEST(HostileFile, AnUnknownTypeIsListed) {
  RawFile raw;
  OneTensor({16, 3}, 77, 32, 64)(raw);
  const auto file = File::Parse(raw.bytes());
  ASSERT_TRUE(file.ok()) << file.error().message();
  const Tensor& tensor = file->tensors()[0];
  EXPECT_FALSE(tensor.size_known);
  EXPECT_TRUE(tensor.data.empty());
  EXPECT_EQ(TensorTypeName(tensor.type), "type 77");
  EXPECT_EQ(ShapeText(tensor), "[16, 3]");
}

TEST(HostileFile, CutAnywhereIsRefused) {
  const RawFile raw = SmallRawFile();
  for (size_t size = 0; size < raw.bytes().size(); ++size) {
    // A separate copy, so that sanitizers find a read past its end.
    const std::vector<uint8_t> cut(raw.bytes().begin(), raw.bytes().begin() + size);
    EXPECT_FALSE(File::Parse(cut).ok()) << "cut after " << size << " bytes";
  }
}

TEST(HostileFile, AnyByteFlippedIsRefusedOrConsistent) {
  const RawFile raw = SmallRawFile();
  for (size_t i = 0; i < raw.bytes().size(); ++i) {
    for (const uint8_t flip : {0x01, 0x08, 0x80, 0xFF}) {
      std::vector<uint8_t> bytes(raw.bytes().begin(), raw.bytes().end());
      bytes[i] ^= flip;
      const auto file = File::Parse(bytes);
      if (file.ok()) {
        EXPECT_GT(TouchEverything(*file), 0u);
      } else {
        EXPECT_FALSE(file.error().message().empty());
      }
    }
  }
}

}  // namespace
}  // namespace aster::gguf
