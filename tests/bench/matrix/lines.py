"""Lines of files that have no columns of one form: texts, logs, JSON, quoted CSV. Each function makes one line from its number."""

import random

DIFFERENT = 20000  # Lines that differ; the rest of a file has them again, in another order.
IN_TURN = 5  # Lines that stay together.


def write(path, file, rows, seed):
    """A file of so many lines."""
    source = random.Random(seed)
    make = globals()[file.line]
    lines = [make(source, number).encode() + file.end.encode() for number in range(min(rows, DIFFERENT))]
    pieces = [b"".join(lines[i:i + IN_TURN]) for i in range(0, len(lines), IN_TURN)]
    with open(path, "wb") as out:
        out.write((file.header + file.end).encode() if file.header else b"")
        for left in range(rows, 0, -len(lines)):
            out.write(b"".join(pieces) if left >= len(lines) else b"".join(lines[:left]))
            source.shuffle(pieces)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORD_SOURCE = random.Random(7)
WORDS = ["".join(WORD_SOURCE.choices(LETTERS, k=WORD_SOURCE.randint(2, 8))) for _ in range(20000)]


def words(source, low, high):
    return " ".join(source.choices(WORDS, k=source.randint(low, high)))


# Orders, for CSV: number, name, zone of 1 to 500, note, value with two digits after the point.

def order_fields(source, number):
    return str(number), source.choice(WORDS), str(source.randint(1, 500)), words(source, 3, 12), f"{source.random() * 1000:.2f}"


def order(source, number):
    return ",".join(order_fields(source, number))


def order_tab(source, number):
    return "\t".join(order_fields(source, number))


def order_semicolon(source, number):
    return ";".join(order_fields(source, number))


def order_long(source, number):
    head = order_fields(source, number)
    return ",".join((*head[:3], words(source, 30, 40), head[4]))


def order_wide(source, number):
    """The fields among forty others."""
    head = order_fields(source, number)
    others = [str(source.randint(0, 99999)) for _ in range(40)]
    return ",".join((head[0], *others[:10], head[1], *others[10:20], head[2], *others[20:30], head[3], *others[30:], head[4]))


def order_quoted(source, number):
    """Name and note in quotes; half of the notes have commas, one in five doubled quotes, one in ten a line end."""
    head = order_fields(source, number)
    text = head[3]
    if source.random() < 0.5:
        text = text.replace(" ", ", ", 2)
    if source.random() < 0.2:
        text = text.replace(" ", ' ""', 1) + '""'
    if source.random() < 0.1:
        text = text.replace(" ", "\n", 1)
    return f'{head[0]},"{head[1]}",{head[2]},"{text}",{head[4]}'


def order_all_quoted(source, number):
    return ",".join(f'"{part}"' for part in order_fields(source, number))


def order_some_quoted(source, number):
    """One note in twenty has a comma, and quotes for that."""
    head = order_fields(source, number)
    note = '"' + head[3].replace(" ", ", ", 2) + '"' if source.random() < 0.05 else head[3]
    return ",".join((*head[:3], note, head[4]))


# Events, for JSON lines: of each the kind, the user's country, a value and a note are read.

KINDS, COUNTRIES = ("click", "view", "buy"), ("BR", "DE", "IN", "US")
ESCAPES = {"escaped": '\\"', "unicode": "\\u00e9", "wide": "\u00e9"}


def note(source, kind):
    text = words(source, 3, 9)
    return text.replace(" ", ESCAPES[kind], 1).replace(" ", "\\n", 1) if kind else text


def members(source, number, last="", others=""):
    return [f'"id":{number}', f'"time":"2026-01-{source.randint(1, 28):02d}T00:00:00Z"', f'"kind":"{source.choice(KINDS)}"',
            f'"user":{{"name":"{note(source, others)}","country":"{source.choice(COUNTRIES)}"}}',
            f'"value":{source.randint(100, 9900) / 100}', f'"tags":["{note(source, others)}","{source.choice(WORDS)}"]',
            f'"title":"{note(source, others)}"', f'"note":"{note(source, last)}"']


