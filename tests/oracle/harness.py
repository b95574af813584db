"""Runs jobs and compares what they write with what other engines say, value by value."""
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile
from datetime import date, datetime, timedelta
from decimal import Decimal

HERE = pathlib.Path(__file__).parent
LEAST_LEVEL = f"--target={HERE.parent / 'least_level.yaml'}"
SBC = os.environ.get("SBC", str(HERE / "../../zig-out/bin/sbc"))

CASES = []


class Skip(Exception):
    """Raised by a case that cannot run here."""


class Different(Exception):
    """Raised by a comparison that does not hold."""


def case(function):
    """Registers a test; its name is the function's."""
    CASES.append(function)
    return function


class Number(str):
    """A JSON number as it was spelled."""


def parse_line(line):
    return json.loads(line, parse_float=Number, parse_int=Number, parse_constant=reject_constant)


def reject_constant(name):
    raise Different(f"{name} is no JSON")


class Work:
    """A folder for one case, with the job's inputs and outputs."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def put(self, name, content):
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def compile(self, text):
        source = text if isinstance(text, pathlib.Path) else self.put("case.sbd", text)
        done = subprocess.run([SBC, source, "-o", self.path / "job", LEAST_LEVEL], capture_output=True, cwd=self.path)
        if done.returncode:
            raise Different(f"sbc ends with {done.returncode}\n{done.stderr.decode()}")

    def run(self, text, out="out.jsonl", **params):
        """Compiles and runs a program, and gives the bytes that it wrote to `out`."""
        self.compile(text)
        options = [f"--{name}={value}" for name, value in params.items()]
        done = subprocess.run([self.path / "job", "--overwrite", *options], capture_output=True, cwd=self.path)
        if done.returncode:
            raise Different(f"the job ends with {done.returncode}\n{done.stderr.decode()}")
        return (self.path / out).read_bytes()

    def rows(self, text, out="out.jsonl", **params):
        """As run, of JSON lines; each row a list of its values."""
        lines = self.run(text, out, **params).decode().split("\n")
        if lines.pop():
            raise Different("the last line has no end")
        return [list(parse_line(line).values()) for line in lines]


def bits(x):
    """The float's place among all floats, so that neighbours differ by one."""
    (n,) = struct.unpack("<q", struct.pack("<d", x))
    return n if n >= 0 else -(n & 0x7FFFFFFFFFFFFFFF)


def same_float(expected, got, ulps):
    if math.isnan(expected):
        return got == "nan"
    if math.isinf(expected):
        return got == ("inf" if expected > 0 else "-inf")
    return isinstance(got, Number) and abs(bits(expected) - bits(float(got))) <= ulps


def timestamp_text(t):
    """The canonical text of a time in UTC."""
    text = f"{t.year:04}" + t.strftime("-%m-%dT%H:%M:%S")
    if t.microsecond:
        text += f".{t.microsecond:06}" if t.microsecond % 1000 else f".{t.microsecond // 1000:03}"
    return text + "Z"


def same(expected, got, ulps=0):
    """Is a value that a job wrote as JSON the one that another engine gives as Python's?"""
    if expected is None or isinstance(expected, bool):
        return got is expected
    if isinstance(expected, int):
        return isinstance(got, Number) and got == str(expected)
    if isinstance(expected, float):
        return same_float(expected, got, ulps)
    if isinstance(expected, Decimal):
        return isinstance(got, Number) and got == format(expected, "f")
    if isinstance(expected, datetime):
        return got == timestamp_text(expected)
    if isinstance(expected, date):
        return got == expected.isoformat()
    if isinstance(expected, timedelta):
        raise Different("compare durations as integers")
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(got) and all(same(e, g, ulps) for e, g in zip(expected, got))
    if isinstance(expected, dict):
        return isinstance(got, dict) and same(list(expected.values()), list(got.values()), ulps)
    return got == expected and not isinstance(got, Number)


def expect(expected, got, ulps=0, about=None):
    """Compares tables, row by row; `about(i)` describes the i-th row in the message."""
    for i, (e, g) in enumerate(zip(expected, got)):
        e, g = list(e), list(g)
        if not same(e, g, ulps):
            columns = [k for k, (a, b) in enumerate(zip(e, g)) if not same(a, b, ulps)]
            raise Different(f"row {i} ({about(i) if about else ''}), columns {columns}:\n"
                            f"  expected {[e[k] for k in columns]!r}\n  got      {[g[k] for k in columns]!r}")
    if len(expected) != len(got):
        raise Different(f"{len(expected)} rows expected, {len(got)} found")


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def run_all(only):
    """Runs the cases, or those whose names hold `only`; gives the exit code."""
    passed = failed = skipped = 0
    for function in CASES:
        if only and only not in function.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Work(folder))
                passed += 1
                print(f"ok   oracle {function.__name__}")
            except Skip as why:
                skipped += 1
                print(f"skip oracle {function.__name__}: {why}")
            except Exception as why:
                failed += 1
                print(f"FAIL oracle {function.__name__}: {type(why).__name__}: {why}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
