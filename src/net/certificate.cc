// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/certificate.h"

#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>

#include "crypto/secrets.h"
#include "net/node_id.h"
#include "net/openssl_ptr.h"

namespace aster::net {
namespace {

constexpr size_t kMaxNameBytes = 64;  // X.520 allows no longer common name

template <typename T>
Result<std::string> ToPem(int (*write)(BIO*, const T*), const T* object) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get(), object) != 1) {
    return OpensslError(Code::kInternal, "cannot write PEM");
  }
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Status SetName(X509_NAME* name, std::string_view common_name) {
  if (common_name.empty() || common_name.size() > kMaxNameBytes) {
    return InvalidArgument(fmt::format("the name '{}' has {} bytes: give one of 1 to {}",
                                       common_name, common_name.size(), kMaxNameBytes));
  }
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(common_name.data()),
                                 static_cast<int>(common_name.size()), -1, 0) != 1) {
    return OpensslError(Code::kInvalidArgument, fmt::format("the name '{}'", common_name));
  }
  return Ok();
}

// A certificate whose issuer is its own name counts as self-signed. So an authority's name has a
// part that no node's has, and a node may have the name of its cluster.
Status MarkAuthority(X509_NAME* name) {
  const std::string_view mark = "Asterism cluster";
  if (X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(mark.data()),
                                 static_cast<int>(mark.size()), -1, 0) != 1) {
    return OpensslError(Code::kInternal, "the authority's name");
  }
  return Ok();
}

std::string NameOf(const X509_NAME* name) {
  const int index = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (index < 0) return "";
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return "";
  std::string result(reinterpret_cast<const char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return result;
}

Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpensslError(Code::kInternal, "cannot add to a certificate");
  }
  return Ok();
}

// The common part of authorities' and nodes' certificates.
Result<CertificatePtr> NewCertificate(EVP_PKEY* key, std::string_view name,
                                      const Validity& validity) {
  if (validity.begin_s >= validity.end_s) {
    return InvalidArgument("a certificate that expires before it begins");
  }
  CertificatePtr certificate(X509_new());
  if (certificate == nullptr) return OpensslError(Code::kResourceExhausted, "a certificate");
  const std::vector<uint8_t> serial = TRY(crypto::RandomSecret(16));
  ASN1_INTEGER* number = X509_get_serialNumber(certificate.get());
  BIGNUM* big = BN_bin2bn(serial.data(), static_cast<int>(serial.size() - 1), nullptr);
  const bool is_numbered = big != nullptr && BN_to_ASN1_INTEGER(big, number) != nullptr;
  BN_free(big);
  if (!is_numbered || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), validity.begin_s) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), validity.end_s) == nullptr ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return OpensslError(Code::kInternal, "cannot make a certificate");
  }
  TRY(SetName(X509_get_subject_name(certificate.get()), name));
  return certificate;
}

Result<std::string> SignAndWrite(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) == 0) {
    return OpensslError(Code::kInternal, "cannot sign a certificate");
  }
  return ToPem<X509>(PEM_write_bio_X509, certificate);
}

Result<RequestPtr> ReadRequest(std::string_view pem) {
  constexpr size_t kMaxRequestBytes = 16384;
  if (pem.size() > kMaxRequestBytes) {
    return InvalidArgument("a request for a certificate that is far too long");
  }
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (request == nullptr) {
    return OpensslError(Code::kInvalidArgument, "not a request for a certificate in PEM");
  }
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || X509_REQ_verify(request.get(), key) != 1) {
    return OpensslError(Code::kInvalidArgument,
                        "a request for a certificate that its own key did not sign");
  }
  return request;
}

Result<Validity> ValidityOf(const X509* certificate) {
  Validity validity;
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &time) != 1) {
    return OpensslError(Code::kDataLoss, "a certificate without a beginning");
  }
  validity.begin_s = timegm(&time);
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) {
    return OpensslError(Code::kDataLoss, "a certificate without an end");
  }
  validity.end_s = timegm(&time);
  return validity;
}

}  // namespace

