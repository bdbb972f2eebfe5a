// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes of unauthenticated peers: they become frames, a Hello is checked, and only one with a proof
// is accepted.
#include "base/check.h"
#include "net/frame_reader.h"
#include "net/handshake.h"
#include "net/memory_stream_for_test.h"
#include "wire/codec.h"

namespace aster::net {
namespace {

void Run(Bytes bytes) {
  const Introduction self{.node = {{1, 2}},
                          .name = "self",
                          .arithmetic = 1,
                          .max_frame_bytes = 1 << 20,
                          .credit_bytes = 1 << 20,
                          .password = std::vector<uint8_t>(32, 'p')};
  // The fuzzer also chooses the sizes of the pieces.
  MemoryStream stream(bytes, [](Bytes left) { return size_t{left[0] % 64U} + 1; });
  FrameReader reader;
  for (;;) {
    Result<std::optional<FrameReader::Arrived>> arrived =
        reader.Next(stream, {.max_frame_bytes = 4096, .hello_only = true});
    if (!arrived.ok()) return;
    if (!*arrived) continue;
    CHECK((*arrived)->header.frame_bytes() <= wire::kMaxGreetingBytes);
    // The checksum is made right, as an attacker would do.
    const wire::FrameHeader& header = (*arrived)->header;
    const wire::FrameHeader fitting =
        wire::MakeHeader(header.type, header.version, (*arrived)->body, {}, false);
    Result<wire::Message> message = wire::Decode(fitting, (*arrived)->body, {});
    if (!message.ok()) continue;
    const auto* hello = std::get_if<wire::Hello>(&*message);
    if (hello == nullptr) continue;
    const Result<uint16_t> version = CheckHello(self, *hello, std::nullopt, std::nullopt);
    if (version.ok()) CHECK(hello->password == self.password && hello->node != self.node);
  }
}

}  // namespace
}  // namespace aster::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aster::net::Run({data, size});
  return 0;
}
