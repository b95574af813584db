#!/usr/bin/env python3
"""words.py: pages and comments are plain English, as far as a machine can tell.

usage: tests/words.py [PATH...]       only files whose paths begin with one of these

It reads every page, every comment of a header, and the comment that opens a C file. Each file is one test. The rules:

- a sentence has at most 30 words (a code span, a path and a link are one word each);
- "after" stands for time and order, so "behind" is not used;
- a cell of a table has at most 200 characters;
- a comment at the end of a line stands alone: it is whole, and the line below does not go on with it.

Diagrams and code are not read: fenced and indented blocks, and lines with two spaces inside.
"""
import os
import re
import sys
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS_MAX = 30
CELL_MAX = 200
FOLDERS = ("runtime", "stdlib", "ir", "codegen", "frontend", "driver")  # Their comments are read; pages of all folders are.

# Pages that a program writes: their words are those of tables that it reads.
GENERATED = {
    "docs/functions.md": "printed by sbc from stdlib/functions.decl and frontend/steps.def",
    "docs/diagnostics.md": "printed by sbc from frontend/diagnostics.def and runtime/report/troubles.def",
    "tests/bench/RESULTS.md": "measured",
    "tests/bench/SINCE.md": "measured",
    "tests/bench/C3_700.md": "measured",
    "tests/bench/XEON.md": "measured",
    "tests/bench/texts/RESULTS.md": "measured",
    "tests/bench/streaming/RESULTS.md": "measured",
    "tests/memory/RESULTS.md": "measured",
}

CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\([^)\s]*\)")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(`*\[]*[A-Z0-9`$<_-])")
WORD = re.compile(r"[A-Za-z0-9]")
ORDER = re.compile(r"\bbehind\b", re.I)
DIAGRAM = re.compile(r"\S  +\S|[─│┌└▶▼═║]|──")
CHAINED = re.compile(r"^(?:and|or|but|those|which|too)\b|^\.\.\.|[,:]$")
TRAILING = re.compile(r'^(?!\s*//)(?:[^"]|"(?:[^"\\]|\\.)*")*?\S\s*// ?(.*)')
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
CELL_END = re.compile(r"(?<!\\)\|")


class Piece(NamedTuple):
    """Words that belong together, and where they begin."""

    line: int
    text: str
    kind: str  # "text", "cell" or "field".


def sentences(text):
    """Its sentences, with each code span and link as one word."""
    return END.split(CODE.sub("Code", LINK.sub("Link", text)))


def words(sentence):
    return sum(1 for word in sentence.split() if WORD.search(word))


class Blocks:
    """Lines that become pieces: a paragraph or an item of a list is one."""

    def __init__(self):
        self.pieces, self.lines, self.start = [], [], 0

    def close(self):
        if self.lines:
            self.pieces.append(Piece(self.start, " ".join(self.lines), "text"))
        self.lines = []

    def add(self, number, plain):
        item = ITEM.match(plain)
        if item:
            self.close()
        if not self.lines:
            self.start = number
        self.lines.append(plain[item.end():] if item else plain)


def blocks_of_page(text):
    """The paragraphs, items and cells of a page."""
    blocks, fenced = Blocks(), False
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if plain.startswith("```"):
            fenced = not fenced
        is_code = line.startswith("    ") and not blocks.lines
        if fenced or not plain or plain.startswith(("```", "<!--", "#")) or is_code:
            blocks.close()
        elif plain.startswith("|"):
            blocks.close()
            blocks.pieces += [Piece(number, cell.strip(), "cell") for cell in CELL_END.split(plain.strip("|"))]
        else:
            blocks.add(number, plain)
    blocks.close()
    return blocks.pieces


def blocks_of_comment(numbered):
    """The paragraphs of the lines of one comment: [(number, text after the slashes)]."""
    blocks = Blocks()
    for number, text in numbered:
        plain = text.strip()
        is_code = text.startswith("  ") and not blocks.lines and not ITEM.match(plain)
        if not plain or DIAGRAM.search(plain) or plain.startswith("----") or is_code:
            blocks.close()
        else:
            blocks.add(number, plain)
    blocks.close()
    return blocks.pieces


def comments(text):
    """The comments of a C file: (whether code stands in front, whether code came before, [(number, text)])."""
    lines, column, code_before = [], None, False
    for number, line in enumerate([*text.splitlines(), "end"], 1):
        plain = line.strip()
        alone = plain.startswith("//")
        goes_on = alone and (column is None or line.index("//") >= column - 1)
        if lines and not goes_on:
            yield column is not None, code_before, lines
            lines, column = [], None
        if alone:
            lines.append((number, plain[2:].removeprefix(" ")))
            continue
        found = TRAILING.match(line)
        if found and not plain.startswith("#"):
            code_before, column = True, found.start(1) - 3
            lines.append((number, found[1].strip()))
        code_before |= bool(plain)


def blocks_of_code(text, opening_only):
    """The comments of a C file, or only the one that opens it."""
    pieces = []
    for is_field, code_before, numbered in comments(text):
        if opening_only and code_before:
            break
        if is_field:
            pieces.append(Piece(numbered[0][0], " ".join(text.strip() for _, text in numbered), "field"))
        else:
            pieces += blocks_of_comment(numbered)
    return pieces


def problems(pieces):
    """[(line, what is wrong)]"""
    found = []
    for piece in pieces:
        for sentence in sentences(piece.text):
            count = words(sentence)
            if count > WORDS_MAX:
                found.append((piece.line, f"a sentence of {count} words: {sentence[:60]}..."))
        if piece.kind == "cell" and len(piece.text) > CELL_MAX:
            found.append((piece.line, f"a cell of {len(piece.text)} characters: {piece.text[:60]}..."))
        if ORDER.search(CODE.sub("", piece.text)):
            found.append((piece.line, f'"behind", not "after": {piece.text[:60]}...'))
        if piece.kind == "field" and CHAINED.search(piece.text):
            found.append((piece.line, f"a comment that does not stand alone: {piece.text[:60]}"))
    return found


def files():
    """Every page, header and C file that is not ignored."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in ("build", "zig-out", "out", "nycflights13")]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith(".md") or name.endswith((".h", ".c")) and path.split(os.sep)[0] in FOLDERS:
                found.append(path)
    return sorted(found)


def judge(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    pieces = blocks_of_page(text) if path.endswith(".md") else blocks_of_code(text, path.endswith(".c"))
    return problems(pieces)


def main(starts):
    passed = failed = 0
    for path in files():
        if starts and not path.startswith(tuple(starts)) or path in GENERATED:
            continue
        found = judge(path)
        for line, what in found:
            print(f"{path}:{line}: {what}")
        passed, failed = passed + (not found), failed + bool(found)
    print(f"words: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
