#!/usr/bin/env python3
"""run.py: programs over texts, JSON lines, quoted CSV and short rows, beside programs in C by hand.

usage: tests/bench/texts/run.py [--write] [--rounds=N] [--scale=F] [--before=SBC] [MEMBER ...]

Makes the data of each member from a seed, compiles both programs, and runs them in turn: the least processor time of both threads
counts, which a busy machine changes least. Results have to be the same, numbers by value. --before=SBC runs the jobs of an earlier compiler in the same turns. --write puts the table into
RESULTS.md.
"""
import argparse
import os
import pathlib
import random
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))
BUILD = ROOT / "build/bench/texts"
SEED = 7
ROWS = 20000  # That differ; the rest of a file has them again, in another order.
HEAD = 'param input: str = "in"\nparam out: str = "out.csv"\n\n'


def word(source, low, high):
    return "".join(source.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(source.randint(low, high)))


class Rows:
    """Makes rows of any kind from one seed."""

    def __init__(self):
        self.source = random.Random(SEED)
        self.words = [word(self.source, 2, 8) for _ in range(20000)]
        self.names = [word(self.source, 3, 14).capitalize() for _ in range(413)]

    def document(self, _, wide=0.0):
        source, words = self.source, []
        for _ in range(source.randint(8, 24)):
            text = source.choice(self.words)
            kind = source.random()
            text = text.capitalize() if kind < 0.15 else str(source.randint(1, 9999)) if kind < 0.2 else text
            if source.random() < wide:
                text = text[:1] + source.choice("éüñßøжλ") + text[1:]
            words.append(text + (source.choice(",.;:!?") if source.random() < 0.12 else ""))
        return " ".join(words)

    def note(self, escaped):
        text = " ".join(self.source.choice(self.words) for _ in range(self.source.randint(3, 9)))
        return text.replace(" ", "\\\"", 1).replace(" ", "\\n", 1) if escaped else text

    def event(self, number, last=False, others=False):
        source = self.source
        kind, country = source.choice(("click", "view", "buy")), source.choice(("BR", "DE", "IN", "US"))
        return (f'{{"id":{number},"time":"2026-01-{source.randint(1, 28):02d}T00:00:00Z","kind":"{kind}",'
                f'"user":{{"name":"{self.note(others)}","country":"{country}"}},"value":{source.randint(100, 9900) / 100},'
                f'"tags":["{self.note(others)}","{source.choice(self.words)}"],"title":"{self.note(others)}",'
                f'"note":"{self.note(last)}"}}')

    def order(self, number):
        source = self.source
        text = " ".join(source.choice(self.words) for _ in range(source.randint(3, 12)))
        if source.random() < 0.5:
            text = text.replace(" ", ", ", 2)
        if source.random() < 0.2:
            text = text.replace(" ", ' ""', 1) + '""'
        if source.random() < 0.1:
            text = text.replace(" ", "\n", 1)
        return f'{number},"{source.choice(self.words)}",{source.randint(1, 500)},"{text}",{source.random() * 1000:.2f}'

    def station(self, _):
        return f"{self.source.choice(self.names)};{min(99.9, max(-99.9, self.source.gauss(12, 14))):.1f}"


def tokens(pattern):
    return (f'read text(input)\n| select token = find_all(lower(line), r"{pattern}")\n| explode token\n| select h = hash(bytes(token))\n'
            "| aggregate { tokens = count(), different = count_distinct(h) }\n| write csv(out)\n")


EVENTS = ("read jsonl(input) as { kind: str, user: {country: str}, value: f64, note: str }\n"
          "| group by kind, country = user.country { n = count(), s = sum(value), t = sum(byte_len(note)) }\n"
          "| sort kind, country\n| write csv(out)\n")
ORDERS = ("read csv(input, header = false) as { id: i64, name: str, zone: i64, note: str, value: f64 }\n"
          "| group by zone { n = count(), s = sum(value), t = sum(byte_len(note)) }\n| sort zone\n| write csv(out)\n")


def stations(kind):
    return (f'read csv(input, delimiter = ";", quote = "", header = false) as {{ station: str, celsius: {kind} }}\n'
            "| group by station { low = min(celsius), mean = mean(celsius), high = max(celsius) }\n| sort station\n| write csv(out)\n")


