// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <future>

namespace aster::serve {
namespace {

// Longer than any test takes.
constexpr int kPatienceS = 30;

bool Connect(int descriptor, const std::string& address) {
  uint16_t port = 0;
  const size_t colon = address.rfind(':');
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
}

// A client that sends any bytes.
class Client {
 public:
  explicit Client(const std::string& address) : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience = {.tv_sec = kPatienceS, .tv_usec = 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_TRUE(Connect(descriptor_, address));
  }
  ~Client() { close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(std::string_view text) {
    EXPECT_EQ(send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void CloseWriting() { shutdown(descriptor_, SHUT_WR); }
  // Receives until the server closes, or until `end` has come.
  std::string Receive(std::string_view end = "") {
    std::string heard;
    char buffer[4096];
    while (end.empty() || heard.find(end) == std::string::npos) {
      const ssize_t count = recv(descriptor_, buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      heard.append(buffer, static_cast<size_t>(count));
    }
    return heard;
  }

 private:
  const int descriptor_;
};

class HttpServerTest : public testing::Test {
 protected:
  // Replies with the path and the size of the body.
  std::unique_ptr<HttpServer> Serve(HttpServerOptions options) {
    auto server = std::make_unique<HttpServer>(
        std::move(options), clock_, [](HttpRequest request, std::shared_ptr<ReplyStream> reply) {
          reply->Send(200, "text/plain",
                      request.path + " " + std::to_string(request.body.size()) + "!");
        });
    EXPECT_TRUE(server->Start().ok());
    return server;
  }
  static std::string Post(std::string_view path, size_t bytes) {
    return "POST " + std::string(path) + " HTTP/1.1\r\nContent-Length: " + std::to_string(bytes) +
           "\r\n\r\n";
  }

  const SystemClock clock_;
};

TEST_F(HttpServerTest, ARefusalAfterAPipelinedRequestIsDelivered) {
  const auto server = Serve({});
  Client client(server->address());
  client.Send("GET /a HTTP/1.1\r\n\r\nnonsense\r\n");
  const std::string heard = client.Receive();
  EXPECT_THAT(heard, testing::HasSubstr("/a 0!"));
  EXPECT_THAT(heard, testing::HasSubstr("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, AnInvalidRequestGetsItsErrorEvenAtTheEndOfItsConnection) {
  const auto server = Serve({});
  Client client(server->address());
  client.Send("nonsense\r\n");
  client.CloseWriting();
  EXPECT_THAT(client.Receive(), testing::HasSubstr("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, ABodyThatIsNotWantedIsNotWaitedFor) {
  const auto server =
      Serve({.takes_body = [](const HttpRequest& head) { return head.Header("key") == "mine"; }});
  Client stranger(server->address());
  stranger.Send("POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\nxyz");
  const std::string refused = stranger.Receive();
  EXPECT_THAT(refused, testing::HasSubstr("/a 0!"));
  EXPECT_THAT(refused, testing::HasSubstr("Connection: close"));
  EXPECT_THAT(refused, testing::Not(testing::HasSubstr("100 Continue")));
  // A body that has already arrived is ignored, too.
  Client quick(server->address());
  quick.Send(Post("/b", 3) + "xyz");
  EXPECT_THAT(quick.Receive(), testing::HasSubstr("/b 0!"));
  Client known(server->address());
  known.Send("POST /c HTTP/1.1\r\nKey: mine\r\nContent-Length: 3\r\n\r\nxyz");
  EXPECT_THAT(known.Receive("!"), testing::HasSubstr("/c 3!"));
  // A request without a body is not checked.
  Client reader(server->address());
  reader.Send("GET /d HTTP/1.1\r\n\r\n");
  EXPECT_THAT(reader.Receive("!"), testing::HasSubstr("/d 0!"));
}

TEST_F(HttpServerTest, BodiesOfAllTogetherAreBounded) {
  const auto server = Serve({.limits = {.body_bytes = 1000}, .bodies_bytes = 1000});
  Client first(server->address());
  first.Send(Post("/a", 900) + std::string(800, 'x'));
  Client second(server->address());
  // Other bodies are accepted until the first one's bytes are counted.
  std::string heard;
  for (int i = 0; i < 1000 && heard.find(" 503 ") == std::string::npos; ++i) {
    Client other(server->address());
    other.Send(Post("/b", 300) + std::string(300, 'x'));
    heard = other.Receive("\r\n\r\n");
  }
  EXPECT_THAT(heard, testing::HasSubstr(" 503 "));
  // The first client's share is still reserved.
  first.Send(std::string(100, 'x'));
  EXPECT_THAT(first.Receive("!"), testing::HasSubstr("/a 900!"));
  // Then it is free again.
  second.Send(Post("/c", 900) + std::string(900, 'x'));
  EXPECT_THAT(second.Receive("!"), testing::HasSubstr("/c 900!"));
}

// Otherwise a server whose workers prepare long requests would look dead.
TEST_F(HttpServerTest, QuickRequestsDoNotWaitForWorkers) {
  std::promise<void> goes_on;
  const std::shared_future<void> gone_on = goes_on.get_future().share();
  HttpServer server(
      {.workers = 1, .is_quick = [](const HttpRequest& head) { return head.path == "/live"; }},
      clock_, [gone_on](HttpRequest request, std::shared_ptr<ReplyStream> reply) {
        if (request.path == "/slow") gone_on.wait();
        reply->Send(200, "text/plain", request.path + "!");
      });
  ASSERT_TRUE(server.Start().ok());
  Client slow(server.address());
  slow.Send("GET /slow HTTP/1.1\r\n\r\n");
  Client other(server.address());
  other.Send("GET /other HTTP/1.1\r\n\r\n");
  Client quick(server.address());
  for (int i = 0; i < 2; ++i) {
    quick.Send("GET /live HTTP/1.1\r\n\r\n");
    EXPECT_THAT(quick.Receive("!"), testing::HasSubstr("/live!"));
  }
  goes_on.set_value();
  EXPECT_THAT(slow.Receive("!"), testing::HasSubstr("/slow!"));
  EXPECT_THAT(other.Receive("!"), testing::HasSubstr("/other!"));
}

TEST_F(HttpServerTest, EmptyLinesBeginNoRequest) {
  const auto server = Serve({.head_ns = 300 * kNsPerMs});
  Client client(server->address());
  client.Send("GET /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.Receive("!"), testing::HasSubstr("/a 0!"));
  client.Send("\r\n");
  // The pause is longer than a head may take, and shorter than a connection may be idle.
  SystemClock().SleepFor(900 * kNsPerMs);
  client.Send("GET /b HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.Receive("!"), testing::HasSubstr("/b 0!"));
}

TEST_F(HttpServerTest, ErrorsHaveTheFormatOfThePath) {
  const auto server =
      Serve({.limits = {.body_bytes = 10},
             .describe = [](std::string_view path, int status, std::string_view /*message*/) {
               return "<" + std::string(path) + " " + std::to_string(status) + ">";
             }});
  Client client(server->address());
  client.Send(Post("/v1/messages", 11));
  EXPECT_THAT(client.Receive(), testing::EndsWith("</v1/messages 413>"));
}

// Otherwise clients of accepted connections that are not served would wait until the end.
TEST_F(HttpServerTest, AServerThatEndsRefusesConnections) {
  const auto server = Serve({.listen = "127.0.0.1:0"});
  server->StopListening();
  bool is_refused = false;
  SystemClock waiting;
  for (int turn = 0; turn < kPatienceS * 100 && !is_refused; ++turn) {
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    is_refused = !Connect(descriptor, server->address());
    close(descriptor);
    waiting.SleepFor(10 * kNsPerMs);
  }
  EXPECT_TRUE(is_refused);
}

}  // namespace
}  // namespace aster::serve
