#!/usr/bin/env python3
"""Jobs in a cgroup whose limit is what --memory says: each finishes with the same bytes and is never killed.

usage: tests/memory/run.py [--all] [--times=N] [--table=FILE] [--duckdb] [CASE...]

Every case, or this submission's share of them (tests/share.py), runs with its minimum, as --plan shows it; `limit` runs
with twice that, too. Of cases whose name ends in _workers the coordinator and two workers are in the cgroup together, and none
of them is killed. With --all every case runs with twice that and its full speed. Its rows take N times the memory (2
unless it is said, of a few cases 10 or 20; 20 for the table). Without the right to make a cgroup all is skipped. With
--duckdb DuckDB does the same work beside the job, with that much as its memory_limit (peer.py, the peers of
tests/bench/run.sh --install): outside of the cgroup, as its process takes more than its limit.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cgroup
import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import share  # noqa: E402

SBC = os.environ.get("SBC", ROOT / "zig-out/bin/sbc")
MIB = 1 << 20
TIMES = {"distinct": 10, "limit": 20, "top": 20}   # Else 2: what grows with the input shows where there is much of it.
SIZES = {"limit": 2}                    # Without --all, else 1: partitions that wait are as many as their size makes them.
SECONDS = 900
SHORT_SECONDS = 6
ROUNDS = 5
RATE_MIB = 1024

# name: the program, bytes that a row takes about, and what it is about. ROWS stands for as many rows as are wanted.
CASES = {
    "stream": (60, """
param rows: i64 = 1000
range(rows) | derive text = f"row {hash(i)} of many, which only pass through" | where i % 3 != 0 | write csv("out.csv")
"""),
    "sort": (60, """
param rows: i64 = 1000
range(rows) | derive key = hash(i), text = f"row {i} of many" | sort key | write csv("out.csv")
"""),
    "distinct": (60, """
param rows: i64 = 1000
range(rows) | derive text = f"text number {hash(i) % 100000007}" | distinct text | aggregate { n = count(), last = max(text) }
| write csv("out.csv")
"""),
    "groups": (100, """
param rows: i64 = 1000
range(rows) | derive key = f"key {hash(i // 2) % 1000003} of a group"
| group by key, twin = i // 2 { n = count(), first = min(i), text = max(key) } | where n > 1 | write csv("out.csv")
"""),
    "join": (60, """
param rows: i64 = 1000
let right = range(rows) | derive k = hash(i) % 1000003, text = f"right row {i}" | select k, text
range(50000) | derive k = hash(i + 7) % 1000003 | join left right on k | write csv("out.csv")
"""),
    "full_join": (60, """
param rows: i64 = 1000
let right = range(rows) | derive k = hash(i) % 1000003, text = f"right row {i}" | select k, text
range(50000) | derive k = hash(i + 7) % 1000003 | join full right on k | write csv("out.csv")
"""),
    "hot_key": (60, """
param rows: i64 = 1000
let right = range(rows) | derive k = if i % 10 == 0 then i else 1, text = f"right row {i}" | select k, text
range(3) | derive k = i | join right on k | aggregate { n = count(), last = max(text), first = min(text) }
| write csv("out.csv")
"""),
    "hot_rows": (60, """
param rows: i64 = 1000
let right = range(rows) | derive k = if i % 10 == 0 then i else 1, text = f"right row {i}" | select k, text
range(3) | derive k = i | join right on k | write csv("out.csv")
"""),
    "limit": (60, """
param rows: i64 = 1000
let sorted = range(rows) | derive key = hash(i), kind = i % 50, text = f"row {i} of many" | sort key
sorted | skip 10 | join (sorted | group by kind { n = count() }) on kind | limit rows - 100 | write csv("out.csv")
"""),
    "window": (80, """
param rows: i64 = 1000
range(rows) | derive key = hash(i) % 100003, text = f"row {i} of many"
| window by key sort i { number = row_number(), before = lag(text), total = sum(i), near = max(i) rows 2 back 1 ahead } | write csv("out.csv")
"""),
    "hot_window": (80, """
param rows: i64 = 1000
range(rows) | derive key = if i % 10 == 0 then i else 1, text = f"row {i} of many", place = hash(i)
| window by key sort place, i { number = row_number(), rest = count() rows all, before = lag(text, 3) }
| where number % 3 == 0 | write csv("out.csv")
"""),
    "asof": (60, """
