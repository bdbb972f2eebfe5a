// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/tensor_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "fetch/fetch_for_test.h"
#include "fetch/part_peers.h"
#include "gguf/model_for_test.h"

namespace aster::fetch {
namespace {

using testing::HasSubstr;

constexpr model::Slice kFirstLayers{0, 2, true, false};
constexpr model::Slice kLastLayers{2, kModelLayers, false, true};
constexpr model::Slice kWhole{0, kModelLayers, true, true};

class TensorStoreTest : public testing::Test {
 protected:
  EnsureRequest RequestOf(const model::Slice& slice,
                          std::vector<std::shared_ptr<WeightPeer>> peers) {
    return {.fingerprint = SourceModel::Get().fingerprint(),
            .slice = slice,
            .peers = std::move(peers),
            .fetching = {.progress = {}, .stop = {}, .retry_pause_ns = kNsPerMs}};
  }
  std::string ModelFolder() const {
    return store_folder() + "/" + SourceModel::Get().fingerprint().ToHex();
  }
  std::string store_folder() const { return folder_.File("weights"); }
  std::string DataPath() const { return ModelFolder() + "/model.weights"; }

  TemporaryDirectory folder_ = TemporaryDirectory::Create().value();
  SystemClock clock_;
  TensorStore store_{{.folder = store_folder()}, clock_};
};

void ExpectSlice(const Result<Ensured>& ensured, const model::Slice& slice) {
  ASSERT_TRUE(ensured.ok()) << ensured.error().message();
  EXPECT_TRUE(IsSlice(*ensured->files, slice));
}

TEST_F(TensorStoreTest, FetchesWhatTheSliceNeedsAndNothingTwice) {
  const auto peer = std::make_shared<FakePeer>("a");
  uint64_t done = 0;
  uint64_t total = 0;
  EnsureRequest request = RequestOf(kFirstLayers, {peer});
  request.fetching.progress = [&](uint64_t d, uint64_t t) {
    EXPECT_GE(d, done);
    done = d;
    total = t;
  };
  const auto first = store_.Ensure(request);
  ExpectSlice(first, kFirstLayers);
  EXPECT_EQ(first->received_bytes, BytesIn(kFirstLayers));
  EXPECT_EQ(done, total);
  EXPECT_EQ(total, BytesIn(kFirstLayers));
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {})), kFirstLayers);
  const auto last = store_.Ensure(RequestOf(kLastLayers, {peer}));
  ExpectSlice(last, kLastLayers);
  EXPECT_EQ(last->received_bytes, BytesIn(kLastLayers));
  const auto whole = store_.Ensure(RequestOf(kWhole, {peer}));
  ExpectSlice(whole, kWhole);
  EXPECT_EQ(whole->received_bytes, 0);
  EXPECT_EQ(peer->sent_bytes, BytesIn(kWhole));
}

TEST_F(TensorStoreTest, WhatWasNotFetchedIsNotThere) {
  const auto peer = std::make_shared<FakePeer>("a");
  const auto ensured = store_.Ensure(RequestOf(kFirstLayers, {peer}));
  ASSERT_TRUE(ensured.ok());
  EXPECT_EQ(ensured->files->FindTensor("blk.2.attn_q.weight"), nullptr);
  for (const gguf::File& file : ensured->files->files()) {
    EXPECT_EQ(file.FindTensor("output.weight"), nullptr);
  }
  EXPECT_FALSE(model::CheckSupport(*ensured->files, kLastLayers).ok());
  // The copy on the disk cannot be run as a model file.
  EXPECT_FALSE(gguf::ModelFiles::Open(DataPath()).ok());
  // Stored data can be served to others.
  const auto kept = store_.Find(SourceModel::Get().fingerprint());
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_TRUE(IsSlice(*kept->files, kFirstLayers));
  EXPECT_TRUE(CheckManifest(*kept->manifest, SourceModel::Get().fingerprint()).ok());
  EXPECT_EQ(store_.Fingerprints(), std::vector{SourceModel::Get().fingerprint()});
}

