// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/tls.h"

#include <fmt/format.h>
#include <sys/socket.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <cerrno>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/process_limits.h"
#include "net/certificate.h"
#include "net/node_id.h"
#include "net/openssl_ptr.h"

namespace aster::net {
namespace {

// The size of a read system call: sixteen records of at most 16 KiB.
constexpr size_t kReadBytes = 256 << 10;
// The size of a write system call: one call per record takes longer than copying records together;
// with larger ones the peer waits for the first record.
constexpr size_t kWriteBytes = 128 << 10;

bool HasFastAes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes");
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
  return false;
#endif
}

// Between OpenSSL and a socket: gathers records, keeps bytes that the system does not accept, and
// raises no SIGPIPE.
class SocketBio {
 public:
  explicit SocketBio(int descriptor) : descriptor_(descriptor) {}

  // Makes an OpenSSL object that uses this one, which must outlive it.
  Result<BioPtr> MakeBio();

  bool HasUnsent() const { return sent_ < unsent_.size(); }
  // False if the connection is broken.
  bool Send();

 private:
  static const BIO_METHOD* Method();
  static SocketBio* Of(BIO* bio) { return static_cast<SocketBio*>(BIO_get_data(bio)); }
  static int Read(BIO* bio, char* data, size_t size, size_t* read);
  static int Write(BIO* bio, const char* data, size_t size, size_t* written);
  static long Control(BIO* bio, int command, long value, void* pointer);  // NOLINT

  const int descriptor_;
  std::vector<uint8_t> unsent_;
  size_t sent_ = 0;  // of unsent_
};

const BIO_METHOD* SocketBio::Method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "aster socket");
    CHECK(method != nullptr);
    BIO_meth_set_read_ex(method, Read);
    BIO_meth_set_write_ex(method, Write);
    BIO_meth_set_ctrl(method, Control);
    return method;
  }();
  return kMethod;
}

Result<BioPtr> SocketBio::MakeBio() {
  BioPtr bio(BIO_new(Method()));
  if (bio == nullptr) return OpensslError(Code::kResourceExhausted, "a connection");
  BIO_set_data(bio.get(), this);
  BIO_set_init(bio.get(), 1);
  return bio;
}

