// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "crypto/sha256.h"
#include "net/openssl_ptr.h"

namespace aster::cluster {
namespace {

using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, net::FreedBy<EVP_MD_CTX_free>>;

}  // namespace

Result<std::vector<uint8_t>> Sign(std::string_view key_pem, Bytes bytes) {
  const net::KeyPtr key = TRY(net::ReadKey(key_pem, "the authority's key"));
  const DigestContextPtr context(EVP_MD_CTX_new());
  size_t size = 0;
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes.data(), bytes.size()) != 1)
    return net::OpensslError(Code::kInternal, "cannot sign");
  std::vector<uint8_t> signature(size);
  if (EVP_DigestSign(context.get(), signature.data(), &size, bytes.data(), bytes.size()) != 1)
    return net::OpensslError(Code::kInternal, "cannot sign");
  signature.resize(size);
  return signature;
}

Status CheckSignature(std::string_view certificate_pem, Bytes bytes, Bytes signature) {
  const net::CertificatePtr certificate =
      TRY(net::ReadCertificate(certificate_pem, "the authority's certificate"));
  const net::KeyPtr key(X509_get_pubkey(certificate.get()));
  const DigestContextPtr context(EVP_MD_CTX_new());
  if (key == nullptr || context == nullptr ||
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1)
    return net::OpensslError(Code::kInternal, "cannot check a signature");
  if (EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes.data(),
                       bytes.size()) == 1)
    return Ok();
  net::TakeOpensslErrors();
  return Error(Code::kPermissionDenied, "the signature is not by this cluster's authority");
}

crypto::Sha256Digest ProofOf(Bytes secret, std::span<const std::string_view> parts) {
  ByteWriter message;
  for (const std::string_view part : parts) {
    message.Write<uint64_t>(part.size());
    message.WriteBytes(AsBytes(part));
  }
  crypto::Sha256Digest digest{};
  unsigned int size = digest.size();
  CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), message.bytes().data(),
             message.size(), digest.data(), &size) != nullptr);
  return digest;
}

}  // namespace aster::cluster
