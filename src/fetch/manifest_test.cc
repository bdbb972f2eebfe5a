// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "fetch/fetch_for_test.h"
#include "gguf/metadata_builder.h"
#include "gguf/model_for_test.h"
#include "gguf/split_name.h"
#include "gguf/split_writer.h"

namespace aster::fetch {
namespace {

using testing::HasSubstr;

const rpc::ModelManifest& Good() { return SourceModel::Get().manifest(); }
const Hash128& Name() { return SourceModel::Get().fingerprint(); }

TEST(Manifest, NamesTheModel) {
  const auto layout = CheckManifest(Good(), Name());
  ASSERT_TRUE(layout.ok()) << layout.error().message();
  EXPECT_EQ(layout->entries().size(), SourceModel::Get().files().entries().size());
  for (const auto& entry : layout->entries()) EXPECT_TRUE(entry.tensor->data.empty());
}

TEST(Manifest, OfAnotherModelIsRefused) {
  Hash128 other = Name();
  other.low ^= 1;
  EXPECT_THAT(CheckManifest(Good(), other).error().message(), HasSubstr("was asked for"));
}

TEST(Manifest, EveryWrongFieldIsFound) {
  const auto refused = [](const std::function<void(rpc::ModelManifest&)>& lie) {
    rpc::ModelManifest manifest = Good();
    lie(manifest);
    return !CheckManifest(manifest, Name()).ok();
  };
  EXPECT_TRUE(refused([](auto& m) { m.files.clear(); }));
  EXPECT_TRUE(refused([](auto& m) { m.files.push_back(m.files[0]); }) == false)
      << "a repeated file of the same content is the same model";
  EXPECT_TRUE(refused([](auto& m) { m.files[0].contents[3].high ^= 1; }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].contents.pop_back(); }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].contents.emplace_back(); }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].header.pop_back(); }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].header.push_back(0); }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].header.clear(); }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].file_bytes = m.files[0].header.size(); }));
  EXPECT_TRUE(refused([](auto& m) { m.files[0].file_bytes = 0; }));
  // The vocabulary, a tensor's name, its shape: any relevant byte of the head.
  int changed = 0;
  for (size_t i = 24; i < Good().files[0].header.size(); i += 97) {
    changed += refused([i](auto& m) { m.files[0].header[i] ^= 0x20; }) ? 1 : 0;
  }
  EXPECT_GT(changed, 20);
}

TEST(Manifest, IsReadAsItWasWritten) {
  const std::vector<uint8_t> bytes = FormatManifest(Good());
  const auto parsed = ParseManifest(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(FormatManifest(*parsed), bytes);
  EXPECT_TRUE(CheckManifest(*parsed, Name()).ok());
  for (size_t i = 0; i < bytes.size(); i += 101) {
    EXPECT_FALSE(ParseManifest(Bytes(bytes).first(i)).ok());
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 1;
    EXPECT_FALSE(ParseManifest(damaged).ok());
  }
}

TEST(Manifest, OfAModelInParts) {
  const TemporaryDirectory folder = TemporaryDirectory::Create().value();
  const auto specs = gguf::TestModel();
  {
    auto writer = gguf::SplitWriter::Create(folder.File("m"), gguf::TestKeys(), specs,
                                            /*max_data_bytes=*/320);
    ASSERT_TRUE(writer.ok()) << writer.error().message();
    gguf::Fill(*writer, specs);
  }
  const auto paths = gguf::SplitPath(folder.File("m"), 0, 3);
  const auto files = gguf::ModelFiles::Open(paths);
  ASSERT_TRUE(files.ok()) << files.error().message();
  ThreadPool pool(1);
  const auto fingerprint =
      gguf::FingerprintModel(*files, pool, {.hashing = {}, .use_cache = false}).value();
  const rpc::ModelManifest manifest = MakeManifest(*files, fingerprint);
  EXPECT_EQ(manifest.files.size(), 3);
  EXPECT_EQ(manifest.files[1].name, "m-00002-of-00003.gguf");
  const auto layout = CheckManifest(manifest, fingerprint.model);
  ASSERT_TRUE(layout.ok()) << layout.error().message();
  EXPECT_EQ(layout->entries().size(), specs.size());
}

TEST(ReadTensor, GivesTheRestFromAnywhere) {
  const gguf::Tensor& tensor = *SourceModel::Get().files().entries()[0].tensor;
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{1}, tensor.data.size() - 1, uint64_t{tensor.data.size()}}) {
    std::vector<uint8_t> got;
    const Status status =
        ReadTensor(SourceModel::Get().files(), tensor.name, offset, [&](Bytes piece) -> Status {
          got.insert(got.end(), piece.begin(), piece.end());
          return Ok();
        });
    ASSERT_TRUE(status.ok());
    EXPECT_TRUE(std::ranges::equal(got, tensor.data.subspan(offset)));
  }
  const auto nothing = [](Bytes) { return Ok(); };
  const auto& files = SourceModel::Get().files();
  EXPECT_EQ(ReadTensor(files, tensor.name, tensor.data.size() + 1, nothing).error().code(),
            Code::kOutOfRange);
  EXPECT_EQ(ReadTensor(files, "no.such", 0, nothing).error().code(), Code::kNotFound);
  const auto full = [](Bytes) -> Status { return ResourceExhausted("full"); };
  EXPECT_EQ(ReadTensor(files, tensor.name, 0, full).error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace aster::fetch
