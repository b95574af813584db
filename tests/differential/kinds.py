"""kinds.py: the types of generated pipelines: their spelling, literals and data, good and hostile.

A scalar is its name as written; a list is ("list", element, may_be_null), a struct
("struct", ((name, kind, may_be_null), ...)), a map ("map", value, may_be_null), a tensor ("tensor", element, shape),
one of open dimensions ("named", element, shape), whose shape has names and numbers.
"""
import base64
import json

INTEGERS = {"i8": (-2**7, 2**7 - 1), "i16": (-2**15, 2**15 - 1), "i32": (-2**31, 2**31 - 1),
            "i64": (-2**63, 2**63 - 1), "u8": (0, 2**8 - 1), "u16": (0, 2**16 - 1),
            "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}
FLOATS = ("f16", "bf16", "f32", "f64")
HALVES = FLOATS[:2]
DECIMALS = ("decimal(5,2)", "decimal(15,2)", "decimal(18,6)", "decimal(38,0)", "decimal(38,10)",
            "decimal(3,3)")
TIMESTAMPS = ("timestamp[s]", "timestamp[ms]", "timestamp", "timestamp[ns]")
ELEMENTS = ("f32", "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool", *INTEGERS)
SHAPES = ((3,), (2, 3), (3,), (1, 3), (2, 1), (2, 2, 3), (20,), (67,))
NAMED = (("n",), ("n",), ("k",), ("h", "w"), ("h", 3), (2, "n"), ("n", "n"), ("h", 1, "w"), ("_", "_"))
NAMED_ELEMENTS = ("f32", "f64", "i64", "u8", "i32")
TIMES = ("date", "duration", *TIMESTAMPS)
SCALARS = ("bool", *INTEGERS, *FLOATS, *DECIMALS, "str", "bytes", *TIMES)
COMMON = ("i64", "i64", "f64", "f64", "str", "str", "str", "bool", "date", "timestamp", "i32",
          "decimal(15,2)", "duration")
WORDS = ("", "a", "b", "abc", "Abc", "hello world", "né", "ß", "日本語", "a,b", "x-y_z", " pad ", "0",
         "007", "-1", "1.5", "true", "null", "NA", "2026-01-02", "😀", "e\u0301", "İstanbul", "aXbXc",
         "key=value; k2=v2", "/usr/lib/x.tar.gz", "a'b", "tab\there", "%41+b", "q1w2e3",
         "supercalifragilisticexpialidocious", "{\"a\": 1}", "[1, 2]", "#hash", "\u00a0x")
HOSTILE_WORDS = ("say \"hi\"", "line\nbreak", "cr\rhere", "crlf\r\nhere", "\"", "\"\"", "a\"b", "\x00",
                 "\x1b[0m", "\ufeffbom", "\\", "\\n", "\u2028", "x" * 300, "\x7f", "|;\t,")


def is_scalar(kind):
    return isinstance(kind, str)


def spelling(kind, nullable=False):
    """As a type is written in a program."""
    if is_scalar(kind):
        text = kind
    elif kind[0] == "list":
        text = f"[{spelling(kind[1], kind[2])}]"
    elif kind[0] == "map":
        text = f"{{str: {spelling(kind[1], kind[2])}}}"
    elif kind[0] in ("tensor", "named"):
        text = f"{kind[1]}[{', '.join(map(str, kind[2]))}]"
    else:
        text = "{" + ", ".join(f"{n}: {spelling(k, q)}" for n, k, q in kind[1]) + "}"
    return text + "?" if nullable else text


def scalar(random):
    return random.choice(COMMON) if random.random() < 0.7 else random.choice(SCALARS)


def is_tensor(kind):
    return kind[0] == "tensor"


def is_named(kind):
    return kind[0] == "named"


def sized(random, shape):
    """The shape with a size for each name."""
    sizes = {}
    for name in shape:
        size = random.choice((1, 1, 2, 2, 3, 3, 3, 4, 5, 33)) if len(shape) == 1 else random.choice((1, 2, 2, 3, 3, 4))
        if not isinstance(name, int):
            sizes.setdefault(name, size)
    return tuple(sizes.get(name, name) for name in shape)


def holds_tensor(kind):
    """It is a tensor, or has one in it."""
    return is_tensor(kind) or is_named(kind) or kind[0] in ("list", "map") and holds_tensor(kind[1]) or \
        kind[0] == "struct" and any(holds_tensor(field[1]) for field in kind[1])


def crosses(kind, narrow):
    """Do values go to functions over batches? Arrow has no code for bf16; `narrow`: nor Python arrays of f16."""
    if kind[0] in ("tensor", "named"):
        return kind[1] != "bf16" and (kind[1] != "f16" or narrow)
    if kind[0] in ("list", "map"):
        return crosses(kind[1], narrow)
    return kind[0] != "struct" or all(crosses(field[1], narrow) for field in kind[1])


def entries_of(kind):
    """The kind of what entries() gives of a map."""
    return ("list", ("struct", (("key", "str", False), ("value", kind[1], kind[2]))), False)


def tensor(random):
    return ("tensor", random.choice(ELEMENTS), random.choice(SHAPES))


def in_shape(shape, item, comma=","):
    """Brackets around the items of a tensor."""
    if not shape:
        return item()
    return "[" + comma.join(in_shape(shape[1:], item, comma) for _ in range(shape[0])) + "]"


def nested(random, depth=2):
    """Any type that JSON can hold."""
    roll = random.random()
    if depth and roll < 0.12:
        return ("list", nested(random, depth - 1), random.random() < 0.3)
    if depth and roll < 0.22:
        fields = tuple((f"f{i}", nested(random, depth - 1), random.random() < 0.4)
                       for i in range(random.randint(1, 3)))
        return ("struct", fields)
    if roll < 0.28:
        return tensor(random)
    if roll < 0.32:
        return ("named", random.choice(NAMED_ELEMENTS), random.choice(NAMED))
    if depth and roll < 0.35:
        return ("map", nested(random, depth - 1), random.random() < 0.3)
    return "json" if roll < 0.38 else scalar(random)


def digits_of(kind):
    precision, scale = kind[len("decimal("):-1].split(",")
    return int(precision), int(scale)


def quote(text):
    """A string literal of the language."""
    out = []
    for c in text:
        if c in "\"\\":
            out.append("\\" + c)
        elif ord(c) < 0x20 or 0x7f <= ord(c) < 0xa1 or c in "\u2028\ufeff":
            out.append(f"\\u{{{ord(c):x}}}")
        else:
            out.append(c)
    return "\"" + "".join(out) + "\""


# ---- values ------------------------------------------------------------------------------------

def integer(random, kind):
    low, high = INTEGERS[kind]
    roll = random.random()
    if roll < 0.6:
        value = random.randint(-3, 20)
    elif roll < 0.85:
        value = random.randint(-1000, 1000)
    elif roll < 0.95:
        value = random.choice((low, high, low + 1, high - 1, 0, 2**53, 2**53 + 1, 2**31, -2**31))
    else:
        value = random.randint(low, high)
    return min(max(value, low), high)


def float_text(random):
    roll = random.random()
    if roll < 0.5:
        return f"{random.randint(-500, 500) / 4}"
    if roll < 0.8:
        return repr(random.uniform(-1000, 1000))
    return random.choice(("0.0", "-0.0", "1e300", "-1e300", "5e-324", "0.1", "1e16", "1e-5", "123456789.125",
                          "1.7976931348623157e308", "2.5", "3.5", "-2.5", "9007199254740993.0", "3.4e38",
                          "1e-45"))


def decimal_text(random, kind):
    precision, scale = digits_of(kind)
    size = precision if random.random() < 0.15 else min(precision, random.randint(1, 6))
    digits = "".join(random.choice("0123456789") for _ in range(size)).rjust(scale + 1, "0")
    whole, part = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
    if precision == scale:
        whole = "0"
    return random.choice(("", "", "-")) + whole + ("." + part if part else "")


def date_text(random):
    if random.random() < 0.1:
        return random.choice(("0000-01-01", "9999-12-31", "1970-01-01", "2024-02-29", "1900-02-28"))
    return f"{random.randint(1965, 2035):04}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def timestamp_text(random, kind):
    text = f"{date_text(random)}T{random.randint(0, 23):02}:{random.randint(0, 59):02}"
    text += f":{random.randint(0, 59):02}"
    digits = {"timestamp[s]": 0, "timestamp[ms]": 3, "timestamp": 6, "timestamp[ns]": 9}[kind]
    if digits and random.random() < 0.4:
        text += "." + "".join(random.choice("0123456789") for _ in range(random.randint(1, digits)))
    return text + "Z"


def duration_text(random):
    if random.random() < 0.3:
        text = f"{random.choice(('', '', '-', '+'))}{random.choice((0, 9, 14, 25, random.randint(0, 99999))):02}:{random.randint(0, 60):02}"
        return text + random.choice(("", f":{random.randint(0, 60):02}", f":{random.randint(0, 59):02}.{random.randint(0, 9999999)}"))
    return f"{random.choice((0, 1, -1, 90, 3600, random.randint(-9999, 9999)))}" + \
        random.choice(("us", "ms", "s", "min", "h", "d")).replace("min", "m")


def word(random, hostile=False):
    if hostile and random.random() < 0.3:
        return random.choice(HOSTILE_WORDS)
    if random.random() < 0.15:
        return "".join(random.choice("abcXYZ 019-é") for _ in range(random.randint(1, 40)))
    return random.choice(WORDS)


def canonical(random, kind, hostile=False):
    """The text of a value that fits."""
    if kind == "bool":
        return random.choice(("true", "false"))
    if kind in INTEGERS:
        return str(integer(random, kind))
    if kind == "f64":
        return float_text(random)
    if kind in HALVES:
        return random.choice(("0.5", "-1.25", "3.0", "0.1", "100.0", "2049", "65504", "1e-7", "0.0", "-0.0", "1.0004883"))
    if kind == "f32":
        return random.choice(("0.5", "-1.25", "3.0", "0.1", "100.0", "16777217.0", "3.0e38", "1e-40"))
    if kind.startswith("decimal"):
        return decimal_text(random, kind)
    if kind == "date":
        return date_text(random)
    if kind == "duration":
        return duration_text(random)
    if kind.startswith("timestamp"):
        return timestamp_text(random, kind)
    if kind == "bytes":
        return base64.b64encode(word(random, hostile).encode()).decode()
    if kind == "json":
        return json_of(random, nested(random, 1) if random.random() < 0.5 else "i64", hostile)
    return word(random, hostile)


def odd(random, kind):
    """Another spelling, or one that is wrong."""
    if kind == "bool":
        return random.choice(("TRUE", "False", "yes", "1", " true", "t"))
    if kind in INTEGERS:
        return random.choice(("+5", "007", " 12 ", "1.0", "1e3", "99999999999999999999", "-0", "--1", "abc",
                              "1_000", "1,000", "256", "-129", "65536", "4294967296", "\t3", "0x10", "１"))
    if kind in FLOATS:
        return random.choice(("inf", "-inf", "NaN", "nan", "1e999", "1e-999", ".5", "5.", "+1.5", " 2.5 ", "1e5",
                              "1E+5", "Infinity", "1.2.3", "abc", "1,5", "0x1p3", "e5", ".", "007.50", "1e39"))
    if kind.startswith("decimal"):
        return random.choice((".5", "5.", "+1", "1.000", "1.0000001", "999999999999", " 1.5 ", "1e2", "abc", "-0",
                              "00.10", "1,5"))
    if kind == "date":
        return random.choice(("2026-02-30", "2026-1-1", "26-01-01", "2026-13-01", "+12026-01-01", "-0044-03-15",
                              " 2026-01-01", "2026-01-01T00:00:00Z", "20260101"))
    if kind == "duration":
        return random.choice(("1.5h", "90", "1.0000001s", "+5s", "1 s", "abc", "0s", "-1.5m", "99999999999d"))
    if kind.startswith("timestamp"):
        return random.choice(("2026-01-01 00:00", "2026-01-01t10:00:00z", "2026-01-01T25:00:00Z",
                              "2026-01-01T10:00:60Z", "2026-01-01T10:00:00+02:00", "2026-01-01T10:00:00.123456789Z",
                              "2026-01-01", "2026-01-01T10:00:00-0330", "2026-01-01T10:00:00", "x",
                              "2026-03-29T02:30:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"))
    if kind == "bytes":
        return random.choice(("====", "YQ", "a", "YWI=", "YWI*", " YQ==", "YR=="))
    if kind == "json":
        return random.choice(("{", "[1,]", "{\"a\":1,\"a\":2}", " [1, 2 ] ", "\"\\ud800\"", "nul", "1.0e5", "-0"))
    return word(random, True)


def json_of(random, kind, hostile=False):
    """A JSON text of a value that fits."""
    if not is_scalar(kind):
        if kind[0] == "list":
            items = [json_or_null(random, kind[1], kind[2], hostile) for _ in range(random.randint(0, 4))]
            return "[" + random.choice((",", ", ")).join(items) + "]"
        if kind[0] == "map":
            items = [f"{json.dumps(key, ensure_ascii=random.random() < 0.3)}:{json_or_null(random, kind[1], kind[2], hostile)}"
                     for key in map_keys(random, hostile)]
            return "{" + random.choice((",", " , ")).join(items) + random.choice(("}", " }"))
        if is_named(kind):
            shape = sized(random, kind[2])
            if hostile and random.random() < 0.1:
                shape = tuple(n + random.choice((-1, 0, 1)) for n in shape)
            return in_shape(shape, lambda: json_of(random, kind[1], hostile), random.choice((",", " , ")))
        if is_tensor(kind):
            shape = tuple(n + random.choice((-1, 1)) if hostile and random.random() < 0.1 else n for n in kind[2])
            return in_shape(shape, lambda: json_of(random, kind[1], hostile), random.choice((",", " , ")))
        pairs = [f"{json.dumps(n)}: {json_or_null(random, k, q, hostile)}" for n, k, q in kind[1]
                 if not q or random.random() < 0.8]
        return "{" + ",".join(pairs) + "}"
    text = canonical(random, kind, hostile)
    if kind in INTEGERS or kind in FLOATS or kind.startswith("decimal") or kind in ("bool", "json"):
        return text
    return json.dumps(text, ensure_ascii=random.random() < 0.3)


def map_keys(random, hostile):
    """Different from each other, but now and then of hostile data."""
    keys = [word(random, hostile) for _ in range(random.choice((0, 1, 2, 3, 5, 40)))]
    return keys if hostile and random.random() < 0.05 else list(dict.fromkeys(keys))


def json_or_null(random, kind, nullable, hostile=False):
    if nullable and random.random() < 0.25:
        return "null"
    return json_of(random, kind, hostile)


def json_odd(random, kind):
    if random.random() < 0.4:
        if kind in ("str", "json") and random.random() < 0.2:
            return "\"\\ud83d\""
        return random.choice(("null", "1", "\"x\"", "[]", "{}", "true", "1.0", "1e400", "[null]",
                              "\"nan\"", "-0", "1E2", "\"\\u00e9\\n\"", "{\"f0\": 1, \"f0\": 2}"))
    text = odd(random, kind) if is_scalar(kind) else "x"
    return text if random.random() < 0.3 else json.dumps(text)


# ---- literals ----------------------------------------------------------------------------------

def literal(random, kind):
    """An expression without operands of exactly this type."""
    if not is_scalar(kind):
        if kind[0] == "list":
            return "[" + ", ".join(literal(random, kind[1]) for _ in range(random.randint(1, 3))) + "]"
        if kind[0] == "map":
            items = [f"{{key: {key}, value: {valued(random, kind)}}}" for key in random.sample(("\"a\"", "\"b\"", "\"é x\""), 2)]
            return f"map_of([{', '.join(items)}])"
        if is_named(kind):
            return in_shape(sized(random, kind[2]), lambda: literal(random, kind[1]), ", ")
        if is_tensor(kind):
            return in_shape(kind[2], lambda: literal(random, kind[1]), ", ")
        return "{" + ", ".join(f"{n}: {literal(random, k)}" for n, k, _ in kind[1]) + "}"
    if kind == "bool":
        return random.choice(("true", "false"))
    if kind in INTEGERS:
        value = integer(random, kind)
        if kind == "i64":
            return str(value) if value >= 0 else f"({value})" if value > -2**63 else "(-9223372036854775807 - 1)"
        low, high = max(INTEGERS[kind][0], -2**62), min(INTEGERS[kind][1], 2**62)
        return f"{kind}({min(max(value, low), high)})"
    if kind == "f64":
        text = float_text(random)
        text = text if "." in text or "e" in text else text + ".0"
        return f"({text})" if text.startswith("-") else text
    if kind in ("f32", *HALVES):
        return f"{kind}({random.choice(('0.5', '1.25', '-3.0', '100.0', '0.0'))})"
    if kind.startswith("decimal"):
        precision, scale = digits_of(kind)
        whole = random.randint(0, 10 ** min(precision - scale, 4) - 1)
        part = random.randint(0, 10 ** min(scale, 2) - 1) if scale else 0
        return f"decimal(\"{whole}.{part}\", {precision}, {scale})"
    if kind == "date":
        return f"date(\"{date_text(random)}\")"
    if kind == "duration":
        return random.choice(("90s", "1h", "5ms", "0s", "2d", "7us"))
    if kind == "timestamp":
        return f"timestamp(\"{timestamp_text(random, kind)}\")"
    if kind.startswith("timestamp"):
        return f"timestamp_{kind[10:-1]}(date(\"{date_text(random)}\"))"
    if kind == "bytes":
        return f"bytes({quote(word(random))})"
    if kind == "json":
        return f"to_json({random.randint(0, 9)})"
    return quote(word(random, random.random() < 0.1))


def valued(random, kind):
    """A value of a map, of the type that the map says."""
    text = literal(random, kind[1])
    return f"(if 1 > {random.randint(0, 1)} then {text} else null)" if kind[2] else text


def beside(random, kind):
    """A literal in a place that says its type."""
    if is_scalar(kind) or kind[0] != "map":
        return literal(random, kind)
    items = (f"{key}: {valued(random, kind)}" for key in random.sample(("a", "b", "`x y`"), random.randint(0, 2)))
    return "{" + ", ".join(items) + "}"


def constant(random, kind):
    """A literal without parentheses around it."""
    text = literal(random, kind)
    return "0" if kind == "i64" and " - " in text else text[1:-1] if text.startswith("(") else text