Result<std::string> MakePrivateKey() {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpensslError(Code::kInternal, "cannot make a key");
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr ||
      PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpensslError(Code::kInternal, "cannot write a key");
  }
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Result<std::string> MakeAuthority(std::string_view key_pem, std::string_view name,
                                  const Validity& validity) {
  const KeyPtr key = TRY(ReadKey(key_pem, "the authority's key"));
  const CertificatePtr certificate = TRY(NewCertificate(key.get(), name, validity));
  X509* self = certificate.get();
  TRY(MarkAuthority(X509_get_subject_name(self)));
  if (X509_set_issuer_name(self, X509_get_subject_name(self)) != 1) {
    return OpensslError(Code::kInternal, "cannot make a certificate");
  }
  TRY(AddExtension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  TRY(AddExtension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign"));
  TRY(AddExtension(self, self, NID_subject_key_identifier, "hash"));
  return SignAndWrite(self, key.get());
}

Result<std::string> MakeRequest(std::string_view key_pem, std::string_view name) {
  const KeyPtr key = TRY(ReadKey(key_pem, "the node's key"));
  const RequestPtr request(X509_REQ_new());
  if (request == nullptr || X509_REQ_set_pubkey(request.get(), key.get()) != 1) {
    return OpensslError(Code::kInternal, "cannot make a request for a certificate");
  }
  TRY(SetName(X509_REQ_get_subject_name(request.get()), name));
  if (X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0) {
    return OpensslError(Code::kInternal, "cannot sign a request for a certificate");
  }
  return ToPem<X509_REQ>(PEM_write_bio_X509_REQ, request.get());
}

Result<std::string> Certify(std::string_view authority_pem, std::string_view authority_key_pem,
                            std::string_view request_pem, std::string_view name,
                            const Validity& validity) {
  TRY(CheckKeyOfCertificate(authority_pem, authority_key_pem));
  const CertificatePtr authority = TRY(ReadCertificate(authority_pem, "the authority"));
  if (X509_check_ca(authority.get()) != 1) {
    return FailedPrecondition(fmt::format("'{}' is a node, not the authority of a cluster",
                                          NameOf(X509_get_subject_name(authority.get()))));
  }
  const KeyPtr authority_key = TRY(ReadKey(authority_key_pem, "the authority's key"));
  const RequestPtr request = TRY(ReadRequest(request_pem));
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  const wire::NodeId node = TRY(NodeIdOf(key));
  const CertificatePtr certificate = TRY(NewCertificate(key, name, validity));
  X509* self = certificate.get();
  // Only with an authority from before MarkAuthority.
  if (X509_NAME_cmp(X509_get_subject_name(self), X509_get_subject_name(authority.get())) == 0) {
    return InvalidArgument(fmt::format(
        "the cluster itself is called {}, and its keys are too old for a node of that name: choose "
        "another one with --name",
        name));
  }
  if (X509_set_issuer_name(self, X509_get_subject_name(authority.get())) != 1) {
    return OpensslError(Code::kInternal, "cannot make a certificate");
  }
  X509* issuer = authority.get();
  TRY(AddExtension(self, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  TRY(AddExtension(self, issuer, NID_key_usage, "critical,digitalSignature"));
  TRY(AddExtension(self, issuer, NID_ext_key_usage, "serverAuth,clientAuth"));
  TRY(AddExtension(self, issuer, NID_authority_key_identifier, "keyid"));
  TRY(AddExtension(self, issuer, NID_subject_alt_name,
                   fmt::format("DNS:node.aster,DNS:{}.aster", node.value.ToHex())));
  return SignAndWrite(self, authority_key.get());
}

Result<wire::NodeId> NodeIdOf(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = key == nullptr ? -1 : i2d_PUBKEY(key, &der);
  if (size <= 0) return OpensslError(Code::kInvalidArgument, "a public key that cannot be read");
  const crypto::Sha256Digest digest = crypto::Sha256Of({der, static_cast<size_t>(size)});
  OPENSSL_free(der);
  return NodeIdOfDigest(digest);
}

wire::NodeId NodeIdOfDigest(const crypto::Sha256Digest& digest) {
  wire::NodeId node;
  for (int i = 0; i < 8; ++i) {
    node.value.high = node.value.high << 8 | digest[i];
    node.value.low = node.value.low << 8 | digest[8 + i];
  }
  return node;
}

Result<wire::NodeId> NodeIdOfKey(std::string_view key_pem) {
  const KeyPtr key = TRY(ReadKey(key_pem, "the key"));
  return NodeIdOf(key.get());
}

Result<wire::NodeId> NodeIdOfCertificate(std::string_view certificate_pem) {
  const CertificatePtr certificate = TRY(ReadCertificate(certificate_pem, "the certificate"));
  return NodeIdOf(X509_get0_pubkey(certificate.get()));
}

Result<wire::NodeId> NodeIdOfRequest(std::string_view request_pem) {
  const RequestPtr request = TRY(ReadRequest(request_pem));
  return NodeIdOf(X509_REQ_get0_pubkey(request.get()));
}

Result<CertificateInfo> DescribeCertificate(std::string_view certificate_pem) {
  const CertificatePtr certificate = TRY(ReadCertificate(certificate_pem, "the certificate"));
  CertificateInfo info;
  info.name = NameOf(X509_get_subject_name(certificate.get()));
  info.node = TRY(NodeIdOf(X509_get0_pubkey(certificate.get())));
  info.validity = TRY(ValidityOf(certificate.get()));
  info.is_authority = X509_check_ca(certificate.get()) == 1;
  unsigned int size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), info.sha256.data(), &size) != 1) {
    return OpensslError(Code::kInternal, "cannot hash a certificate");
  }
  return info;
}

Status CheckCertificate(std::string_view authority_pem, std::string_view certificate_pem,
                        int64_t now_s) {
  const CertificatePtr authority = TRY(ReadCertificate(authority_pem, "the authority"));
  const CertificatePtr certificate = TRY(ReadCertificate(certificate_pem, "the certificate"));
  const StorePtr store(X509_STORE_new());
  const StoreContextPtr context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr ||
      X509_STORE_add_cert(store.get(), authority.get()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr) != 1) {
    return OpensslError(Code::kInternal, "cannot check a certificate");
  }
  X509_STORE_CTX_set_time(context.get(), 0, now_s);
  if (X509_verify_cert(context.get()) == 1) return Ok();
  const int reason = X509_STORE_CTX_get_error(context.get());
  TakeOpensslErrors();
  return Error(Code::kUnauthenticated,
               fmt::format("the certificate of '{}' is not valid for the cluster of '{}': {}",
                           NameOf(X509_get_subject_name(certificate.get())),
                           NameOf(X509_get_subject_name(authority.get())),
                           X509_verify_cert_error_string(reason)));
}

Status CheckKeyOfCertificate(std::string_view certificate_pem, std::string_view key_pem) {
  const CertificatePtr certificate = TRY(ReadCertificate(certificate_pem, "the certificate"));
  const KeyPtr key = TRY(ReadKey(key_pem, "the key"));
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return Ok();
  TakeOpensslErrors();
  return InvalidArgument(
      fmt::format("the private key is not that of the certificate of '{}': were files of two "
                  "nodes mixed up?",
                  NameOf(X509_get_subject_name(certificate.get()))));
}

}  // namespace aster::net
