// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "cluster/home_for_test.h"
#include "cluster/join.h"

namespace aster::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kMinuteS = 60;

// Runs `body` in several processes at once; returns the sum of their results.
int SumOverProcesses(int count, const std::function<int()>& body) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(body());  // tidy: allow(stopping) a child after fork
    children.push_back(child);
  }
  int sum = 0;
  for (const pid_t child : children) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    sum += WEXITSTATUS(status);
  }
  return sum;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

void ExpectPrivate(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat info{};
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077U, 0U) << entry.path();
  }
}

TEST(Home, AProcessThatHoldsItsKeysLeavesNoCoreDump) {
  const TestHome made;
  const auto may_be_dumped_after = [](const std::function<void()>& load) {
    return SumOverProcesses(1, [&] {
      prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
      load();
      return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    });
  };
  EXPECT_EQ(may_be_dumped_after([] {}), 1);
  EXPECT_EQ(may_be_dumped_after([&] { (void)made.home.LoadIdentity(kTestWallS); }), 0);
  EXPECT_EQ(may_be_dumped_after([&] { (void)made.home.LoadAuthority(); }), 0);
  // Nor may a process be dumped that has made keys and has not written them yet.
  EXPECT_EQ(may_be_dumped_after([] { (void)MakeClusterAuthority("attic", kTestWallS); }), 0);
  const InviteCode code = InviteCode::Draw().value();
  EXPECT_EQ(may_be_dumped_after([&] { (void)Joining::Begin(code, "bob"); }), 0);
}

TEST(Home, ACompleteClusterOrNone) {
  const TestHome made;
  EXPECT_TRUE(made.home.HasCluster());
  EXPECT_TRUE(made.home.HasAuthority());
  EXPECT_EQ(made.home.LoadIdentity(kTestWallS)->node, made.identity.node);
  EXPECT_EQ(made.home.LoadAuthority()->key, made.made.authority.key);
  EXPECT_EQ(NamesIn(made.directory.File("config")),
            (std::set<std::string>{"cluster", "cluster.lock"}));
  ExpectPrivate(made.directory.File("config"));
  ASSERT_TRUE(made.home.Remove().ok());
  EXPECT_FALSE(made.home.HasCluster());
  EXPECT_FALSE(fs::exists(made.home.folder()));
  EXPECT_THAT(made.home.LoadIdentity(kTestWallS).error().message(),
              HasSubstr("aster cluster init"));
  EXPECT_TRUE(made.home.Remove().ok()) << "removing a cluster that does not exist is no error";
}

TEST(Home, FilesAreOwnerOnlyFromTheirCreation) {
  // An umask that lets everybody read must not matter at any time.
  const mode_t before = umask(0);
  const TestHome made;
  std::atomic<bool> is_done = false;
  std::atomic<int> seen = 0;
  std::thread watcher([&] {
    while (!is_done.load()) {
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(made.directory.File("config"), error)) {
        struct stat info{};
        if (stat(entry.path().c_str(), &info) == 0 && (info.st_mode & 077U) != 0) ++seen;
      }
      for (const auto& entry : fs::directory_iterator(made.home.folder(), error)) {
        struct stat info{};
        if (stat(entry.path().c_str(), &info) == 0 && (info.st_mode & 077U) != 0) ++seen;
      }
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(
        made.home.Create(made.identity, made.made.authority, "", true, kTestWallS + i).ok());
    EXPECT_TRUE(
        made.home.AddInvitation(InviteCode::Draw().value(), kTestWallS + kMinuteS, kTestWallS)
            .ok());
    EXPECT_TRUE(made.home.StorePeers({{NodeId{{1, 2}}, "bob", {"10.0.0.2:7424"}}}).ok());
  }
  is_done = true;
  watcher.join();
  umask(before);
  EXPECT_EQ(seen.load(), 0);
  ExpectPrivate(made.directory.File("config"));
}

TEST(Home, AClusterThatIsThereIsNotLost) {
  const TestHome made;
  const TestAuthority other;
  const Identity bob = other.NodeCalled("bob");
  const Status refused = made.home.Create(bob, other.authority, "", false, kTestWallS);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kAlreadyExists);
  EXPECT_EQ(made.home.LoadIdentity(kTestWallS)->node, made.identity.node);
  // Two replacements in the same second keep both copies of the old folder apart.
  ASSERT_TRUE(made.home.Create(bob, std::nullopt, "", true, kTestWallS).ok());
  ASSERT_TRUE(made.home.Create(bob, std::nullopt, "", true, kTestWallS).ok());
  EXPECT_EQ(made.home.LoadIdentity(kTestWallS)->node, bob.node);
  EXPECT_FALSE(made.home.HasAuthority()) << "the new cluster has nothing of the old one";
  const Home aside(made.home.folder() + ".old-1800000000");
  EXPECT_EQ(aside.LoadIdentity(kTestWallS)->node, made.identity.node);
  EXPECT_TRUE(aside.HasAuthority());
  EXPECT_TRUE(fs::exists(made.home.folder() + ".old-1800000000-2"));
}

