# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Text with a strict form: JSON, calls of tools, small programs."""

import json

from . import village, words
from .item import Item


def record(rng):
    """Something with named values, and a sentence that gives them."""
    p, q = village.people(rng, 2)
    kind = rng.randrange(4)
    if kind == 0:
        values = {"name": p.name, "age": rng.randint(5, 80), "home": rng.choice(words.PLACES)}
        text = f"{values['name']} is {values['age']} years old and lives at the {values['home']}."
    elif kind == 1:
        values = {"item": rng.choice(words.OBJECTS), "colour": rng.choice(words.COLOURS), "price": rng.randint(1, 99)}
        text = f"The {values['item']} is {values['colour']} and costs {values['price']} coins."
    elif kind == 2:
        values = {"from": p.name, "to": q.name, "gift": rng.choice(words.OBJECTS)}
        text = f"{p.name} gives {words.a(values['gift'])} to {q.name}."
    else:
        values = {"animal": rng.choice(words.ANIMALS), "name": rng.choice(village.PET_NAMES),
                  "legs": rng.choice([2, 4]), "hungry": rng.random() < 0.5}
        text = (f"{values['name']} is {words.a(values['animal'])} with {values['legs']} legs and is "
                f"{'hungry' if values['hungry'] else 'not hungry'}.")
    return values, text


def write_json(rng):
    """A sentence as JSON."""
    values, text = record(rng)
    shown = json.dumps(values)
    keys = ", ".join(values)
    ask = rng.choice([f"Write this as JSON with the keys {keys}: {text}",
                      f"{text} Give me that as JSON with the keys {keys}."])
    return Item("JSON", ask, shown, shown, "json")


def read_json(rng):
    """One value from JSON: of an object, or of the object with a certain name in a list."""
    if rng.random() < 0.5:
        values, _ = record(rng)
        key = rng.choice(list(values))
        shown = json.dumps(values)
        question = rng.choice([f"What is the value of {key}?", f"Which value does {key} have?"])
        return Item("JSON", f"{shown}\n{question}", json.dumps(values[key]).strip('"'))
    people = village.people(rng, rng.randint(2, 4))
    rows = [{"name": p.name, "coins": rng.randint(1, 99), "home": rng.choice(words.PLACES)} for p in people]
    row, key = rng.choice(rows), rng.choice(["coins", "home"])
    return Item("JSON", f"{json.dumps(rows)}\nWhat is the value of {key} for {row['name']}?", str(row[key]))


