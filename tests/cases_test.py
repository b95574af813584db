#!/usr/bin/env python3
"""cases_test.py: what cases.py makes of cases that do as they should, and of those that do not.

usage: tests/cases_test.py [CASE...]       SBC names the compiler.
"""
import os
import subprocess
import sys
import tempfile

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.py")
PROGRAM = '-- rows.sbd --\nrange(3) | write csv("-")\n'
FUSED = 'range(3) | derive x = i | where x > 0 | write csv("-")\n'

# A case: (passed, failed, skipped), what must be said, its text.
TEXTS = {
    "good": ((1, 0, 0), "", PROGRAM + "-- commands --\ngives 0 ../rows\nprints 2\n"),
    "files": ((1, 0, 0), "", "-- a/in.csv --\nx\n-- b.c --\nint x;\n-- commands --\n"
              'only_files "./a/in.csv "\nholds a/in.csv x\ngives 0 test -e ../b.c\n'),
    "options": ((1, 0, 0), "", '-- rows.sbd --\n# compile: --no-fuse\n' + FUSED + '-- commands --\ngives 0 ../rows --plan\nprints "stage 1"\n'),
    "no_options": ((0, 1, 0), "not printed: stage 1", "-- rows.sbd --\n" + FUSED +
                   '-- commands --\ngives 0 ../rows --plan\nprints "stage 1"\n'),
    "exit_code": ((0, 1, 0), "exit 0 instead of 1: ../rows", PROGRAM + "-- commands --\ngives 1 ../rows\n"),
    "not_said": ((0, 1, 0), "not said: no such", PROGRAM + '-- commands --\ngives 0 ../rows\nsays "no such"\n'),
    "not_printed": ((0, 1, 0), "not printed: 3", PROGRAM + "-- commands --\ngives 0 ../rows\nprints 3\n"),
    "in_a_pipe": ((0, 1, 0), "exit 1 instead of 0: false", "-- commands --\ngives 0 true\necho x | gives 0 false\n"),
    "unknown_word": ((0, 1, 0), "not found", "-- commands --\ngives 0 true\nsaid nothing\ngives 0 true\n"),
    "no_syntax": ((0, 1, 0), "yntax error", "-- commands --\ngives 0 true\nif\n"),
    "ends_early": ((0, 1, 0), "FAILED", "-- commands --\ngives 0 true\nexit 3\n"),
    "checks_nothing": ((0, 1, 0), "it checks nothing", PROGRAM + "-- commands --\n../rows\n"),
    "does_not_compile": ((0, 1, 0), "rows.sbd does not compile", "-- rows.sbd --\nrange(\n-- commands --\ngives 0 ../rows\n"),
    "skipped": ((0, 0, 1), "skipped: no disk", "-- commands --\ngives 0 true\nskip no disk\n"),
    "alone": ((1, 0, 0), "", "alone: yes\n" + PROGRAM + "-- commands --\ngives 0 ../rows\n"),
}


def run(folder, *names):
    return subprocess.run([sys.executable, CASES, folder, *names], capture_output=True, text=True, check=False, timeout=120)


def judged(done, counts, said):
    last = "{} passed, {} failed, {} skipped".format(*counts)
    if done.stdout.splitlines()[-1:] == [last] and done.returncode == (1 if counts[1] else 0) and said in done.stdout:
        return ""
    return f"exit code {done.returncode}, expected '{said}' and '{last}':\n{done.stdout}{done.stderr}"


def write(folder, names):
    for name in names:
        with open(os.path.join(folder, name + ".case"), "w", encoding="utf-8") as file:
            file.write(TEXTS[name][2])


def one(name):
    with tempfile.TemporaryDirectory(prefix="sbc-cases-test-") as folder:
        write(folder, [name])
        return judged(run(folder), *TEXTS[name][:2])


def all_together():
    """Each is judged by itself, and a helper's words are known; one can be chosen, and one that is not there is an error."""
    with tempfile.TemporaryDirectory(prefix="sbc-cases-test-") as folder:
        write(folder, TEXTS)
        sums = tuple(map(sum, zip(*(counts for counts, _, _ in TEXTS.values()))))
        with open(os.path.join(folder, "helpers.sh"), "w", encoding="utf-8") as file:
            file.write("said() { checks=9; }\n")
        sums = sums[0] + 1, sums[1] - 1, sums[2]
        wrong = judged(run(folder), sums, "") or judged(run(folder, "good"), (1, 0, 0), "")
        alone = judged(run(folder, "--alone"), (1, 0, 0), "")
        beside = judged(run(folder, "--beside"), (sums[0] - 1, *sums[1:]), "")
        wrong = wrong or alone or beside
        if not run(folder, "--besides").returncode:
            return "an option that is not there"
        missing = run(folder, "goods")
        return wrong or ("" if missing.returncode and "no case 'goods'" in missing.stderr else "a name that is not there")


def main(names):
    failed = 0
    chosen = names or [*TEXTS, "all_together"]
    for name in chosen:
        wrong = all_together() if name == "all_together" else one(name)
        if wrong:
            failed += 1
            print(f"FAIL {name}: {wrong}  run it alone: tests/cases_test.py {name}")
    print(f"cases_test: {len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
