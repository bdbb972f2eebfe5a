# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Stories of Brightwater: a plot decides what happens, sentences vary, and there are questions about events."""

from . import village, words
from .words import capital


class Story:
    """A story that is being written: its paragraphs, and questions about it with their answers."""

    def __init__(self, rng, hero=None, topic=None):
        self.rng = rng
        self.hero = hero or village.person(rng)
        others = [p for p in village.PEOPLE.values() if p is not self.hero]
        self.friend = village.PEOPLE[self.hero.friend] if rng.random() < 0.3 else rng.choice(others)
        self.third = rng.choice([p for p in others if p is not self.friend])
        self.topic = topic or rng.choice(words.OBJECTS)
        self.colour = rng.choice(words.COLOURS)
        self.places = rng.sample(words.PLACES, 4)
        self.day = rng.choice(words.DAYS)
        self.weather = rng.choice(words.WEATHER)
        self.paragraphs = [[]]
        self.questions = []
        self.title = ""

    def say(self, *alternatives):
        """Adds one of several wordings."""
        self.paragraphs[-1].append(self.rng.choice(alternatives))

    def paragraph(self):
        self.paragraphs.append([])

    def ask(self, question, reply):
        self.questions.append((question, reply))

    def opening(self):
        h = self.hero
        self.say(f"Once upon a time there was {words.a(h.job)} called {h.name}.",
                 f"{h.name} was the {h.job} of Brightwater.",
                 f"In the village of Brightwater lived {h.name}, the {h.job}.",
                 f"Everybody in Brightwater knew {h.name}, the {h.job}.")
        self.say(f"{capital(h.he)} lived at the {h.home} with {h.his} {h.animal} {h.pet}.",
                 f"{capital(h.his)} home was the {h.home}, and {h.his} {h.animal} was called {h.pet}.",
                 f"{capital(h.he)} liked {h.hobby} and {h.food}.")
        self.say(f"It was a {self.weather} {self.day}.", f"One {self.weather} {self.day}, something happened.",
                 f"On {self.day} the morning was {self.weather}.")
        self.ask("On which day does the story happen?", f"The story happens on {self.day}.")
        self.ask("What was the weather like?", f"The weather was {self.weather}.")
        self.ask("Who is the story about?", f"The story is about {h.name}.")

    def ending(self):
        h, f = self.hero, self.friend
        self.paragraph()
        self.say(f"In the evening {h.name} and {f.name} ate {h.food} and talked about the day.",
                 f"When the stars came out, {h.name} went home to {h.pet} and slept well.",
                 f"That night {h.name} told {h.pet} the whole story.",
                 f"{h.name} thanked {f.name}, and they walked home together.")
        self.say("It had been a good day.", f"From that day on, {h.name} and {f.name} were the best of friends.",
                 "And so the story ends.", "A friend is worth more than gold.",
                 "They all lived happily in Brightwater.", "Everybody was happy again.")

    def text(self):
        return "\n\n".join(" ".join(sentences) for sentences in self.paragraphs if sentences)


def lost_thing(s):
    h, f, thing = s.hero, s.friend, f"{s.colour} {s.topic}"
    first, second, found = s.places[:3]
    spot = s.rng.choice(words.HIDING)
    s.title = f"The lost {s.topic}"
    s.say(f"{h.name} could not find {h.his} {thing}.", f"The {thing} of {h.name} was gone.",
          f"{h.name} had lost {h.his} {thing}.")
    s.say(f'"Where is my {s.topic}?" {h.he} asked.', f'"I need my {s.topic}," said {h.name}.',
          f'"Oh no, my {s.topic}!" said {h.name}.')
    s.paragraph()
    s.say(f"First {h.he} looked at the {first}, but the {s.topic} was not there.",
          f"{h.name} went to the {first} first. There was no {s.topic}.")
    s.say(f"Then {h.he} met {f.name} at the {second}.", f"At the {second} {h.he} saw {f.name}.",
          f"After that {h.he} walked to the {second} and found {f.name} there.")
    s.say(f'"I have lost my {s.topic}. Can you help me?" asked {h.name}.',
          f'"Have you seen my {thing}?" asked {h.name}.')
    s.say(f'"Let us look for it together," said {f.name}.', f'"Of course I will help you," said {f.name}.',
          f'"I think I saw it at the {found}," said {f.name}.')
    s.paragraph()
    s.say(f"They went to the {found} and looked under the {spot}.",
          f"At the {found} they looked everywhere, and at last under the {spot}.")
    s.say(f"There was the {thing}!", f"And there it was, the {thing}!")
    s.say(f"{h.name} was very happy.", f'"Thank you, {f.name}!" said {h.name}.', f"{h.name} laughed and danced.")
    s.ask(f"What did {h.name} lose?", f"{h.name} lost the {thing}.")
    s.ask(f"Where did {h.name} look first?", f"{h.name} looked at the {first} first.")
    s.ask(f"Who helped {h.name}?", f"{f.name} helped {h.name}.")
    s.ask(f"Where was the {s.topic}?", f"The {s.topic} was at the {found}.")
    s.ask(f"Under what was the {s.topic}?", f"The {s.topic} was under the {spot}.")


