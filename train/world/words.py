# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The words of the world, and small helpers to join them into sentences."""

OBJECTS = ("key lamp book ball coin map bell ring cup basket drum letter kite boat hat rope box stone feather candle "
           "clock mirror flute shell spoon scarf").split()
COLOURS = "red blue green yellow white black brown silver golden purple orange pink".split()
SIZES = "small big old new heavy light tiny round".split()
FOODS = "bread cheese soup apples cake honey plums carrots pie fish rice nuts pears jam eggs".split()
FRUITS = "apples pears plums nuts carrots cherries lemons berries eggs cakes coins shells stones stamps books".split()
ANIMALS = "cat dog horse goat hen duck rabbit owl mouse fox sheep frog".split()
PLACES = ("mill lighthouse bakery farm school library harbour market forest bridge castle garden barn tower station "
          "island").split()
HIDING = "table chair bench bed tree bush wall door stairs cart".split()
WEATHER = "sunny rainy windy cloudy foggy snowy".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = ("January February March April May June July August September October November December").split()
SEASONS = "spring summer autumn winter".split()
NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
           "seventeen eighteen nineteen twenty").split()
ORDINALS = "first second third fourth fifth sixth seventh eighth".split()
FEELINGS = "happy tired hungry brave curious sleepy proud quiet worried cheerful".split()

# Words for lists: short, common, and none of them the beginning of another.
LIST_WORDS = sorted(set(OBJECTS + ANIMALS + PLACES + COLOURS + [
    "sun", "moon", "star", "rain", "snow", "wind", "fire", "water", "sand", "leaf", "tree", "hill", "river", "road",
    "door", "window", "table", "chair", "bread", "cheese", "honey", "milk", "soup", "pie", "shoe", "coat", "glove",
    "wheel", "nail", "hammer"]))


def a(noun):
    """The noun with its article: a key, an owl."""
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def join(words):
    """Words as a list in a sentence: x, y and z."""
    words = list(words)
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + " and " + words[-1]


def capital(text):
    return text[0].upper() + text[1:]


def number_word(number):
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else str(number)


def thing(rng):
    """An object with a colour, such as "red key"."""
    return rng.choice(COLOURS) + " " + rng.choice(OBJECTS)


def things(rng, count):
    """`count` different objects with colours."""
    return [rng.choice(COLOURS) + " " + name for name in rng.sample(OBJECTS, count)]
