"""Instructions of a job and of a program by hand for each byte of input, by callgrind."""

import re
import subprocess
from pathlib import Path

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