TEST_F(TensorStoreTest, GoesOnWithAnotherPeerWhereOneFails) {
  int breaks = 0;
  const auto breaking = std::make_shared<FakePeer>(
      "a", [&](std::string_view, uint64_t offset, std::vector<uint8_t>&) -> Status {
        if (offset < 3 * FakePeer::kPieceBytes) return Ok();
        ++breaks;
        return Error(Code::kUnavailable, "the connection broke");
      });
  const auto whole = std::make_shared<FakePeer>("b");
  const auto ensured = store_.Ensure(RequestOf(kFirstLayers, {breaking, whole}));
  ExpectSlice(ensured, kFirstLayers);
  EXPECT_GT(breaks, 0);
  // Nothing is fetched twice.
  EXPECT_EQ(ensured->received_bytes, BytesIn(kFirstLayers));
  EXPECT_TRUE(ensured->notes.empty());
}

TEST_F(TensorStoreTest, APeerThatComesAndGoesIsEnough) {
  uint64_t budget = 0;
  const auto peer = std::make_shared<FakePeer>(
      "a", [&](std::string_view, uint64_t, std::vector<uint8_t>&) -> Status {
        budget = (budget + 1) % 40;
        return budget == 0 ? Status(Error(Code::kUnavailable, "gone")) : Ok();
      });
  ExpectSlice(store_.Ensure(RequestOf(kWhole, {peer})), kWhole);
}

TEST_F(TensorStoreTest, APeerThatSendsWrongBytesIsFound) {
  const auto liar = std::make_shared<FakePeer>(
      "liar", [](std::string_view tensor, uint64_t, std::vector<uint8_t>& piece) {
        if (tensor.starts_with("blk.1.")) piece[piece.size() / 2] ^= 1;
        return Ok();
      });
  const auto honest = std::make_shared<FakePeer>("honest");
  const auto ensured = store_.Ensure(RequestOf(kFirstLayers, {liar, honest}));
  ExpectSlice(ensured, kFirstLayers);
  ASSERT_EQ(ensured->notes.size(), 1);
  EXPECT_THAT(ensured->notes[0], HasSubstr("liar sent a tensor blk.1."));
}

TEST_F(TensorStoreTest, AllPeersThatSendWrongBytesAreNamed) {
  const auto lie = [](std::string_view, uint64_t, std::vector<uint8_t>& piece) {
    piece[0] ^= 1;
    return Ok();
  };
  const auto refused = store_.Ensure(RequestOf(
      kFirstLayers, {std::make_shared<FakePeer>("a", lie), std::make_shared<FakePeer>("b", lie)}));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("; a: it sent a tensor"));
  EXPECT_THAT(refused.error().message(), HasSubstr("; b: it sent a tensor"));
}

// Its wrong bytes are mixed with another's right ones: single peers are asked until the liar is
// found.
TEST_F(TensorStoreTest, APeerThatSendsWrongBytesAndDisconnectsIsFoundToo) {
  const auto liar = std::make_shared<FakePeer>(
      "liar", [](std::string_view, uint64_t offset, std::vector<uint8_t>& piece) -> Status {
        if (offset > 0) return Error(Code::kUnavailable, "gone");
        piece[0] ^= 1;
        return Ok();
      });
  const auto honest = std::make_shared<FakePeer>("honest");
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {liar, honest})), kFirstLayers);
}

TEST_F(TensorStoreTest, TooMuchAndTooLittleAreErrors) {
  const auto too_much =
      std::make_shared<FakePeer>("a", [](std::string_view, uint64_t, std::vector<uint8_t>& piece) {
        piece.resize(piece.size() + 1);
        return Ok();
      });
  const auto refused = store_.Ensure(RequestOf(kFirstLayers, {too_much}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_FALSE(store_.Ensure(RequestOf(kFirstLayers, {})).ok());
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {too_much, std::make_shared<FakePeer>("b")})),
              kFirstLayers);
}

TEST_F(TensorStoreTest, AWrongManifestIsRejected) {
  const auto liar = std::make_shared<FakePeer>("liar");
  liar->manifest = [] {
    rpc::ModelManifest manifest = SourceModel::Get().manifest();
    manifest.files[0].contents[0].low ^= 1;
    return manifest;
  };
  const auto refused = store_.Ensure(RequestOf(kFirstLayers, {liar}));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("liar: this is the model"));
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {liar, std::make_shared<FakePeer>("b")})),
              kFirstLayers);
}