bool SocketBio::Send() {
  while (HasUnsent()) {
    const ssize_t count =
        send(descriptor_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count < 0) return false;
    sent_ += static_cast<size_t>(count);
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

int SocketBio::Read(BIO* bio, char* data, size_t size, size_t* read) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = recv(Of(bio)->descriptor_, data, size, 0);
  *read = count > 0 ? static_cast<size_t>(count) : 0;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return count > 0 ? 1 : 0;
}

int SocketBio::Write(BIO* bio, const char* data, size_t size, size_t* written) {
  BIO_clear_retry_flags(bio);
  SocketBio& self = *Of(bio);
  *written = 0;
  if (self.unsent_.size() - self.sent_ + size > kWriteBytes) {
    // Makes room by sending what is buffered.
    if (!self.Send()) return 0;
    if (self.HasUnsent()) {
      BIO_set_retry_write(bio);
      return 0;
    }
  }
  self.unsent_.insert(self.unsent_.end(), data, data + size);
  *written = size;
  return 1;
}

long SocketBio::Control(BIO* bio, int command, long /*value*/, void* /*pointer*/) {  // NOLINT
  // A flush may leave bytes: Stream::Flush sends them later.
  if (command == BIO_CTRL_FLUSH) return Of(bio)->Send() ? 1 : 0;
  return 0;
}

class OpensslStream final : public TlsStream {
 public:
  OpensslStream(Socket socket, SslPtr ssl, bool wants_peer)
      : wants_peer_(wants_peer),
        socket_(std::move(socket)),
        bio_(socket_.descriptor()),
        ssl_(std::move(ssl)) {}

  Status Attach() EXCLUDES(mu_) {
    MutexLock lock(mu_);
    BioPtr bio = TRY(bio_.MakeBio());
    BIO_up_ref(bio.get());  // once for reading, once for writing
    SSL_set0_rbio(ssl_.get(), bio.get());
    SSL_set0_wbio(ssl_.get(), bio.release());
    return Ok();
  }

  int descriptor() const override { return socket_.descriptor(); }
  std::optional<wire::NodeId> peer() const override { return peer_; }

  Result<bool> Prepare() override EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (is_prepared_) return true;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    // Not done yet, or refused: then the alert must be sent before the socket is closed.
    if (result != 1) {
      const int reason = SSL_get_error(ssl_.get(), result);
      if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return false;
      // The alert with the reason may still be buffered.
      bio_.Send();
      return HandshakeError(reason);
    }
    if (wants_peer_) peer_ = TRY(NodeIdOf(X509_get0_pubkey(SSL_get0_peer_certificate(ssl_.get()))));
    is_prepared_ = true;
    return true;
  }

  Result<size_t> Read(std::span<uint8_t> bytes) override EXCLUDES(mu_) {
    MutexLock lock(mu_);
    size_t total = 0;
    while (total < bytes.size()) {
      size_t count = 0;
      ERR_clear_error();
      const int result =
          SSL_read_ex(ssl_.get(), bytes.data() + total, bytes.size() - total, &count);
      if (result != 1) {
        const int reason = SSL_get_error(ssl_.get(), result);
        // After some bytes, the next call reports the error.
        if (total > 0 || reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) break;
        return BrokenBy(reason);
      }
      total += count;
    }
    return total;
  }

  Result<size_t> Write(std::span<const Bytes> pieces) override EXCLUDES(mu_) {
    MutexLock lock(mu_);
    size_t total = 0;
    for (const Bytes& piece : pieces) {
      size_t offset = 0;
      while (offset < piece.size()) {
        size_t count = 0;
        ERR_clear_error();
        const int result =
            SSL_write_ex(ssl_.get(), piece.data() + offset, piece.size() - offset, &count);
        if (result != 1) {
          const int reason = SSL_get_error(ssl_.get(), result);
          if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return total;
          return BrokenBy(reason);
        }
        offset += count;
        total += count;
      }
    }
    if (!bio_.Send()) return ClosedByPeer();
    return total;
  }

  Status Flush() override EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (!bio_.Send()) return ClosedByPeer();
    return Ok();
  }

  bool HasUnsent() const override EXCLUDES(mu_) {
    MutexLock lock(mu_);
    return bio_.HasUnsent();
  }

  // Ends the TLS session first: without that, a third party may have cut the connection.
  void FinishWriting() override EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (is_prepared_) {
      ERR_clear_error();
      SSL_shutdown(ssl_.get());
      bio_.Send();
      TakeOpensslErrors();
    }
    shutdown(socket_.descriptor(), SHUT_WR);
  }

 private:
  Error HandshakeError(int reason) REQUIRES(mu_) {
    const long verdict = SSL_get_verify_result(ssl_.get());  // NOLINT(google-runtime-int)
    if (verdict != X509_V_OK) {
      TakeOpensslErrors();
      return {Code::kUnauthenticated,
              fmt::format("its certificate is not of this cluster ({}): join it to the cluster, or "
                          "check its clock",
                          X509_verify_cert_error_string(verdict))};
    }
    return BrokenBy(reason);
  }

  Error BrokenBy(int reason) REQUIRES(mu_) {
    const unsigned long code = ERR_peek_error();  // NOLINT(google-runtime-int)
    if (reason == SSL_ERROR_SSL && ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET) {
      return {Code::kUnauthenticated,
              fmt::format("it does not take this node's certificate ({}): are both of the same "
                          "cluster, and their clocks right?",
                          TakeOpensslErrors())};
    }
    if (reason == SSL_ERROR_SSL && ERR_GET_REASON(code) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
      return {Code::kUnauthenticated,
              fmt::format("no protected connection: {}", TakeOpensslErrors())};
    }
    TakeOpensslErrors();
    return ClosedByPeer();
  }

  const bool wants_peer_;
  const Socket socket_;
  std::optional<wire::NodeId> peer_;  // set by Prepare, before other threads use the stream
  mutable Mutex mu_;
  bool is_prepared_ GUARDED_BY(mu_) = false;
  SocketBio bio_ GUARDED_BY(mu_);  // outlives ssl_, which points to it
  SslPtr ssl_ GUARDED_BY(mu_);
};

