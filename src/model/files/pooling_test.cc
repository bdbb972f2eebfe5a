// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "model/files/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/files.h"
#include "gguf/file.h"
#include "gguf/metadata_builder.h"
#include "gguf/writer.h"

namespace aster::model {
namespace {

Result<gguf::File> FileWith(std::optional<uint32_t> type) {
  gguf::MetadataBuilder metadata;
  metadata.Set("general.architecture", std::string_view("qwen3"));
  if (type) metadata.Set("qwen3.pooling_type", *type);
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create());
  const std::string path = folder.File("model.gguf");
  gguf::Writer writer = TRY(gguf::Writer::Create(path, metadata, {}));
  TRY(writer.Finish());
  return gguf::File::Open(path);
}

Result<Pooling> PoolingOf(std::optional<uint32_t> type) {
  const gguf::File file = TRY(FileWith(type));
  return ReadPooling(file.metadata());
}

bool IsNamed(std::optional<uint32_t> type) {
  return NamesPooling(FileWith(type).value().metadata());
}

TEST(Pooling, IsWhatTheFileSays) {
  EXPECT_EQ(PoolingOf({}).value(), Pooling::kLast);
  EXPECT_EQ(PoolingOf(0).value(), Pooling::kLast);
  EXPECT_EQ(PoolingOf(1).value(), Pooling::kMean);
  EXPECT_EQ(PoolingOf(2).value(), Pooling::kFirst);
  EXPECT_EQ(PoolingOf(3).value(), Pooling::kLast);
  EXPECT_EQ(PoolingOf(4).value(), Pooling::kRank);
}

TEST(Pooling, IsNamedByModelsThatPool) {
  EXPECT_FALSE(IsNamed({}));
  EXPECT_FALSE(IsNamed(0));
  EXPECT_TRUE(IsNamed(3));
  EXPECT_TRUE(IsNamed(4));
}

TEST(Pooling, WhatCannotBeComputedIsNamed) {
  EXPECT_THAT(PoolingOf(9).error().message(), testing::HasSubstr("qwen3.pooling_type is 9"));
}

}  // namespace
}  // namespace aster::model
