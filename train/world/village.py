# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Brightwater, the village of all texts: its people, and what is always true about them.

The tables are drawn once, from a fixed seed, so that a model can memorise them.
"""

import random

from . import words

VILLAGE = "Brightwater"
NAMES = {"Mia": "she", "Tom": "he", "Anna": "she", "Ben": "he", "Clara": "she", "David": "he", "Ella": "she",
         "Finn": "he", "Grace": "she", "Henry": "he", "Iris": "she", "Jack": "he", "Kate": "she", "Leo": "he",
         "Lily": "she", "Max": "he", "Nora": "she", "Oscar": "he", "Ruby": "she", "Sam": "he", "Tess": "she",
         "Victor": "he", "Wendy": "she", "Paul": "he"}
JOBS = {"mill": "miller", "lighthouse": "lighthouse keeper", "bakery": "baker", "farm": "farmer", "school": "teacher",
        "library": "librarian", "harbour": "fisher", "market": "trader", "forest": "woodcutter", "bridge": "painter",
        "castle": "guard", "garden": "gardener", "barn": "shepherd", "tower": "clock maker", "station": "driver",
        "island": "sailor"}
HOBBIES = ["singing", "reading", "fishing", "painting", "cooking", "running", "climbing", "sewing", "dancing",
           "telling stories", "playing the flute", "looking at the stars"]
PET_NAMES = ["Button", "Pepper", "Shadow", "Biscuit", "Clover", "Pebble", "Ginger", "Misty", "Socks", "Poppy", "Nutmeg",
             "Bramble", "Comet", "Daisy", "Felix", "Hazel", "Ivy", "Juno", "Kiwi", "Lucky", "Mango", "Olive", "Pip",
             "Rusty"]


class Person:
    """A person of the village with everything that is always true about them."""

    def __init__(self, name, rng, place, pet_name):
        self.name = name
        self.he = NAMES[name]
        self.him = "her" if self.he == "she" else "him"
        self.his = "her" if self.he == "she" else "his"
        self.home = place
        self.job = JOBS[place]
        self.age = rng.randint(8, 70)
        self.food = rng.choice(words.FOODS)
        self.colour = rng.choice(words.COLOURS)
        self.hobby = rng.choice(HOBBIES)
        self.animal = rng.choice(words.ANIMALS)
        self.pet = pet_name
        self.friend = None


def _people():
    rng = random.Random("the people of Brightwater")
    pets = PET_NAMES[:]
    rng.shuffle(pets)
    homes = words.PLACES + rng.sample(words.PLACES, len(NAMES) - len(words.PLACES))
    people = {name: Person(name, rng, home, pet) for name, home, pet in zip(NAMES, homes, pets)}
    order = list(people)
    rng.shuffle(order)
    for left, right in zip(order[::2], order[1::2]):
        people[left].friend, people[right].friend = right, left
    return people


PEOPLE = _people()


def _place_facts():
    rng = random.Random("the places of Brightwater")
    directions = ["north", "south", "east", "west"]
    return {place: {"side": rng.choice(directions), "roof": rng.choice(words.COLOURS), "trees": rng.randint(2, 20),
                    "animal": rng.choice(words.ANIMALS)} for place in words.PLACES}


PLACE_FACTS = _place_facts()


def person(rng):
    return PEOPLE[rng.choice(list(PEOPLE))]


def people(rng, count):
    return [PEOPLE[name] for name in rng.sample(list(PEOPLE), count)]


def facts_about(someone):
    """Facts about a person: (question forms, the answer as a sentence)."""
    p = someone
    return [
        ([f"Where does {p.name} live?", f"Where is the home of {p.name}?", f"In which place does {p.name} live?"],
         f"{p.name} lives at the {p.home}."),
        ([f"What is the job of {p.name}?", f"What does {p.name} do for work?", f"What is {p.name}?"],
         f"{p.name} is the {p.job}."),
        ([f"What does {p.name} like to eat?", f"What is the favourite food of {p.name}?",
          f"What food does {p.name} like?"],
         f"{p.name} likes to eat {p.food}."),
        ([f"What is the favourite colour of {p.name}?", f"Which colour does {p.name} like best?"],
         f"The favourite colour of {p.name} is {p.colour}."),
        ([f"What does {p.name} like to do?", f"What is the hobby of {p.name}?"],
         f"{p.name} likes {p.hobby}."),
        ([f"What pet does {p.name} have?", f"Which animal lives with {p.name}?", f"Does {p.name} have a pet?"],
         f"{p.name} has {words.a(p.animal)} called {p.pet}."),
        ([f"Who is the best friend of {p.name}?", f"Who is {p.name}'s best friend?"],
         f"The best friend of {p.name} is {p.friend}."),
        ([f"Whose pet is {p.pet}?", f"Who owns {p.pet}?"],
         f"{p.pet} is the {p.animal} of {p.name}."),
    ]


def facts_of_place(place):
    """Facts about a place, in the same form."""
    f = PLACE_FACTS[place]
    return [
        ([f"Where in the village is the {place}?", f"On which side of {VILLAGE} is the {place}?"],
         f"The {place} is on the {f['side']} side of {VILLAGE}."),
        ([f"What colour is the roof of the {place}?", f"Which colour does the roof of the {place} have?"],
         f"The roof of the {place} is {f['roof']}."),
        ([f"How many trees stand at the {place}?", f"How many trees are there at the {place}?"],
         f"There are {words.number_word(f['trees'])} trees at the {place}."),
    ]