def json_line(parts):
    return "{" + ",".join(parts) + "}"


def event(source, number):
    return json_line(members(source, number))


def event_spaced(source, number):
    """With the spaces that many writers put."""
    return json_line(members(source, number)).replace('":', '": ').replace(',"', ', "')


def event_shapes(source, number):
    """Five shapes in turn."""
    parts = members(source, number)
    shape = number % 5
    more = [f'"m{shape}_{i}":{source.randint(0, 999)}' for i in range(shape)]
    return json_line([*more, *parts[shape:], *parts[:shape]])


def event_any_order(source, number):
    parts = members(source, number)
    source.shuffle(parts)
    return json_line(parts)


def event_optional(source, number):
    """Value, tags, title and note are each missing in three of ten."""
    return json_line([part for i, part in enumerate(members(source, number)) if i < 4 or source.random() < 0.7])


def event_null(source, number):
    """Value and note are null in three of ten."""
    parts = members(source, number)
    return json_line([part if i not in (4, 7) or source.random() < 0.7 else part.split(":")[0] + ":null" for i, part in enumerate(parts)])


def event_escaped(source, number):
    return json_line(members(source, number, "escaped"))


def event_all_escaped(source, number):
    return json_line(members(source, number, "escaped", "escaped"))


def event_unicode(source, number):
    return json_line(members(source, number, "unicode"))


def event_wide(source, number):
    return json_line(members(source, number, "wide", "wide"))


def event_deep(source, number):
    parts = members(source, number)
    return json_line([*parts[:2], f'"data":{{"inner":{json_line(parts[2:5])},{parts[7]}}}', *parts[5:7]])


def event_many(source, number):
    """The members among forty numbers."""
    parts = members(source, number)
    others = [f'"field_{i}":{source.randint(0, 99999)}' for i in range(40)]
    return json_line([*others[:20], *parts[:5], *others[20:], *parts[5:]])


def event_short(source, number):
    parts = members(source, number)
    return json_line([parts[2], f'"user":{{"country":"{source.choice(COUNTRIES)}"}}', parts[4], f'"note":"{source.choice(WORDS)}"'])


# Lines of a log, for regular expressions, and lines of words.

LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
WHYS = ("ok", "ok", "ok", "cached", "timeout", "refused", "reset", "not found")
EXTENSIONS = ("png", "jpg", "css", "html", "js")


def log(source, number):
    when = f"2026-{source.randint(1, 12):02d}-{source.randint(1, 28):02d} {number % 24:02d}:{number % 60:02d}:{source.randint(0, 59):02d}"
    ip = ".".join(str(source.randint(1, 254)) for _ in range(4))
    path = f"/{source.choice(WORDS)}/{source.choice(WORDS)}.{source.choice(EXTENSIONS)}"
    return (f'{when} {source.choice(LEVELS)} [worker-{source.randint(1, 64)}] user={source.choice(WORDS)} ip={ip} "GET {path}" '
            f'status={source.choice((200, 200, 200, 404, 500))} {source.choice(WHYS)}, {words(source, 2, 6)} took {source.randint(1, 4000)}ms')


def document(source, number, wide=0.0):
    texts = []
    for _ in range(source.randint(8, 24)):
        text, kind = source.choice(WORDS), source.random()
        text = text.capitalize() if kind < 0.15 else str(source.randint(1, 9999)) if kind < 0.2 else text
        if source.random() < wide:
            text = text[:1] + source.choice("\u00e9\u00fc\u00f1\u00df\u00f8\u0436\u03bb") + text[1:]
        texts.append(text + (source.choice(",.;:!?") if source.random() < 0.12 else ""))
    return " ".join(texts)


def document_wide(source, number):
    return document(source, number, 0.04)
