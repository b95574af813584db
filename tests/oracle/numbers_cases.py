"""Numbers read and written, rounded and computed, judged by Python, DuckDB and exact arithmetic."""
import math
import random
import struct
from decimal import ROUND_HALF_UP, Decimal, localcontext

import duckdb

from harness import Different, bits, case, expect, json_lines

FLOATS = 100_000


def random_floats(seed, count):
    """Any bits, most of them of ordinary size, and all the edges."""
    r = random.Random(seed)
    edges = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308,
             9007199254740992.0, 9007199254740993.0, 1e16, 9999999999999998.0, 1e-4, 9.999e-5, 1e22, 1e23, 123456789012345680.0]
    while len(edges) < count:
        kind = r.random()
        if kind < 0.4:
            (x,) = struct.unpack("<d", r.getrandbits(64).to_bytes(8, "little"))
        elif kind < 0.7:
            x = r.uniform(-1e6, 1e6)
        else:
            x = round(r.uniform(-1e4, 1e4), r.randint(0, 5)) * 10.0 ** r.randint(-8, 12)
        if math.isfinite(x):
            edges.append(x)
    return edges


def random_spellings(seed, count):
    """Texts of numbers as people and machines write them, many of them close to a half."""
    r = random.Random(seed)
    out = ["0e0", ".5", "5.", "+1", "-0", "00012.50", "1E5", "1e+5", "2.4703282292062327e-324",
           "2.4703282292062328e-324", "1.7976931348623158e308", "0." + "0" * 400 + "1", "1" + "0" * 300,
           "9007199254740993", "9007199254740992.999999999999999999999999999", "9007199254740993.0000000000000000000001"]
    while len(out) < count:
        kind = r.random()
        if kind < 0.4:
            digits = str(r.getrandbits(r.randint(1, 200)))
            cut = r.randint(0, len(digits))
            text = f"{digits[:cut]}.{digits[cut:]}" if r.random() < 0.8 else digits
            if r.random() < 0.6:
                text += f"e{r.randint(-330, 280 - cut)}"
        elif kind < 0.7:  # Exactly between two floats, or a little aside.
            x = abs(random_floats(r.getrandbits(30), 16)[15])
            upper = struct.unpack("<d", struct.pack("<q", bits(x) + 1))[0]
            half = (Decimal(x) + Decimal(upper)) / 2 if math.isfinite(upper) else Decimal(x)
            text = format(half, "f") if abs(half.adjusted()) < 40 else str(half)
            if r.random() < 0.5 and "E" not in text:
                text += ("" if "." in text else ".") + "0" * r.randint(0, 30) + "1"
        else:
            text = repr(random_floats(r.getrandbits(30), 16)[15])
        if math.isfinite(float(text)):
            out.append(("-" if text[0] != "-" and r.random() < 0.3 else "") + text)
    return out


@case
def floats_are_printed_as_python_does(work):
    values = random_floats(1, FLOATS)
    work.put("t.csv", "x\n" + "".join(f"{x!r}\n" for x in values))
    # Times one: the spelling of the source is not passed on. -0.0 * 1.0 is -0.0.
    got = work.run('read csv("t.csv") as { x: f64 } | derive x = x * 1.0 | write csv("out.csv")', "out.csv")
    lines = got.decode().split("\n")[1:-1]
    for x, line in zip(values, lines, strict=True):
        if repr(x) != line:
            raise Different(f"{x!r} is printed as {line}")


@case
def floats_are_read_as_python_does(work):
    texts = random_spellings(2, FLOATS)
    work.put("t.csv", "x\n" + "".join(f"{t}\n" for t in texts))
    got = work.run('read csv("t.csv") as { x: f64 } | derive x = x * 1.0 | write csv("out.csv")', "out.csv")
    for text, line in zip(texts, got.decode().split("\n")[1:-1], strict=True):
        if repr(float(text)) != line:
            raise Different(f"{text} is read as {line}, not {float(text)!r}")


@case
def floats_in_json(work):
    values = random_floats(3, 20_000)
    work.put("t.jsonl", json_lines([{"x": x} for x in values]))
    got = work.rows('read jsonl("t.jsonl") as { x: f64 } | derive x = x * 1.0 | write jsonl("out.jsonl")')
    expect([[x] for x in values], got)


@case
def small_floats_are_the_shortest(work):
    """f32: what is printed reads back to the same value, and no text of fewer digits does."""
    r = random.Random(4)
    values = []
    while len(values) < 20_000:
        (x,) = struct.unpack("<f", r.getrandbits(32).to_bytes(4, "little"))
        if math.isfinite(x):
            values.append(x)
    work.put("t.csv", "x\n" + "".join(f"{x!r}\n" for x in values))
    got = work.run('read csv("t.csv") as { x: f32 } | derive x = x * 1.0 | write csv("out.csv")', "out.csv")
    db = duckdb.connect()
    for x, line in zip(values, got.decode().split("\n")[1:-1], strict=True):
        if struct.pack("<f", float(line)) != struct.pack("<f", x):
            raise Different(f"{x!r} is printed as {line}")
        digits = len(Decimal(line).normalize().as_tuple().digits)
        shorter = format(x, f".{max(digits - 2, 0)}e")
        if digits > 1 and struct.pack("<f", float(shorter)) == struct.pack("<f", x):
            raise Different(f"{x!r} is printed as {line}, but {shorter} would do")
    db.close()


