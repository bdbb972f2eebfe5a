// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Owning pointers to OpenSSL's objects, and its errors as ours. For the .cc files of this folder.
// Must not know what they are used for.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aster::net {

template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, FreedBy<X509_REQ_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using StorePtr = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreedBy<SSL_free>>;

// Returns and clears OpenSSL's errors of the last call.
std::string TakeOpensslErrors();
Error OpensslError(Code code, std::string_view what);

// From PEM; errors name it `what`.
Result<KeyPtr> ReadKey(std::string_view pem, std::string_view what);
Result<CertificatePtr> ReadCertificate(std::string_view pem, std::string_view what);

}  // namespace aster::net