TEST(Home, WhatAKilledProcessLeftIsNotTakenOver) {
  const TemporaryDirectory directory = TemporaryDirectory::Create().value();
  const Home home(directory.File("cluster"));
  // The folder that a process leaves if it is killed while it writes a cluster with an authority.
  fs::create_directory(directory.File("cluster.new"));
  ASSERT_TRUE(WriteFileAtomically(directory.File("cluster.new/ca.key"), AsBytes("old")).ok());
  const TestAuthority made;
  ASSERT_TRUE(home.Create(made.NodeCalled("bob"), std::nullopt, "", false, kTestWallS).ok());
  EXPECT_FALSE(home.HasAuthority());
  EXPECT_FALSE(fs::exists(directory.File("cluster.new")));
}

TEST(Home, OfManyConcurrentInitialisationsOneSucceeds) {
  const TemporaryDirectory directory = TemporaryDirectory::Create().value();
  const Home home(directory.File("cluster"));
  const TestAuthority made;
  const Identity identity = made.NodeCalled("ann");
  EXPECT_EQ(SumOverProcesses(
                8,
                [&] {
                  return home.Create(identity, made.authority, "", false, kTestWallS).ok() ? 1 : 0;
                }),
            1);
  EXPECT_EQ(home.LoadIdentity(kTestWallS)->node, identity.node);
}

TEST(Home, AFullDiskOrAFolderThatCannotBeLeavesWhatWasThere) {
  const TestHome made;
  ASSERT_TRUE(made.home.StorePeers({{NodeId{{1, 2}}, "bob", {}}}).ok());
  // A limit on file sizes simulates a full disk.
  EXPECT_EQ(SumOverProcesses(1,
                             [&] {
                               signal(SIGXFSZ, SIG_IGN);
                               const rlimit none{0, 0};
                               CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
                               const InviteCode code = InviteCode::Draw().value();
                               int failures = 0;
                               failures +=
                                   !made.home.AddInvitation(code, kTestWallS + 9, kTestWallS).ok();
                               failures += !made.home.StorePeers({{NodeId{{3, 4}}, "x", {}}}).ok();
                               failures += !made.home.Revoke(NodeId{{1, 2}}, kTestWallS).ok();
                               failures +=
                                   !made.home.Create(made.identity, std::nullopt, "", true, 5).ok();
                               return failures;
                             }),
            4);
  EXPECT_EQ(made.home.LoadIdentity(kTestWallS)->node, made.identity.node);
  EXPECT_TRUE(made.home.HasAuthority());
  EXPECT_EQ(made.home.LoadPeers()->size(), 1U);
  EXPECT_EQ(made.home.LoadRevocations(made.identity.ca_certificate)->serial(), 0U);
  EXPECT_EQ(NamesIn(made.directory.File("config")),
            (std::set<std::string>{"cluster", "cluster.lock"}))
      << "no incomplete cluster with a key is left";
  for (const std::string& name : NamesIn(made.home.folder()))
    EXPECT_EQ(name.find(".new"), std::string::npos) << name;

  ASSERT_TRUE(WriteFileAtomically(made.directory.File("file"), AsBytes("x")).ok());
  const Home impossible(made.directory.File("file/cluster"));
  EXPECT_THAT(impossible.Create(made.identity, std::nullopt, "", false, 1).error().message(),
              HasSubstr("file"));
}