@case
def rounding_is_exact(work):
    values = [x for x in random_floats(5, 5000) if abs(x) < 1e15] + [0.5, 1.5, 2.5, -2.5, 2.675, 1.005, 1e15 + 0.5]
    work.put("t.jsonl", json_lines([{"x": x} for x in values]))
    got = work.rows('''read jsonl("t.jsonl") as { x: f64 }
        | select a = round(x), b = round(x, 2), c = round(x, -2), d = floor(x), e = ceil(x), f = trunc(x)
        | write jsonl("out.jsonl")''')

    def rounded(x, digits):
        y = float(Decimal(x).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
        return math.copysign(y, x)

    expect([[rounded(x, 0), rounded(x, 2), rounded(x, -2), math.copysign(float(math.floor(x)), x) if math.floor(x) == 0
             else float(math.floor(x)), math.copysign(float(math.ceil(x)), x), math.copysign(float(math.trunc(x)), x)]
            for x in values], got, about=lambda i: values[i])


@case
def integer_arithmetic(work):
    r = random.Random(6)
    rows = [(r.randint(-10**9, 10**9), r.choice([1, -1]) * r.randint(1, 10**r.randint(1, 9))) for _ in range(3000)]
    work.put("t.jsonl", json_lines([{"a": a, "b": b} for a, b in rows]))
    got = work.rows('''read jsonl("t.jsonl") as { a: i64, b: i64 }
        | select s = a + b, d = a - b, p = a * b, q = a / b, i = a // b, m = a % b, ab = abs(a), sg = sign(b),
            lo = least(a, b), hi = greatest(a, b), g = gcd(a, b), c = clamp(a, -1000, 1000), n = -a
        | write jsonl("out.jsonl")''')
    db = duckdb.connect()
    db.execute("CREATE TABLE t (a BIGINT, b BIGINT)")
    db.executemany("INSERT INTO t VALUES (?, ?)", rows)
    expect(db.execute("""SELECT a + b, a - b, a * b, a::DOUBLE / b::DOUBLE, CAST(trunc(a::DECIMAL(18,0)) AS BIGINT) // b, a % b,
        abs(a), sign(b)::BIGINT, least(a, b), greatest(a, b), gcd(a, b), greatest(-1000, least(1000, a)), -a FROM t""").fetchall(), got)


@case
def edges_of_integers(work):
    edges = [-2**63, -2**63 + 1, -1, 0, 1, 2**63 - 1]
    work.put("t.csv", "a,b\n" + "".join(f"{a},{b}\n" for a in edges for b in edges))
    got = work.rows('''read csv("t.csv") as { a: i64, b: i64 }
        | select s = a + b else null, d = a - b else null, p = a * b else null, q = a // b else null, m = a % b else null
        | write jsonl("out.jsonl")''')

    def fits(n):
        return n if -2**63 <= n < 2**63 else None

    def divided(a, b):
        return None if b == 0 else fits(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))

    def rest(a, b):
        return None if b == 0 else int(math.copysign(abs(a) % abs(b), a)) if abs(a) < 2**53 else (abs(a) % abs(b)) * (1 if a > 0 else -1)

    expect([[fits(a + b), fits(a - b), fits(a * b), divided(a, b), rest(a, b)] for a in edges for b in edges], got,
           about=lambda i: (edges[i // 6], edges[i % 6]))


@case
def big_integers_are_judged(work):
    texts = ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
             "18446744073709551615", "18446744073709551616", "1" + "0" * 40, "0" * 50 + "7", "-0", "+5"]
    work.put("t.csv", "s\n" + "".join(f"{t}\n" for t in texts))
    got = work.rows('''read csv("t.csv") as { s: str }
        | select a = i64(s) else null, b = u64(s) else null, c = decimal(s, 38, 0) else null, d = i8(s) else null
        | write jsonl("out.jsonl")''')

    def within(t, low, high):
        return int(t) if low <= int(t) <= high else None

    expect([[within(t, -2**63, 2**63 - 1), within(t, 0, 2**64 - 1), within(t, -10**38 + 1, 10**38 - 1), within(t, -128, 127)]
            for t in texts], got, about=lambda i: texts[i])


def cube_root(x):
    """Python's own is the C library's, which is more than one place off."""
    with localcontext(prec=40):
        return math.copysign(float((Decimal(abs(x)).ln() / 3).exp()), x)


@case
def mathematics(work):
    values = [x for x in random_floats(7, 4000) if 0 < abs(x) < 700]
    work.put("t.jsonl", json_lines([{"x": x} for x in values]))
    names = ["exp", "log", "log2", "log10", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "cbrt", "sqrt", "exp2",
             "expm1", "log1p"]
    columns = ", ".join(f"f{i} = {name}({'abs(x)' if name.startswith('log') or name == 'sqrt' else 'x'})"
                        for i, name in enumerate(names))
    got = work.rows(f'read jsonl("t.jsonl") as {{ x: f64 }} | select {columns} | write jsonl("out.jsonl")')
    for x, row in zip(values, got, strict=True):
        for name, value in zip(names, row, strict=True):
            y = cube_root(x) if name == "cbrt" else \
                getattr(math, name)(abs(x) if name.startswith("log") or name == "sqrt" else x)
            if abs(bits(y) - bits(float(value))) > 2:  # Each is within one of the exact value.
                raise Different(f"{name}({x!r}) is {value}, not {y!r}")


@case
def decimals_are_read_exactly(work):
    r = random.Random(8)
    texts = []
    for _ in range(3000):
        s = r.randint(0, 10)
        n = r.randint(-10**r.randint(1, 27), 10**r.randint(1, 27))
        texts.append(f"{Decimal(n).scaleb(-s):f}")
    work.put("t.csv", "x\n" + "".join(f"{t}\n" for t in texts))
    got = work.rows('read csv("t.csv") as { x: decimal(38, 10) } | select y = x + 0, z = f64(x) | write jsonl("out.jsonl")')
    one = Decimal(1).scaleb(-10)
    with localcontext(prec=60):
        expect([[Decimal(t).quantize(one), float(t)] for t in texts], got, about=lambda i: texts[i])