param rows: i64 = 1000
let right = range(rows) | derive k = hash(i) % 1009, at = i * 2, text = f"right row {i}" | select k, at, text
range(10000) | derive k = hash(i + 7) % 1009, t = i * 7919 % (rows * 2) | join left right on k and asof t >= at | write csv("out.csv")
"""),
    "top": (60, """
param rows: i64 = 1000
range(rows) | derive key = hash(i) % 100003, place = hash(i + 3), text = f"row {i} of many"
| top 3 by place, i asc per key | write csv("out.csv")
"""),
    "foreign": (60, """
param rows: i64 = 1000
extern fn copied(x: i64) -> i64 from "foreign.c" pure
range(rows) | with (memory = 4MiB) { derive y = copied(i) } | derive text = f"row {y}" | sort text | write csv("out.csv")
"""),
    "long_rows": (10 * MIB, """
read csv("long.csv") as { a: i64, text: str } | sort a desc | write csv("out.csv")
"""),
    "long_rows_zst": (10 * MIB, """
read csv("long.csv.zst") as { a: i64, text: str } | where len(text) > 0 | write csv("out.csv")
"""),
    "long_rows_pipe": (10 * MIB, """
read csv("-") as { a: i64, text: str } | where len(text) > 0 | write csv("out.csv")
"""),
}
LONG_ROW = 10 * MIB
WORKERS = {f"{name}_workers": name for name in ("stream", "sort", "groups", "join")}  # The same with two workers.
CASES |= {name: CASES[alone] for name, alone in WORKERS.items()}

FOREIGN = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "foreign.h"
enum { BYTES = 512 << 10 };
int64_t copied(int64_t x) {
    char *bytes = malloc(BYTES);
    if (!bytes) return -1;
    memset(bytes, (int)x, x % 64 == 0 ? BYTES : 64);
    int64_t y = x + bytes[0] - (char)x;
    free(bytes);
    return y;
}
"""


def sizes(job, options):
    """Minimum and full speed in bytes."""
    shown = subprocess.run([job, "--plan", *options], capture_output=True, text=True, check=True).stdout
    least, full = re.search(r"^--memory +([\d.]+) MiB +([\d.]+) MiB$", shown, re.M).groups()
    return [int(float(least) * MIB), int(float(full) * MIB)]


