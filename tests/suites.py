#!/usr/bin/env python3
"""suites.py: runs test programs beside each other, and prints the sum of what they say as the last line.

usage: tests/suites.py [--processes=N] COMMAND... [--alone COMMAND...] [--together COMMAND...] [--waiting COMMAND...]

Each command is a test program. It must print exactly one line `N passed, N failed, N skipped`, with its
name and a colon in front or without, and end with 0 if and only if no test of it failed. Whatever else it
does is one failed test more. Lines that stand further right, or go on, are not taken for that line: what
is quoted is indented. So programs nest, for this one ends with one such line, too.

N commands run at once: one more than there are processors, for many wait. Those that use all processors by themselves, or
measure times, stand after --alone: they run one after the other, and what they print comes as they print it. After --together commands run beside each
other again. Each group begins when the one before it is over. Those that wait most of their time stand after --waiting: they run one
after the other, beside the group that follows.
What a command took is printed with its result, and all times once more at the end. What a failed one said of
its failures stands there, too: a long log that is cut keeps its end.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

SUMMARY = re.compile(r"(?:[\w./-]+: )?(\d+) passed, (\d+) failed, (\d+) skipped")
BUILT = re.compile(r"\S*\.zig-cache/o/[0-9a-f]+/")  # Where zig puts programs; no name for a person.
FAILURE = re.compile(r"\bFAIL(ED)?\b")
AROUND_FAILURE = 12  # Lines before and after such a word that are printed again at the end.
AGAIN_MAX = 80  # Lines of one command that are printed again.
SHOWN_SECONDS_MIN = 1.0  # Programs that take less share a line of the table of times.


@dataclass
class Suite:
    """A command, and what came of it."""

    command: str
    said: list = field(default_factory=list)  # All other lines that it printed.
    summaries: list = field(default_factory=list)  # Its lines of results: (passed, failed, skipped).
    status: int = 0  # As the shell has it: 128 and the signal's number, if one ended it.
    wall: float = 0
    processor: float = 0  # Seconds of all its processes, in the kernel too.

    @property
    def name(self):
        return BUILT.sub("", self.command)

    def problem(self):
        """What is wrong with how it ended, or None."""
        if self.status > 128:
            return f"ended by signal {self.status - 128}"
        if len(self.summaries) != 1:
            return f"{len(self.summaries)} lines of results instead of one, exit code {self.status}"
        failed = self.summaries[0][1]
        if bool(failed) != bool(self.status):
            return f"exit code {self.status}, though {failed} tests failed"
        return None if any(self.summaries[0]) else "no test was run"

    def counts(self):
        """(passed, failed, skipped); what is wrong with the program itself counts as one that failed."""
        passed, failed, skipped = map(sum, zip((0, 0, 0), *self.summaries))
        return passed, failed + bool(self.problem()), skipped

    def verdict(self):
        passed, failed, skipped = self.counts()
        problem = self.problem()
        line = f"{self.name}: {passed} passed, {failed} failed, {skipped} skipped; {times(self.wall, self.processor)}"
        return f"{line}\nFAIL {self.name}: {problem}" if problem else line


def times(wall, processor):
    return f"{wall:.1f} s, processor {processor:.1f} s"


def run(suite, show):
    """Runs it; `show` gets each line it prints but for that of its results."""
    begin = time.monotonic()
    try:
        process = subprocess.Popen(shlex.split(suite.command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        show(f"{error}\n")
        suite.status = 127
        return
    for line in process.stdout:
        found = SUMMARY.fullmatch(line.rstrip("\n"))
        if found:
            suite.summaries.append(tuple(map(int, found.groups())))
        else:
            suite.said.append(line)
            show(line)
    # Not process.wait(): the times of this child alone, and of all that it waited for, are wanted.
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    suite.status = code if code >= 0 else 128 - code
    suite.wall = time.monotonic() - begin
    suite.processor = usage.ru_utime + usage.ru_stime


TURN = threading.Lock()


def show_now(text):
    with TURN:
        sys.stdout.write(text)
        sys.stdout.flush()


def run_together(suites, processes):
    """Beside each other: what one prints comes when it is over."""
    def whole(suite):
        lines = []
        run(suite, lines.append)
        show_now("".join([*lines, suite.verdict(), "\n"]))

    with concurrent.futures.ThreadPoolExecutor(max_workers=processes) as pool:
        list(pool.map(whole, suites))


def run_alone(suites):
    for suite in suites:
        show_now(f"== {suite.name}\n")
        run(suite, show_now)
        show_now(suite.verdict() + "\n")


def again(suite):
    """The lines near each failure that it printed, or its last ones; indented, so that no line is taken for a result."""
    near = {number for at, line in enumerate(suite.said) if FAILURE.search(line)
            for number in range(at - AROUND_FAILURE, at + AROUND_FAILURE + 1)}
    lines = [line for number, line in enumerate(suite.said) if not near or number in near]
    return "".join(f"  {line.rstrip()}\n" for line in [f"{suite.name} said:", *lines[-AGAIN_MAX:]])


def table(suites, wall):
    """Where the time went, most of it first."""
    slow = sorted((suite for suite in suites if suite.processor >= SHOWN_SECONDS_MIN), key=lambda suite: -suite.processor)
    lines = [f"{'processor':>11} {'time':>9}"]
    lines += [f"{suite.processor:9.1f} s {suite.wall:7.1f} s  {suite.name}" for suite in slow]
    fast = [suite for suite in suites if suite.processor < SHOWN_SECONDS_MIN]
    if fast:
        lines.append(f"{sum(s.processor for s in fast):9.1f} s {sum(s.wall for s in fast):7.1f} s  {len(fast)} that take less")
    lines.append(f"{sum(suite.processor for suite in suites):9.1f} s {wall:7.1f} s  all")
    return "\n".join(lines)


def main(arguments):
    processes = os.cpu_count() + 1
    if arguments and arguments[0].startswith("--processes="):
        processes = int(arguments.pop(0).partition("=")[2])
    groups = [("--together", [])]
    for word in arguments:
        if word in ("--together", "--alone", "--waiting"):
            groups.append((word, []))
        else:
            groups[-1][1].append(Suite(word))
    suites = [suite for _, group in groups for suite in group]
    if not suites:
        sys.exit(__doc__)
    begin = time.monotonic()
    waiting = []
    for how, group in groups:
        if how == "--waiting":
            waiting.append(threading.Thread(target=run_together, args=(group, 1)))
            waiting[-1].start()
            continue
        if how == "--alone":
            run_alone(group)
        else:
            run_together(group, processes)
        while group and waiting:
            waiting.pop().join()
    for thread in waiting:
        thread.join()
    print(table(suites, time.monotonic() - begin))
    bad = [suite for suite in suites if suite.counts()[1]]
    for suite in bad:
        print(again(suite), end="")
    if bad:
        print("FAIL: " + ", ".join(suite.name for suite in bad))
    passed, failed, skipped = map(sum, zip((0, 0, 0), *(suite.counts() for suite in suites)))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
