// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/openssl_ptr.h"

#include <fmt/format.h>
#include <openssl/pem.h>

namespace aster::net {
namespace {

// Never asks for a password at the terminal: keys have none.
int NoPassword(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*unused*/) { return -1; }

constexpr size_t kMaxPemBytes = 65536;

Result<BioPtr> OpenPem(std::string_view pem, std::string_view what) {
  if (pem.size() > kMaxPemBytes) {
    return InvalidArgument(fmt::format("{}: {} bytes are too many for PEM (at most {})", what,
                                       pem.size(), kMaxPemBytes));
  }
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) return OpensslError(Code::kResourceExhausted, what);
  return bio;
}

}  // namespace

std::string TakeOpensslErrors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {  // NOLINT(google-runtime-int)
    const char* reason = ERR_reason_error_string(code);
    if (!text.empty()) text += "; ";
    text += reason != nullptr ? reason : fmt::format("error {:x}", code);
  }
  return text;
}

Error OpensslError(Code code, std::string_view what) {
  const std::string reason = TakeOpensslErrors();
  return {code, reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason)};
}

Result<KeyPtr> ReadKey(std::string_view pem, std::string_view what) {
  const BioPtr bio = TRY(OpenPem(pem, what));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) {
    return OpensslError(Code::kInvalidArgument,
                        fmt::format("{}: not a private key in PEM without a password", what));
  }
  return key;
}

Result<CertificatePtr> ReadCertificate(std::string_view pem, std::string_view what) {
  const BioPtr bio = TRY(OpenPem(pem, what));
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr) {
    return OpensslError(Code::kInvalidArgument, fmt::format("{}: not a certificate in PEM", what));
  }
  return certificate;
}

}  // namespace aster::net
