// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Replies longer than a message, complete and aborted ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rpc/rpc_for_test.h"

namespace aster::rpc {
namespace {

std::vector<uint8_t> SomeBytes(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  return bytes;
}

// Sends until the sink fails.
Status SendForEver(const ByteSink& sink) {
  const std::vector<uint8_t> bytes = SomeBytes(100'000);
  for (;;) TRY(sink(bytes));
}

class Streams : public testing::Test {
 protected:
  Status Fetch(const ByteSink& sink, uint64_t offset = 0) {
    return client_->FetchTensor(fingerprint_, "blk.0.ffn_up.weight", offset, sink);
  }

  const Hash128 fingerprint_{.low = 12, .high = 34};
  const ClusterForTest cluster_;
  const cluster::Identity desk_ = cluster_.NewNode("desk");
  ServiceForTest service_;
  std::unique_ptr<ControlServer> server_ = StartServer(desk_, service_);
  std::unique_ptr<ControlClient> client_ =
      MakeClient(cluster_.NewNode("laptop"), server_->addresses().front());
};

TEST_F(Streams, ManifestsOfAnySize) {
  ModelManifest manifest{.fingerprint = fingerprint_, .files = {}};
  manifest.files.push_back({.name = "m-00001-of-00003.gguf",
                            .file_bytes = 5'000'000,
                            .header = SomeBytes(3'000'000),
                            .contents = {}});
  for (uint64_t i = 0; i < 50'000; ++i)
    manifest.files[0].contents.push_back({.low = i, .high = ~i});
  manifest.files.push_back({.name = "empty", .file_bytes = 0, .header = {}, .contents = {}});
  manifest.files.push_back(
      {.name = "last", .file_bytes = 9, .header = {1}, .contents = {{.low = 1, .high = 2}}});
  service_.manifest = [&](const Hash128& fingerprint) -> Result<ModelManifest> {
    EXPECT_EQ(fingerprint, fingerprint_);
    return manifest;
  };
  const ModelManifest got = client_->FetchManifest(fingerprint_).value();
  EXPECT_EQ(got.fingerprint, fingerprint_);
  ASSERT_EQ(got.files.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got.files[i].name, manifest.files[i].name);
    EXPECT_EQ(got.files[i].file_bytes, manifest.files[i].file_bytes);
    EXPECT_EQ(got.files[i].header, manifest.files[i].header);
    EXPECT_EQ(got.files[i].contents, manifest.files[i].contents);
  }
}

TEST_F(Streams, ManifestsThatCannotBe) {
  service_.manifest = [](const Hash128&) { return ModelManifest(); };
  EXPECT_EQ(client_->FetchManifest(fingerprint_).error().code(), Code::kInvalidArgument);
  service_.manifest = [](const Hash128&) -> Result<ModelManifest> {
    return ModelManifest{
        .fingerprint = {},
        .files = {{.name = "../x", .file_bytes = 0, .header = {}, .contents = {}}}};
  };
  EXPECT_EQ(client_->FetchManifest(fingerprint_).error().code(), Code::kInvalidArgument);
  service_.manifest = [](const Hash128&) -> Result<ModelManifest> { return NotFound("gone"); };
  EXPECT_EQ(client_->FetchManifest(fingerprint_).error().code(), Code::kNotFound);
}

TEST_F(Streams, TensorsFromAnyOffset) {
  const std::vector<uint8_t> bytes = SomeBytes(1'500'000);
  service_.tensor = [&](const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                        const ByteSink& sink) -> Status {
    EXPECT_EQ(fingerprint, fingerprint_);
    EXPECT_EQ(tensor, "blk.0.ffn_up.weight");
    return sink(Bytes(bytes).subspan(offset));
  };
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{777'777}, bytes.size()}) {
    std::vector<uint8_t> got;
    const Status status = Fetch(
        [&](Bytes piece) {
          got.insert(got.end(), piece.begin(), piece.end());
          return Ok();
        },
        offset);
    EXPECT_TRUE(status.ok());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin() + offset, bytes.end())) << offset;
  }
}

TEST_F(Streams, AnErrorAfterSomeBytesIsAnError) {
  service_.tensor = [](const Hash128&, std::string_view, uint64_t, const ByteSink& sink) -> Status {
    TRY(sink(AsBytes("some")));
    return DataLoss("the disk is broken");
  };
  std::string got;
  const Status status = Fetch([&](Bytes piece) {
    got += AsText(piece);
    return Ok();
  });
  EXPECT_EQ(status.error().code(), Code::kDataLoss);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("the disk is broken"));
  EXPECT_EQ(got, "some");
}

TEST_F(Streams, ASinkThatFailsEndsTheCallOnBothSides) {
  std::atomic<bool> server_ended = false;
  service_.tensor = [&](const Hash128&, std::string_view, uint64_t, const ByteSink& sink) {
    Status status = SendForEver(sink);
    server_ended = true;
    return status;
  };
  const Status status =
      Fetch([](Bytes) -> Status { return ResourceExhausted("the disk is full"); });
  EXPECT_EQ(status.error().message(), "the disk is full");
  server_.reset();
  EXPECT_TRUE(server_ended);
}

TEST_F(Streams, AServerThatGoesEndsTheCallOnBothSides) {
  service_.tensor = [](const Hash128&, std::string_view, uint64_t, const ByteSink& sink) {
    return SendForEver(sink);
  };
  std::atomic<int> begun = 0;
  std::vector<std::thread> fetchers;
  constexpr int kFetchers = 6;
  for (int i = 0; i < kFetchers; ++i) {
    fetchers.emplace_back([&] {
      bool is_first = true;
      const Status status = Fetch([&](Bytes) {
        if (std::exchange(is_first, false)) ++begun;
        return Ok();
      });
      EXPECT_FALSE(status.ok());
    });
  }
  while (begun < kFetchers) std::this_thread::yield();
  server_.reset();
  for (std::thread& fetcher : fetchers) fetcher.join();
}

TEST_F(Streams, AreCancelled) {
  service_.tensor = [](const Hash128&, std::string_view, uint64_t, const ByteSink& sink) {
    return SendForEver(sink);
  };
  const Status status = Fetch([&](Bytes) {
    client_->Cancel();
    return Ok();
  });
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(client_->Measure(1000, kPatienceNs).ok());
}

TEST_F(Streams, MeasuresTheWay) {
  const LinkMeasurement empty = client_->Measure(0, kPatienceNs).value();
  EXPECT_GT(empty.round_trip_ns, 0u);
  EXPECT_EQ(empty.bytes_per_s, 0);
  EXPECT_GT(client_->Measure(3'000'001, kPatienceNs).value().bytes_per_s, 0);
  EXPECT_EQ(client_->Measure(uint64_t{1} << 60, kPatienceNs).error().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace aster::rpc
