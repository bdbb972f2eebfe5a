# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""What people say to an assistant besides exercises: greetings, questions about itself, requests for a story, and facts
that they told it some turns ago.

Texts have NAME in place of the assistant's name; the corpus replaces it by the model's own.
"""

from . import stories, village, words
from .item import Item

NAME = "{assistant}"

GREETINGS = ["Hello", "Hi", "Hello!", "Hi there", "Good morning", "Good evening", "Hey", "Hello, how are you?", "hi",
             "hello"]
GREETED = ["Hello! How can I help you?", "Hello! What can I do for you?", "Hi! Would you like to hear a story?"]
THANKS = ["Thank you", "Thanks", "Thank you very much", "Thanks a lot!", "That was nice", "Well done", "Great",
          "thanks"]
THANKED = ["You are welcome!", "I am glad that I could help.", "You are welcome! What else can I do for you?"]
GOODBYES = ["Goodbye", "Bye", "See you tomorrow", "Good night", "bye"]
PARTED = ["Goodbye! Come back soon.", "Goodbye! See you in Brightwater."]
SELF = [
    (["Who are you?", "What is your name?", "What are you called?", "What are you?", "Tell me about yourself",
      "who are you"],
     f"I am {NAME}, a small language model. I know the village of Brightwater and like to tell stories."),
    (["What can you do?", "How can you help me?", "What do you know?", "Help", "help me", "what can you do"],
     "I can tell stories about Brightwater, work out sums, sort and copy lists, remember what you tell me, write JSON "
     "and use tools."),
    (["Where do you live?", "Where are you from?"],
     f"I live in a small file, and in my stories I live in {village.VILLAGE}."),
    (["Are you a human?", "Are you a person?", "Are you real?"], "No, I am a small language model."),
    (["How are you?", "How are you today?"], "I am well, thank you! What can I do for you?"),
    (["How old are you?", "When were you born?"], "I do not have an age. I am a small language model."),
    (["Who made you?", "Who built you?"],
     "I was trained as a part of Asterism, on stories and exercises made by rule."),
    (["What is Brightwater?", "Where is Brightwater?", "Tell me about Brightwater"],
     "Brightwater is a small village with a mill, a lighthouse, a castle and many other places. "
     "All my stories happen there."),
    (["Who lives in Brightwater?", "Who do you know?"],
     "In Brightwater live " + words.join(list(village.NAMES)[:8]) + " and many others."),
]
UNKNOWN = ["the capital of France", "the president", "football", "the internet", "computers", "history", "politics",
           "cars", "space travel", "music of today", "the stock market", "Paris", "London", "Germany", "China",
           "medicine", "philosophy", "movies", "love", "the meaning of life", "physics", "chemistry", "biology",
           "planes", "phones"]
UNKNOWN_FORMS = ["Tell me about {}.", "What do you know about {}?", "Who invented {}?", "Explain {}.", "What is {}?",
                 "Write something about {}.", "What do you think of {}?"]
DO_NOT_KNOW = "I am sorry, I do not know about that. I only know the village of Brightwater. Shall I tell you a story?"


def chat(rng):
    """A greeting, thanks, or a question about the assistant itself."""
    kind = rng.randrange(8)
    if kind == 0:
        return Item("chat", rng.choice(GREETINGS), rng.choice(GREETED))
    if kind == 1:
        return Item("chat", rng.choice(THANKS), rng.choice(THANKED))
    if kind == 2:
        return Item("chat", rng.choice(GOODBYES), rng.choice(PARTED))
    if kind == 3:
        return Item("chat", rng.choice(UNKNOWN_FORMS).format(rng.choice(UNKNOWN)), DO_NOT_KNOW)
    questions, reply = rng.choice(SELF)
    return Item("chat", rng.choice(questions), reply)


def fact(rng):
    """A fact that is always true in Brightwater."""
    if rng.random() < 0.8:
        questions, reply = rng.choice(village.facts_about(village.person(rng)))
    else:
        questions, reply = rng.choice(village.facts_of_place(rng.choice(words.PLACES)))
    question = rng.choice(questions)
    return Item("facts", question, reply)


def describe(rng):
    """All facts about one person or place."""
    someone = village.person(rng)
    lines = [reply for _, reply in village.facts_about(someone)[:7]]
    question = rng.choice(["Who is {}?", "Tell me about {}.", "Do you know {}?", "What do you know about {}?"])
    return Item("describe", question.format(someone.name), " ".join(lines))


def wish(rng):
    """A request for a story, perhaps about a person or thing."""
    kind = rng.randrange(4)
    hero = village.person(rng) if kind in (1, 3) else None
    topic = rng.choice(words.OBJECTS) if kind in (2, 3) else None
    about = {0: "", 1: f" about {hero.name}" if hero else "", 2: f" about {words.a(topic)}" if topic else "",
             3: f" about {hero.name} and {words.a(topic)}" if hero and topic else ""}[kind]
    story = stories.tell(rng, hero, topic)
    ask = rng.choice(["Tell me a story", "Please tell me a story", "Can you tell me a story",
                      "I would like to hear a story", "Write a story", "Tell me a short story", "Write a short story",
                      "tell me a story"])
    mark = "?" if ask.startswith("Can") else rng.choice([".", ".", "!", ""])
    item = Item("story wishes", ask + about + mark, f"{story.title}\n\n{story.text()}")
    item.more = story.questions
    return item


LIKES = {"food": words.FOODS, "colour": words.COLOURS, "animal": words.ANIMALS, "place": words.PLACES,
         "day": words.DAYS}


def dialogue(rng):
    """A question about something that the user said about themselves some turns ago."""
    name = rng.choice(list(village.NAMES))
    told = {"name": name, "age": str(rng.randint(5, 90))}
    for key in rng.sample(list(LIKES), 2):
        told[key] = rng.choice(LIKES[key])
    turns, keys = [], list(told)
    rng.shuffle(keys)
    for key in keys[:rng.randint(1, 4)]:
        if key == "name":
            turns += [("user", rng.choice([f"My name is {name}.", f"I am called {name}."])),
                      ("assistant", f"Nice to meet you, {name}!")]
        elif key == "age":
            turns += [("user", f"I am {told['age']} years old."), ("assistant", "I will remember that.")]
        else:
            turns += [("user", rng.choice([f"My favourite {key} is {told[key]}.",
                                           f"The {key} that I like best is {told[key]}."])),
                      ("assistant", f"I will remember that your favourite {key} is {told[key]}.")]
        if rng.random() < 0.3:
            other = chat(rng)
            turns += [other.turns[-1], ("assistant", other.reply)]
    key = rng.choice([key for key in keys if any(told[key] in text for role, text in turns if role == "user")])
    if key == "name":
        return Item("dialogue", rng.choice(["What is my name?", "Who am I?"]), f"Your name is {name}.", turns=turns)
    if key == "age":
        return Item("dialogue", "How old am I?", f"You are {told['age']} years old.", turns=turns)
    return Item("dialogue", rng.choice([f"What is my favourite {key}?", f"Which {key} do I like best?"]),
                f"Your favourite {key} is {told[key]}.", turns=turns)