# Name: the program, a row of its data, times that the rows stand there, and the program by hand with its arguments.
MEMBERS = {
    "runs": (tokens("[a-z0-9]+"), Rows.document, 80, ("tokens.c", "0")),
    "tokens": (tokens("[a-z0-9]+|[^a-z0-9 ]"), Rows.document, 80, ("tokens.c", "1")),
    "runs_wide": (tokens("[a-z0-9]+"), lambda rows, n: rows.document(n, 0.04), 80, ("tokens.c", "0")),
    "tokens_wide": (tokens("[a-z0-9]+|[^a-z0-9 ]"), lambda rows, n: rows.document(n, 0.04), 80, ("tokens.c", "1")),
    "lines": (EVENTS, Rows.event, 40, ("lines.c",)),
    "lines_one_escaped": (EVENTS, lambda rows, n: rows.event(n, last=True), 40, ("lines.c",)),
    "lines_escaped": (EVENTS, lambda rows, n: rows.event(n, last=True, others=True), 40, ("lines.c",)),
    "quoted": (ORDERS, Rows.order, 150, ("quoted.c",)),
    "stations": (stations("f64"), Rows.station, 500, ("../reference/b1.c",)),
    "stations_decimal": (stations("decimal(9, 1)"), Rows.station, 500, ("../reference/b1.c",)),
}


def make_data(name, row, times):
    rows = Rows()
    lines = [(row(rows, number) + "\n").encode() for number in range(ROWS)]
    path = BUILD / f"{name}.in"
    with open(path, "wb") as file:
        for _ in range(max(1, int(times))):
            file.write(b"".join(lines))
            rows.source.shuffle(lines)
    return path


def compile_job(sbc, name, program):
    source, job = BUILD / f"{name}.sbd", BUILD / f"{name}.job"
    source.write_text(HEAD + program)
    subprocess.run([sbc, source, "-o", job, "--overwrite"], check=True)
    return job


def compile_hand(name, file):
    program = BUILD / f"{name}.hand"
    subprocess.run(["clang-22", "-std=gnu23", "-D_GNU_SOURCE", "-O3", "-march=native", "-o", program, HERE / file, "-lpthread"],
                   check=True)
    return program


def parts(path):
    """The fields of a result, numbers by value."""
    def value(text):
        try:
            return round(float(text), 6)
        except ValueError:
            return text
    return [[value(text) for text in line.split(",")] for line in path.read_text().splitlines()]


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name, options):
    program, row, times, hand = MEMBERS[name]
    data = make_data(name, row, times * options.scale)
    commands = {}
    for label, sbc in (("before", options.before), ("sbc", SBC)):
        if sbc:
            job = compile_job(sbc, f"{name}_{label}", program)
            commands[label] = [job, f"--input={data}", f"--out={BUILD}/{label}.csv", "--overwrite"]
    commands["by hand"] = [compile_hand(name, hand[0]), data, BUILD / "by hand.csv", *hand[1:]]
    best = {}
    for _ in range(options.rounds):
        for label, command in commands.items():
            best[label] = min(run(command), best.get(label, 1e9))
    for label in commands:
        if parts(BUILD / f"{label}.csv") != parts(BUILD / "by hand.csv"):
            sys.exit(f"{name}: the results of {label} and the program by hand differ")
    size = data.stat().st_size
    data.unlink()
    return size, best


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--help", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--before")
    parser.add_argument("members", nargs="*")
    options = parser.parse_args()
    if options.help or any(name not in MEMBERS for name in options.members):
        sys.exit(__doc__ + "\nMembers: " + " ".join(MEMBERS))
    BUILD.mkdir(parents=True, exist_ok=True)
    table = ["| member | MB | before, s | sbc, s | by hand, s | share of it before | now |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name in options.members or MEMBERS:
        size, best = measure(name, options)
        hand, before = best["by hand"], best.get("before")
        table.append(f"| {name} | {size / 1e6:.0f} | {f'{before:.3f}' if before else ''} | {best['sbc']:.3f} | {hand:.3f} | "
                     f"{f'{hand / before:.0%}' if before else ''} | {hand / best['sbc']:.0%} |")
        print(table[-1], flush=True)
    if options.write:
        head = f"# Results\n\nMeasured by `tests/bench/texts/run.py`: two threads, {options.rounds} rounds in turn, the least processor time of each, that of the system included.\n\n"
        (HERE / "RESULTS.md").write_text(head + "\n".join(table) + "\n")


if __name__ == "__main__":
    main()
