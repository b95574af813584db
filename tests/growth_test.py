#!/usr/bin/env python3
"""growth_test.py: the code of a program grows with the program and no faster, no function of it grows long, and nothing is said of it.

usage: tests/growth_test.py [NAME...]

Counts lines of the optimised code of one CPU level, which no load of the machine changes.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
TYPES = ("i64", "f64", "str", "i64?", "date", "bool")
NARROW, SMALL, LARGE = 50, 150, 300
# The code of LARGE is at most this much larger than that of SMALL: twice, and what chance decides.
GROWTH_MAX = 2.4
# Blocks of one function: those of a row of about a hundred columns, each with code of its own.
BLOCKS_MAX = 2500
# Values that meet where ways of the code meet, for each column. What a row leaves in the place of a result goes on to the
# next row unless the place is cleared, and then meets at every block of the loop: four for each sum of a group.
MEETINGS_MAX = 3.7
# Lines for each column or step of LARGE, where one kind of column shares its code. A step of its own cold block has 14.
LINES_MAX = {"jsonl": 15, "group": 40, "derive": 10, "chain": 7}
# Millions of instructions from the text of so many steps to its plan, by callgrind. Each step lists all columns.
PLANNED = {"derive": (250, 440)}


def read(count, types=TYPES, form="csv"):
    columns = ", ".join(f"c{i}: {types[i % len(types)]}" for i in range(count))
    return f'read {form}("in.{form}") as {{ {columns} }}\n'


def items(count, text):
    return ", ".join(text.replace("#", str(i)) for i in range(count))


def steps(count, text):
    return "".join(text.replace("#", str(i)) for i in range(count))


PAIR = 'read csv("in.csv") as { a: i64, b: i64 }\n'
WRITE = '| write csv("out.csv")\n'
PROGRAMS = {
    "csv": lambda n: read(n) + WRITE,
    "dialect": lambda n: read(n) + '| write csv("out.csv", delimiter = ";")\n',
    "jsonl": lambda n: read(n, form="jsonl") + '| write jsonl("out.jsonl")\n',
    "select": lambda n: read(n, ("i64",)) + "| select " + items(n, "d# = c# + 1") + "\n" + WRITE,
    "group": lambda n: read(n, ("i64",)) + "| group by c0 { " + items(n, "s# = sum(c#)") + " }\n" + WRITE,
    "keys": lambda n: read(n) + "| group by " + items(n, "c#") + " { rows = count() }\n" + WRITE,
    "sort": lambda n: read(n) + "| sort " + items(n, "c#") + "\n" + WRITE,
    "join": lambda n: f"let r = read csv(\"r.csv\") as {{ k: i64, {items(n, 'r#: str')} }}\n" + read(n)
                      + "| join r on c0 == k\n" + WRITE,
    "derive": lambda n: PAIR + steps(n, "| derive d# = a * b + #\n") + WRITE,
    "chain": lambda n: PAIR + steps(n, "| derive a = a + #\n") + WRITE,
    "where": lambda n: PAIR + steps(n, "| where a > # or b > #\n") + WRITE,
}
LONG, MANY = ("chain", "group", "jsonl"), 1000  # These are compiled in whole, too.


def measure(work, name, count):
    """Lines of code, most blocks of a function, the number of parts, and values that meet."""
    path = os.path.join(work, "p.sbd")
    with open(path, "w") as file:
        file.write(PROGRAMS[name](count))
    done = subprocess.run([SBC, path, "--dump=llvm"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} {count} does not compile: {done.stderr}")
    lines = most = blocks = parts = meetings = 0
    for line in done.stdout.splitlines():
        if line.startswith("define "):
            blocks = 1
            parts += "_part_" in line
        elif re.match(r'[\w".-]+:', line):
            blocks += 1
        lines += line.startswith("  ")
        meetings += " = phi " in line
        most = max(most, blocks)
    return lines, most, parts, meetings


def planned(work, name, count):
    """Millions of instructions until the plan is made."""
    path, out = os.path.join(work, "p.sbd"), os.path.join(work, "callgrind")
    with open(path, "w") as file:
        file.write(PROGRAMS[name](count))
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", SBC, path, "--dump=plan"], capture_output=True,
                          text=True, check=False)
    found = re.search(r"refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        raise SystemExit(f"{name} {count} is not planned: {done.stderr[-400:]}")
    return int(found[1].replace(",", "")) / 1e6


def judge(work, name):
    faults = []
    if measure(work, name, NARROW)[2]:
        faults.append(f"{NARROW} are split into parts")
    (small, *_), (large, most, _, meetings) = measure(work, name, SMALL), measure(work, name, LARGE)
    if large > GROWTH_MAX * small:
        faults.append(f"{small} lines for {SMALL} become {large} for {LARGE}")
    if most > BLOCKS_MAX:
        faults.append(f"a function of {LARGE} has {most} blocks")
    if meetings > MEETINGS_MAX * LARGE:
        faults.append(f"{meetings} values meet in the code of {LARGE}")
    if large > LINES_MAX.get(name, large) * LARGE:
        faults.append(f"{large / LARGE:.1f} lines for each of {LARGE}")
    if name in PLANNED:
        count, most = PLANNED[name]
        millions = planned(work, name, count)
        if millions > most:
            faults.append(f"{millions:.0f} million instructions plan {count}, more than {most}")
    for fault in faults:
        print(f"growth: {name}: {fault}")
    return not faults


# A long function is split into parts, in the midst of what belongs to one line.
def is_silent(work, name):
    path = os.path.join(work, "p.sbd")
    with open(path, "w") as file:
        file.write(PROGRAMS[name](MANY))
    done = subprocess.run([SBC, path, "-o", os.path.join(work, "job"), "--overwrite", f"--target={ROOT}/tests/least_level.yaml"],
                          capture_output=True, text=True, check=False)
    if done.stderr:
        print(f"growth: {name} of {MANY}: sbc says {done.stderr[:400]}")
    return not done.stderr


def main():
    names = sys.argv[1:] or list(PROGRAMS)
    with tempfile.TemporaryDirectory(prefix="sbc-growth-") as work:
        good = sum(judge(work, name) and (name not in LONG or is_silent(work, name)) for name in names)
    print(f"{good} passed, {len(names) - good} failed, 0 skipped")
    return good < len(names)


sys.exit(main())
