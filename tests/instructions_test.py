#!/usr/bin/env python3
"""instructions_test.py: what a row of one kind costs beside a row of another, in instructions, which the load of the machine hardly changes.

usage: tests/instructions_test.py [NAME...]     all, or this submission's share of them (tests/share.py)

Both jobs of a pair run under callgrind, on N and on 2 N rows, so that their start does not count. N is 4,000 where a pair says nothing
else. A pair fails where the first
costs more than its budget allows, twice: ticks of the job's clock add a few instructions a row where the machine is busy.
"""
import array
import functools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import share

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
ROWS = 4000
SEED = 1
NUMBERS = 256
TARGET = os.path.join(ROOT, "tests", "least_level.yaml")  # What valgrind runs.


def money(source, number):
    return (f"{source.choice('ANR')},{source.choice('FO')},{source.randint(1, 50)},{source.randint(90000, 10500000) / 100:.2f},"
            f"0.{source.randint(0, 10):02d},0.{source.randint(0, 8):02d}\n")


def event(source, number, turned=False, note="bila bifobu huvebi"):
    parts = [f'"id":{number}', '"time":"2026-01-01T00:00:00Z"', f'"kind":"{source.choice(("click", "view"))}"',
             f'"user":{{"name":"n{source.randint(1, 900)}","country":"{source.choice(("BR", "DE", "IN"))}"}}',
             f'"value":{source.randint(100, 9900) / 100}', f'"tags":["sepi","pilo"]', f'"note":"{note}"']
    return "{" + ",".join(reversed(parts) if turned else parts) + "}\n"


def visit(source, number, present=True):
    """A row whose first text is one of few, with a long beginning that all share; of columns that nobody touches half may be null."""
    note = f"note {number % 977},{source.randint(1, 10**6) / 100},{source.randint(1, 10**9)}" if present or number % 2 else ",,"
    return (f"https://example.org/catalogue/of/things/{source.randint(10, 49)},2026-01-{source.randint(1, 28):02d} 00:00:{number % 60:02d},"
            f"{source.randint(1, 10**9)},{note}\n")


def sort_visits(keys, null=""):
    return (f'read csv("in", header = false) as {{ page: str, at: timestamp, id: i64, note: str{null}, cost: f64{null}, code: i64{null} }}\n'
            f'| sort {keys}\n| write csv("-", header = false)\n')


def document(source, number, wide=False):
    words = [source.choice(("alpha", "Beta", "gamma7", "delta,", "Epsilon", "zeta")) for _ in range(16)]
    if wide:
        words[source.randrange(16)] = "caf\u00e9"
    return " ".join(words) + "\n"


def station(source, number, digits=3, exponent=False):
    whole, rest = source.randint(1, 99), source.randint(10 ** (digits - 3), 10 ** (digits - 2) - 1)
    return f"{source.choice(('Oslo', 'Lima', 'Bergen'))};{whole:02d}.{rest}{'e-11' if exponent else ''}\n"


def order(source, number, quoted=True):
    mark = '"' if quoted else ""
    return f"{number},{mark}name {source.randint(1, 900)}{mark},{source.randint(1, 50)},{mark}some words of a note{mark}\n"


def doubled(kind):
    """Amounts that are changed and written."""
    program = f'read csv("in", header = false) as {{ id: i64, paid: {kind}, at: timestamp }} | derive paid = paid + paid | write jsonl("-")\n'

    def row(source, number):
        paid = source.randint(10 ** 9, 10 ** 10 - 1)
        return f"{number},{paid}{'' if kind == 'i64' else '.25'},2024-03-{source.randint(10, 28)} 04:41:{source.randint(10, 59)}\n"
    return program, row


def tokens(pattern, token="token"):
    return (f'read text("in") | select token = find_all(lower(line), r"{pattern}") | explode token | select h = hash({token})\n'
            '| aggregate { n = count(), d = count_distinct(h) } | write csv("-")\n')


def stations(kind):
    return (f'read csv("in", delimiter = ";", quote = "", header = false) as {{ station: str, celsius: {kind} }}\n'
            '| group by station { low = min(celsius), high = max(celsius) } | write csv("-")\n')


def q1(kind):
    return (f'read csv("in", header = false) as {{ flag: str, status: str, qty: {kind}, price: {kind}, disc: {kind}, tax: {kind} }}\n'
            "| derive net = price * (1.0 - disc), charge = price * (1.0 - disc) * (1.0 + tax)\n"
            "| group by flag, status { q = sum(qty), b = sum(price), n = sum(net), c = sum(charge), m = mean(disc), k = count() }\n"
            '| write csv("-")\n')


