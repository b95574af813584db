#!/usr/bin/env python3
"""words.py: pages and comments are plain English, as far as a machine can tell.

usage: tests/words.py [PATH...]       only files whose paths begin with one of these, those of NOT_YET too

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
    "docs/functions.md": "printed by sbc from stdlib/functions.decl",
    "docs/diagnostics.md": "printed by sbc from frontend/diagnostics.def and runtime/report/troubles.def",
    "tests/bench/RESULTS.md": "measured",
    "tests/bench/SINCE.md": "measured",
    "tests/bench/C3_700.md": "measured",
    "tests/bench/streaming/RESULTS.md": "measured",
    "tests/memory/RESULTS.md": "measured",
}
# Files whose comments are being moved with their code: not held to the rules yet. Prefixes of paths.
NOT_YET = (
    "runtime/abi", "runtime/core/", "runtime/dispatch", "runtime/input", "runtime/job", "runtime/limits", "runtime/main", "runtime/output",
    "runtime/resume", "stdlib/csv", "stdlib/json", "codegen/emit_scan",
)
# Real places, where one thing stands at the back of another: (path, the words around it, why).
BEHIND = ()

CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\([^)\s]*\)")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(`*\[]*[A-Z0-9`$<_-])")
WORD = re.compile(r"[A-Za-z0-9]")
ORDER = re.compile(r"\bbehind\b", re.I)
DIAGRAM = re.compile(r"\S  +\S|[─│┌└▶▼═║]|──")
CHAINED = re.compile(r"^(?:and|or|but|those|which|too)\b|^\.\.\.|[,:]$")
TRAILING = re.compile(r'^(?!\s*//)(?:[^"]|"(?:[^"\\]|\\.)*")*?\S\s*// ?(.*)')


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


def blocks_of_page(text):
    """The paragraphs, items and cells of a page."""
    pieces, lines, start, fenced = [], [], 0, False

    def close():
        if lines:
            pieces.append(Piece(start, " ".join(lines), "text"))
        lines.clear()

    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if plain.startswith("```"):
            fenced = not fenced
            close()
        elif fenced or plain.startswith("<!--"):
            close()
        elif plain.startswith("|"):
            close()
            cells = re.split(r"(?<!\\)\|", plain.strip("|"))
            pieces += [Piece(number, cell.strip(), "cell") for cell in cells]
        elif not plain or plain.startswith("#") or line.startswith("    ") and not lines:
            close()
        else:
            if re.match(r"(?:[-*]|\d+\.) ", plain):
                close()
                plain = plain.split(" ", 1)[1]
            if not lines:
                start = number
            lines.append(plain)
    close()
    return pieces


def blocks_of_comment(numbered):
    """The paragraphs of the lines of one comment: [(number, text after the slashes)]."""
    pieces, lines, start = [], [], 0

    def close():
        if lines:
            pieces.append(Piece(start, " ".join(lines), "text"))
        lines.clear()

    for number, text in numbered:
        plain = text.strip()
        item = re.match(r"(?:[-*]|\d+\.) ", plain)
        drawn = DIAGRAM.search(plain) or plain.startswith("----")
        indented = text.startswith("  ") and not lines
        if not plain or drawn or indented and not item:
            close()
            continue
        if item:
            close()
            plain = plain[item.end():]
        if not lines:
            start = number
        lines.append(plain)
    close()
    return pieces


def blocks_of_code(text, opening_only):
    """The comments of a C file, or only the one that opens it."""
    pieces, comment, field = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if plain.startswith("//"):
            if field is not None and line.index("//") >= field[1] - 1:
                field[2].append(plain[2:].strip())
                continue
            if field is not None:
                pieces.append(Piece(field[0], " ".join(field[2]), "field"))
                field = None
            comment.append((number, plain[3:] if plain.startswith("// ") else plain[2:]))
            continue
        if comment:
            pieces += blocks_of_comment(comment)
            comment = []
        if field is not None:
            pieces.append(Piece(field[0], " ".join(field[2]), "field"))
            field = None
        if opening_only and plain:
            return pieces
        found = TRAILING.match(line)
        if found and not opening_only and not plain.startswith("#"):
            field = (number, line.rindex("// "  if "// " in line else "//"), [found[1].strip()])
    return pieces + (blocks_of_comment(comment) if comment else [])


def problems(path, pieces):
    """[(line, what is wrong)]"""
    found = []
    for piece in pieces:
        for sentence in sentences(piece.text):
            count = words(sentence)
            if count > WORDS_MAX:
                found.append((piece.line, f"a sentence of {count} words: {sentence[:60]}..."))
        if piece.kind == "cell" and len(piece.text) > CELL_MAX:
            found.append((piece.line, f"a cell of {len(piece.text)} characters: {piece.text[:60]}..."))
        if ORDER.search(CODE.sub("", piece.text)) and not is_place(path, piece.text):
            at = ORDER.search(piece.text).start()
            found.append((piece.line, f'"behind", not "after": ...{piece.text[max(at - 30, 0):at + 30]}...'))
        if piece.kind == "field" and CHAINED.search(piece.text):
            found.append((piece.line, f"a comment that does not stand alone: {piece.text[:60]}"))
    return found


def is_place(path, text):
    return any(path == where and words_around in text for where, words_around, _ in BEHIND)


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
    return problems(path, pieces)


def main(starts):
    passed = failed = skipped = 0
    for path in files():
        if starts and not path.startswith(tuple(starts)) or path in GENERATED:
            continue
        if path.startswith(NOT_YET) and not path.endswith(".md") and not starts:
            skipped += 1
            continue
        found = judge(path)
        for line, what in found:
            print(f"{path}:{line}: {what}")
        passed, failed = passed + (not found), failed + bool(found)
    print(f"words: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
