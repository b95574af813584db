#!/usr/bin/env python3
"""suites_test.py: what suites.py makes of test programs that do as they should, and of those that do not.

usage: tests/suites_test.py [CASE...]
"""
import os
import re
import subprocess
import sys
import tempfile

SUITES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suites.py")

# A program, as text of a shell: what it counts as, and what must be said of it.
PROGRAMS = {
    "good": ("echo 3 passed, 0 failed, 1 skipped", (3, 0, 1), None),
    "named": ("echo 'tests/a-b_c.sh: 3 passed, 0 failed, 1 skipped'", (3, 0, 1), None),
    "skips_all": ("echo 0 passed, 0 failed, 2 skipped", (0, 0, 2), None),
    "fails": ("echo 3 passed, 2 failed, 0 skipped; exit 1", (3, 2, 0), None),
    "line_on_stderr": ("echo 3 passed, 0 failed, 0 skipped >&2", (3, 0, 0), None),
    "words_afterwards": ("echo 3 passed, 0 failed, 0 skipped; echo debug: done", (3, 0, 0), None),
    "no_end_of_line": ("printf '3 passed, 0 failed, 0 skipped'", (3, 0, 0), None),
    "no_line": ("echo fine", (0, 1, 0), "0 lines of results instead of one, exit code 0"),
    "nothing": ("true", (0, 1, 0), "0 lines of results instead of one, exit code 0"),
    "no_line_exit_1": ("echo 'Traceback (most recent call last):' >&2; exit 1", (0, 1, 0),
                       "0 lines of results instead of one, exit code 1"),
    "traceback": ("exec python3 -c 'print(1 // 0)'", (0, 1, 0), "0 lines of results instead of one, exit code 1"),
    "no_line_exit_2": ("exit 2", (0, 1, 0), "0 lines of results instead of one, exit code 2"),
    "two_lines": ("echo 3 passed, 0 failed, 0 skipped; echo x: 4 passed, 0 failed, 0 skipped", (7, 1, 0),
                  "2 lines of results instead of one, exit code 0"),
    "two_lines_one_bad": ("echo 3 passed, 1 failed, 0 skipped; echo 4 passed, 0 failed, 0 skipped", (7, 2, 0),
                          "2 lines of results instead of one, exit code 0"),
    "exit_1_though_good": ("echo 3 passed, 0 failed, 0 skipped; exit 1", (3, 1, 0), "exit code 1, though 0 tests failed"),
    "exit_0_though_bad": ("echo 3 passed, 2 failed, 0 skipped", (3, 3, 0), "exit code 0, though 2 tests failed"),
    "crash_after_line": ("echo 3 passed, 0 failed, 0 skipped; kill -SEGV $$", (3, 1, 0), "ended by signal 11"),
    "killed": ("kill -KILL $$", (0, 1, 0), "ended by signal 9"),
    "no_test": ("echo 0 passed, 0 failed, 0 skipped", (0, 1, 0), "no test was run"),
    "quoted_line": ("echo '  3 passed, 0 failed, 0 skipped'; echo 'log says 9 passed, 9 failed, 9 skipped'\n"
                    "echo '9 passed, 9 failed, 9 skipped (exit 1)'; echo 1 passed, 0 failed, 0 skipped", (1, 0, 0), None),
    "only_quoted_line": ("echo 'it printed: 3 passed, 0 failed, 0 skipped'", (0, 1, 0),
                         "0 lines of results instead of one, exit code 0"),
    "no_utf8": (r"printf '\377\n2 passed, 0 failed, 0 skipped\n'", (2, 0, 0), None),
    "not_there": (None, (0, 1, 0), "0 lines of results instead of one, exit code 127"),
}


def suites(*arguments):
    return subprocess.run([sys.executable, SUITES, *arguments], capture_output=True, text=True, check=False, timeout=60)


def command(name):
    """The command of a program; where none is there, a path that is not."""
    text = PROGRAMS[name][0]
    return f"sh -c {quoted(text)} {name}" if text is not None else "/no/such/program"


def quoted(text):
    return "'" + text.replace("'", "'\"'\"'") + "'"


def last_line(counts):
    return "{} passed, {} failed, {} skipped".format(*counts)


def judged(done, counts, says):
    """What is wrong with how suites.py ended, as text; empty if nothing is."""
    wrong = []
    lines = done.stdout.splitlines()
    if not lines or lines[-1] != last_line(counts):
        wrong.append(f"last line: {lines[-1:]}, expected: {last_line(counts)}")
    if done.returncode != (1 if counts[1] else 0):
        wrong.append(f"exit code {done.returncode}")
    found = [line.rpartition(": ")[2] for line in lines if line.startswith("FAIL ")]
    if found != ([says] if says else []):
        wrong.append(f"said: {found}, expected: {says}")
    # Of its own lines of results it prints one, so that it can be one of the commands itself.
    if sum(bool(re.fullmatch(r"(\S+: )?\d+ passed, \d+ failed, \d+ skipped", line)) for line in lines) != 1:
        wrong.append("not one line of results:\n" + done.stdout)
    return "; ".join(wrong)


