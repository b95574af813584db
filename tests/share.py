#!/usr/bin/env python3
"""share.py: the part of a long suite that one submission runs.

usage: tests/share.py NAME...     prints those names that are in this submission's share.

SBC_TEST_SHARES=N in the environment asks suites that are too long to be run whole each time for one Nth of their
cases. The number of commits says which: N submissions in a row run every case. `./bootstrap.sh test` asks
for a third; `./bootstrap.sh test all`, and each suite by itself, for everything.
"""
import functools
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shares():
    return max(1, int(os.environ.get("SBC_TEST_SHARES", "1")))


@functools.cache
def turn():
    """The number of commits, or 0 where the sources are no repository."""
    done = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


def share_of(items):
    """Every Nth of a list, in its order: each item is in one share of N."""
    items = list(items)
    count = shares()
    return items[turn() % count::count] if count > 1 else items


if __name__ == "__main__":
    print(*share_of(sys.argv[1:]), sep="\n")