TEST(Home, DamagedKeysAreNamed) {
  const TestHome made;
  ASSERT_TRUE(WriteFileAtomically(made.home.folder() + "/node.key", AsBytes("nonsense")).ok());
  EXPECT_THAT(made.home.LoadIdentity(kTestWallS).error().message(), HasSubstr("this node's key"));
  ASSERT_EQ(unlink((made.home.folder() + "/ca.pem").c_str()), 0);
  EXPECT_THAT(made.home.LoadIdentity(kTestWallS).error().message(), HasSubstr("ca.pem"));
}

// --- Invitations.

class InvitationTest : public ::testing::Test {
 protected:
  InviteCode Invite(int64_t seconds = 10 * kMinuteS) const {
    const InviteCode code = InviteCode::Draw().value();
    CHECK(made_.home.AddInvitation(code, kTestWallS + seconds, kTestWallS).ok());
    return code;
  }
  Code Prove(const InviteCode& code, bool is_proven, int64_t wall_s = kTestWallS) const {
    const auto proven =
        made_.home.ProveInvitation(code.Id(), wall_s, [&](const auto&) { return is_proven; });
    return proven.ok() ? Code{} : proven.error().code();
  }

  const TestHome made_;
};

TEST_F(InvitationTest, HoldsUntilItEndsOrIsTaken) {
  const InviteCode first = Invite();
  const InviteCode second = Invite(20 * kMinuteS);
  EXPECT_EQ(made_.home.FindInvitation(first.Id(), kTestWallS)->secret, first.Secret());
  EXPECT_TRUE(made_.home.FindInvitation(first.Id(), kTestWallS + 10 * kMinuteS - 1).ok());
  EXPECT_FALSE(made_.home.FindInvitation(first.Id(), kTestWallS + 10 * kMinuteS).ok());
  EXPECT_EQ(Prove(first, true, kTestWallS + 10 * kMinuteS), Code::kNotFound);
  EXPECT_FALSE(made_.home.TakeInvitation(first.Id(), kTestWallS + 10 * kMinuteS).value());
  EXPECT_TRUE(made_.home.TakeInvitation(second.Id(), kTestWallS).value());
  EXPECT_FALSE(made_.home.TakeInvitation(second.Id(), kTestWallS).value());
  EXPECT_FALSE(made_.home.FindInvitation("0000000000000000", kTestWallS).ok());
  EXPECT_FALSE(made_.home.FindInvitation("", kTestWallS).ok());
}

TEST_F(InvitationTest, TheCodeItselfIsNotKept) {
  const InviteCode code = Invite();
  const std::string text = ReadFile(made_.home.folder() + "/invitations", 1 << 20).value();
  EXPECT_EQ(text.find(code.ToText().substr(0, 5)), std::string::npos);
  EXPECT_NE(text.find(code.Id()), std::string::npos);
}

TEST_F(InvitationTest, IsVoidAfterAFewWrongProofs) {
  const InviteCode code = Invite();
  for (uint64_t i = 1; i < Home::kAttempts; ++i) {
    EXPECT_EQ(Prove(code, false), Code::kPermissionDenied);
    EXPECT_EQ(Prove(code, true), Code{}) << "the right code is still accepted";
  }
  EXPECT_EQ(Prove(code, false), Code::kPermissionDenied);
  EXPECT_EQ(Prove(code, true), Code::kNotFound);
  EXPECT_FALSE(made_.home.TakeInvitation(code.Id(), kTestWallS).value());
}

