#!/usr/bin/env python3
"""one_error.py: one mistake gives one error. No diagnostic may follow from another.

usage: tests/diagnostics/one_error.py [--all] [--show] [PROGRAM...]

Takes the examples and the programs of the end-to-end cases, plants one mistake in one place, and
counts what `sbc check` says: exactly one error, and no warning that the whole program does not give.
Each program gets a fixed choice of places; --all takes every place (a minute), --show prints what is
said about each mutant of the named programs.

A name that is misspelt where it is declared is left out: then each of its uses is wrong by itself.
"""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
FILES_AT_ONCE = 200
PLACES = 14          # Of a program that are changed, unless --all is given.
SHOWN_MAX = 10

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import case as cases  # noqa: E402

TOKEN = re.compile(r"""
    (?P<comment>\#[^\n]*) | (?P<fstring>f"(?:[^"\\\n]|\\.)*") | (?P<raw>r"[^"\n]*") |
    (?P<string>"(?:[^"\\\n]|\\.)*") | (?P<name>`[^`\n]*`) |
    (?P<number>\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]*%?) | (?P<word>[A-Za-z_]\w*) |
    (?P<sign>->|=>|==|!=|<=|>=|\?\?|\.\.|//|[-+*/%<>=(){}\[\],.:?|]) | (?P<space>\s+)
""", re.X)

# Words that are no name where they stand, whatever else they may be.
KEYWORDS = set("""read write as use param type fn extern from let rejects test given expect where derive
select drop rename explode group by aggregate sort desc asc nulls first last limit skip distinct join left
right full semi anti inner on union zip shuffle seed sample repartition rows bytes cpu gpu with and or not in
if then else case null true false reject fail range pure impure fallible infallible per row batch pivot unpivot outer
asof within""".split())

# What an expression becomes that can have no value; each is one mistake and has one error.
POISONS = ["zz_name", "zz_function(1)", "7u64", "(1 + true)", '"\\q"', 'date("zz")', "len()",
           '[1, "zz"]', "(not 7)", "abs(true)", 'str(zz_name) ', "(zz_name ?? 0)",
           "(zz_name else 0)", "(if zz_name then 1 else 2)", "{a: zz_name}.a", "[zz_name][0]",
           "i64(1, 2)", "case { _ => zz_name }", "-(zz_name)", "(1 + 2).abs()", "1__0", "9" * 400 + "kB"]


class Token:
    def __init__(self, kind, text, at):
        self.kind, self.text, self.at = kind, text, at


def tokens_of(text):
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            return []  # Nothing that this small lexer knows.
        if match.lastgroup not in ("space", "comment"):
            tokens.append(Token(match.lastgroup, match.group(), at))
        at = match.end()
    return tokens


def frames(tokens):
    """For each token: the word before the innermost bracket it stands in, and that bracket."""
    stack, found = [("", "")], []
    for i, token in enumerate(tokens):
        if token.text in (")", "]", "}") and len(stack) > 1:
            stack.pop()
        found.append(stack[-1])
        if token.text in ("(", "[", "{"):
            before = tokens[i - 1] if i else None
            word = before.text if before and before.kind == "word" else ""
            stack.append((word, token.text))
    return found


class Mutant:
    def __init__(self, program, text, what):
        self.program, self.text, self.what = program, text, what


def is_call(tokens, i):
    return tokens[i].kind == "word" and i + 1 < len(tokens) and tokens[i + 1].text == "(" and \
        tokens[i + 1].at == tokens[i].at + len(tokens[i].text)


def is_declared(tokens, i):
    """Does the name come to be here? Then what uses it is wrong once for each use."""
    before = tokens[i - 1].text if i else ""
    after = tokens[i + 1].text if i + 1 < len(tokens) else ""
    opened = [token.text for token in tokens[max(i - 4, 0):i]]
    if opened[-2:] == ["as", "("] or opened[-4:-2] == ["as", "("]:  # unpivot (a, b) as (name, value)
        return True
    behind = i + 1  # Of a lambda: x -> ..., (acc, x) -> ...
    while behind < len(tokens) and (tokens[behind].text == "," or tokens[behind].kind == "word"):
        behind += 1
    if [token.text for token in tokens[behind:behind + 2]] == [")", "->"] or after == "->":
        return True
    return after in (":", "=") or before in ("let", "param", "type", "fn") or is_statement(tokens, i)


def is_dimension(frame):
    """Is a token there a dimension of a tensor's type? Any name is one."""
    return frame[1] == "[" and re.fullmatch(r"bool|bf16|[fiu]\d+", frame[0]) is not None