TEST_F(TensorStoreTest, NamesOfFilesAreNoPaths) {
  const auto peer = std::make_shared<FakePeer>("a");
  peer->manifest = [] {
    rpc::ModelManifest manifest = SourceModel::Get().manifest();
    manifest.files[0].name = "../../../escape/.x";
    return manifest;
  };
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {peer})), kFirstLayers);
  EXPECT_EQ(access((ModelFolder() + "/_.._.._.._escape_.x.weights").c_str(), F_OK), -1);
  EXPECT_EQ(access((ModelFolder() + "/_._.._.._escape_.x.weights").c_str(), F_OK), 0);
}

TEST_F(TensorStoreTest, StopsOnRequest) {
  std::stop_source stop;
  const auto peer = std::make_shared<FakePeer>(
      "a", [&](std::string_view tensor, uint64_t, std::vector<uint8_t>&) {
        if (tensor == "blk.1.attn_k.weight") stop.request_stop();
        return Ok();
      });
  EnsureRequest request = RequestOf(kWhole, {peer});
  request.fetching.stop = stop.get_token();
  EXPECT_EQ(store_.Ensure(request).error().code(), Code::kCancelled);
  // The fetched data are kept.
  const auto later = store_.Ensure(RequestOf(kWhole, {std::make_shared<FakePeer>("b")}));
  ExpectSlice(later, kWhole);
  EXPECT_LT(later->received_bytes, BytesIn(kWhole));
}

TEST_F(TensorStoreTest, DamageIsSeen) {
  const auto peer = std::make_shared<FakePeer>("a");
  ASSERT_TRUE(store_.Ensure(RequestOf(kWhole, {peer})).ok());
  const gguf::Tensor& tensor = *SourceModel::Get().files().FindTensor("blk.1.ffn_up.weight");
  const auto damage = [&] {
    const int file = open(DataPath().c_str(), O_RDWR);
    ASSERT_GE(file, 0);
    uint8_t byte = tensor.data[100] ^ 1;
    ASSERT_EQ(pwrite(file, &byte, 1, static_cast<off_t>(tensor.offset + 100)), 1);
    close(file);
  };
  damage();
  gguf::SetFileTime(DataPath(), 1'000'000);
  const auto mended = store_.Ensure(RequestOf(kWhole, {peer}));
  ExpectSlice(mended, kWhole);
  EXPECT_EQ(mended->received_bytes, tensor.data.size());
  ASSERT_EQ(mended->notes.size(), 1);
  EXPECT_THAT(mended->notes[0], HasSubstr("1 tensors were damaged"));
  // A change without a new time stamp is found only by hashing.
  const auto times = IdentifyFile(DataPath()).value();
  damage();
  const timespec set[2] = {
      {.tv_sec = times.modified_ns / kNsPerSecond, .tv_nsec = times.modified_ns % kNsPerSecond},
      {.tv_sec = times.modified_ns / kNsPerSecond, .tv_nsec = times.modified_ns % kNsPerSecond}};
  ASSERT_EQ(utimensat(AT_FDCWD, DataPath().c_str(), set, 0), 0);
  EXPECT_FALSE(IsSlice(*store_.Ensure(RequestOf(kWhole, {peer}))->files, kWhole));
  EnsureRequest look = RequestOf(kWhole, {peer});
  look.verify = true;
  ExpectSlice(store_.Ensure(look), kWhole);
}

TEST_F(TensorStoreTest, LostFilesAreFetchedAgain) {
  const auto peer = std::make_shared<FakePeer>("a");
  for (const char* lost : {"/model.weights", "/journal", "/manifest"}) {
    ASSERT_TRUE(store_.Ensure(RequestOf(kFirstLayers, {peer})).ok());
    ASSERT_EQ(unlink((ModelFolder() + lost).c_str()), 0);
    ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {peer})), kFirstLayers);
  }
  ASSERT_EQ(truncate(DataPath().c_str(), 1000), 0);
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {peer})), kFirstLayers);
  ASSERT_TRUE(WriteFileAtomically(ModelFolder() + "/manifest", AsBytes("rubbish")).ok());
  ExpectSlice(store_.Ensure(RequestOf(kFirstLayers, {peer})), kFirstLayers);
}