def times(fraction, offset):
    """Rows of a time."""
    def row(source, number):
        tail = f".{source.randint(0, 999999):06d}" if fraction else ""
        return f"2026-{source.randint(1, 12):02d}-{source.randint(1, 28):02d}T00:00:{number % 60:02d}{tail}{'+02:00' if offset else ''}\n"
    return ('read csv("in", header = false) as { t: timestamp } | where t > timestamp("2026-06-01T00:00:00Z")\n'
            '| aggregate { n = count() } | write csv("-")\n', row)


def optional(source, number):
    """Members that may be missing: sixteen kinds of lines in no order."""
    parts = [f'"m{i}":"{source.choice(("one", "three"))}"' for i in range(4) if source.random() < 0.7]
    return "{" + ",".join([f'"user":{{"country":"{source.choice(("BR", "DE"))}"}}', f'"value":{number}.5', *parts]) + "}\n"


def numbers(kind, step, swapped=False):
    """Eight steps over a file of numbers, in the other byte order if `swapped`. A row is NUMBERS of them."""
    program = (f'read npy("in") as {{ x: {kind} }} | derive a = x * 1.5 | derive b = a + 0.25 | derive c = b * b | derive d = c - x\n'
               f"| derive e = abs(d) | derive f = sqrt(e) | derive g = least(f, 3.0) | derive y = g / 3.0 | {step}\n")
    return program, Floats(kind, swapped)


class Floats:
    def __init__(self, kind, swapped):
        self.letter, self.name = ("f", "f4") if kind == "f32" else ("d", "f8")
        self.swapped = swapped

    def fill(self, file, rows):
        header = f"{{'descr': '{'>' if self.swapped else '<'}{self.name}', 'fortran_order': False, 'shape': ({rows * NUMBERS},), }}".ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        source = random.Random(SEED)
        block = array.array(self.letter, (source.uniform(-2, 2) for _ in range(NUMBERS)))
        if self.swapped:
            block.byteswap()
        file.write(block.tobytes() * rows)


SUM, WRITE = 'aggregate { s = sum(y) } | write csv("-")', 'select y | write npy("out.npy")'
EVENTS = ('read jsonl("in") as { user: { country: str }, value: f64 }\n'
          '| group by c = user.country { n = count(), s = sum(value) }\n| write csv("-")\n')
ORDERS = ('read csv("in", header = false) as { id: i64, name: str, zone: i64, note: str }\n'
          '| group by zone { n = count() } | write csv("-")\n')
def of_lines(step):
    return f'read text("in") | {step} | aggregate {{ n = count(), b = sum(byte_len(line)) }} | write csv("-")\n'


def of_groups(group):
    return of_lines(f'select line = find_all(line, r"[A-Za-z]([a-z0-9]+),?", {group}) | explode line')


def of_part(group):
    return of_lines(f'select line = find_all(line, r"[A-Z](.*?) ", {group}) | explode line')


ALL_LINES = of_lines("where line != \"\"")
DISTINCT = 'read csv("in", header = false) as { key: str, x: i64 } | select key | distinct | write csv("-")\n'


def keyed(keys):
    """Rows whose keys are so many."""
    return lambda source, number: f"k{number * 7919 % keys:07d},{source.randint(0, 99)}\n"


def moments(aggregates):
    return ('read csv("in", header = false) as { key: str, x: i64, y: f64 } | group by key { ' + aggregates + ' } | write csv("-")\n',
            lambda source, number: f"key{number % 10},{source.randint(0, 10**8)},{source.randint(0, 10**6) / 10000:.4f}\n")


def sets(aggregate):
    return ('read csv("in", header = false) as { key: str, x: i64 } | group by key { d = ' + aggregate + '(x) } | write csv("-")\n',
            lambda source, number: f"key{number % 2},{source.randint(0, 10**9)}\n")