def is_statement(tokens, i):
    return i == 0 and tokens[i].text in KEYWORDS


def statement_starts(text, tokens):
    """By token: the keyword of the statement it belongs to (a line that begins without a space)."""
    now, found = "", []
    for token in tokens:
        begins = token.at == 0 or text[token.at - 1] == "\n"
        if begins and token.kind == "word":
            now = token.text
        found.append(now)
    return found


def mutants_of(program, text):
    tokens = tokens_of(text)
    around, statements = frames(tokens), statement_starts(text, tokens)
    found = []

    def plant(token, new, what):
        changed = text[:token.at] + new + text[token.at + len(token.text):]
        found.append(Mutant(program, changed, f"{what}: {token.text} -> {new[:40]}"))

    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        statement = statements[i]
        if statement == "extern":
            continue
        if token.kind == "number" and before not in ("limit", "skip", "rows", "bytes", "sample", "seed"):
            for poison in POISONS:
                named = poison == "zz_name" and is_dimension(around[i])
                if not named and not (after == ".." and poison[0] == "["):  # x in [..] is a list of its own.
                    plant(token, poison, "value")
        if token.kind == "string" and before == "use":
            plant(token, token.text[:-1] + "_zz\"", "file")
        elif token.kind in ("string", "raw", "fstring") and before not in ("from", "test"):
            plant(token, '"\\q"', "value")
            plant(token, "zz_name", "value")
            plant(token, "(1 + true)", "value")
        if token.kind != "word" or token.text in KEYWORDS and not is_call(tokens, i):
            continue
        if is_declared(tokens, i) or is_dimension(around[i]):
            continue
        plant(token, token.text + "_zz", "name")
    return found


def programs():
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.sbd"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, ROOT), file.read(), {}
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "e2e", "*", "*.case"))):
        case = cases.load(path, os.path.relpath(path, ROOT))
        used = {name: body for name, body in case.inputs
                if name.endswith((".sbd", ".c"))}
        for name in case.programs():
            body = dict(case.inputs)[name].decode("utf-8", "replace")
            yield f"{case.name}:{name}", body, used


def said(folder, texts):
    """What is said about each of the texts: a list of (severity, code, message, line)."""
    paths = []
    for i, text in enumerate(texts):
        paths.append(os.path.join(folder, f"m{i}.sbd"))
        with open(paths[-1], "w", encoding="utf-8", newline="") as file:
            file.write(text)
    answers = {path: [] for path in paths}
    for at in range(0, len(paths), FILES_AT_ONCE):
        done = subprocess.run([SBC, "check", "--diagnostics=json", *paths[at:at + FILES_AT_ONCE]],
                              cwd=ROOT, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"sbc check ended with {done.returncode}: {done.stderr[-2000:]!r}")
        for line in done.stderr.splitlines():
            found = json.loads(line)
            place = found["labels"][0] if found["labels"] else {"file": paths[at], "start": {"line": 0}}
            answers.setdefault(place["file"], []).append(
                (found["severity"], found["code"], found["message"], place["start"]["line"]))
    return [answers[path] for path in paths]


def main():
    every, show = "--all" in sys.argv, "--show" in sys.argv
    only = [word for word in sys.argv[1:] if not word.startswith("-")]
    passed = failed = skipped = shown = 0
    for name, text, used in programs():
        if only and not any(word in name for word in only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for extra, body in used.items():
                path = os.path.join(folder, extra)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(body)
            before = said(folder, [text])[0]
            if any(severity == "error" for severity, *_ in before):
                skipped += 1  # A case about the error.
                continue
            warned = [(code, message) for severity, code, message, _ in before if severity == "warning"]
            mutants = mutants_of(name, text)
            if not every and not show and len(mutants) > PLACES:
                mutants = random.Random(name).sample(mutants, PLACES)
            for mutant, answer in zip(mutants, said(folder, [m.text for m in mutants])):
                errors = [one for one in answer if one[0] == "error"]
                warnings = [one for one in answer if one[0] == "warning" and one[1:3] not in warned]
                if show:
                    print(f"{mutant.what}: {answer}")
                if len(errors) == 1 and not warnings:
                    passed += 1
                    continue
                failed += 1
                shown += 1
                if shown <= SHOWN_MAX or every:
                    print(f"FAILED {name}: {mutant.what}")
                    for severity, code, message, line in errors + warnings:
                        print(f"    {severity}[{code}] line {line}: {message}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