def one(name, *options):
    """A program by itself, and next to one that is good."""
    _, (passed, failed, skipped), says = PROGRAMS[name]
    return judged(suites(*options, command(name)), (passed, failed, skipped), says) or \
        judged(suites("--processes=2", command("good"), *options, command(name)), (passed + 3, failed, skipped + 1), says)


def nested():
    """Sums of sums: the inner program's lines stay inside."""
    inner = f"{sys.executable} {SUITES} {quoted(command('good'))} {quoted(command('fails'))}"
    return judged(suites(inner, command("named")), (9, 2, 2), None)


def beside():
    """Two at a time take the time of one; one at a time, and alone, of both."""
    sleeper = "sh -c 'sleep 0.6; echo 1 passed, 0 failed, 0 skipped'"
    seconds = []
    for options in (["--processes=2", sleeper, sleeper], ["--processes=1", sleeper, sleeper], ["--alone", sleeper, sleeper]):
        done = suites(*options)
        seconds.append(float(re.search(r"([0-9.]+) s  all$", done.stdout, re.M).group(1)))
    return "" if seconds[0] < seconds[1] and seconds[1] >= 1.2 and seconds[2] >= 1.2 else f"seconds: {seconds}"


def processor():
    """The processor time of a program is that of what it starts, too."""
    spin = "sh -c 'python3 -c \"import time\nwhile time.process_time() < 0.5: pass\"; echo 1 passed, 0 failed, 0 skipped'"
    found = re.search(r"0 skipped; [0-9.]+ s, processor ([0-9.]+) s", suites(spin).stdout)
    return "" if found and 0.4 < float(found.group(1)) < 2 else f"found: {found}"


def groups():
    """A group begins when the one before it is over."""
    with tempfile.TemporaryDirectory(prefix="sbc-suites-") as folder:
        def command(text):
            return f"sh -c 'cd {folder}; {text}; echo 1 passed, 0 failed, 0 skipped'"
        return judged(suites("--alone", command("sleep 0.3; touch a"), "--together", command("test -e a || exit; touch b; sleep 0.2; touch c"),
                             command("test -e a || exit; sleep 0.1; test -e b || exit"), "--alone", command("test -e c || exit")),
                      (4, 0, 0), None)


def waiting():
    """Commands that wait run beside the next group, and are over before the one after it."""
    with tempfile.TemporaryDirectory(prefix="sbc-suites-") as folder:
        def command(text):
            return f"sh -c 'cd {folder}; {text}; echo 1 passed, 0 failed, 0 skipped'"
        until = "for i in $(seq 300); do test -e {} && break; sleep 0.02; done; test -e {} || exit"
        meet = until.replace("{}", "b"), until.replace("{}", "a")
        return judged(suites("--processes=1", "--waiting", command(f"touch a; {meet[0]}; sleep 0.3"), command("touch c"),
                             "--together", command(f"touch b; {meet[1]}"), "--alone", command("test -e c || exit")),
                      (4, 0, 0), None)


def said_again():
    """The failures of one program, and no other lines of it, stand at the end of all; so do those of programs inside."""
    bad = "sh -c 'seq 1 40; echo FAIL the reason; seq 41 80; echo 1 passed, 1 failed, 0 skipped; exit 1'"
    good = "sh -c 'echo no FAIL h\"\"ere; echo 1 passed, 0 failed, 0 skipped'"
    inner = f"{sys.executable} {SUITES} {quoted(bad)} {quoted(good)}"
    for word in (bad, inner):
        end = suites(word, good).stdout.rpartition(" s  all\n")[2]
        if "  FAIL the reason\n" not in end or "no FAIL here" in end or "\n  20\n" in end:
            return f"of {'a program' if word == bad else 'sums of sums'} the end said: {end}"
    return ""


def no_command():
    done = suites()
    return "" if done.returncode == 1 and "usage" in done.stderr else f"exit code {done.returncode}: {done.stderr}"


CASES = {name: lambda name=name: one(name) or one(name, "--alone") for name in PROGRAMS} | \
    {case.__name__: case for case in (nested, beside, processor, groups, waiting, said_again, no_command)}


def main(names):
    failed = 0
    chosen = names or list(CASES)
    for name in chosen:
        wrong = CASES[name]()
        if wrong:
            failed += 1
            print(f"FAIL {name}: {wrong}\n  run it alone: tests/suites_test.py {name}")
    print(f"suites_test: {len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