def gift(s):
    h, f, t = s.hero, s.friend, s.third
    thing, price = f"{s.colour} {s.topic}", s.rng.randint(2, 12)
    count = words.number_word(price)
    s.title = f"A {s.topic} for {f.name}"
    s.say(f"It was the birthday of {f.name}.", f"{f.name} had a birthday that day.")
    s.say(f"{h.name} wanted to give {f.him} something.", f'"What can I give to {f.name}?" thought {h.name}.')
    s.paragraph()
    s.say(f"{h.name} went to the market and met {t.name}.", f"At the market {h.name} spoke to {t.name}.")
    s.say(f"{t.name} sold {words.a(thing)} for {count} coins.", f'"This {thing} costs {count} coins," said {t.name}.')
    s.say(f"{h.name} paid {count} coins and took the {s.topic} home.", f"{h.name} gave {t.him} {count} coins.")
    s.paragraph()
    s.say(f"In the afternoon {h.name} brought the {s.topic} to the {f.home}.",
          f"Then {h.he} went to the {f.home}, where {f.name} lived.")
    s.say(f'"Happy birthday, {f.name}!" said {h.name}.', f'"This is for you," said {h.name}.')
    s.say(f'"It is just what I wanted," said {f.name}.', f"{f.name} loved the {thing}.",
          f'"What a beautiful {s.topic}!" said {f.name}.')
    s.ask("Whose birthday was it?", f"It was the birthday of {f.name}.")
    s.ask(f"What did {h.name} give to {f.name}?", f"{h.name} gave {f.name} {words.a(thing)}.")
    s.ask(f"Who sold the {s.topic}?", f"{t.name} sold the {s.topic}.")
    s.ask(f"How many coins did the {s.topic} cost?", f"The {s.topic} cost {count} coins.")


def storm(s):
    h, f, place = s.hero, s.friend, s.places[0]
    broken = s.rng.choice(["roof", "door", "window", "gate", "wall"])
    hours = words.number_word(s.rng.randint(2, 6))
    s.title = f"The storm at the {place}"
    s.say(f"{h.name} was at the {place} when a storm came.",
          f"A great storm came over the {place}, where {h.name} was.")
    s.say("The wind was loud and the rain was cold.", "The sky turned black.", "Rain fell like a river from the sky.")
    s.paragraph()
    s.say(f"The wind broke the {broken} of the {place}.", f"Suddenly the {broken} of the {place} broke.")
    s.say(f'"We must save the {s.topic}!" called {f.name}.', f'"Quick, bring the {s.topic} inside!" said {f.name}.')
    s.say(f"{h.name} ran out and carried the {s.colour} {s.topic} inside.",
          f"{h.name} took the {s.colour} {s.topic} and put it in a dry place.")
    s.say(f"They waited for {hours} hours.", f"For {hours} hours they sat by the fire and waited.")
    s.paragraph()
    s.say("At last the sun came back.", "Then the storm was over.")
    s.say(f"{h.name} and {f.name} mended the {broken} with {words.a(s.rng.choice(['hammer', 'rope', 'long nail']))}.",
          f"Together they mended the {broken}.")
    s.ask("What did the wind break?", f"The wind broke the {broken}.")
    s.ask("Where was the storm?", f"The storm was at the {place}.")
    s.ask("How long did they wait?", f"They waited for {hours} hours.")
    s.ask(f"What did {h.name} save?", f"{h.name} saved the {s.colour} {s.topic}.")


def race(s):
    start, goal = s.places[:2]
    runners = [s.hero, s.friend, s.third]
    s.rng.shuffle(runners)
    first, second, last = runners
    prize = s.rng.choice(words.FOODS)
    s.title = f"The race to the {goal}"
    s.say(f"There was a race from the {start} to the {goal}.", f"That day all ran from the {start} to the {goal}.")
    s.say(f"{s.hero.name}, {s.friend.name} and {s.third.name} wanted to win.")
    s.say(f"The prize was {prize}.", f"The winner would get {prize} and a {s.colour} {s.topic}.")
    s.paragraph()
    s.say(f"At first {last.name} was fast, but then {last.he} fell.", f"{last.name} stopped to drink some water.",
          f"{last.name} ran the wrong way.")
    s.say(f"{second.name} ran well, but {first.name} was faster.",
          f"{first.name} ran past {second.name} at the bridge.")
    s.say(f"{first.name} came first, {second.name} came second and {last.name} came third.")
    s.say(f"{first.name} shared the {prize} with everybody.", f'"Well done, {first.name}!" said {second.name}.')
    s.ask("Who won the race?", f"{first.name} won the race.")
    s.ask("Who came second?", f"{second.name} came second.")
    s.ask("Who came third?", f"{last.name} came third.")
    s.ask("Where did the race end?", f"The race ended at the {goal}.")
    s.ask("What was the prize?", f"The prize was {prize}.")


