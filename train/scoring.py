# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Whether a reply has the right answer: the exact text, except for case, spaces and a full stop at the end."""

import json


def _plain(text):
    return " ".join(text.split()).rstrip(".").lower()


def _json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def _call(text):
    begin, end = text.find("<tool_call>"), text.find("</tool_call>")
    return _json(text[begin + len("<tool_call>"):end]) if 0 <= begin < end else None


def is_right(reply, answer, extract):
    if extract == "final":
        _, mark, rest = reply.rpartition("Answer:")
        return bool(mark) and _plain(rest.split("\n")[0] if rest.strip() else "") == _plain(answer)
    if extract == "json":
        return _json(reply) is not None and _json(reply) == _json(answer)
    if extract == "call":
        return _call(reply) is not None and _call(reply) == _call(answer)
    return _plain(reply) == _plain(answer)