TEST_F(TensorStoreTest, TwoSlicesAtATime) {
  const auto peer = std::make_shared<FakePeer>("a");
  Result<Ensured> first = Error(Code::kUnknown, "");
  Result<Ensured> last = Error(Code::kUnknown, "");
  {
    std::jthread one([&] { first = store_.Ensure(RequestOf(kFirstLayers, {peer})); });
    std::jthread two([&] { last = store_.Ensure(RequestOf(kLastLayers, {peer})); });
  }
  ExpectSlice(first, kFirstLayers);
  ExpectSlice(last, kLastLayers);
}

TEST_F(TensorStoreTest, DoesNotWaitForAStalledWriter) {
  ASSERT_TRUE(MakeDirectories(ModelFolder()).ok());
  const FileLock other = FileLock::TryAcquire(ModelFolder() + "/lock").value();
  TensorStore hasty({.folder = store_folder(), .lock_patience_ns = 50 * kNsPerMs}, clock_);
  const auto refused = hasty.Ensure(RequestOf(kFirstLayers, {std::make_shared<FakePeer>("a")}));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("another program is fetching"));
}

TEST_F(TensorStoreTest, ADiskThatIsFullIsAnErrorAndLosesNothing) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const uint64_t full_at = SourceModel::Get().files().FindTensor("blk.1.ffn_down.weight")->offset;
  // After the first weights, no file may grow beyond that byte.
  const auto peer =
      std::make_shared<FakePeer>("a", [&](std::string_view, uint64_t, std::vector<uint8_t>&) {
        rlimit limit = unlimited;
        limit.rlim_cur = full_at + 1000;
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        return Ok();
      });
  const auto refused = store_.Ensure(RequestOf(kFirstLayers, {peer}));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("model.weights"));
  const auto later = store_.Ensure(RequestOf(kFirstLayers, {std::make_shared<FakePeer>("b")}));
  ExpectSlice(later, kFirstLayers);
  EXPECT_LT(later->received_bytes, BytesIn(kFirstLayers));
}

