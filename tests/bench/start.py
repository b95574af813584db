"""Section 1 of the targets: how long compiling, checking and starting take, how big a job is."""

import re
import statistics
import subprocess
import sys
from pathlib import Path

import report
from rows import chain, wide_row

REFERENCE = Path(__file__).resolve().parent / "reference" / "a0.c"
DUCKDB = """import duckdb
read = "read_csv('first.csv', header = true, columns = {'a': 'BIGINT'})"
print(duckdb.connect().execute(f"SELECT * FROM {read} WHERE a > 0").fetchone(), flush=True)
"""
POLARS = ("import polars as pl; "
          "print(pl.scan_csv('first.csv').filter(pl.col('a') > 0).collect().row(0), flush=True)")
NUMBA = """
import time
import numba

def total(values):
    t = 0.0
    for v in values:
        if v > 0.0:
            t += v * 2.0
    return t

begin = time.perf_counter()
numba.njit(total).compile("f8(f8[:])")
print(time.perf_counter() - begin)
"""
FIRST = 'read csv("first.csv") as { a: i64 } | where a > 0 | write csv("-")\n'
FIRST_C = """#include <stdio.h>
int main(void) {
    long a;
    FILE *file = fopen("first.csv", "r");
    if (!file || fscanf(file, "a %ld", &a) != 1) return 1;
    printf("a\\n%ld\\n", a);
}
"""
LIBRARIES_ALLOWED = {"libc.so.6", "libm.so.6"}


def least(bench, command, mode, own_clock):
    """Least and median seconds over the rounds, or None and why."""
    seconds = []
    for _ in range(bench.options.rounds):
        (took, *_), code, text = bench.timed(command, mode)
        if code:
            return None, " ".join(text.split())[-300:]
        seconds.append(float(text.split()[-1]) if own_clock else took)
    return (min(seconds), statistics.median(seconds)), ""


def write(bench, name, text):
    path = bench.out / name
    path.write_text(text)
    return path


def contenders(bench):
    """Name, command, how it is timed, whether it prints its own seconds, target in milliseconds."""
    chains = {steps: write(bench, f"chain_{steps}.sbd", chain(steps)) for steps in (10, 100, 200)}
    wide = write(bench, "wide.sbd", wide_row(600))
    job, first, hand = bench.out / "chain", bench.out / "first", bench.out / "first_c"
    write(bench, "first.csv", "a\n1\n")
    write(bench, "first.c", FIRST_C)
    write(bench, "first.sbd", FIRST)
    subprocess.run([bench.sbc, "first.sbd", "-o", first], check=True, cwd=bench.out)
    subprocess.run([bench.clang, "-O3", "first.c", "-o", hand], check=True, cwd=bench.out)
    kernel = [bench.clang, "-std=gnu23", "-D_GNU_SOURCE", "-O3", f"-march=x86-64-{bench.level}", "-c",
              REFERENCE, "-o", bench.out / "kernel.o"]
    return [
        ("sbc, 10 steps", [bench.sbc, chains[10], "-o", job], "exit", False, 150),
        ("sbc, 100 steps", [bench.sbc, chains[100], "-o", job], "exit", False, None),
        ("sbc, 200 steps", [bench.sbc, chains[200], "-o", job], "exit", False, 1000),
        ("sbc, 600 columns", [bench.sbc, wide, "-o", job], "exit", False, 2000),
        ("clang -O3 of A0 by hand", kernel, "exit", False, None),
        ("numba, one loop", [sys.executable, "-c", NUMBA], "exit", True, None),
        ("sbc check, 10 steps", [bench.sbc, "check", chains[10]], "exit", False, 20),
        ("sbc check, 200 steps", [bench.sbc, "check", chains[200]], "exit", False, None),
        ("job to its first row", [first], "first", False, 5),
        # It may add 10 ms to what the job itself may take.
        ("sbc run, unchanged, to the first row", [bench.sbc, "run", "first.sbd"], "first", False, 15),
        ("C program to its first row", [hand], "first", False, None),
        ("Python and DuckDB to their first row", [sys.executable, "-c", DUCKDB], "first", False, None),
        ("Python and Polars to their first row", [sys.executable, "-c", POLARS], "first", False, None),
    ]


def size_line(bench):
    """The size of A0's job and the shared libraries that it asks for."""
    job = bench.build_job("a0")
    listed = subprocess.run(["readelf", "-d", job], capture_output=True, text=True).stdout
    needed = re.findall(r"NEEDED.*\[(.*)\]", listed)
    size = job.stat().st_size / 1e6
    met = size <= 4 and set(needed) <= LIBRARIES_ALLOWED
    return ["size of A0's job", f"{size:.2f} MB", ", ".join(needed) or "no shared library",
            f"4 MB, libc and libm {'met' if met else 'missed'}"]


def table(bench):
    lines = []
    for name, command, mode, own_clock, target in contenders(bench):
        figures, fault = least(bench, command, mode, own_clock)
        if not figures:
            lines.append([name, "failed", fault, ""])
            continue
        low, middle = (f"{x * 1000:.2f} ms" for x in figures)
        judged = f"{target} ms {'met' if figures[0] * 1000 <= target else 'missed'}" if target else ""
        lines.append([name, low, middle, judged])
    lines.append(size_line(bench))
    return "## Compile and start\n\n" + report.table(["what", "min", "median", "target"], lines)
