// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/conversation.h"

#include "chat/prompt.h"

namespace aster::respond {

void SetThinking(bool thinks, Conversation& conversation) {
  chat::AddThinking(thinks, conversation.variables);
}

}  // namespace aster::respond
