#!/usr/bin/env python3
"""run.py: streaming workloads whose work is held, on emulated slots, beside what is possible.

usage: tests/bench/streaming/run.py [--write] [WORKLOAD ...]

Every run of a workload must give the same bytes. --write puts the tables into RESULTS.md and the plots
beside it. A bound is what no schedule can beat: the work of the scarcest resource, and the last partition's
way through the stages behind it.
"""
import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SBC = os.environ.get("SBC", str(HERE.parents[2] / "zig-out/bin/sbc"))
SCHEDULES = ("full", "pessimistic", "static", "paper")
MIB = 1 << 20


class Workload:
    """A program, how it is compiled, and the runs of it: {label: (arguments, bound in seconds)}."""

    def __init__(self, title, program, runs, flags=()):
        self.title, self.program, self.runs, self.flags = title, program, runs, flags


def m1(memory, schedule="full"):
    """160 tasks x 500 rows x 1.5 ms on 8 cpus; 500 us a row on 4 accelerators are less."""
    return ["--threads=8", "--resource=accel=4", f"--memory={memory}MiB", f"--schedule={schedule}"], 15.0


def four(schedule):
    """0.5 ms a row on 4 accelerators; on 8 cpus 0.8 ms."""
    return ["--threads=8", "--resource=accel=4", "--memory=600MiB", f"--schedule={schedule}"], 10.0


def m2(rows, count=8192, size=1000000, step=0.01):
    """Two steps on 8 slots each; the second one ends with the last partition."""
    arguments = ["--threads=2", "--resource=left=8", "--resource=right=8", f"--count={count}",
                 f"--rows={rows}", f"--bytes={size}", f"--step={round(step * 1e6)}us"]
    return arguments, count * step / 8 + rows * step


WORKLOADS = {
    "m1": Workload("M1, rows of 100 kB, a tenth of the memory and of the time", "m1", {
        **{f"full, {memory} MiB": m1(memory) for memory in (600, 800, 1000, 1200, 1400, 1600)},
        **{f"{name}, 600 MiB": m1(600, name) for name in SCHEDULES[1:]}}),
    "m1_unfused": Workload("M1, a stage for every step", "m1", {
        f"full, {memory} MiB": m1(memory) for memory in (600, 1000, 1600)}, ("--no-fuse",)),
    "four": Workload("Four stages: cpu, cpu, accelerator, cpu", "four", {
        f"{name}, 600 MiB": four(name) for name in SCHEDULES}),
    "m2": Workload("M2, 8,192 rows of 1 MB, by size of a partition", "m2", {
        f"{rows} MB": m2(rows) for rows in (1, 4, 16, 64)}),
    "m2_small": Workload("M2, rows of 16 kB, by size of a partition", "m2", {
        f"{rows * 16} kB": m2(rows, 524288, 16000, 0.000156) for rows in (4, 16, 64)}),
}


def run(job, arguments):
    """Seconds, memory peak in MiB, and the digest of the output."""
    begin = time.monotonic()
    done = subprocess.run([job, *arguments, "--stats", "--progress=none"], capture_output=True)
    seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{job} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr.decode()}")
    peak = re.search(rb"memory peak ([0-9.]+) (\w+)", done.stderr)
    bytes_of = {b"KiB": 1 / 1024, b"MiB": 1, b"GiB": 1024, b"B": 1 / MIB}
    return seconds, float(peak.group(1)) * bytes_of[peak.group(2)], hashlib.md5(done.stdout).digest()


def measure(workload, folder):
    job = os.path.join(folder, workload.program)
    subprocess.run([SBC, str(HERE / f"{workload.program}.sbd"), "-o", job, *workload.flags], check=True)
    rows, digests = [], {}
    for label, (arguments, bound) in workload.runs.items():
        seconds, peak, digest = run(job, arguments)
        key = tuple(a for a in arguments if a.startswith(("--count", "--bytes")))
        if digests.setdefault(key, digest) != digest:
            sys.exit(f"{workload.title}, {label}: the output differs from that of the run before")
        rows.append((label, seconds, bound, peak))
        print(f"{workload.title}: {label}: {seconds:.2f} s of {bound:.2f}, {peak:.0f} MiB", flush=True)
    return rows


def table(workload, rows):
    lines = [f"## {workload.title}", "", "| | seconds | bound | ratio | memory peak, MiB |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {label} | {seconds:.2f} | {bound:.2f} | {seconds / bound:.3f} | {peak:.0f} |"
              for label, seconds, bound, peak in rows]
    return "\n".join(lines) + "\n"


def plot(workload, rows):
    """Bars of seconds, with the bound as a line across each."""
    bar, left, width = 26, 150, 420
    most = max(max(seconds, bound) for _, seconds, bound, _ in rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" height="{bar * len(rows) + 50}" '
             'font-family="sans-serif" font-size="13">', f'<text x="8" y="20">{workload.title}, seconds</text>']
    for i, (label, seconds, bound, _) in enumerate(rows):
        y, end = 34 + i * bar, left + width * seconds / most
        at = left + width * bound / most
        parts += [f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{label}</text>',
                  f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="{bar - 8}" fill="#4878a8"/>',
                  f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y - 3}" y2="{y + bar - 5}" stroke="#c03030" stroke-width="2"/>',
                  f'<text x="{max(end, at) + 6:.1f}" y="{y + 15}">{seconds:.1f}</text>']
    return "\n".join([*parts, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--write", action="store_true", help="write RESULTS.md and the plots")
    options = parser.parse_args()
    unknown = [name for name in options.workloads if name not in WORKLOADS]
    if unknown:
        parser.error(f"no workload '{unknown[0]}': one of {', '.join(WORKLOADS)}")
    parts = ["# Streaming workloads\n", "Written by `tests/bench/streaming/run.py --write`. Work is held until a deadline, so that slots do not "
             "need cpus; the red line of a plot is the bound.\n"]
    with tempfile.TemporaryDirectory(prefix="sbc-streaming-") as folder:
        for name in options.workloads or WORKLOADS:
            workload = WORKLOADS[name]
            rows = measure(workload, folder)
            parts.append(table(workload, rows) + f"\n![{workload.title}]({name}.svg)\n")
            if options.write:
                (HERE / f"{name}.svg").write_text(plot(workload, rows))
    if options.write:
        (HERE / "RESULTS.md").write_text("\n".join(parts))
    else:
        print("\n".join(parts))


if __name__ == "__main__":
    main()
