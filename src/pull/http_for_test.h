// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A server in memory, with the faults that a test wants. Only for tests.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pull/http.h"

namespace aster::pull {

class FakeHttp final : public HttpClient {
 public:
  struct File {
    std::string content;
    std::string tag = "\"1\"";
    bool has_ranges = true;
    bool ignores_if_range = false;
    std::string next_url = "";
  };
  // The faults of one request.
  struct Fault {
    int status = 0;  // instead of the file
    std::optional<uint32_t> retry_after_s = {};
    std::optional<size_t> breaks_after = {};   // bytes of the body
    std::optional<uint64_t> announces = {};    // as the length of the body
    std::optional<uint64_t> range_begin = {};  // other than requested
    std::string more = "";                     // after the body
  };

  Result<HttpHead> Get(const HttpRequest& request, FunctionRef<Status(const HttpHead&)> take_head,
                       FunctionRef<Status(Bytes)> take_body) override {
    requests.push_back(request);
    Fault fault;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    HttpHead head;
    std::string body = Answer(request, fault, head);
    TRY(take_head(head));
    const size_t sent = std::min(body.size(), fault.breaks_after.value_or(body.size()));
    // In pieces, as from a network.
    for (size_t i = 0; i < sent; i += 7)
      TRY(take_body(AsBytes(std::string_view(body).substr(i, std::min<size_t>(7, sent - i)))));
    if (sent < body.size()) return Error(Code::kUnavailable, "the connection broke");
    return head;
  }

  std::map<std::string, File> files;
  std::deque<Fault> faults;  // for the next requests
  std::vector<HttpRequest> requests;

 private:
  std::string Answer(const HttpRequest& request, const Fault& fault, HttpHead& head) {
    head.status = fault.status;
    head.retry_after_s = fault.retry_after_s;
    if (fault.status != 0) return "a page for people";
    const auto found = files.find(request.url);
    if (found == files.end()) {
      head.status = 404;
      return "there is nothing";
    }
    const File& file = found->second;
    head.tag = file.tag;
    head.next_url = file.next_url;
    const bool same =
        file.ignores_if_range || request.if_range.empty() || request.if_range == file.tag;
    if (request.begin > 0 && file.has_ranges && same) return Rest(request, file, fault, head);
    head.status = 200;
    head.length = fault.announces.value_or(file.content.size());
    return file.content + fault.more;
  }

  static std::string Rest(const HttpRequest& request, const File& file, const Fault& fault,
                          HttpHead& head) {
    head.total = file.content.size();
    if (request.begin >= file.content.size()) {
      head.status = 416;
      return "no such range";
    }
    head.status = 206;
    head.range_begin = fault.range_begin.value_or(request.begin);
    head.length = file.content.size() - request.begin;
    return file.content.substr(request.begin) + fault.more;
  }
};

}  // namespace aster::pull
