#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The program judges replies as train/scoring.py does: on chosen edge cases, and on random changes of them.

  scoring_test.py DRIVER [SEED]
"""
import json
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "train"))

import scoring  # noqa: E402

EXTRACTS = ("final", "whole", "json", "call")
TEXTS = ["", " ", ".", "8", "8.", " 8 .", "8..", "The Roof is RED.", "the roof  is\nred", "\u00a0x\u2003y\u0085",
        "İstanbul",
         "ΟΔΟΣ", "οδος", "οδοσ", "ΣΑΣ.Σ", "Σ", "aΣ", "ǅ", "ẞ ß", "ﬁ", "\u200bx", "\x1c1\x1f", "Answer:", "Answer: 8",
         "answer: 8", "Answer: 7\nAnswer: 8\nso", "Answer:\n8", "Answer: \n", "Answer:Answer: 8", "x\rAnswer: 8\r\ny"]
NUMBERS = ["0", "-0", "-0.0", "1", "1.0", "1e0", "10", "1e1", "1E+1", "100e-1", "0.1", "1e-1", "1e22",
        "10000000000000000000000",
           "1e23", "100000000000000000000000", "99999999999999991611392", "9007199254740993", "9007199254740992.0",
        "1e400",
           "-1e400", "1e-400", "-1e-400", "5e-324", "4e-324", "1.7976931348623157e308", "1e99999999999999999999",
           "1e-99999999999999999999", "0e99999999999999999999", "0.0000001e400", "1" * 400 + "e-300",
        "0." + "0" * 400 + "1e200",
           "1" * 4300, "1" * 4301, "-" + "1" * 4300, "1" * 400 + ".5", "NaN", "Infinity", "-Infinity", "true",
        "false", "null"]
STRINGS = ['""', '"a"', '"A"', '"\\u0061"', '"\\ud83d\\ude00"', '"😀"', '"\\ud83d"', '"\\uD83D"', '"\\ude00\\ud83d"',
           '"\\ud83d\\u0061"', '"\\/"', '"/"', '"\\n"', '"\\u00e9"', '"é"', '"\x7f"', '"\\u0000"']
BROKEN = ["01", "1.", ".5", "+1", "-", "1e", "1e+", "0x1", "1_0", "nan", "-NaN", "inf", "tru", "'a'", '"a', '"\\x"',
        '"\\u12"',
          '"\\u12g4"', '"\\ud83d\\u12"', '"\t"', '"\n"', "[1,]", "[,1]", "[1 2]", "[1", "1]", '{"a"}', '{"a":}',
        "{a:1}",
          '{"a":1,}', "[1]x", "\ufeff1", "\v1", "\u00a01", "\u0661", "[", "{", "}", ",", ":", ""]
DEEP = ["[" * 300 + "]" * 300, "[" * 300 + "1" + "]" * 300]
CALLS = ["<tool_call>{}</tool_call>", "x<tool_call> {} </tool_call>y", "</tool_call><tool_call>{}</tool_call>",
         "<tool_call><tool_call>{}</tool_call>", "<tool_call>{}", "{}</tool_call>",
        "<tool_call>{}</tool_call><tool_call>2</tool_call>",
         "<tool_call{}</tool_call>"]


def json_text(rng, depth=0):
    kind = rng.randrange(10)
    space = rng.choice(["", "", " ", "\n\t", "\r"])
    if kind < 3 or depth > 3:
        return space + rng.choice(NUMBERS[:36] + NUMBERS[-6:])
    if kind < 5:
        return rng.choice(STRINGS) + space
    if kind == 5 and rng.random() < 0.3:
        return rng.choice(BROKEN)
    items = [json_text(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 7:
        return "[" + ",".join(items) + space + "]"
    return "{" + ",".join(rng.choice(STRINGS[:6]) + ":" + item for item in items) + space + "}"


def cases(rng):
    corners = TEXTS + NUMBERS + STRINGS + BROKEN + DEEP
    for extract in EXTRACTS:
        for a in corners:
            for b in rng.sample(corners, 40) + [a]:
                yield a, b, extract
    for a in corners:
        for form in CALLS:
            yield form.replace("{}", a), CALLS[0].replace("{}", a), "call"
    for _ in range(20_000):
        a, b = json_text(rng), json_text(rng)
        b = rng.choice([a, b, a.replace(" ", ""), a.replace("1", "1.0", 1)])
        yield a, b, "json"
        yield f"<tool_call>{a}</tool_call>", rng.choice(CALLS).replace("{}", b), "call"
    letters = "aAıİΣσς.ß \n\u00a0\u0345'Answer:8"
    for _ in range(20_000):
        a = "".join(rng.choice(letters) for _ in range(rng.randrange(8)))
        b = rng.choice([a, a.lower(), a.upper(), a + ".", a.strip()])
        mark = rng.choice(["", "Answer:", "Answer: 1\nAnswer: "])
        yield mark + a, b, rng.choice(("final", "whole"))


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    tried = list(cases(random.Random(seed)))
    lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in tried)
    run = subprocess.run([sys.argv[1]], input=lines.encode(), capture_output=True, check=True, timeout=300)
    ours = run.stdout.decode().split()
    assert len(ours) == len(tried), (len(ours), len(tried))
    wrong = right = 0
    for (reply, answer, extract), verdict in zip(tried, ours):
        expected = scoring.is_right(reply, answer, extract)
        right += expected
        if verdict != ("true" if expected else "false"):
            wrong += 1
            if wrong <= 10:
                print(f"{extract}: {reply[:100]!r} for {answer[:100]!r}: {verdict}, and scoring.py says {expected}")
    print(f"{len(tried)} replies judged, {right} of them right, {wrong} otherwise than scoring.py")
    return 1 if wrong or not right else 0


if __name__ == "__main__":
    sys.exit(main())
