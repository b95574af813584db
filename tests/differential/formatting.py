#!/usr/bin/env python3
"""formatting.py: random programs, formatted: the tree stays the same, and formatting again changes nothing.

usage: tests/differential/formatting.py [--count N] [--seed N]

Program number k of seed N is that of seed N + k, as in run.py. Every other one has its line ends and spaces
spread anew first, with comments between them.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

import run
import ways

TOKEN = re.compile(r'r?f?"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|[^"`\n]+|\n')


def scatter(text, source):
    """More spaces, and comments behind commas and lines: none of it means anything."""
    def spread(piece):
        if piece == "\n":
            return source.choice(["\n", "\n", "\n\n\n", "  # note\n", "\n# line\n"])
        if piece[-1] in '"`':
            return piece
        piece = piece.replace(", ", source.choice([",", ", ", ",\n  ", ",  # behind\n"]))
        return piece.replace(" | ", source.choice([" | ", "|", "\n| "]))

    return "".join(spread(piece) for piece in TOKEN.findall(text))


def sbc(*arguments, text=None):
    return subprocess.run([ways.SBC, *arguments], input=text, capture_output=True, check=False)


def tree(text, folder):
    path = os.path.join(folder, "p.sbd")
    with open(path, "wb") as file:
        file.write(text)
    done = sbc(path, "--dump=ast")
    return done.stdout


def judge(seed, folder):
    """What is wrong, or None; False if the text is no program."""
    source = random.Random(seed)
    text = run.make(seed).text()
    if seed % 2:
        text = scatter(text, source)
    once = sbc("fmt", "-", text=text.encode())
    if once.returncode:
        return False
    twice = sbc("fmt", "-", text=once.stdout)
    if twice.stdout != once.stdout:
        return f"formatted again it differs:\n{once.stdout.decode()}--- again\n{twice.stdout.decode()}"
    if tree(text.encode(), folder) != tree(once.stdout, folder):
        return f"the tree changed:\n{text}--- formatted\n{once.stdout.decode()}"
    if text.count("# ") != once.stdout.decode().count("# "):
        return f"a comment is lost:\n{text}--- formatted\n{once.stdout.decode()}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="sbc-formatting-") as folder:
        for seed in range(options.seed, options.seed + options.count):
            wrong = judge(seed, folder)
            passed += wrong is None
            skipped += wrong is False
            failed += bool(wrong)
            if wrong:
                print(f"FAIL formatting {seed}: {wrong}", flush=True)
    print(f"formatting: {skipped} texts are no programs")
    print(f"formatting: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