def row_times(job):
    """How many times its bytes a row takes that is longer than a partition."""
    shown = subprocess.run([job, "--plan", "--threads=2"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"^a row longer than a partition waits .* up to (\d+) times", shown, re.M)[1])


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_long_rows(path, memory, times):
    """Rows of 10 MB, times the memory in all."""
    count = max(4, memory * times // LONG_ROW)
    with open(path, "w") as file:
        file.write("a,text\n")
        for i in range(count):
            file.write(f"{i * 7 % count}," + f"{i:060d}{i:040d}" * (LONG_ROW // 100) + "\n")


class Case:
    def __init__(self, name, work, times, peers=False):
        self.name, self.times = name, times
        self.folder = work / name
        self.folder.mkdir()
        self.row_bytes, text = CASES[name]
        self.rows = "param rows" in text
        self.input = None if self.rows else re.search(r'csv\("([^"]*)"\) as', text)[1]
        self.processes = ["--threads=2", *["--workers=2"] * (name in WORKERS)]
        self.has_peer = peers and name in peer.QUERIES
        if self.has_peer:
            text = peer.replace_calls(text, "hash")
        (self.folder / "main.sbd").write_text(text.lstrip())
        (self.folder / "foreign.c").write_text(FOREIGN.lstrip().replace('#include "foreign.h"\n', ""))
        subprocess.run([SBC, "main.sbd", "-o", "job", f"--target={ROOT}/tests/least_level.yaml"], cwd=self.folder, check=True)
        self.job = self.folder / "job"

    def memories(self):
        least, full = sizes(self.job, self.processes)
        if self.input:
            least, full = least + row_times(self.job) * LONG_ROW, full + row_times(self.job) * LONG_ROW
        return {"minimum": least, "twice": 2 * least, "full speed": max(full, least)}

    def options(self, memory):
        if self.rows:
            return [f"--rows={memory * self.times // self.row_bytes}"]
        make_long_rows(self.folder / "long.csv", memory, self.times)
        if self.input.endswith(".zst"):
            subprocess.run(["zstd", "-q", "-f", "-1", "long.csv"], cwd=self.folder, check=True)
        return []

    def stdin(self):
        """What the job's standard input is: rows where it reads them there."""
        return subprocess.Popen(["cat", "long.csv"], cwd=self.folder, stdout=subprocess.PIPE).stdout if self.input == "-" else None

    def wanted(self, options):
        """The bytes of a run without a limit, and its seconds."""
        (self.folder / "out.csv").unlink(missing_ok=True)  # To replace a file is to wait for the disk, too.
        began = time.monotonic()
        subprocess.run([self.job, *options, "--threads=2"], cwd=self.folder, check=True, capture_output=True,
                       stdin=self.stdin())
        return digest(self.folder / "out.csv"), time.monotonic() - began

    def measure_peer(self, memory, wanted):
        """DuckDB's seconds, or why there are none."""
        rows = memory * self.times // self.row_bytes
        began = time.monotonic()
        done = subprocess.run([peer.PYTHON, peer.__file__, self.name, str(rows), str(memory), self.folder], capture_output=True, text=True,
                              timeout=SECONDS)
        seconds = time.monotonic() - began
        shutil.rmtree(self.folder / "peer", ignore_errors=True)
        if done.returncode == peer.OUT_OF_MEMORY:
            return "out of memory"
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-1000:])
        return f"{seconds:.1f}" if digest(self.folder / "peer.csv") == wanted else "other bytes"

    def measure(self, name, memory):
        """What a run in the cgroup leaves; `wrong` says what is not as it should be."""
        options = self.options(memory)
        wanted, unlimited = self.wanted(options)
        (self.folder / "out.csv").unlink()
        began = time.monotonic()
        with cgroup.Cgroup(memory) as group:
            done = group.run([self.job, *options, f"--memory={memory}", *self.processes, "--stats=json"],
                             cwd=self.folder, stdin=self.stdin(), capture_output=True, text=True, timeout=SECONDS)
            killed = group.killed()
        result = {"case": self.name, "memory": memory, "name": name, "seconds": time.monotonic() - began,
                  "unlimited": unlimited, "wrong": None}
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if "SB" in line]
            result["wrong"] = f"exit {done.returncode}: {said[:1]}"
            return result
        figures = json.loads(done.stderr.splitlines()[-1])
        result |= {key: figures[key] for key in ("spilled", "spilled_on_disk", "memory_peak", "tasks_fit", "tasks_most")}
        losses = sum(worker["losses"] for worker in figures.get("workers", []))
        if killed or losses:
            result["wrong"] = f"the system killed {killed} processes, and {losses} workers were lost"
        if digest(self.folder / "out.csv") != wanted:
            result["wrong"] = "other bytes"
        if self.has_peer:
            result["peer"] = self.measure_peer(memory, wanted)
            result["wrong"] = result["wrong"] or ("DuckDB leaves other bytes" if result["peer"] == "other bytes" else None)
        return result


def measure_again(case, result):
    """Short runs are repeated, one with a limit behind one without; the least seconds of each count."""
    for _ in range(ROUNDS - 1):
        if result["wrong"] or result["seconds"] + result["unlimited"] > SHORT_SECONDS:
            break
        again = case.measure(result["name"], result["memory"])
        best = {key: min(result[key], again[key]) for key in ("seconds", "unlimited")}
        result = again | best
    return result


def check_default(case):
    """Without --memory a job takes 80 % of the limit."""
    limit = 200 * MIB
    with cgroup.Cgroup(limit) as group:
        done = group.run([case.job, "--log=json", "--rows=10", "--overwrite"], cwd=case.folder, capture_output=True,
                         text=True, timeout=SECONDS)
    start = json.loads(done.stderr.splitlines()[0])
    return None if start["memory"] == limit // 5 * 4 else f"the default is {start['memory']} of {limit} bytes"


def disk_rate(work):
    """MiB a second that the disk takes, flushed."""
    path, block = work / "rate", os.urandom(MIB)
    began = time.monotonic()
    with open(path, "wb") as file:
        for _ in range(RATE_MIB):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
    return RATE_MIB / (time.monotonic() - began)


def allowed(one, rate):
    """Seconds that the target gives a run: 5 % more than without a limit; what spills is written and read, and 10 % more."""
    if not one["spilled"]:
        return 1.05 * one["unlimited"]
    return 1.1 * (one["unlimited"] + 2 * one["spilled_on_disk"] / MIB / rate)


