"""Prints stdlib/regex/regex_scripts.def: which characters belong to which script.

Run: python3 stdlib/regex/regex_scripts.py Scripts.txt > stdlib/regex/regex_scripts.def
Scripts.txt is part of the Unicode character database (Unicode License); Debian has it in the package unicode-data. Take
the version of utf8proc, whose categories stand beside these: 15.0.0. tests/unit/regex_test.c compares the ranges with PCRE2.
"""
import re
import sys

LINE = re.compile(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))? *; *(\w+)")
WANTED = "# Scripts-15.0.0.txt\n"

ranges = {}
with open(sys.argv[1], encoding="utf-8") as file:
    first_line = file.readline()
    if first_line != WANTED:
        sys.exit(f"{WANTED.strip()!r} is wanted, not {first_line.strip()!r}")
    for line in file:
        found = LINE.match(line)
        if found:
            first = int(found[1], 16)
            ranges.setdefault(found[3], []).append([first, int(found[2] or found[1], 16)])

print("// Scripts of Unicode 15.0: name, first and last character. Made by regex_scripts.py.")
for name in sorted(ranges):
    joined = []
    for first, last in sorted(ranges[name]):
        if joined and joined[-1][1] + 1 == first:
            joined[-1][1] = last
        else:
            joined.append([first, last])
    for first, last in joined:
        print(f'{{"{name}", 0x{first:x}, 0x{last:x}}},')
