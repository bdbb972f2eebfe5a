// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The NodeId of an OpenSSL public key. For the .cc files of this folder (others have
// certificate.h). Must not know where the key is from.
#pragma once

#include <openssl/evp.h>

#include "base/result.h"
#include "wire/messages.h"

namespace aster::net {

Result<wire::NodeId> NodeIdOf(EVP_PKEY* key);

}  // namespace aster::net