TEST_F(InvitationTest, AskingAtOnceGivesNoMoreAttempts) {
  const InviteCode code = Invite();
  std::atomic<int> judged = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 4; ++k) {
        const auto proven = made_.home.ProveInvitation(code.Id(), kTestWallS, [&](const auto&) {
          ++judged;
          return false;
        });
        EXPECT_FALSE(proven.ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(judged.load(), static_cast<int>(Home::kAttempts));
}

TEST_F(InvitationTest, OfManyProcessesOneTakesIt) {
  for (int round = 0; round < 5; ++round) {
    const InviteCode code = Invite();
    EXPECT_EQ(SumOverProcesses(8,
                               [&] {
                                 const auto taken =
                                     made_.home.TakeInvitation(code.Id(), kTestWallS);
                                 return taken.ok() && *taken ? 1 : 0;
                               }),
              1);
  }
}

TEST_F(InvitationTest, ManyAtOnceAreAllKeptAndThereIsAnEndToThem) {
  EXPECT_EQ(SumOverProcesses(8,
                             [&] {
                               for (int i = 0; i < 4; ++i) Invite();
                               return 4;
                             }),
            32);
  for (size_t i = 32; i < Home::kMaxInvitations; ++i) Invite();
  const InviteCode more = InviteCode::Draw().value();
  EXPECT_THAT(made_.home.AddInvitation(more, kTestWallS + kMinuteS, kTestWallS).error().message(),
              HasSubstr("64 invitations are open already"));
  EXPECT_TRUE(
      made_.home.AddInvitation(more, kTestWallS + 21 * kMinuteS, kTestWallS + 20 * kMinuteS).ok())
      << "ended invitations make room";
}

TEST_F(InvitationTest, DamagedFilesAreNamedAndAdmitNoNode) {
  const InviteCode code = Invite();
  const std::string path = made_.home.folder() + "/invitations";
  const std::string text = ReadFile(path, 1 << 20).value();
  for (const std::string& bad :
       {text + "x", text + "a b c d\n", std::string("asterism invitations 2\n"),
        text.substr(0, text.size() - 5)}) {
    ASSERT_TRUE(WriteFileAtomically(path, AsBytes(bad)).ok());
    const auto found = made_.home.FindInvitation(code.Id(), kTestWallS);
    ASSERT_FALSE(found.ok());
    EXPECT_THAT(found.error().message(), HasSubstr("invitations"));
    EXPECT_THAT(found.error().message(), HasSubstr("delete the file"));
  }
}

// --- Revoked nodes, and addresses of others.

TEST(HomePeers, AreMergedAndRevokedOnesForgotten) {
  const TestHome made;
  const NodeId bob{{1, 1}};
  const NodeId carol{{2, 2}};
  EXPECT_TRUE(made.home.LoadPeers()->empty());
  ASSERT_TRUE(made.home.StorePeers({{bob, "bob", {"10.0.0.2:7424", "[fe80::1]:7424"}}}).ok());
  ASSERT_TRUE(made.home.StorePeers({{carol, "carol", {}}}).ok());
  ASSERT_TRUE(made.home.StorePeers({{bob, "bob", {}}}).ok());
  std::vector<KnownPeer> peers = made.home.LoadPeers().value();
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_EQ(peers[0].name, "bob");
  EXPECT_THAT(peers[0].addresses, ElementsAre("10.0.0.2:7424", "[fe80::1]:7424"));
  ASSERT_TRUE(made.home.Revoke(bob, kTestWallS).ok());
  ASSERT_TRUE(made.home.StorePeers({{bob, "bob", {}}}).ok());
  peers = made.home.LoadPeers().value();
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].node, carol);
}

