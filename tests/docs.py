#!/usr/bin/env python3
"""docs.py: runs the commands of README.md and of pages in docs/, and compares what they print.

usage: tests/docs.py [--update] [PAGE...]

A fenced block `csv NAME`, `sbd NAME` or `jsonl NAME` becomes a file of that name. In a block `console`
each line behind `$ ` is run by a shell, in a folder of the page's own with `sbc` on the path; the lines
below it are what it must print; a block `stdout` is the same without standard error. `...` alone on a
line stands for any lines, inside of one for anything. A block `figures` is what was measured: its numbers,
with units of bytes, stand for any numbers, and --update writes new ones. Other blocks are shown only.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = ("README.md", "docs/tutorial.md", "docs/cookbook.md", "docs/reference.md", "docs/operating.md", "docs/summary.md", "docs/internals.md")
GENERATED = {"docs/functions.md": "sbc doc --markdown", "docs/diagnostics.md": "sbc explain --markdown"}
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
SECONDS_MAX = 60
ERRORS = {"console": subprocess.STDOUT, "figures": subprocess.STDOUT, "stdout": subprocess.DEVNULL}  # By kind of block.
NUMBER = r"\d+(?:[.,]\d+)*(?: [KMGT]?i?B)?"
STANDS_FOR = {"dots": ".*", "number": NUMBER, "space": " +"}
DOTS = re.compile(r"(?P<dots>\.\.\.)")
MEASURED = re.compile(r"(?P<dots>\.\.\.)|(?P<number>" + NUMBER + r")|(?P<space> +)")


def run(command, folder, errors):
    path = os.path.join(ROOT, "zig-out", "bin") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, "PATH": path},
                          stdout=subprocess.PIPE, stderr=errors, timeout=SECONDS_MAX, check=False)
    return done.stdout.decode()


def console(body, folder, errors):
    """The block with what its commands print now."""
    commands = [line for line in body.splitlines() if line.startswith("$ ")]
    out = ""
    for command in commands:
        printed = run(command[2:], folder, errors)
        out += command + "\n" + printed + ("\n" if printed and not printed.endswith("\n") else "")
    return out


def pattern(line, measured):
    """What a line that is shown stands for."""
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    parts, at = [], 0
    for word in (MEASURED if measured else DOTS).finditer(line):
        parts += [re.escape(line[at:word.start()]), STANDS_FOR[word.lastgroup]]
        at = word.end()
    return "".join([*parts, re.escape(line[at:]), r"\n"])


def agrees(shown, found, measured):
    """Whether what is shown is what was found, but for what `...`, or a measured number, stands for."""
    parts = [pattern(line, measured) for line in shown.splitlines()]
    return shown == found or re.fullmatch("".join(parts), found) is not None


def judge(page, folder, update):
    """Runs a page; gives (blocks passed, reports of those that differ)."""
    with open(os.path.join(ROOT, page)) as file:
        text = file.read()
    passed, reports = 0, []

    def block(match):
        nonlocal passed
        kind, name, body = match.groups()
        if name:
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w") as file:
                file.write(body)
        if kind not in ERRORS:
            return match[0]
        found = console(body, folder, ERRORS[kind])
        measured = kind == "figures"
        if agrees(body, found, measured) and not (update and measured):
            passed += 1
            return match[0]
        if update:
            passed += 1
        else:
            reports.append(f"FAIL docs {page}\n  shown:\n{body}  found:\n{found}")
        return match[0].replace(body, found)

    new = BLOCK.sub(block, text)
    if update and new != text:
        with open(os.path.join(ROOT, page), "w") as file:
            file.write(new)
    return passed, reports


def judge_generated(page, update):
    """A page that a command prints whole: (blocks passed, reports)."""
    path = os.path.join(ROOT, page)
    with open(path) as file:
        shown = file.read()
    found = run(GENERATED[page], ROOT, subprocess.DEVNULL)
    if update:
        with open(path, "w") as file:
            file.write(found)
    same = update or found == shown
    return int(same), [] if same else [f"FAIL docs {page}: {GENERATED[page]} prints another page"]


def main(arguments):
    update = "--update" in arguments
    pages = [a for a in arguments if not a.startswith("--")] or [*PAGES, *GENERATED]
    passed = failed = 0
    for page in pages:
        folder = tempfile.mkdtemp(prefix="sbc-docs-")
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        good, reports = (judge_generated(page, update) if page in GENERATED
                         else judge(page, folder, update))
        shutil.rmtree(folder)
        passed, failed = passed + good, failed + len(reports)
        for report in reports:
            print(report, f"  run it alone: tests/docs.py {page}", sep="")
    print(f"docs: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
