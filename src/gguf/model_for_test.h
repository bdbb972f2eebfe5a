// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A small model for tests, in one or more files. A tensor's content depends only on its name.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "gguf/metadata_builder.h"
#include "gguf/writer.h"

namespace aster::gguf {

inline constexpr uint32_t kTestLayers = 6;

inline MetadataBuilder TestKeys() {
  MetadataBuilder metadata;
  metadata.Set("general.architecture", "llama");
  metadata.Set("general.name", "test");
  metadata.Set("llama.block_count", kTestLayers);
  metadata.Set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  return metadata;
}

inline TensorSpec TestTensor(const std::string& name) { return {name, TensorType::kF32, {8, 2}}; }

inline std::vector<TensorSpec> TestLayers(uint32_t begin, uint32_t end) {
  std::vector<TensorSpec> specs;
  for (uint32_t i = begin; i < end; ++i) {
    specs.push_back(TestTensor("blk." + std::to_string(i) + ".attn_q.weight"));
    specs.push_back(TestTensor("blk." + std::to_string(i) + ".ffn_up.weight"));
  }
  return specs;
}

inline std::vector<TensorSpec> With(std::vector<TensorSpec> specs, const std::string& name) {
  specs.push_back(TestTensor(name));
  return specs;
}

inline std::vector<TensorSpec> TestModel() {
  return With(With(TestLayers(0, kTestLayers), "token_embd.weight"), "output_norm.weight");
}

inline std::vector<uint8_t> TestData(const TensorSpec& spec) {
  std::vector<uint8_t> data(*TensorBytes(spec.type, spec.dims));
  uint32_t state = 1;
  for (const char c : spec.name) state = state * 31 + static_cast<uint8_t>(c);
  for (uint8_t& byte : data) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return data;
}

// Writes the tensors with a Writer or SplitWriter, and finishes it.
template <typename AnyWriter>
void Fill(AnyWriter& writer, const std::vector<TensorSpec>& specs) {
  for (const TensorSpec& spec : specs) {
    const Status status = writer.Append(spec.name, TestData(spec));
    ASSERT_TRUE(status.ok()) << status.error().message();
  }
  const Status status = writer.Finish();
  ASSERT_TRUE(status.ok()) << status.error().message();
}

inline void WriteTestFile(const std::string& path, const MetadataBuilder& metadata,
                          const std::vector<TensorSpec>& specs) {
  auto writer = Writer::Create(path, metadata, specs);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  Fill(*writer, specs);
}

// Sets a file's time of change to that second, long ago.
inline void SetFileTime(const std::string& path, time_t second) {
  const timespec times[2] = {{.tv_sec = second, .tv_nsec = 0}, {.tv_sec = second, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

}  // namespace aster::gguf
