// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/conversation.h"

#include "chat/prompt.h"

namespace aster::respond {

void SetReasoning(bool reasons, Conversation& conversation) {
  chat::AddReasoning(reasons, conversation.variables);
}

}  // namespace aster::respond