def _tool(name, description, /, **parameters):
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    return {"type": "function", "function": {
        "name": name, "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(parameters)}}}


TOOLS = {
    "get_weather": _tool("get_weather", "The weather at a place", place="string"),
    "get_time": _tool("get_time", "The time at a place", place="string"),
    "add": _tool("add", "Adds two numbers", a="integer", b="integer"),
    "multiply": _tool("multiply", "Multiplies two numbers", a="integer", b="integer"),
    "find_person": _tool("find_person", "Finds out where a person is", name="string"),
    "send_message": _tool("send_message", "Sends a message to a person", to="string", text="string"),
    "ring_bell": _tool("ring_bell", "Rings the bell some times", times="integer"),
    "buy": _tool("buy", "Buys things at the market", item="string", count="integer"),
    "set_lamp": _tool("set_lamp", "Changes the colour of the lamp", colour="string"),
    "open_door": _tool("open_door", "Opens the door of a place", place="string"),
}
MESSAGES = ["the cake is ready", "come home", "dinner is at six", "the boat is here", "good night",
            "see you at the market"]


def _use(rng, name):
    """The request of a person who needs the tool, its arguments, its result, and the sentence that follows."""
    p = village.person(rng).name
    place, number, other = rng.choice(words.PLACES), rng.randint(2, 99), rng.randint(2, 99)
    if name == "get_weather":
        weather = rng.choice(words.WEATHER)
        return rng.choice([f"How is the weather at the {place}?", f"What is the weather like at the {place}?"]), \
            {"place": place}, {"weather": weather}, f"It is {weather} at the {place}."
    if name == "get_time":
        time = f"{rng.randint(1, 12)}:{rng.randint(10, 59)}"
        return f"What time is it at the {place}?", {"place": place}, {"time": time}, f"It is {time} at the {place}."
    if name in ("add", "multiply"):
        total = number + other if name == "add" else number * other
        sign, verb = ("+", "Add") if name == "add" else ("x", "Multiply")
        return rng.choice([f"Use the tool: what is {number} {sign} {other}?",
                           f"{verb} {number} and {other} with the tool."]), \
            {"a": number, "b": other}, {"result": total}, f"The result is {total}."
    if name == "find_person":
        return rng.choice([f"Where is {p} right now?", f"Please find {p}."]), {"name": p}, {"place": place}, \
            f"{p} is at the {place}."
    if name == "send_message":
        text = rng.choice(MESSAGES)
        return rng.choice([f'Tell {p}: {text}', f'Send this message to {p}: {text}']), {"to": p, "text": text}, \
            {"sent": True}, f"I have sent the message to {p}."
    if name == "ring_bell":
        times = rng.randint(1, 12)
        return f"Ring the bell {times} times.", {"times": times}, {"done": True}, f"The bell rang {times} times."
    if name == "buy":
        item, count = rng.choice(words.FRUITS), rng.randint(2, 30)
        return rng.choice([f"Buy {count} {item}.", f"I need {count} {item} from the market."]), \
            {"item": item, "count": count}, {"done": True}, f"I have bought {count} {item}."
    if name == "set_lamp":
        colour = rng.choice(words.COLOURS)
        return rng.choice([f"Make the lamp {colour}.", f"I want a {colour} lamp."]), {"colour": colour}, \
            {"done": True}, f"The lamp is {colour} now."
    return f"Open the door of the {place}.", {"place": place}, {"done": True}, f"The door of the {place} is open."


def call_text(name, arguments):
    return "<tool_call>" + json.dumps({"name": name, "arguments": arguments}) + "</tool_call>"


def use_tool(rng):
    """The right call of one of several tools. `after` is the rest of the conversation, for training."""
    offered = rng.sample(list(TOOLS), rng.randint(1, 4))
    name = rng.choice(offered)
    ask, arguments, result, say = _use(rng, name)
    item = Item("tools", ask, call_text(name, arguments), extract="call", tools=[TOOLS[tool] for tool in offered])
    item.after = [("tool", json.dumps(result)), ("assistant", say)]
    return item


def run_program(rng):
    """The output of a program. The reply gives the value of each variable, and repeats it where it is needed."""
    names = rng.sample(["a", "b", "c", "n", "x", "y"], 3)
    value = {names[0]: rng.randint(1, 12)}
    lines = [f"{names[0]} = {value[names[0]]}"]
    trace = []
    if rng.random() < 0.35:
        step, times = rng.randint(1, 9), rng.randint(2, 4)
        lines += [f"for i in range({times}):", f"    {names[0]} = {names[0]} + {step}"]
        for _ in range(times):
            old = value[names[0]]
            value[names[0]] += step
            trace.append(f"{old} + {step} = {value[names[0]]}.")
    trace.append(f"{names[0]} is {value[names[0]]}.")
    for name in names[1:rng.randint(2, 3)]:
        source, number = rng.choice(list(value)), rng.randint(1, 9)
        sign = rng.choice("++-*") if value[source] <= 9 else rng.choice("++-")
        if sign == "-" and value[source] < number:
            sign = "+"
        value[name] = {"+": value[source] + number, "-": value[source] - number, "*": value[source] * number}[sign]
        lines.append(f"{name} = {source} {sign} {number}")
        trace.append(f"{source} is {value[source]}. {value[source]} {sign} {number} = {value[name]}. "
                     f"{name} is {value[name]}.")
    wanted = rng.choice(list(value))
    lines.append(f"print({wanted})")
    trace.append(f"{wanted} is {value[wanted]}.")
    program = "\n".join(lines)
    return Item("programs", rng.choice([f"What does this program print?\n{program}", f"Run this program:\n{program}"]),
                "\n".join(trace) + f"\nAnswer: {value[wanted]}", str(value[wanted]), "final")


def write_program(rng):
    """A small function according to a request."""
    number = rng.randint(2, 99)
    verb, sign, name = rng.choice([("adds", "+", "add"), ("takes away", "-", "minus"), ("multiplies by", "*", "times")])
    if rng.random() < 0.3:
        thing = rng.choice(words.OBJECTS)
        return Item("programs", f"Write a program that prints the word {thing} {number} times.",
                    f'for i in range({number}):\n    print("{thing}")')
    return Item("programs", f"Write a function that {verb} {number}.",
                f"def {name}_{number}(x):\n    return x {sign} {number}")
