#!/usr/bin/env python3
"""words_test.py: what words.py makes of pages and comments that keep its rules, and of some that do not.

usage: tests/words_test.py [NAME...]
"""
import sys

import words

LONG = "word " * (words.WORDS_MAX + 1) + "end."

# By name: the kind of file, its text, and the beginnings of what is wrong with it, by line.
CASES = {
    "short": ("page", "# A title\n\nOne idea. And another one.\n", []),
    "long": ("page", f"One idea.\n\n{LONG}\n", [(3, "a sentence of 32 words")]),
    "long_in_two": ("page", "word " * 20 + "end. " + "Word " * 20 + "end.\n", []),
    "code_is_a_word": ("page", f"`{LONG}` is [a span]({'x' * 80}).\n", []),
    "code_is_not_read": ("page", f"```\n{LONG} behind\n```\n\n    {LONG}\n", []),
    "items_are_apart": ("page", "- " + "word " * 20 + "\n- " + "word " * 20 + "\n", []),
    "order": ("page", "The rows behind the last one.\n", [(1, '"behind"')]),
    "order_in_code": ("page", "The name `behind`.\n", []),
    "cell": ("page", f"| a | b |\n|---|---|\n| x | {'long ' * 28 * 2} |\n", [(3, "a sentence of 56"), (3, "a cell of 279")]),
    "cell_with_bar": ("page", "| a \\| b | c |\n", []),
    "header": ("h", f"// Room: {LONG}\nint a;\n", [(1, "a sentence of 33")]),
    "drawing": ("h", f"// Room: a thing.\n//\n//   open  {LONG}\nint a;\n", []),
    "field": ("h", "struct A {\n    int a;  // Stands\n            // alone.\n    int b;\n};\n", []),
    "field_goes_on": ("h", "struct A {\n    int a;  // Rows,\n    int b;  // and their bytes.\n};\n",
                      [(2, "a comment that"), (3, "a comment that")]),
    "field_in_text": ("h", 'char *a = "x // behind,";\n', []),
    "inside_of_c": ("c", f"// A file.\nint a;  // Rows behind,\n// {LONG}\n", []),
    "opening_of_c": ("c", f"// {LONG}\nint a;\n", [(1, "a sentence of 32")]),
}


def judge(kind, text):
    pieces = words.blocks_of_page(text) if kind == "page" else words.blocks_of_code(text, kind == "c")
    return words.problems(pieces)


def main(names):
    failed = 0
    cases = {name: case for name, case in CASES.items() if not names or name in names}
    for name, (kind, text, wanted) in cases.items():
        found = judge(kind, text)
        same = len(found) == len(wanted) and all(
            line == at and what.startswith(beginning) for (line, what), (at, beginning) in zip(found, wanted))
        if not same:
            print(f"FAIL words_test {name}: {found}\n  run it alone: tests/words_test.py {name}")
        failed += not same
    print(f"words_test: {len(cases) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