def baking(s):
    h, f = s.hero, s.friend
    dish = s.rng.choice(["cake", "pie", "soup", "bread"])
    parts = s.rng.sample([food for food in words.FOODS if food != dish], 3)
    guests = words.number_word(s.rng.randint(3, 15))
    s.title = f"The {dish} of {h.name}"
    s.say(f"{h.name} wanted to make {words.a(dish) if dish in ('cake', 'pie') else dish} for the village.")
    s.say(f'"I need {words.join(parts)}," said {h.name}.')
    s.paragraph()
    s.say(f"The {parts[0]} stood in the kitchen.", f"{capital(h.he)} had {parts[0]} at home.")
    s.say(f"{f.name} brought the {parts[1]}.", f"{h.name} got the {parts[1]} from {f.name}.")
    s.say(f"They found the {parts[2]} at the {s.places[0]}.", f"The {parts[2]} came from the {s.places[0]}.")
    s.say(f"They put everything into {words.a(s.colour)} bowl and worked all morning.",
          f"{h.name} mixed it all, and {f.name} made the fire.")
    s.paragraph()
    s.say(f"In the evening {guests} people came to eat.", f"At noon there were {guests} guests at the table.")
    s.say(f'"This is the best {dish} in Brightwater," said {s.third.name}.', f"{s.third.name} asked for more {dish}.")
    s.ask(f"What did {h.name} make?", f"{h.name} made {words.a(dish) if dish in ('cake', 'pie') else dish}.")
    s.ask(f"What did {f.name} bring?", f"{f.name} brought the {parts[1]}.")
    s.ask("How many people came to eat?", f"There were {guests} people.")
    s.ask(f"Where did they get the {parts[2]}?", f"They got the {parts[2]} at the {s.places[0]}.")


def lost_pet(s):
    h, f, place, other = s.hero, s.friend, s.places[0], s.places[1]
    spot, food = s.rng.choice(words.HIDING), s.rng.choice(words.FOODS)
    s.title = f"Where is {h.pet}?"
    s.say(f"{h.pet} the {h.animal} was gone.", f"In the morning {h.name} could not find {h.pet} the {h.animal}.")
    s.say(f'"{h.pet}! {h.pet}!" called {h.name}, but nobody came.', f"{h.name} called and called.")
    s.paragraph()
    s.say(f"{h.name} asked {f.name} at the {other}.", f"At the {other} {h.he} met {f.name}.")
    s.say(f'"I saw a {h.animal} at the {place}," said {f.name}.', f'"Look at the {place}," said {f.name}.')
    s.say(f"So they went to the {place} with some {food}.", f"They took some {food} and went to the {place}.")
    s.paragraph()
    s.say(f"{h.pet} was sitting behind the {spot}.", f"Behind the {spot} they saw two eyes. It was {h.pet}!")
    s.say(f"The {h.animal} ate the {food} and was happy.", f"{h.pet} smelled the {food} and came out.")
    s.say(f'"Never run away again," said {h.name}.', f"{h.name} carried {h.pet} home.")
    s.ask(f"Which animal is {h.pet}?", f"{h.pet} is {words.a(h.animal)}.")
    s.ask(f"Where was {h.pet}?", f"{h.pet} was at the {place}.")
    s.ask(f"Who had seen {h.pet}?", f"{f.name} had seen {h.pet}.")
    s.ask(f"What did they give to {h.pet}?", f"They gave {h.pet} {food}.")


