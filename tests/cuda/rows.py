"""rows.py: random rows of every type that kernels know, and how files hold them."""
import json
import math
import re
import struct

FORMATS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f16": "e",
           "bf16": "H", "f32": "f", "f64": "d"}
BITS = {name: struct.calcsize(code) * 8 for name, code in FORMATS.items()}


def as_f32(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def bf16_bits(value):
    """Of the nearest, ties to even."""
    if math.isnan(value):
        return 0x7fc0
    bits = struct.unpack("I", struct.pack("f", as_f32(value)))[0]
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def of_bf16(bits):
    return struct.unpack("f", struct.pack("I", bits << 16))[0]


def as_f16(value):
    try:
        return struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


NARROWED = {"f16": as_f16, "bf16": lambda value: of_bf16(bf16_bits(value)), "f32": as_f32, "f64": lambda value: value}


def random_number(kind, rng, calm=False):
    """A value of the type; often one near an end, or small. Calm: small ones only."""
    if kind == "bool":
        return rng.random() < 0.5
    if kind in NARROWED:
        some = [0.0, -0.0, 1.0, -1.5, 0.1, 3e38, -3e38, 65504.0, 6e-8, 1e300, math.inf, -math.inf, math.nan, 1e-310, 16777217.0, 2.0**31]
        value = rng.choice(some) if not calm and rng.random() < 0.3 else rng.uniform(-20, 20)
        return NARROWED[kind](value)
    signed = kind[0] == "i"
    low = -(1 << BITS[kind] - 1) if signed else 0
    high = (1 << BITS[kind] - signed) - 1
    if not calm and rng.random() < 0.3:
        return rng.choice([low, low + 1, high, high - 1, 0, 1, high // 2])
    return max(low, min(high, rng.randint(-20, 40)))


def elements(shape):
    return math.prod(shape)


def parse_columns(text):
    """The columns of `as {a: i64, b: f32[4, 3]?}`: (name, type, shape, null)."""
    columns = []
    for name, kind, shape, null in re.findall(r"(\w+): (\w+)(?:\[([\d, ]+)\])?(\?)?", text):
        columns.append((name, kind, [int(n) for n in shape.split(",")] if shape else [], bool(null)))
    return columns


def nested(values, shape):
    if len(shape) <= 1:
        return values
    step = len(values) // shape[0]
    return [nested(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def as_json(value):
    """As the language reads numbers: floats that are none are strings."""
    if isinstance(value, list):
        return "[" + ",".join(as_json(x) for x in value) + "]"
    if isinstance(value, float):
        return json.dumps(str(value)) if not math.isfinite(value) else repr(value)
    return json.dumps(value)


def random_rows(columns, count, rng):
    rows = []
    for i in range(count):
        row = {}
        for name, kind, shape, null in columns:
            if name == "id":
                row[name] = i
            elif null and rng.random() < 0.3:
                row[name] = None
            elif shape:
                calm = elements(shape) > 16 and rng.random() < 0.8  # One NaN settles the row.
                row[name] = [random_number(kind, rng, calm) for _ in range(elements(shape))]
            else:
                row[name] = random_number(kind, rng)
        rows.append(row)
    return rows


def write_rows(path, columns, rows):
    shapes = {name: shape for name, _, shape, _ in columns}
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            parts = [f"{json.dumps(k)}:{as_json(nested(v, shapes[k]) if shapes[k] else v)}" for k, v in row.items()]
            file.write("{" + ",".join(parts) + "}\n")