TEST(HomePeers, WhatOthersSayCannotSpoilTheFile) {
  const TestHome made;
  std::vector<KnownPeer> peers;
  uint64_t i = 0;
  for (const std::string bad : {"a b", "x\nnode", "", "\x1b[2J"}) {
    peers.push_back({NodeId{{++i, 1}}, bad, {}});
    peers.push_back({NodeId{{++i, 1}}, "fine", {bad}});
  }
  peers.push_back({NodeId{{++i, 1}}, "many", std::vector<std::string>(9, "h:1")});
  peers.push_back({NodeId{{++i, 1}}, "good", {"h:1"}});
  ASSERT_TRUE(made.home.StorePeers(peers).ok());
  const std::vector<KnownPeer> kept = made.home.LoadPeers().value();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].name, "good");
  peers.clear();
  for (uint64_t k = 0; k < 2 * Home::kMaxPeers; ++k)
    peers.push_back({NodeId{{k, 2}}, "n" + std::to_string(k), {}});
  ASSERT_TRUE(made.home.StorePeers(peers).ok());
  EXPECT_EQ(made.home.LoadPeers()->size(), Home::kMaxPeers);
}

TEST(HomeSeeds, TheLatestComesFirst) {
  const TestHome made;
  EXPECT_TRUE(made.home.LoadSeeds()->empty());
  for (const std::string seed : {"a:1", "b:2", "a:1"}) ASSERT_TRUE(made.home.AddSeed(seed).ok());
  EXPECT_THAT(made.home.LoadSeeds().value(), ElementsAre("a:1", "b:2"));
  EXPECT_FALSE(made.home.AddSeed("a b:1").ok());
  ASSERT_TRUE(made.home.StorePeers({{NodeId{{1, 1}}, "bob", {"c:3", "b:2"}}}).ok());
  EXPECT_THAT(made.home.LoadAddresses().value(), ElementsAre("c:3", "b:2", "a:1"));
  // The best address of every node comes before the others.
  ASSERT_TRUE(made.home.StorePeers({{NodeId{{2, 1}}, "carol", {"d:4", "e:5"}}}).ok());
  EXPECT_THAT(made.home.LoadAddresses().value(), ElementsAre("d:4", "c:3", "e:5", "b:2", "a:1"));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(made.home.AddSeed("h:" + std::to_string(i)).ok());
  EXPECT_EQ(made.home.LoadSeeds()->size(), Home::kMaxSeeds);
}

TEST(HomeRevocations, NoneIsLostAndTheOldNeverReplacesTheNew) {
  const TestHome made;
  // The processes revoke different nodes at once: the list has them all.
  int next = 0;
  EXPECT_EQ(SumOverProcesses(4,
                             [&] {
                               for (uint64_t i = 0; i < 5; ++i) {
                                 const NodeId node{{static_cast<uint64_t>(getpid()), i}};
                                 next += made.home.Revoke(node, kTestWallS).ok();
                               }
                               return next;
                             }),
            20);
  const Revocations list = made.home.LoadRevocations(made.identity.ca_certificate).value();
  EXPECT_EQ(list.nodes().size(), 20U);
  EXPECT_EQ(made.home.Revoke(list.nodes().begin()->first, kTestWallS).error().code(),
            Code::kAlreadyExists);

  EXPECT_EQ(list.serial(),
            made.home.StoreRevocations(list, made.identity.ca_certificate)->serial());
  const Revocations newer = list.With(NodeId{{9, 9}}, 1, made.made.authority.key).value();
  EXPECT_EQ(newer.serial(),
            made.home.StoreRevocations(newer, made.identity.ca_certificate)->serial());
  EXPECT_EQ(newer.serial(),
            made.home.StoreRevocations(list, made.identity.ca_certificate)->serial());
  EXPECT_TRUE(made.home.LoadRevocations(made.identity.ca_certificate)->Contains(NodeId{{9, 9}}));
}

