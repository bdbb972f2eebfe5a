# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The two chat formats of the built-in models: as Jinja for the model files, and as Python for the corpus.

tests/train checks that both are the same.
"""

import json

# Weights of a token's loss: replies are to be learned, users' texts only a little.
FULL, PLAIN, LITTLE = 10, 6, 1

_TOOLS_INTRO = "Tools, one a line. To use one, write <tool_call>{\"name\": ..., \"arguments\": {...}}</tool_call>."

_SYSTEM_JINJA = """\
{%- set first = messages[0] if messages and messages[0].role == 'system' else none %}
{%- if first or tools %}
    {{- SYSTEM_BEGIN }}
    {%- if first %}{{ first.content }}{% endif %}
    {%- if first and tools %}{{ '\\n\\n' }}{% endif %}
    {%- if tools %}
        {{- '""" + _TOOLS_INTRO + """' }}
        {%- for tool in tools %}{{ '\\n' + tool | tojson }}{% endfor %}
    {%- endif %}
    {{- END }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role != 'system' or not loop.first %}
        {{- BEGIN_OF_ROLE }}
        {%- if message.content %}{{ message.content }}{% endif %}
        {%- for call in message.tool_calls or [] %}
            {%- set function = call.function or call %}
            {{- '<tool_call>{"name": ' + function.name | tojson + ', "arguments": ' }}
            {{- function.arguments if function.arguments is string else function.arguments | tojson }}
            {{- '}</tool_call>' }}
        {%- endfor %}
        {{- END }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ BEGIN_OF_REPLY }}{% endif %}"""


class Format:
    """A chat format: the text that begins a turn of a role, and the text that ends it."""

    def __init__(self, begin, end, control, end_token):
        self.begin = begin          # with {} for the role
        self.end = end
        self.control = control      # its control tokens
        self.end_token = end_token  # the token that ends a reply
        self.visible = ["<tool_call>", "</tool_call>"]

    def jinja(self):
        before, after = (json.dumps(part) for part in self.begin.split("{}"))
        names = {"SYSTEM_BEGIN": json.dumps(self.begin.format("system")), "END": json.dumps(self.end),
                 "BEGIN_OF_ROLE": f"{before} + message.role + {after}",
                 "BEGIN_OF_REPLY": json.dumps(self.begin.format("assistant"))}
        text = _SYSTEM_JINJA
        for name, value in names.items():
            for opening in ("{{- ", "{{ "):
                text = text.replace(opening + name + " }}", opening + value + " }}")
        return text

    def segments(self, turns):
        """A document as (text, weight of its tokens). The end of a reply counts as part of the reply."""
        turns = list(turns)
        if turns[0][0] == "text":
            return [(turns[0][1], PLAIN), (self.separator, PLAIN)]
        system = [text for role, text in turns if role == "system"]
        tools = [json.loads(text) for role, text in turns if role == "tools"]
        result = []
        if system or tools:
            parts = system + ["\n".join([_TOOLS_INTRO] + [json.dumps(tool) for tool in tools[0]])] if tools else system
            result.append((self.begin.format("system") + "\n\n".join(parts) + self.end, LITTLE))
        ending, after = self.end_token, self.end[len(self.end_token):]
        for role, text in turns:
            if role in ("tools", "system"):
                continue
            result.append((self.begin.format(role), LITTLE))
            weight = FULL if role == "assistant" else LITTLE
            result += [(text + ending, weight), (after, LITTLE)]
        return result + [(self.separator, LITTLE)]

    @property
    def separator(self):
        return self.control[0]

    def prompt(self, turns):
        """The prompt for a reply."""
        return "".join(text for text, _ in self.segments(turns)[:-1]) + self.begin.format("assistant")


NOVA = Format("<|im_start|>{}\n", "<|im_end|>\n", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "<|im_end|>")
PULSAR = Format("<|{}|>\n", "</s>\n", ["</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"], "</s>")
