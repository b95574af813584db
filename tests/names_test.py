#!/usr/bin/env python3
"""names_test.py: every function of DuckDB, Polars, Spark and pandas is there, or has an answer.

usage: tests/names_test.py [NAME...]      what is said about these names

tests/names/ has the names of each tool, and what else people try. A name that sbc does not know must be in frontend/foreign.def,
and each answer of that table that is code must pass `sbc check`, over the row that the table names.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
NAMES_AT_ONCE = 500   # A file keeps 1,000 diagnostics.
SHOWN_MAX = 20

ROW = "x: f64, y: f64, b: f64, a: f64?, q: f64?, n: i64, m: i64, s: str, p: str, w: bytes, c: bool, d: date, e: date, " \
      "t: timestamp, u: timestamp, v: duration, xs: [i64], ys: [i64], ss: [str], bs: [bool], j: json, o: {k: i64}, tags: {str: f64}"
LINE = re.compile(r'^(ROW|AGG|STEP|HEAD|PARAM|NONE)\("([^"]*)", "((?:[^"\\]|\\.)*)"(?:, "((?:[^"\\]|\\.)*)")?\)$')

# Statistics whose answer must be this one and no other: over n - 1 or over n, exact or not.
STATISTICS = {
    "stddev_samp": "write stddev(x); over n - 1", "std": "write stddev(x); over n - 1",
    "var_samp": "write variance(x); over n - 1", "var": "write variance(x); over n - 1",
    "var_pop": "write variance_pop(x); over n", "cov": "write covar_samp(x, y); over n - 1; covar_pop(x, y) is over n",
    "pearson_corr": "write corr(x, y)", "avg": "write mean(x)",
    "nunique": "write count_distinct(x)", "max_by": "write arg_max(s, x)", "min_by": "write arg_min(s, x)",
    "bool_and": "write all(c)", "bool_or": "write any(c)",
}


def table():
    with open(os.path.join(ROOT, "frontend", "foreign.def"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("//") or not line.strip():
                continue
            match = LINE.match(line.rstrip("\n"))
            if not match:
                raise SystemExit(f"frontend/foreign.def:{number}: no line of the table: {line}")
            kind, names, text, _ = match.groups()
            yield number, kind, names.split(), text.replace('\\"', '"').replace("\\\\", "\\")


def program(kind, text, out):
    source = f'read jsonl("in.jsonl") as {{{ROW}}}'
    if kind == "ROW":
        return f"{source} | derive answer = {text} | write jsonl({out})"
    if kind == "AGG":
        return f"{source} | aggregate {{ answer = {text} }} | write jsonl({out})"
    if kind == "HEAD":
        return f"{text} | write jsonl({out})"
    if kind == "PARAM":
        return f"{text}\nrange(3) | derive answer = today | write jsonl({out})"
    if text.startswith("write"):
        return f"{source} | select s, x | {text}"
    return f'{source} | {text} | write jsonl({out})'


def check(texts):
    """What `sbc check` says about each text: a list of its diagnostics."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, text in enumerate(texts):
            paths.append(os.path.join(folder, f"{i}.sbd"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([SBC, "check", "--diagnostics=json", *paths], capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"sbc check ended with {done.returncode}: {done.stderr[-2000:]!r}")
        answers = {path: [] for path in paths}
        for line in done.stderr.splitlines():
            found = json.loads(line)
            answers[found["labels"][0]["file"]].append(found)
        return [answers[path] for path in paths]


def answers_of(names):
    """By name: None where sbc knows it, else (code, fix)."""
    groups = [names[i:i + NAMES_AT_ONCE] for i in range(0, len(names), NAMES_AT_ONCE)]
    texts = ["\n".join(f'range(1) | aggregate {{ answer = {name}(1, 2, 3, 4, 5) }} | write csv("{i}.csv")'
                       for i, name in enumerate(group)) for group in groups]
    found = {}
    for group, said in zip(groups, check(texts)):
        for name in group:
            found[name] = None
        for one in said:
            name = group[one["labels"][0]["start"]["line"] - 1]
            if one["code"] == "SB0203":
                found[name] = (one["code"], one["fix"])
            elif found[name] is None and "not in this version" in one["message"]:
                found[name] = (one["code"], one["fix"])
    return found


def names():
    for path in sorted(glob.glob(os.path.join(HERE, "names", "*.txt"))):
        with open(path, encoding="utf-8") as file:
            tool, *lines = [line.strip() for line in file]
            if lines != sorted(set(lines)) or len(lines) < 50:
                raise SystemExit(f"{path}: not sorted, or cut")
            for line in lines:
                yield tool, line


def undocumented(words):
    """Those for which `sbc doc` has no answer."""
    for i in range(0, len(words), NAMES_AT_ONCE):
        done = subprocess.run([SBC, "doc", *words[i:i + NAMES_AT_ONCE]], capture_output=True, check=False)
        yield from re.findall(r"unknown function, step or topic '([^']*)'", done.stderr.decode())
        if done.returncode not in (0, 2):
            raise SystemExit(f"sbc doc: exit {done.returncode}")


def values():
    """What the answers of some statistics must give, by Python's own."""
    x, y = [2.0, 3.0, 5.0, 11.0], [1.0, 4.0, 6.0, 7.0]
    n, root = len(x), lambda v: v ** 0.5
    xm, ym = sum(x) / n, sum(y) / n
    sxx, syy = sum((a - xm) ** 2 for a in x), sum((b - ym) ** 2 for b in y)
    sxy = sum((a - xm) * (b - ym) for a, b in zip(x, y))
    want = {"stddev_samp": root(sxx / (n - 1)), "var_samp": sxx / (n - 1), "var_pop": sxx / n, "avg": xm,
            "sem": root(sxx / (n - 1)) / root(n), "covar": sxy / (n - 1), "cov": sxy / (n - 1),
            "corrwith": sxy / root(sxx * syy), "wavg": sum(a * b for a, b in zip(x, y)) / sum(y),
            "geomean": (2.0 * 3.0 * 5.0 * 11.0) ** 0.25, "sum_distinct": 21.0,
            "quantile_cont": 5.0 + 0.7 * 6.0}
    rows = ", ".join(f"{{x: {a}, y: {b}}}" for a, b in zip(x, y))
    texts = {word: text for _, kind, words, text in table() if kind == "AGG" for word in words}
    for name, value in want.items():
        done = subprocess.run([SBC, "run", "--engine=reference", "-e",
                               f"[{rows}] | aggregate {{ answer = {texts[name]} }} | write csv(\"-\")"],
                              capture_output=True, check=False)
        said = done.stdout.decode().split()
        yield name, len(said) == 2 and abs(float(said[1]) - value) < 1e-9 * abs(value), said, value


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def hold(self, good, what):
        self.passed += bool(good)
        self.failed += not good
        if not good and self.failed <= SHOWN_MAX:
            print(f"FAILED {what}")


def main():
    if len(sys.argv) > 1:
        for name, answer in answers_of(sys.argv[1:]).items():
            print(f"{name}: {answer[1] if answer else 'sbc has it'}")
        return 0
    tally, lines = Tally(), list(table())
    written = [word for _, _, words, _ in lines for word in words]
    for word in sorted(set(written)):
        tally.hold(written.count(word) == 1, f"foreign.def: '{word}' stands twice")
    known = {name.lower() for _, name in names()}
    for word in written:
        family = any(name.startswith(word[:-1]) for name in known) if word.endswith("*") else None
        tally.hold(word.lower() in known if family is None else family, f"foreign.def: no tool has '{word}'")
    code = [(number, kind, text) for number, kind, _, text in lines if kind != "NONE"]
    flow = "let f = [{n: 1, z: 2}]\n"
    texts = [flow + program(kind, text, '"out.jsonl"') + "\nf | write csv(\"f.csv\")" for _, kind, text in code]
    for (number, _, text), said in zip(code, check(texts)):
        wrong = [one["message"] for one in said if one["code"] not in ("SB0705", "SB0704", "SB0706")]
        tally.hold(not wrong, f"foreign.def:{number}: {text}: {wrong}")
    tools = {}
    for tool, name in names():
        tools.setdefault(name, tool)
    answers = answers_of(sorted(tools))
    for name, answer in sorted(answers.items()):
        guess = answer and (answer[1].startswith("did you mean") or answer[1].startswith("`sbc doc`"))
        tally.hold(not guess, f"{name} has no answer but '{answer and answer[1]}' ({tools[name]})")
    for name in undocumented(sorted(tools)):
        tally.hold(False, f"sbc doc has no answer for {name} ({tools[name]})")
    for name, want in STATISTICS.items():
        tally.hold(answers[name] == ("SB0203", want), f"{name}: {answers[name]}, expected {want}")
    for name, good, said, value in values():
        tally.hold(good, f"{name} gives {said}, expected {value}")
    unused = answers_of([word for word in written if not word.endswith("*")])
    for name, answer in unused.items():
        tally.hold(answer, f"foreign.def: '{name}' is a function of ours; the line is never read")
    print(f"names: {tally.passed} passed, {tally.failed} failed, 0 skipped")
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