TEST(HomeRevocations, ADamagedListIsAnErrorAndMendedByAGoodOne) {
  const TestHome made;
  const Revocations list = made.home.Revoke(NodeId{{1, 1}}, kTestWallS).value();
  std::string text = list.text();
  text[40] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(made.home.folder() + "/revoked", AsBytes(text)).ok());
  EXPECT_FALSE(made.home.LoadRevocations(made.identity.ca_certificate).ok())
      << "an unreadable list must not admit nodes";
  EXPECT_TRUE(made.home.StoreRevocations(list, made.identity.ca_certificate).ok());
  EXPECT_TRUE(made.home.LoadRevocations(made.identity.ca_certificate).ok());
}

// Two holders of the key revoke nodes independently: no revocation is lost.
TEST(HomeRevocations, AHolderOfTheKeyUnitesTwoListsAndOthersKeepTheirs) {
  const TestHome ann;
  const std::string& ca = ann.identity.ca_certificate;
  const TemporaryDirectory directory = TemporaryDirectory::Create().value();
  const Home bob(directory.File("bob")), eve(directory.File("eve"));
  for (const Home* home : {&bob, &eve})
    ASSERT_TRUE(home->Create(ann.made.NodeCalled("b"), std::nullopt, "", false, kTestWallS).ok());
  ASSERT_TRUE(bob.AddAuthority(ann.made.authority).ok());
  const Revocations by_ann = ann.home.Revoke(NodeId{{1, 1}}, kTestWallS).value();
  const Revocations by_bob = bob.Revoke(NodeId{{2, 2}}, kTestWallS).value();
  ASSERT_GT(by_bob.serial(), by_ann.serial());
  ASSERT_TRUE(eve.StoreRevocations(by_ann, ca).ok());
  EXPECT_EQ(eve.StoreRevocations(by_bob, ca)->text(), by_ann.text());
  const Revocations united = ann.home.StoreRevocations(by_bob, ca).value();
  EXPECT_EQ(united.nodes().size(), 2U);
  EXPECT_EQ(eve.StoreRevocations(united, ca)->text(), united.text());
  EXPECT_EQ(bob.StoreRevocations(united, ca)->text(), united.text());
  EXPECT_EQ(ann.home.StoreRevocations(by_ann, ca)->text(), united.text());
}

TEST(HomeAuthority, ASecondHolderCanDoWhatTheFirstCan) {
  const TestHome ann;
  const TemporaryDirectory directory = TemporaryDirectory::Create().value();
  const Home bob(directory.File("bob"));
  ASSERT_TRUE(bob.Create(ann.made.NodeCalled("bob"), std::nullopt, "", false, kTestWallS).ok());
  EXPECT_FALSE(bob.AddAuthority(TestAuthority().authority).ok());
  EXPECT_FALSE(bob.AddAuthority({ann.made.authority.certificate, ann.identity.key}).ok());
  EXPECT_FALSE(bob.HasAuthority());
  ASSERT_TRUE(bob.AddAuthority(ann.made.authority).ok());
  EXPECT_EQ(bob.LoadAuthority()->key, ann.made.authority.key);
  EXPECT_EQ(fs::status(bob.folder() + "/ca.key").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(HomeRevocations, OnlyWhereTheAuthorityIs) {
  const TemporaryDirectory directory = TemporaryDirectory::Create().value();
  const Home home(directory.File("cluster"));
  const TestAuthority made;
  ASSERT_TRUE(home.Create(made.NodeCalled("bob"), std::nullopt, "", false, kTestWallS).ok());
  EXPECT_THAT(home.Revoke(NodeId{{1, 1}}, kTestWallS).error().message(),
              HasSubstr("where the cluster was made"));
}

}  // namespace
}  // namespace aster::cluster
