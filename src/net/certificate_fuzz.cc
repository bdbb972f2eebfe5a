// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Requests, certificates and addresses of any machine: each gives a result or an error.

#include "base/check.h"
#include "net/certificate.h"
#include "net/socket.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = aster::AsText({data, size});
  const auto request = aster::net::NodeIdOfRequest(text);
  CHECK(request.ok() || !request.error().message().empty());
  const auto certificate = aster::net::DescribeCertificate(text);
  CHECK(certificate.ok() || !certificate.error().message().empty());
  const auto host_port = aster::net::ParseHostPort(text);
  if (host_port.ok()) CHECK(!host_port->host.empty() && host_port->port.size() <= 5);
  return 0;
}
