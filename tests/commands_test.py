#!/usr/bin/env python3
"""commands_test.py: every command that a page of the project names runs on a machine that has what bootstrap.sh installs.

usage: tests/commands_test.py [TEXT...]       only the commands that hold one of the texts

A command is what stands in a code span, in an indented block or in a block of no kind, and begins with a program of
the project: a script, `sbc`, `sim` or a test program. (Blocks `console`, `figures` and `stdout` are run by docs.py.) What
is run for it, its shortest form, stands in commands.py; a command without an entry fails. A submission runs its share of
the forms (share.py), and looks at the entries of all. The path holds what Debian and the build
have: `zig` is not on it, scripts find it by bootstrap.sh.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import share
from commands import BY_TESTS, NETWORK, SHORT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = ("docs/functions.md", "docs/diagnostics.md")  # Their blocks are pipelines.
BUILT = [os.path.join(ROOT, "zig-out", folder) for folder in ("bin", "test")]
PATH = [*BUILT, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)\)")
INDENTED = re.compile(r"^ {4}(\S.*)", re.M)
END = re.compile(r" {2,}| #")  # Words about the command come after it.
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
OPTION = re.compile(r"--[a-z-]+")
SECONDS_MAX = 120


def pages():
    """Every page that is not ignored, at any depth."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in ("build", "zig-out", "out", "nycflights13")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(set(found) - set(GENERATED))


def program(command):
    """Its first word that sets no variable."""
    return next((word for word in command.split() if not ASSIGNMENT.fullmatch(word)), "")


def is_program(word, page):
    """A script, found as the page names it, or a program that is built."""
    if not word or word.endswith("/"):
        return False
    places = [os.path.join(ROOT, word), os.path.join(ROOT, os.path.dirname(page), word)]
    if word.startswith("zig-out/") and word.count("/") == 2:
        return True
    if "/" not in word:
        if word in ("sbc", "sim", "zig") or os.path.exists(os.path.join(ROOT, "tests/unit", word + ".c")):
            return True
    return any(os.path.isfile(place) and os.access(place, os.X_OK) for place in places)


def commands_of(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = file.read()
    plain = FENCE.sub("", text)
    lines = [line for kind, body in FENCE.findall(text) if not kind or kind in ("sh", "bash") for line in body.splitlines()]
    lines += INDENTED.findall(plain) + SPAN.findall(plain) + LINK.findall(plain)
    lines = [END.split(line.strip())[0].replace("\\|", "|") for line in lines]
    lines = [line for line in lines if "/" in line or " " in line]  # A bare name is no command.
    return [line for line in lines if is_program(program(line), page)]


def found():
    """{command: pages that name it}"""
    named = {}
    for page in pages():
        for command in commands_of(page):
            named.setdefault(command, set()).add(page)
    return named


def source(word):
    """The text of a script, and of those beside it, which may read its options."""
    path = os.path.join(ROOT, word)
    if not os.path.isfile(path):
        return ""
    folder = os.path.dirname(path)
    names = [path] if folder in (ROOT, os.path.join(ROOT, "tests")) else \
        [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith((".py", ".sh"))]
    return "".join(open(name, encoding="utf-8").read() for name in names)


def wrong_entry(command, short):
    """The short form is of the same program, and an option that it leaves out is known to that."""
    if short is BY_TESTS:
        with open(os.path.join(ROOT, "build.zig")) as build, open(os.path.join(ROOT, "bootstrap.sh")) as bootstrap:
            suites = build.read() + bootstrap.read()
        name = program(command).removeprefix("./")
        return "" if re.search(rf'"(tests/)?{re.escape(name)}"|\b{re.escape(name)}( |$)', suites, re.M) else "no suite runs it"
    name = os.path.basename(program(command))
    if not re.search(rf"(^|[\s/;(]){re.escape(name)}(\s|$)", short):
        return f"the short form is of another program: {short}"
    options = [option for option in OPTION.findall(command) if option not in short]
    missing = [option for option in options if option not in source(program(command))]
    return f"{program(command)} knows no {missing[0]}" if missing else ""


def environment(folder):
    path = [place for place in PATH if place in BUILT or not os.path.exists(os.path.join(place, "zig"))]
    keep = {name: os.environ[name] for name in ("HOME", "LANG", "LLVM", "ZIG_DEBUG_CMD") if name in os.environ}
    keep |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy") or name.startswith("PIP_")}
    return {**keep, "PATH": os.pathsep.join(path), "TMP": folder, "XDG_CACHE_HOME": os.path.join(folder, "cache")}


def run(short, folder):
    """What is wrong, as text."""
    try:
        done = subprocess.run(["sh", "-ec", short], cwd=ROOT, env=environment(folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return f"not over after {SECONDS_MAX} s"
    said = done.stdout.decode(errors="replace")
    return "" if done.returncode == 0 else f"exit code {done.returncode}:\n" + "".join(
        f"    {line}\n" for line in said.splitlines()[-12:])


def network(folder):
    """Why what needs a network is skipped, or nothing."""
    return run("tests/data/fetch.sh", folder)


def judge(named, folder):
    """(passed, reports, skipped)"""
    reports, good, ran = [], 0, {}
    chosen = set(share.share_of(sorted({SHORT[command] for command in named if command in SHORT} - {BY_TESTS})))
    offline = network(folder) if any(SHORT.get(command) in NETWORK for command in named) else ""
    skipped = 0
    for command, places in sorted(named.items()):
        where = f"`{command}` in {', '.join(sorted(places))}"
        if command not in SHORT:
            reports.append(f"{where}: no entry in tests/commands.py says how it is tried")
            continue
        short = SHORT[command]
        wrong = wrong_entry(command, short)
        if not wrong and short in NETWORK and offline:
            print(f"skip {where}: tests/data/fetch.sh: {offline}")
            skipped += 1
            continue
        if not wrong and short in chosen:
            if short not in ran:
                ran[short] = run(short, folder)
            wrong = ran[short] and f"{short}: {ran[short]}"
        good += not wrong
        reports += [f"{where}: {wrong}"] if wrong else []
    return good, reports, skipped


def main(texts):
    named = found()
    stale = [] if texts else [f"no page names `{command}` of tests/commands.py" for command in SHORT if command not in named]
    named = {command: places for command, places in named.items() if not texts or any(text in command for text in texts)}
    folder = tempfile.mkdtemp(prefix="sbc-commands-")
    good, reports, skipped = judge(named, folder)
    shutil.rmtree(folder)
    reports += stale
    for report in reports:
        print("FAIL " + report)
    print(f"commands_test: {good} passed, {len(reports)} failed, {skipped} skipped")
    return 1 if reports or not named else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
