"""Instructions of a job and of a program by hand for each byte of input, by callgrind."""

import re
import subprocess
import time
from pathlib import Path

import tables

TARGET = Path(__file__).resolve().parents[2] / "least_level.yaml"  # What valgrind runs.
PIECE_BYTES = 400_000


def instructions(command):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], capture_output=True, text=True,
                          check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def a_byte(member, options, matrix):
    """(program by hand, job): what a byte of the input takes; of N rows and of 2 N, so that their start does not count."""
    small = {name: matrix.make(file, 1000 if file.scales else file.rows) for name, file in member.files.items()}
    rows = 1000 * PIECE_BYTES // small["input"].stat().st_size
    job = matrix.job_of(member, options.sbc, "counted", f"--target={TARGET}")
    totals = []
    for times in (1, 2):
        paths = {name: matrix.make(file, times * rows if file.scales else file.rows) for name, file in member.files.items()}
        commands = (matrix.hand_command(member, paths, matrix.OUT / "out.counted", matrix.WORK / f"{member.hand}.v3"),
                    matrix.job_command(member, job, paths, matrix.OUT / "out.counted", threads=1))
        totals.append((paths["input"].stat().st_size, *map(instructions, commands)))
        for path in paths.values():
            path.unlink(missing_ok=True)
    (bytes_few, *few), (bytes_more, *more) = totals
    return tuple((b - a) / (bytes_more - bytes_few) for a, b in zip(few, more))


def families(counted):
    """By family: the least share and the geometric mean."""
    head = tables.row(["family", "members", "least share of C", "geometric mean"])
    lines = [head, "|---|---:|---:|---:|"]
    for name in [*dict.fromkeys(member.family for member, _, _ in counted), "all"]:
        shares = [hand / job for member, hand, job in counted if name in (member.family, "all")]
        lines.append(tables.row([name, str(len(shares)), f"{min(shares):.0%}", f"{tables.mean(shares):.0%}"]))
    return lines


def page(members, options, matrix):
    """Counts all members, and prints each one as it is counted."""
    head = [tables.row(["member", "C", "sbc", "share of C"]), "|---|---:|---:|---:|"]
    print("\n".join(head), flush=True)
    counted, rows = [], []
    for member in members:
        hand, job = a_byte(member, options, matrix)
        counted.append((member, hand, job))
        rows.append(tables.row([member.name, f"{hand:.1f}", f"{job:.1f}", f"{hand / job:.0%}"]))
        print(rows[-1], flush=True)
    by_family = families(counted)
    print("\n".join(["", *by_family]))
    about = (f"Counted on {time.strftime('%Y-%m-%d')} by `tests/bench/matrix/matrix.py --instructions --write` at commit {tables.commit()}: instructions "
             "for each byte of input by callgrind, of one thread. Both programs are compiled for AVX2, the widest that callgrind runs. Of inputs of "
             f"{PIECE_BYTES // 1000} kB and of twice that the difference counts, so that starting does not. A share is that of the C program's "
             "instructions in the job's. Of so few rows nearly all make a group of 10,000, which costs more than one that finds it: rows of "
             "`groups_*_10k` are those of new groups. [RESULTS.md](RESULTS.md) has times.")
    return "\n".join(["# Instructions of the matrix", "", about, "", *by_family, "", "## By member", "", *head, *rows, ""])
