# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Questions about something said earlier: nearby, after many changes, or thousands of words before."""

from . import stories, village, words
from .item import Item


def _filler(rng):
    """A paragraph without relation to the question."""
    kind = rng.randrange(3)
    if kind == 0:
        return stories.tell(rng).text().replace("\n\n", " ")
    if kind == 1:
        return " ".join(rng.choice(village.facts_about(village.person(rng)))[1] for _ in range(rng.randint(3, 8)))
    place, day = rng.choice(words.PLACES), rng.choice(words.DAYS)
    visits = [f"{p.name} brought {words.a(words.thing(rng))}." for p in village.people(rng, rng.randint(2, 6))]
    return f"On {day} the {place} was open. " + " ".join(visits)


class Secrets:
    """Facts to be remembered: each is one sentence, one question and one reply."""

    def __init__(self, rng):
        self.rng = rng
        self.numbers = {}
        self.hidden = {}

    def new(self):
        rng = self.rng
        if rng.random() < 0.5:
            place = rng.choice([p for p in words.PLACES if p not in self.numbers] or words.PLACES)
            if place not in self.numbers:
                self.numbers[place] = "".join(str(rng.randint(0, 9)) for _ in range(rng.choice([3, 4, 4, 5])))
            sentence = f"The secret number of the {place} is {self.numbers[place]}."
            return sentence, rng.choice([f"What is the secret number of the {place}?",
                                         f"Which secret number does the {place} have?"]), sentence
        thing = words.thing(rng)
        while thing in self.hidden:
            thing = words.thing(rng)
        who, place = village.person(rng), rng.choice(words.PLACES)
        self.hidden[thing] = place
        sentence = rng.choice([f"{who.name} hid the {thing} at the {place}.",
                               f"{who.name} put the {thing} in the {place}."])
        if rng.random() < 0.6:
            return sentence, rng.choice([f"Where is the {thing}?", f"In which place is the {thing}?"]), \
                f"The {thing} is at the {place}."
        verb = "hid" if " hid " in sentence else "put away"
        return sentence, rng.choice([f"Who {verb} the {thing}?"]), f"{who.name} {verb} the {thing}."


def recall(rng):
    """A few facts and one question, without anything between them."""
    secrets = Secrets(rng)
    facts = [secrets.new() for _ in range(rng.randint(2, 12))]
    _, question, reply = rng.choice(facts)
    text = " ".join(sentence for sentence, _, _ in facts)
    return Item("recall", rng.choice([f"{text}\n{question}", f"Remember this: {text}\n{question}",
                                      f"Read this text: {text}\nQuestion: {question}"]), reply)


def long_recall(rng, characters=None):
    """Facts within a long text. A token of the models is about four characters."""
    characters = characters or int(2 ** rng.uniform(10.5, 15))
    secrets = Secrets(rng)
    paragraphs, size = [], 0
    while size < characters:
        paragraphs.append(_filler(rng))
        size += len(paragraphs[-1])
    facts = [secrets.new() for _ in range(min(12, 2 + size // 2000))]
    for sentence, _, _ in facts:
        place = rng.randrange(len(paragraphs))
        paragraphs[place] = rng.choice([f"{sentence} {paragraphs[place]}", f"{paragraphs[place]} {sentence}"])
    _, question, reply = rng.choice(facts)
    text = "\n".join(paragraphs)
    item = Item("long recall", f"Read this text:\n{text}\nQuestion: {question}", reply)
    item.more = [(question, reply) for _, question, reply in facts]
    return item


def tracking(rng):
    """Where a thing is after it was carried around; the reply names every place where it was."""
    people = village.people(rng, rng.randint(2, 4))
    items = rng.sample(words.OBJECTS, rng.randint(1, 3))
    where = {item: rng.choice(words.PLACES) for item in items}
    been = {item: [place] for item, place in where.items()}
    lines = [f"The {item} is in the {place}." for item, place in where.items()]
    for _ in range(rng.randint(1, 6)):
        item, who = rng.choice(items), rng.choice(people)
        place = rng.choice([p for p in words.PLACES if p != where[item]])
        where[item] = place
        been[item].append(place)
        lines.append(rng.choice([f"{who.name} takes the {item} to the {place}.",
                                 f"{who.name} moves the {item} to the {place}.",
                                 f"Then {who.name} brings the {item} to the {place}."]))
    item = rng.choice(items)
    return Item("tracking", " ".join(lines) + f" Where is the {item} now?",
                f"The {item} was in the {', then the '.join(been[item])}.\nAnswer: {where[item]}", where[item], "final")


def story_question(rng):
    """A story, and a question about an event in it."""
    story = stories.tell(rng)
    question, reply = rng.choice(story.questions)
    text = story.text()
    if rng.random() < 0.4:
        text = text.replace("\n\n", " ")
    item = Item("stories", rng.choice([f"Read this story:\n\n{text}\n\n{question}", f"{text}\n\n{question}"]), reply)
    item.more = story.questions
    return item
