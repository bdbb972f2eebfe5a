// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "node/race.h"

#include <thread>
#include <vector>

#include "base/mutex.h"

namespace aster::node {
namespace {

struct Finish {
  Mutex mu;
  CondVar changed;
  std::optional<size_t> winner GUARDED_BY(mu);
  size_t over GUARDED_BY(mu) = 0;
};

void Attempt(const Race& race, size_t way, Finish& finish) {
  const Outcome outcome = race.attempt(way);
  const MutexLock lock(finish.mu);
  ++finish.over;
  if (outcome != Outcome::kFailed && !finish.winner) finish.winner = way;
  finish.changed.NotifyAll();
}

// Waits until one has arrived, all have failed, or the time is up.
std::optional<size_t> Await(Finish& finish, size_t begun, int64_t until_ns, Clock& clock) {
  const MutexLock lock(finish.mu);
  while (!finish.winner && finish.over < begun && clock.NowNs() < until_ns)
    clock.WaitUntil(finish.changed, finish.mu, until_ns);
  return finish.winner;
}

}  // namespace

std::optional<size_t> RunRace(const Race& race, Clock& clock) {
  Finish finish;
  std::vector<std::jthread> threads;
  const auto begin = [&] {
    threads.emplace_back([&race, &finish, way = threads.size()] { Attempt(race, way, finish); });
  };
  std::optional<size_t> winner;
  if (race.count > 0) {
    begin();
    const int64_t until_ns = race.count == 1 ? kNeverNs : clock.NowNs() + race.head_start_ns;
    winner = Await(finish, threads.size(), until_ns, clock);
  }
  if (!winner) {
    while (threads.size() < race.count) begin();
    winner = Await(finish, threads.size(), kNeverNs, clock);
  }
  for (size_t way = 0; way < threads.size(); ++way) {
    if (way != winner) race.give_up(way);
  }
  threads.clear();
  return winner;
}

}  // namespace aster::node