def treasure(s):
    h, f = s.hero, s.friend
    first, second, third, start = s.places
    steps = words.number_word(s.rng.randint(3, 20))
    s.title = "The old map"
    s.say(f"{h.name} found an old map at the {start}.", f"In a book at the {start}, {h.name} found a map.")
    s.say(f"{capital(h.he)} showed it to {f.name}.", f'"Look at this map!" {h.he} said to {f.name}.')
    s.say('"Maybe there is a treasure," said ' + f.name + ".", f'"Let us follow it," said {f.name}.')
    s.paragraph()
    s.say(f"First the map led them to the {first}.", f"The first mark on the map was the {first}.")
    s.say(f"Then they went to the {second}.", f"From there the way led to the {second}.")
    s.say(f"At last they came to the {third}.", f"The last mark was at the {third}.")
    s.say(f"They walked {steps} steps to the north and began to dig.",
          f'"{capital(steps)} steps from the door," read {h.name}, and they began to dig.')
    s.paragraph()
    s.say(f"Deep in the earth was a box with {words.a(s.colour)} {s.topic} in it.",
          f"They found a box, and in the box was {words.a(s.colour)} {s.topic}.")
    s.say(f"They gave it to the {s.rng.choice(['school', 'library', 'castle'])}.", f"{f.name} laughed for joy.")
    s.ask(f"Where did {h.name} find the map?", f"{h.name} found the map at the {start}.")
    s.ask("Where did the map lead first?", f"The map led to the {first} first.")
    s.ask("What was in the box?", f"There was {words.a(s.colour)} {s.topic} in the box.")
    s.ask("How many steps did they walk?", f"They walked {steps} steps.")
    s.ask("Where did they dig?", f"They dug at the {third}.")


def night_noise(s):
    h, f, place = s.hero, s.friend, s.places[0]
    animal, food = s.rng.choice(words.ANIMALS), s.rng.choice(words.FOODS)
    s.title = f"A noise at the {place}"
    s.say(f"At night {h.name} heard a strange noise from the {place}.", f"There was a noise at the {place} that night.")
    s.say(f"{capital(h.he)} was afraid and went to {f.name}.", f'"Did you hear that?" {h.he} asked {f.name}.')
    s.say('"It must be a ghost," said ' + f.name + ".", '"Let us go and see," said ' + f.name + ".")
    s.paragraph()
    s.say(f"They took a lamp and {words.a(s.colour)} {s.topic} and went to the {place}.",
          f"With {words.a(s.colour)} {s.topic} in {h.his} hand, {h.name} opened the door of the {place}.")
    s.say(f"It was only a little {animal}!", f"There sat a small {animal} and looked at them.")
    s.say(f'"It is hungry," said {h.name} and gave it {food}.', f"{h.name} gave it some {food}.")
    s.say(f"Now the {animal} comes every night, and nobody is afraid.", f"The {animal} stayed with {f.name}.")
    s.ask("Where did the noise come from?", f"The noise came from the {place}.")
    s.ask("What made the noise?", f"{capital(words.a(animal))} made the noise.")
    s.ask(f"What did {h.name} give to the {animal}?", f"{h.name} gave it {food}.")
    s.ask(f"What did {h.name} take along?", f"{h.name} took {words.a(s.colour)} {s.topic}.")


def lesson(s):
    h, f, place = s.hero, s.friend, s.places[0]
    tries = s.rng.randint(2, 5)
    count = words.ORDINALS[tries]
    s.title = f"{f.name} learns something new"
    s.say(f"{h.name} liked {h.hobby} more than anything.", f"Nobody was as good at {h.hobby} as {h.name}.")
    s.say(f'"Can you teach me?" asked {f.name}.', f"{f.name} wanted to learn it too.")
    s.say(f"They met at the {place} every day.", f'"Come to the {place} tomorrow," said {h.name}.')
    s.paragraph()
    s.say("The first time it went wrong.", f"At first {f.name} could not do it.")
    for ordinal in words.ORDINALS[1:tries]:
        s.say(f"The {ordinal} time it went wrong too.", f"The {ordinal} time was a little better.")
    s.say(f"The {count} time it worked!", f"But the {count} time {f.he} did it well.")
    s.say(f'"You must never give up," said {h.name}.', f'"I knew that you can do it," said {h.name}.')
    s.say(f"{f.name} gave {h.him} {words.a(s.colour)} {s.topic} to say thank you.")
    s.ask(f"What did {f.name} want to learn?", f"{f.name} wanted to learn {h.hobby}.")
    s.ask("Where did they meet?", f"They met at the {place}.")
    s.ask("When did it work?", f"It worked the {count} time.")
    s.ask(f"What did {f.name} give to {h.name}?", f"{f.name} gave {h.name} {words.a(s.colour)} {s.topic}.")


PLOTS = [lost_thing, gift, storm, race, baking, lost_pet, treasure, night_noise, lesson]


def tell(rng, hero=None, topic=None):
    """A whole story. With a topic it is one of the plots in which the topic matters."""
    story = Story(rng, hero, topic)
    story.opening()
    story.paragraph()
    plots = [lost_thing, gift, storm, treasure, night_noise] if topic else PLOTS
    rng.choice(plots)(story)
    story.ending()
    return story
