// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/invite_code.h"

#include <fmt/format.h>

#include "cluster/word_lines.h"
#include "crypto/secrets.h"
#include "crypto/sha256.h"

namespace aster::cluster {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";  // five bits each
static_assert(kAlphabet.size() == 32);
constexpr size_t kSecretSymbols = 18;
constexpr size_t kSymbols = 20;
constexpr size_t kGroup = 5;

char Canonical(char c) {
  if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  if (c == 'I' || c == 'L') return '1';
  if (c == 'O') return '0';
  return c == 'U' ? 'V' : c;
}

crypto::Sha256Digest DigestOf(std::string_view purpose, std::string_view symbols) {
  return crypto::Sha256Of(AsBytes(fmt::format("{}:{}", purpose, symbols)));
}

std::string Checksum(std::string_view secret_symbols) {
  const crypto::Sha256Digest digest = DigestOf("asterism code checksum", secret_symbols);
  return {kAlphabet[digest[0] % 32], kAlphabet[digest[1] % 32]};
}

}  // namespace

Result<InviteCode> InviteCode::Draw() {
  std::string symbols;
  for (const uint8_t byte : TRY(crypto::RandomSecret(kSecretSymbols)))
    symbols += kAlphabet[byte % 32];
  return InviteCode(symbols + Checksum(symbols));
}

Result<InviteCode> InviteCode::Parse(std::string_view text) {
  std::string symbols;
  for (const char c : text) {
    if (c == '-' || c == ' ') continue;
    symbols += Canonical(c);
    if (kAlphabet.find(symbols.back()) == std::string_view::npos || symbols.size() > kSymbols) {
      return InvalidArgument("that is not a code: four groups of five letters and digits");
    }
  }
  if (symbols.size() != kSymbols) {
    return InvalidArgument(
        fmt::format("the code has {} letters and digits of {}; it is four groups of five",
                    symbols.size(), kSymbols));
  }
  if (Checksum(symbols.substr(0, kSecretSymbols)) != symbols.substr(kSecretSymbols))
    return InvalidArgument("the code is mistyped; compare it letter by letter");
  return InviteCode(std::move(symbols));
}

std::string InviteCode::ToText() const {
  std::string text;
  for (size_t i = 0; i < kSymbols; i += kGroup) {
    if (i > 0) text += '-';
    text += symbols_.substr(i, kGroup);
  }
  return text;
}

std::string InviteCode::Id() const {
  return ToHex(Bytes(DigestOf("asterism invitation", symbols_)).first(8));
}

std::vector<uint8_t> InviteCode::Secret() const {
  const crypto::Sha256Digest digest = DigestOf("asterism code secret", symbols_);
  return {digest.begin(), digest.end()};
}

}  // namespace aster::cluster
