// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Which web pages may send requests, by the headers Origin and Host of browsers. Must not know
// paths or keys.
#pragma once

#include <string_view>

namespace aster::serve {

// Whether a header Origin names a web page. For a file, or a frame without an origin of its own, it
// is "null": a page of unknown origin.
bool IsOfPage(std::string_view origin);

// A page of this machine: "http://localhost:5173".
bool IsLoopbackOrigin(std::string_view origin);

// A page of the server itself: the header Host is the text after "://".
bool IsSameOrigin(std::string_view origin, std::string_view host);

// Whether a header Host names this server in a way that no attacker can arrange: an address, a name
// of this machine or of a local network. Other names may be DNS rebinding: an attacker's page whose
// name was made to point here.
bool IsLocalHost(std::string_view host);

}  // namespace aster::serve