TEST_F(TensorStoreTest, ADiskThatIsTooSmallIsSeenBeforeWeightsTravel) {
  const auto peer = std::make_shared<FakePeer>("a");
  TensorStore modest({.folder = store_folder(), .spare_disk_bytes = uint64_t{1} << 60}, clock_);
  const auto refused = modest.Ensure(RequestOf(kFirstLayers, {peer}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message(),
              HasSubstr("free on this disk, where 1.00 EiB are kept free for others; make room"));
  EXPECT_THAT(refused.error().message(), testing::Not(HasSubstr("0 B are free")));
  EXPECT_EQ(peer->calls, 0);
}

TEST_F(TensorStoreTest, NothingIsLeftOfAModelThatNoPeerHas) {
  const auto refused = store_.Ensure(RequestOf(kFirstLayers, {}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_TRUE(store_.Fingerprints().empty());
  EXPECT_EQ(store_.NameOf(SourceModel::Get().fingerprint()), "");
}

TEST_F(TensorStoreTest, KnowsWhatAModelIsCalledElsewhere) {
  const auto peer = std::make_shared<FakePeer>("a");
  peer->manifest = [] {
    rpc::ModelManifest manifest = SourceModel::Get().manifest();
    manifest.files.front().name = "large.gguf";
    return manifest;
  };
  ASSERT_TRUE(store_.Ensure(RequestOf(kFirstLayers, {peer})).ok());
  EXPECT_EQ(store_.NameOf(SourceModel::Get().fingerprint()), "large");
}

TEST_F(TensorStoreTest, IsRefusedBeforeWeightsTravel) {
  const auto peer = std::make_shared<FakePeer>("a");
  EnsureRequest request = RequestOf(kFirstLayers, {peer});
  request.check = [](const gguf::ModelFiles&) -> Status { return ResourceExhausted("no room"); };
  EXPECT_EQ(store_.Ensure(request).error().code(), Code::kResourceExhausted);
  EXPECT_EQ(peer->calls, 0);
}

// A process of its own fetches, and is killed at any moment.
TEST_F(TensorStoreTest, SurvivesBeingKilledAnywhere) {
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int pieces = 7 + 31 * round;
      const auto peer =
          std::make_shared<FakePeer>("a", [&](std::string_view, uint64_t, std::vector<uint8_t>&) {
            if (--pieces == 0) kill(getpid(), SIGKILL);
            return Ok();
          });
      // Few enough that a killed process has written some data.
      TensorStore careful({.folder = store_folder(), .sync_bytes = 50'000}, clock_);
      // Ends by itself in the last rounds.
      // tidy: allow(stopping) a forked child must not run the test program's end
      _exit(careful.Ensure(RequestOf(kWhole, {peer})).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
  }
  const auto ensured = store_.Ensure(RequestOf(kWhole, {std::make_shared<FakePeer>("b")}));
  ExpectSlice(ensured, kWhole);
  EXPECT_LT(ensured->received_bytes, BytesIn(kWhole) / 2);
}

// Whether the files have the right tensors of the slice.
bool HasSlice(const gguf::ModelFiles& files, const model::Slice& slice) {
  return std::ranges::all_of(TensorsIn(slice), [&](const auto& item) {
    const gguf::Tensor* tensor = files.FindTensor(item.first);
    return tensor != nullptr && std::ranges::equal(tensor->data, item.second);
  });
}

TEST_F(TensorStoreTest, WhatAFileHereHasIsNotFetched) {
  const Halves halves;
  const auto peer = std::make_shared<FakePeer>("a");
  EnsureRequest request = RequestOf(kFirstLayers, {peer});
  request.here = {halves.high_of_other(), halves.low()};
  const auto own = store_.Ensure(request);
  ASSERT_TRUE(own.ok()) << own.error().message();
  EXPECT_EQ(own->files, halves.low().files);
  // The rest comes from others, and is stored beside it.
  request.slice = kWhole;
  const auto whole = store_.Ensure(request);
  ASSERT_TRUE(whole.ok()) << whole.error().message();
  EXPECT_TRUE(HasSlice(*whole->files, kWhole));
  EXPECT_EQ(whole->received_bytes, BytesIn(kWhole) - BytesIn(kFirstLayers));
  EXPECT_EQ(peer->sent_bytes, whole->received_bytes);
  // Now all of it is here, and again in two files of this machine alone.
  request.peers = {};
  EXPECT_TRUE(store_.Ensure(request).ok());
  request.here.push_back(halves.high());
  const auto both = store_.Ensure(request);
  ASSERT_TRUE(both.ok()) << both.error().message();
  EXPECT_EQ(both->files->files().size(), 2u);
  EXPECT_TRUE(HasSlice(*both->files, kWhole));
}

TEST_F(TensorStoreTest, HalvesAreEnoughWithoutANodeThatHasTheWhole) {
  const Halves halves;
  EnsureRequest request =
      RequestOf(kLastLayers, PeersWithParts({}, {halves.low(), halves.high()}, nullptr));
  request.here = {halves.low(), halves.high()};
  const auto ensured = store_.Ensure(request);
  ASSERT_TRUE(ensured.ok()) << ensured.error().message();
  EXPECT_EQ(ensured->files, halves.high().files);
  EXPECT_FALSE(store_.Find(SourceModel::Get().fingerprint()).ok());  // no weights
  EXPECT_TRUE(store_.FindManifest(SourceModel::Get().fingerprint()));
  EXPECT_FALSE(store_.FindManifest(Hash128{}));
}

TEST_F(TensorStoreTest, AHalfOfAnotherModelIsNotUsed) {
  const Halves halves;
  const auto peer = std::make_shared<FakePeer>("a");
  EnsureRequest request = RequestOf(kLastLayers, {peer});
  request.here = {halves.high_of_other()};
  ExpectSlice(store_.Ensure(request), kLastLayers);
  EXPECT_EQ(peer->sent_bytes, BytesIn(kLastLayers));
}

TEST_F(TensorStoreTest, AFileHereThatChangedIsNotReadAgain) {
  const Halves halves;
  EnsureRequest request = RequestOf(kWhole, {std::make_shared<FakePeer>("a")});
  request.here = {halves.low()};
  ASSERT_TRUE(store_.Ensure(request).ok());
  gguf::SetFileTime(halves.LowPath(), 1'000'000);
  EXPECT_THAT(store_.Ensure(request).error().message(), HasSubstr("the file changed"));
}

}  // namespace
}  // namespace aster::fetch
