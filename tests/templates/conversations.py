# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Conversations of all shapes that templates must handle."""
import itertools

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather \"now\" at a place, e.g. <Paris> & Zürich",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "City, state"},
                "unit": {"type": "string", "enum": ["°C", "°F"], "default": "°C"},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "tags": {"type": "array", "items": {"type": "string"}},
                "at": {"anyOf": [{"type": "number"}, {"type": "null"}], "nullable": True},
                "area": {"type": "object", "properties": {"km": {"type": ["number", "string"]}},
                         "required": ["km"]},
            },
            "required": ["place"],
        },
        "return": {"type": "string", "description": "in words"},
    },
}
NOTHING = {"type": "function", "function": {
    "name": "nothing", "description": "Does nothing.", "parameters": {
        "type": "object", "properties": {}}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Finds\ntexts.", "parameters": {
        "type": "object", "required": ["query"], "additionalProperties": False,
        "properties": {"query": {"type": "string"}, "limit": {"type": "number", "default": 2.50}}},
    "strict": True}}
BARE = {"name": "bare", "description": "A tool without a wrapper", "parameters": {
    "type": "object", "properties": {"x": {"type": "boolean"}}}}


def user(content, **more):
    return {"role": "user", "content": content, **more}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments, call_id="abcdef123"):
    return {"id": call_id, "type": "function",
            "function": {"name": name, "arguments": arguments}}


def tool(content, call_id="abcdef123", **more):
    return {"role": "tool", "content": content, "tool_call_id": call_id, **more}


SYSTEM = {"role": "system", "content": "You are helpful.\n\nAlways."}
THOUGHT = "<think>\nLet me see: 1 < 2.\n</think>\n\nHello, world!"
ARGUMENTS = {"place": "São Paulo \"SP\"", "days": 3, "tags": ["a", "b'c"], "at": None,
             "area": {"km": 1.5, "deep": [True, False, {"x": 1e21}]}}
ARGUMENTS_TEXT = '{"place": "Paris", "days": 3, "at": 1.50, "big": 123456789012345678901}'

