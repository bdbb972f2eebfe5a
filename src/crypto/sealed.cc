// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "crypto/sealed.h"

#include <openssl/evp.h>

#include <memory>

#include "crypto/secrets.h"

namespace aster::crypto {
namespace {

// Sealed bytes: the nonce, the encrypted content of equal length, and the tag.
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr size_t kMaxSealedBytes = size_t{1} << 30;  // OpenSSL counts in int

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

Error CannotSeal() { return {Code::kInternal, "the cipher AES-256-GCM does not work here"}; }

Error NotOpened() {
  return {Code::kPermissionDenied, "the key does not fit, or the bytes were changed"};
}

int SizeOf(Bytes bytes) { return static_cast<int>(bytes.size()); }

}  // namespace

Result<std::vector<uint8_t>> Seal(const SealingKey& key, Bytes content, Bytes context) {
  if (content.size() + context.size() > kMaxSealedBytes)
    return InvalidArgument("more bytes than can be sealed");
  std::vector<uint8_t> sealed = TRY(RandomSecret(kNonceBytes));
  sealed.resize(kNonceBytes + content.size() + kTagBytes);
  uint8_t* const body = sealed.data() + kNonceBytes;
  const CipherPtr cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool is_sealed =
      cipher != nullptr &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), sealed.data()) ==
          1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, context.data(), SizeOf(context)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), body, &size, content.data(), SizeOf(content)) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), body + content.size(), &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, body + content.size()) ==
          1;
  if (!is_sealed) return CannotSeal();
  return sealed;
}

Result<std::vector<uint8_t>> Unseal(const SealingKey& key, Bytes sealed, Bytes context) {
  if (sealed.size() < kNonceBytes + kTagBytes || sealed.size() + context.size() > kMaxSealedBytes)
    return NotOpened();
  const Bytes body = sealed.subspan(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::vector<uint8_t> tag(sealed.end() - kTagBytes, sealed.end());
  std::vector<uint8_t> content(body.size());
  const CipherPtr cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool is_ready =
      cipher != nullptr &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), sealed.data()) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, context.data(), SizeOf(context)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), content.data(), &size, body.data(), SizeOf(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1;
  if (!is_ready) return CannotSeal();
  uint8_t none = 0;  // the mode has no last block
  if (EVP_DecryptFinal_ex(cipher.get(), &none, &size) != 1) return NotOpened();
  return content;
}

}  // namespace aster::crypto