def table(results, times, rates):
    rate = statistics.median(rates)
    peers = any("peer" in one for one in results)
    beside = ("DuckDB has the same memory_limit and threads for the same work, outside of a cgroup; its bytes are the same. " if peers else "")
    lines = [f"# Jobs in a cgroup of --memory\n\nMade by `tests/memory/run.py --all --times={times} --table=FILE`, two threads. The rows "
             f"of each case take {times} times the memory; every run has the same bytes as one without a limit, whose seconds stand "
             f"beside its own; of short runs the least of {ROUNDS} counts. {beside}The target: done at the minimum, at whatever speed; at full speed 5 % slower than without a limit; and "
             f"what spills above the minimum as long as without a limit, its bytes on disk twice at the rate of the disk, and 10 % more. "
             f"That rate, of {RATE_MIB} MiB written and flushed, is measured before each case: {min(rates):.0f} to {max(rates):.0f} MiB/s; "
             f"the median, {rate:.0f}, counts.\n",
             "| case | memory | MiB | tasks at once | most that was counted, MiB | spilled, MiB | on disk, MiB | seconds | without a limit | target |"
             + (" DuckDB |" if peers else ""),
             "|---|---|---:|---|---:|---:|---:|---:|---:|---:|" + ("---:|" if peers else "")]
    for one in results:
        judged = one["name"] != "minimum" and (one["spilled"] or one["name"] == "full speed")
        met = "met" if one["seconds"] <= allowed(one, rate) else "missed"
        target = f"{allowed(one, rate):.1f} {met}" if judged else ""
        lines.append(f"| {one['case']} | {one['name']} | {one['memory'] / MIB:.1f} | {one['tasks_fit']} of {one['tasks_most']} | "
                     f"{one['memory_peak'] / MIB:.1f} | {one['spilled'] / MIB:.0f} | {one['spilled_on_disk'] / MIB:.0f} | "
                     f"{one['seconds']:.1f} | {one['unlimited']:.1f} | {target} |" + (f" {one.get('peer', '')} |" if peers else ""))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--times", type=int)
    parser.add_argument("--table")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--duckdb", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.cases:
        if name not in CASES:
            parser.error(f"no case '{name}'; there are {', '.join(CASES)}")
    if arguments.table and not pathlib.Path(arguments.table).resolve().parent.is_dir():
        parser.error(f"no folder for {arguments.table}")
    if arguments.table and not arguments.times:
        arguments.times = 20
    if arguments.duckdb and not peer.PYTHON.exists():
        parser.error("no peers; they are installed by: tests/bench/run.sh --install")
    why = cgroup.why_not()
    if why:
        print(f"skipped: {why}\n0 passed, 0 failed, {len(CASES)} skipped")
        return 0
    failed, results, rates = 0, [], []
    chosen = arguments.cases or (CASES if arguments.table else share.share_of(CASES))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))  # So that the job of a run ends with it.
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as work:
        for name in chosen:
            if arguments.table:
                rates.append(disk_rate(pathlib.Path(work)))
            case = Case(name, pathlib.Path(work), arguments.times or TIMES.get(name, 2), arguments.duckdb)
            for size, memory in list(case.memories().items())[: None if arguments.all else SIZES.get(name, 1)]:
                result = case.measure(size, memory)
                result = measure_again(case, result) if arguments.table else result
                results.append(result)
                if arguments.table:
                    beside = f", DuckDB {result['peer']}" if "peer" in result else ""
                    print(f"{name}, {size}: {result['seconds']:.1f} s, {result['unlimited']:.1f} s without a limit{beside}", flush=True)
                if result["wrong"]:
                    failed += 1
                    print(f"FAIL memory {name}, {size} of {memory / MIB:.1f} MiB: {result['wrong']}; alone: "
                          f"tests/memory/run.py {name}", flush=True)
            for path in case.folder.glob("*.csv*"):
                path.unlink()
            if arguments.table and not failed:
                pathlib.Path(arguments.table).write_text(table(results, arguments.times, rates))
            wrong = check_default(case) if name == "sort" else None
            if wrong:
                failed += 1
                print(f"FAIL memory {name}: {wrong}")
    print(f"{len(results) + ('sort' in chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
