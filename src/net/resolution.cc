// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/resolution.h"

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "net/nearest.h"

namespace aster::net {
namespace {

Result<std::vector<Endpoint>> ResolveAll(const std::vector<HostPort>& wanted) {
  std::vector<Endpoint> endpoints;
  std::string reasons;
  for (const HostPort& host_port : wanted) {
    Result<std::vector<Endpoint>> found = Resolve(host_port);
    if (!found.ok()) {
      reasons += (reasons.empty() ? "" : "; ") + found.error().message();
      continue;
    }
    endpoints.insert(endpoints.end(), found->begin(), found->end());
  }
  if (endpoints.empty()) return Error(Code::kUnavailable, reasons);
  return endpoints;
}

}  // namespace

Resolution::Resolution(std::vector<std::string> addresses, std::shared_ptr<Waker> waker,
                       std::shared_ptr<const PathRates> rates)
    : shared_(std::make_shared<Shared>()) {
  std::vector<HostPort> wanted;
  MutexLock lock(shared_->mu);
  for (const std::string& address : addresses) {
    Result<HostPort> parsed = ParseHostPort(address);
    if (!parsed.ok()) {
      shared_->answer = std::move(parsed).error();
      return;
    }
    wanted.push_back(std::move(*parsed));
  }
  if (wanted.empty()) {
    shared_->answer = Error(Code::kUnavailable, "it has no address");
    return;
  }
  if (wanted.size() == 1 && wanted.front().is_numeric()) {
    shared_->answer = ResolveAll(wanted);
    return;
  }
  // A detached thread, as name servers may take longer than this object lives.
  try {
    std::thread([shared = shared_, wanted, waker, rates] {
      Result<std::vector<Endpoint>> answer = ResolveAll(wanted);
      if (answer.ok()) answer = NearestFirst(*std::move(answer), SystemClock(), rates.get());
      {
        MutexLock thread_lock(shared->mu);
        shared->answer = std::move(answer);
      }
      waker->Wake();
    }).detach();
  } catch (const std::system_error&) {
    shared_->answer = ResourceExhausted("no thread to look up a name");
  }
}

std::optional<Result<std::vector<Endpoint>>> Resolution::Take() {
  MutexLock lock(shared_->mu);
  return std::exchange(shared_->answer, std::nullopt);
}

}  // namespace aster::net
