"""Random regular expressions over random texts, and Unicode's categories, judged by Python's re.

Where Python means something else the pattern is written in both ways: `$` is the end of the text, `\\d \\w \\s \\b` are
ASCII, an empty match directly behind a match does not count (tests/oracle/DIFFERENCES.md).
"""
import json
import random
import re
import unicodedata

from harness import Skip, case, expect

ATOMS = [("a", "a"), ("b", "b"), ("é", "é"), ("ab", "ab"), (".", "."), ("[ab]", "[ab]"), ("[^a]", "[^a]"), ("[a-cé]", "[a-cé]"),
         (r"\w", r"(?a:\w)"), (r"\d", r"(?a:\d)"), (r"\s", r"[\t\n\f\r ]"), (r"[^\w]", "[^A-Za-z0-9_]"), (r"\D", r"(?a:\D)"),
         ("(?i:B)", "(?i:B)"), ("(?i:É)", "(?i:É)"), ("(?s:.)", "(?s:.)"), (r"\n", r"\n"), (r"\.", r"\."), (r"[[:digit:]x]", "[0-9x]"),
         (r"\x41", r"\x41"), (r"\x{e9}", "é"), (r"\Qa.\E", r"a\.")]
ASSERTS = [("^", "^"), ("$", r"\Z"), (r"\b", r"(?a:\b)"), (r"\A", r"\A"), (r"\z", r"\Z"), ("(?m:^)", "(?m:^)"), ("(?m:$)", "(?m:$)")]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"]
PIECES = ["a", "b", "é", "É", "B", "A", "ab", "a.", " ", "\n", "1", "x", "_", "ü", "日", "-"]


def pattern(r, depth=0):
    """(ours, Python's, can it match nothing). Repeats take only what cannot: the two differ in how often an empty body runs."""
    kind = 0 if depth > 3 else r.randrange(10)
    if kind < 4:
        return (*r.choice(ATOMS), False)
    if kind == 4:
        return (*r.choice(ASSERTS), True)
    first = pattern(r, depth + 1)
    if kind < 7:
        second = pattern(r, depth + 1)
        return first[0] + second[0], first[1] + second[1], first[2] and second[2]
    ours, theirs, empty = first
    if kind == 7:
        other = pattern(r, depth + 1)
        ours, theirs, empty = ours + "|" + other[0], theirs + "|" + other[1], empty or other[2]
    opening = r.choice(["(", "(?:"])
    ours, theirs = opening + ours + ")", opening + theirs + ")"
    if kind < 9 or empty:
        return ours, theirs, empty
    repeat = r.choice(REPEATS)
    return ours + repeat, theirs + repeat, repeat[0] in "*?" or repeat.startswith("{0")


def judged(theirs, empty, s):
    found = theirs.search(s)
    values = [found is not None, theirs.fullmatch(s) is not None, found and found[0],
              found and [group or "" for group in found.groups()], found and found.start()]
    if empty:
        return values
    return values + [[m[0] for m in theirs.finditer(s)], theirs.sub("<>", s), pieces(theirs, s)]


def pieces(theirs, s):
    ends = [0] + [edge for m in theirs.finditer(s) for edge in m.span()] + [len(s)]
    return [s[ends[i]:ends[i + 1]] for i in range(0, len(ends), 2)]


def columns(k, ours, empty):
    p = f'r"{ours}"'
    calls = [f"matches(s, {p})", f"full_match(s, {p})", f"extract(s, {p})", f"extract_groups(s, {p})", f"index_of_match(s, {p})"]
    if not empty:
        calls += [f"find_all(s, {p})", f'replace_matches(s, {p}, "<>")', f"split_matches(s, {p})"]
    return [f"v{k}_{i} = {call}" for i, call in enumerate(calls)]


@case
def random_regular_expressions_by_python(work):
    r = random.Random(11)
    texts = ["".join(r.choice(PIECES) for _ in range(r.randint(0, 14))) for _ in range(400)]
    work.put("t.jsonl", "".join(json.dumps({"s": s}) + "\n" for s in texts))
    for _ in range(4):
        patterns = [pattern(r) for _ in range(40)]
        names = [column for k, (ours, _, empty) in enumerate(patterns) for column in columns(k, ours, empty)]
        got = work.rows('read jsonl("t.jsonl") as { s: str } | select ' + ", ".join(names) + ' | write jsonl("out.jsonl")')
        compiled = [(re.compile(theirs), empty) for _, theirs, empty in patterns]
        wanted = [[value for theirs, empty in compiled for value in judged(theirs, empty, s)] for s in texts]
        expect(wanted, got, about=lambda i, w=wanted, g=got, n=names: (texts[i], [
            (n[k], w[i][k], g[i][k]) for k in range(len(n)) if w[i][k] != g[i][k]][:2]))


@case
def named_groups_by_python(work):
    texts = ["bob@site.org", "x", "a@b c@d", "", "é@é", "me@"]
    work.put("t.jsonl", "".join(json.dumps({"s": s}) + "\n" for s in texts))
    p = r"(?P<user>[a-z]+)@(?P<host>[a-z]+)?"
    got = work.rows(f'''read jsonl("t.jsonl") as {{ s: str }} | select u = extract(s, r"{p}", "user"), h = extract(s, r"{p}", "host"),
        all = find_all(s, r"{p}", "user"), r = replace_matches(s, r"{p}", "${{host}}-${{user}}") | write jsonl("out.jsonl")''')
    theirs = re.compile(p)

    def judged_groups(s):
        m = theirs.search(s)
        return [m and m["user"], m and m["host"], [m["user"] for m in theirs.finditer(s)], theirs.sub(r"\g<host>-\g<user>", s)]

    expect([judged_groups(s) for s in texts], got, about=lambda i: texts[i])


@case
def categories_by_python(work):
    """How many of each 256 characters are in each general category; those that Python does not know yet are left out."""
    if [int(part) for part in unicodedata.unidata_version.split(".")] > [15, 0, 0]:
        raise Skip(f"Python knows Unicode {unicodedata.unidata_version}, sbc 15.0.0")
    known = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    blocks = [known[first:first + 256] for first in range(0, len(known), 256)]
    names = sorted({unicodedata.category(c) for c in known})
    work.put("t.jsonl", "".join(json.dumps({"s": "".join(block)}) + "\n" for block in blocks))
    got = work.rows('read jsonl("t.jsonl") as { s: str } | select ' +
                    ", ".join(f'c{name} = count_matches(s, r"\\p{{{name}}}")' for name in names) + ' | write jsonl("out.jsonl")')
    wanted = []
    for block in blocks:
        found = [unicodedata.category(c) for c in block]
        wanted.append([found.count(name) for name in names])
    expect(wanted, got, about=lambda i: hex(ord(blocks[i][0])))
