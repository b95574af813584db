"""folders.py: tables in folders whose names hold values of columns: `read csv("in1/k={k1: i64}/*.csv")`."""
import kinds

KEY_KINDS = ("i64", "i64", "str", "str", "str", "bool", "date", "date", "i32", "u8", "i8", "u64", "f64", "f32", "decimal(15,2)", "timestamp",
             "timestamp[s]", "duration")
NULL = "__HIVE_DEFAULT_PARTITION__"
NAME_BYTES_MAX = 100
VALUES_MAX = 4
BROKEN = 0.03  # A key that does not fit ends the job before it reads a row.


def is_name(text):
    """Whether a value can stand in the name of a file. A name with a dot in front is hidden."""
    return (text and text[0] != "." and "/" not in text and all(ord(c) > 31 and c != "\x7f" for c in text)
            and len(text.encode("utf-8", "replace")) <= NAME_BYTES_MAX)


def values_of(random, kind, nullable):
    """Some values of a key as names have them, each once."""
    found = [kinds.canonical(random, kind) for _ in range(random.randint(1, VALUES_MAX))]
    if nullable and random.random() < 0.6:
        found.append(NULL)
    if random.random() < BROKEN:
        found.append("x")
    return [text for text in dict.fromkeys(found) if is_name(text)] or [{"bool": "true", "date": "2026-01-01", "str": "a"}.get(kind, "")]


def put(maker, table):
    """Makes the table's files, and gives the path to read and the columns of its keys; nothing where a key has no name."""
    random, root = maker.random, maker.name("in")
    suffix = "." + ("txt" if table.form == "text" else table.form) + random.choice(("", "", "", ".gz"))
    columns = [(maker.name("k"), random.choice(KEY_KINDS), random.random() < 0.3) for _ in range(random.choice((1, 1, 2, 2, 3)))]
    values = [values_of(random, kind, nullable) for _, kind, nullable in columns]
    if [""] in values:
        return None
    spelled = [f"{{{name}: {kinds.spelling(kind, nullable)}}}" for name, kind, nullable in columns]
    fronts = [random.choice((f"{name}=", "", "", f"{name}-")) for name, _, _ in columns]
    # Several keys in one name are cut at the first place that fits.
    joints = [random.choice(("/", "/", "/", "_")) for _ in columns[1:]]
    last = random.choice((suffix, f"/*{suffix}", f"/**/*{suffix}"))

    def path_of(keys, end):
        text = fronts[0] + keys[0]
        for joint, front, key in zip(joints, fronts[1:], keys[1:]):
            text += joint + front + key
        return f"{root}/{text}{end}"

    names = []
    for _ in range(random.randint(1, 6)):
        end = last.replace("/**/*", random.choice(("/x", "/deep/er"))).replace("*", random.choice(("a", "b", "é")))
        names.append(path_of([random.choice(known) for known in values], end))
    names = list(dict.fromkeys(names))
    cuts = sorted(random.randint(0, len(table.pieces)) for _ in names[1:])
    for begin, end, name in zip([0, *cuts], [*cuts, len(table.pieces)], names):
        maker.files[name] = table.file_of(table.pieces[begin:end])
    return kinds.quote(path_of(spelled, last)), columns