LOWER = 'read text("in") | select h = hash(lower(line)) | aggregate { d = count_distinct(h) } | write csv("-")\n'
CLASS, CLASSES = "[a-z0-9]+", "[a-z0-9]+|[^a-z0-9 ]"
# Name: what is judged, what it stands beside (a program and a row each), how many times the second it may cost, and N.
PAIRS = {
    "decimals": ((q1("decimal(15, 2)"), money), (q1("f64"), money), 1.25),
    "forms_in_turn": ((EVENTS, lambda source, number: event(source, number, number % 2 == 1)), (EVENTS, event), 1.5),
    "sort_by_texts": ((sort_visits("page, at desc, id"), visit), (sort_visits("id"), visit), 1.5),
    "sort_carries_nulls": ((sort_visits("id", "?"), visit), (sort_visits("id"), visit), 1.15),
    "optional_members": ((EVENTS, optional), (EVENTS, event), 1.3),
    "times_with_fraction": (times(True, False), times(False, False), 1.9),
    "times_with_offset": (times(True, True), times(False, False), 2.1),
    "escapes": ((EVENTS, lambda source, number: event(source, number, note="a \\\"quoted\\\" word")), (EVENTS, event), 1.2),
    "units": ((EVENTS, lambda source, number: event(source, number, note="caf\\u00e9 \\ud83d\\ude00")), (EVENTS, event), 1.45),
    "alternatives": ((tokens(CLASSES), document), (tokens(CLASS), document), 1.4),
    "wide_letters": ((LOWER, lambda source, number: document(source, number, True)), (LOWER, document), 1.4),
    "wide_tokens": ((tokens(CLASS), lambda source, number: document(source, number, True)), (tokens(CLASS), document), 1.2),
    "matches": ((of_lines('where matches(line, r"omega|timeout [A-Z]") or line != ""'), document), (ALL_LINES, document), 4.2),
    "ends_of_texts": ((of_lines('where matches(line, r"[0-9]ms$") or line != ""'), document), (ALL_LINES, document), 2.4),
    "groups_of_matches": ((of_groups(1), document), (of_groups(0), document), 2),
    "parts_of_matches": ((of_part(1), document), (of_part(0), document), 1.3),
    "replaced_runs": ((of_lines('derive line = replace_matches(line, r"[0-9]", "##")'), document), (ALL_LINES, document), 9),
    "replaced_groups": ((of_lines('derive line = replace_matches(line, r"([a-z])[ ,]([a-z])", "${1}-${2}")'), document), (ALL_LINES, document), 24.5),
    "bytes_of_text": ((tokens(CLASS, "bytes(token)"), document), (tokens(CLASS), document), 1.02),
    "decimal_extremes": ((stations("decimal(9, 1)"), station), (stations("f64"), station), 1.15),
    "decimals_written": (doubled("decimal(15, 2)"), doubled("i64"), 1.3),
    "long_decimals": ((stations("decimal(30, 26)"), lambda source, number: station(source, number, 26)), (stations("f64"), station), 2),
    "long_floats": ((stations("f64"), lambda source, number: station(source, number, 17)), (stations("f64"), station), 1.9),
    "float_exponents": ((stations("f64"), lambda source, number: station(source, number, 6, True)), (stations("f64"), station), 2.2),
    "columns_written": (numbers("f32", WRITE), numbers("f32", SUM), 0.8),
    "narrow_columns": (numbers("f32", SUM), numbers("f64", SUM), 0.5),
    "swapped_columns": (numbers("f32", SUM, True), numbers("f32", SUM), 1.2),
    "moments": (moments("c = corr(f64(x), y)"), moments("a = sum(x), b = sum(y)"), 1.85),
    "numbers_that_differ": (sets("count_distinct"), sets("sum"), 2.12, 100_000),
    "keys_of_their_own": ((DISTINCT, keyed(9_999_991)), (DISTINCT, keyed(1000)), 3.5, 150_000),
    "quoted_fields": ((ORDERS, order), (ORDERS, lambda source, number: order(source, number, False)), 1.9),
}


def count(work, row, rows):
    """Instructions of the whole job on so many rows."""
    source = random.Random(SEED)
    with open(os.path.join(work, "in"), "wb") as file:
        if isinstance(row, Floats):
            row.fill(file, rows)
        else:
            file.writelines(row(source, number).encode() for number in range(rows))
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "./job", "--threads=1", "--overwrite"], cwd=work,
                          capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


@functools.cache  # Some programs stand beside several others.
def row_costs(program, row, rows):
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "p.sbd"), "w", encoding="utf-8") as file:
            file.write(program)
        subprocess.run([SBC, "p.sbd", "-o", "job", f"--target={TARGET}"], cwd=work, check=True)
        return (count(work, row, 2 * rows) - count(work, row, rows)) / rows


def main(names):
    if not shutil.which("valgrind"):
        print("instructions: valgrind is not installed\ninstructions: 0 passed, 0 failed, 1 skipped")
        return 0
    chosen = {name: PAIRS[name] for name in (names or share.share_of(PAIRS)) if name in PAIRS}
    failed = 0
    for name, (judged, beside, most, *rows) in chosen.items():
        rows = rows or [ROWS]
        first, second = row_costs(*judged, *rows), row_costs(*beside, *rows)
        if first > most * second:  # What costs too much does so again.
            row_costs.cache_clear()
            first, second = row_costs(*judged, *rows), row_costs(*beside, *rows)
        good = first <= most * second
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {first:.0f} instructions a row, {second:.0f} beside it: "
              f"{first / second:.2f} of at most {most}" + ("" if good else f"; run it alone: tests/instructions_test.py {name}"))
    print(f"instructions: {len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