class OpensslContext final : public TlsContext {
 public:
  OpensslContext(SslContextPtr context, bool wants_peer)
      : context_(std::move(context)), wants_peer_(wants_peer) {}

  Result<std::unique_ptr<TlsStream>> MakeStream(Socket socket, bool is_server) override {
    SslPtr ssl(SSL_new(context_.get()));
    if (ssl == nullptr) return OpensslError(Code::kResourceExhausted, "a protected connection");
    if (is_server) {
      SSL_set_accept_state(ssl.get());
    } else {
      SSL_set_connect_state(ssl.get());
    }
    auto stream = std::make_unique<OpensslStream>(std::move(socket), std::move(ssl), wants_peer_);
    TRY(stream->Attach());
    return std::unique_ptr<TlsStream>(std::move(stream));
  }

 private:
  const SslContextPtr context_;
  const bool wants_peer_;
};

Status Configure(SSL_CTX* context) {
  SSL_CTX_set_options(
      context, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_num_tickets(context, 0);  // connections are few and long
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_verify_depth(context, 1);
  SSL_CTX_set_max_cert_list(context, 16384);  // limit for unauthenticated peers
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadBytes);
  // Machines without AES instructions ask for the other cipher first, and get it.
  const char* ciphers = HasFastAes() ? "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
                                     : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
  if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, ciphers) != 1) {
    return OpensslError(Code::kInternal, "TLS 1.3 cannot be set up");
  }
  return Ok();
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::Make(const Credentials& credentials) {
  const SystemClock clock;
  TRY(CheckKeyOfCertificate(credentials.certificate, credentials.key)
          .In("this node's certificate"));
  TRY(CheckCertificate(credentials.authority, credentials.certificate,
                       clock.WallNs() / kNsPerSecond)
          .In("this node's certificate"));
  const CertificatePtr authority = TRY(ReadCertificate(credentials.authority, "the authority"));
  const CertificatePtr own = TRY(ReadCertificate(credentials.certificate, "the certificate"));
  const KeyPtr key = TRY(ReadKey(credentials.key, "the key"));
  SslContextPtr context(SSL_CTX_new(TLS_method()));
  if (context == nullptr) return OpensslError(Code::kInternal, "TLS cannot be set up");
  TRY(Configure(context.get()));
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority.get()) != 1 ||
      SSL_CTX_use_certificate(context.get(), own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    return OpensslError(Code::kInternal, "TLS cannot be set up");
  }
  return std::unique_ptr<TlsContext>(
      std::make_unique<OpensslContext>(std::move(context), /*wants_peer=*/true));
}

Result<std::unique_ptr<TlsContext>> TlsContext::MakeForClients(const std::string& certificate_path,
                                                               const std::string& key_path) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return OpensslError(Code::kInternal, "TLS cannot be set up");
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE |
                                         SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Never asks for a password: a server starts without a user.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
    return OpensslError(Code::kInternal, "TLS cannot be set up");
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate_path.c_str()) != 1) {
    return OpensslError(Code::kInvalidArgument,
                        certificate_path + ": no certificate in PEM can be read here");
  }
  ForbidCoreDumps();
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_path.c_str(), SSL_FILETYPE_PEM) != 1) {
    return OpensslError(Code::kInvalidArgument,
                        fmt::format("{}: no private key in PEM, without a password, that is of {}",
                                    key_path, certificate_path));
  }
  return std::unique_ptr<TlsContext>(
      std::make_unique<OpensslContext>(std::move(context), /*wants_peer=*/false));
}

}  // namespace aster::net