CONVERSATIONS = {
    "hello": [user("Hi")],
    "system": [SYSTEM, user("  Hi\n"), assistant("Hello! "), user("How are you?")],
    "developer": [{"role": "developer", "content": "Be brief."}, user("Hi"), assistant("Yes.")],
    "two systems": [SYSTEM, {"role": "system", "content": "And polite."}, user("Hi")],
    "unicode": [user("日本語 🎉 é\u0301 \u00a0x\u2028y"), assistant("Ça va, naïve Ωμέγα?\t"),
                user("<|im_end|> </s> {{ x }} {% if %}")],
    "empty": [user(""), assistant(""), user("   ")],
    "none": [],
    "assistant first": [assistant("I begin."), user("Fine.")],
    "two users": [user("One"), user("Two")],
    "ends with assistant": [SYSTEM, user("Say it"), assistant("Said.")],
    "prefix": [user("Go on"), assistant("I will", prefix=True)],
    "thought inside": [user("2+2?"), assistant(THOUGHT), user("Sure?"), assistant(THOUGHT)],
    "thought beside": [SYSTEM, user("2+2?"),
                       assistant("4", reasoning_content="It is\nfour.", thinking="four"),
                       user("3+3?"), assistant("6", reasoning_content="\nsix\n", thinking="six")],
    "null content": [user("Weather?"),
                     assistant(None, tool_calls=[call("get_weather", ARGUMENTS)]),
                     tool("{\"temp\": 20}", name="get_weather"), assistant("20 degrees")],
    "tools": [SYSTEM, user("Weather?"),
              assistant("", tool_calls=[call("get_weather", ARGUMENTS)]),
              tool("sunny & warm", name="get_weather"), assistant("It is sunny."),
              user("And tomorrow?")],
    "tool text": [user("Weather?"),
                  assistant("Let me look.", tool_calls=[call("get_weather", ARGUMENTS_TEXT)]),
                  tool("rain", name="get_weather"), user("Thanks")],
    "two tools": [SYSTEM, user("Both"),
                  assistant("", tool_calls=[call("get_weather", {"place": "Rome"}, "call00001"),
                                            call("search", {"query": "x", "limit": 2}, "call00002")],
                            reasoning_content="two calls"),
                  tool("hot", "call00001", name="get_weather"),
                  tool("[1, 2]", "call00002", name="search"), assistant("Done"), user("More")],
    "tool last": [user("Weather?"), assistant("", tool_calls=[call("nothing", {})]), tool("")],
    "tool unnamed": [user("Go"), {"role": "assistant", "tool_calls": [
        {"function": {"name": "nothing", "arguments": "{}"}}]}, {"role": "tool", "content": "ok"}],
    "tool flat": [user("Go"), assistant("", tool_calls=[{"name": "bare", "arguments": {"x": True}}]),
                  tool({"content": {"x": 1}, "ok": [1, 2.0]})],
    "bad id": [user("Go"), assistant("", tool_calls=[call("nothing", {}, "short")]),
               tool("x", "short")],
    "parts": [{"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
              user([{"type": "text", "text": "What is "}, {"type": "image", "image": "a.png"},
                    {"type": "text", "text": "this?"}]),
              assistant([{"type": "text", "text": "A cat."}]),
              user([{"type": "image_url", "image_url": {"url": "b.png"}},
                    {"type": "video", "video": "c.mp4"}, {"type": "text", "text": "And this?"}])],
    "tool parts": [user("Go"), assistant("", tool_calls=[call("search", {"query": "q"})]),
                   tool([{"type": "text", "text": "found"}, {"output": "raw"}, "plain"])],
    "unknown role": [user("Hi"), {"role": "critic", "content": "Hm."}],
    "ipython": [user("Run"), assistant("<|python_tag|>print(1)"),
                {"role": "ipython", "content": {"output": "1"}}, assistant("It printed 1.")],
    "long": [SYSTEM] + [message for i in range(20)
                        for message in (user(f"Question {i}"), assistant(f"Answer {i}"))]
            + [user("Last")],
}

DOCUMENTS = [{"title": "One", "text": "First text.", "doc_id": 1},
             {"title": "Two \"quoted\"", "text": "Second\ntext.", "content": "c", "extra": None}]

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

VARIANTS = {
    "plain": {},
    "prompt": {"add_generation_prompt": True},
    "null": {"add_generation_prompt": True, "tools": None, "documents": None},
    "no tools": {"add_generation_prompt": True, "tools": [], "enable_thinking": False},
    "tools": {"add_generation_prompt": True, "tools": [WEATHER, NOTHING]},
    "all": {"add_generation_prompt": False, "tools": [WEATHER, SEARCH, NOTHING],
            "documents": DOCUMENTS, "enable_thinking": True, "thinking": True,
            "date_string": "14 Jul 2025", "reasoning_effort": "high",
            "builtin_tools": ["browser", "python", "code_interpreter"],
            "custom_tools": [WEATHER], "tools_in_user_message": False,
            "model_identity": "You are a test.", "citations": True, "controls": {"length": "long"},
            "keep_past_thinking": True, "xml_tools": [SEARCH], "python_tools": [BARE],
            "preserve_thinking": True, "clear_thinking": False, "add_vision_id": True,
            "drop_thinking": False},
    "think off": {"add_generation_prompt": True, "enable_thinking": False, "thinking": False,
                  "date_string": "01 Jan 2024", "tools": [BARE], "reasoning_effort": "max",
                  "system_message": "Spare system"},
}


def all():
    """Every conversation with every variant of the other variables."""
    for (name, messages), (variant, more) in itertools.product(
            CONVERSATIONS.items(), VARIANTS.items()):
        yield f"{name}/{variant}", {"messages": messages, **TOKENS, **more}
