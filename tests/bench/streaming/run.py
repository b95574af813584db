#!/usr/bin/env python3
"""run.py: streaming workloads whose work is held, on emulated slots, beside what is possible.

usage: tests/bench/streaming/run.py [--write] [--scale=N] [WORKLOAD ...]

Builds the simulator, compiles the programs, and runs every workload under every schedule that jobs know. Every
run of a workload must give the same bytes. --write puts the tables into RESULTS.md and the plots beside it;
--scale=N takes an Nth of the work, for a quick look. Workloads are those of workloads.py, and `costs`.
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

import workloads

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))
SIM = ROOT / "zig-out/bin/sim"
PARTITIONS = 200000
ROUNDS = 3


def schedules():
    """Those of jobs, from the one table of options."""
    options = (ROOT / "runtime/options/options.def").read_text()
    return re.search(r'"schedule",\s+"([a-z|]+)"', options).group(1).split("|")


def simulate(chain, memory):
    """{"bound": seconds, schedule: seconds, "unordered": seconds}."""
    done = subprocess.run([SIM, "chain", *chain.words(memory)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sim chain {' '.join(chain.words(memory))}: {done.stderr}")
    return {name: float(seconds) for name, seconds in map(str.split, done.stdout.splitlines())}


def run(job, arguments, settings=None):
    """Seconds, memory peak in MiB, and the digest of the output."""
    begin = time.monotonic()
    done = subprocess.run([job, *arguments, "--stats", "--progress=none"], capture_output=True, env={**os.environ, **(settings or {})})
    seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"{job} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr.decode()}")
    peak = re.search(rb"memory peak ([0-9.]+) (\w+)", done.stderr)
    bytes_of = {b"KiB": 1 / 1024, b"MiB": 1, b"GiB": 1024, b"B": 1 / workloads.MIB}
    return seconds, float(peak.group(1)) * bytes_of[peak.group(2)], hashlib.md5(done.stdout).digest()


def compile_job(program, flags, folder):
    job = os.path.join(folder, program)
    subprocess.run([SBC, str(HERE / f"{program}.sbd"), "-o", job, *flags], check=True)
    return job


def compile_gpu_job(program, folder):
    """A job with kernels, and what its environment has to have for the driver without a GPU (tests/cuda)."""
    sys.path.insert(0, str(ROOT / "tests/cuda"))
    import jobs
    import tools
    nvrtc, why = tools.find_nvrtc()
    if not nvrtc:
        sys.exit(f"{program}: no NVRTC: {why}")
    settings = jobs.make_job(pathlib.Path(folder), HERE / f"{program}.sbd", nvrtc)
    return os.path.join(folder, "job"), settings


def settings_of(chain):
    """GPUs of the second resource, whose kernels take the time of its link for each row."""
    seconds = next(link.seconds for link in chain.links if link.resource == 1)
    return {"FAKE_CUDA_DEVICES": str(chain.slots[1]), "FAKE_CUDA_ROW_US": str(round(seconds * 1e6))}


class Row:
    """A run that was made, beside the bound and what the simulator takes."""

    def __init__(self, run, seconds, peak, simulated):
        self.run, self.seconds, self.peak = run, seconds, peak
        self.bound, self.simulated = simulated["bound"], simulated[run.schedule]

    def ratio(self):
        return self.seconds / self.bound


def measure(workload, folder, scale):
    if workload.gpus:
        job, settings = compile_gpu_job(workload.program, folder)
    else:
        job, settings = compile_job(workload.program, workload.flags, folder), {}
    rows, digests = [], {}
    for planned in workload.runs:
        chain = planned.chain.scaled(scale)
        arguments = [*workload.arguments(chain), f"--memory={planned.memory}MiB", f"--schedule={planned.schedule}"]
        own = settings_of(chain) if workload.gpus else {}
        seconds, peak, digest = run(job, arguments, {**settings, **own})
        if digests.setdefault(chain.units * chain.rows, digest) != digest:
            sys.exit(f"{workload.title}, {planned.label}: the output differs from that of the run before")
        rows.append(Row(planned, seconds, peak, simulate(chain, planned.memory)))
        print(f"{workload.title}: {planned.label}: {seconds:.2f} s of {rows[-1].bound:.2f}, {peak:.0f} MiB", flush=True)
    return rows


# ---- costs ------------------------------------------------------------------------------------------------


def overhead(folder, scale):
    """Microseconds of a partition of one row through a step; the least of some runs."""
    job, count = compile_job("noop", (), folder), int(PARTITIONS / scale)
    slots = ["--threads=2", "--resource=step=2", "--resource=out=2"]
    best = {n: min(run(job, [*slots, f"--count={n}"])[0] for _ in range(ROUNDS)) for n in (1, count)}
    return (best[count] - best[1]) / count * 1e6


def scheduler():
    """Of 5,000 simulated workers: the longest step in microseconds, and milliseconds of 5,000 reports at once."""
    text = subprocess.run([SIM, "speed"], capture_output=True, text=True, check=True).stdout
    return (float(re.search(r"most ([0-9.]+)", text).group(1)),
            float(re.search(r"reports at once: ([0-9.]+) ms", text).group(1)))


def order_cost(table_of, scale):
    """What keeping order costs `full` in the simulator, of all workloads at most."""
    figures = [simulate(run.chain.scaled(scale), run.memory) for load in table_of.values() for run in load.runs]
    return max(each["full"] / each["unordered"] - 1 for each in figures)


def cost_table(folder, scale, table_of):
    order = order_cost(table_of, scale)
    step, reports = scheduler()
    rows = [("a partition of one row through a step, threads", overhead(folder, scale), "us", 5,
             "A partition is two tasks, three events of the schedule and a turn of the sink, all under one lock."),
            ("order: `full` with an ordered sink over one without, in the simulator, at most", 100 * order, "%", 1, ""),
            ("5,000 simulated workers, ten stages: the longest step", step, "us", 10, ""),
            ("5,000 of their reports at once", reports, "ms", 10, "")]
    lines = ["## Costs", "", "| | | target | |", "|---|---:|---:|---|"]
    lines += [f"| {what} | {figure:.2f} {unit} | {target} {unit} | {'' if figure <= target else 'missed. ' + why} |"
              for what, figure, unit, target, why in rows]
    return "\n".join(lines) + "\n"


# ---- results ----------------------------------------------------------------------------------------------


def verdict(workload, rows):
    """Whether the target is met, and if not, why."""
    full = [row for row in rows if row.run.schedule == "full" and row.run.judged]
    missed = [f"{row.run.label} ({row.ratio():.3f})" for row in full if row.ratio() > (row.run.target or workload.target)]
    others = [f", {row.run.target:.3f} with {row.run.label.split(', ')[1]}" for row in full if row.run.target]
    text = f"Target: `full` within {workload.target:.3f} of the bound{''.join(others)}. "
    text += f"Missed: {', '.join(missed)}. {workload.why}" if missed else "Met."
    if workload.flat:
        least, most = min(row.peak for row in full), max(row.peak for row in full)
        text += f" Memory of `full`: {least:.0f} to {most:.0f} MiB, whatever the number of units."
    return text


def table(workload, rows):
    lines = [f"## {workload.title}", "", "| | seconds | bound | ratio | simulator | memory peak, MiB |",
             "|---|---:|---:|---:|---:|---:|"]
    lines += [f"| {row.run.label} | {row.seconds:.2f} | {row.bound:.2f} | {row.ratio():.3f} | {row.simulated:.2f} | {row.peak:.0f} |"
              for row in rows]
    return "\n".join([*lines, "", verdict(workload, rows)]) + "\n"


def plot(workload, rows):
    """Bars of times the bound, with the bound as a line across all."""
    bar, left, width = 26, 220, 420
    most = max(row.ratio() for row in rows)
    at = left + width / most
    height = bar * len(rows) + 50
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 120}" height="{height}" '
             'font-family="sans-serif" font-size="13">',
             f'<text x="8" y="20">{workload.title}: seconds, and times the bound</text>']
    for i, row in enumerate(rows):
        y, end = 34 + i * bar, left + width * row.ratio() / most
        color = "#4878a8" if row.run.schedule == "full" else "#a8b8c8"
        parts += [f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{row.run.label}</text>',
                  f'<rect x="{left}" y="{y}" width="{end - left:.1f}" height="{bar - 8}" fill="{color}"/>',
                  f'<text x="{end + 6:.1f}" y="{y + 15}">{row.seconds:.1f} s, {row.ratio():.2f}</text>']
    parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="30" y2="{height - 14}" stroke="#c03030" stroke-width="2"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


HEAD = ("# Streaming workloads\n", "Written by `tests/bench/streaming/run.py --write`, which takes an hour and a half; with names of workloads it writes their "
        "tables only. Work is held until a deadline, so that slots do not need cpus. The bound is the simulator's (`table_bound` in "
        "`tests/sim/table.h`): what no schedule can beat; the red line of a plot. `simulator` is what the same schedule takes in virtual "
        "time, where nothing but the work takes any.\n")


def state():
    """The commit that is measured."""
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def sections(text):
    """{heading: table} of a written page."""
    return {part.split("\n", 1)[0]: "## " + part for part in text.split("\n## ")[1:]}


def write(made, headings):
    """Puts the tables in place of those that the page has of them, in the order of the headings."""
    page = HERE / "RESULTS.md"
    known = sections(page.read_text()) if page.exists() else {}
    known |= sections("\n" + "\n".join(made))
    page.write_text("\n".join([*HEAD, *(known[heading].rstrip("\n") + "\n" for heading in headings if heading in known)]))


def main():
    table_of = workloads.workloads(schedules())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join([*table_of, "costs"]))
    parser.add_argument("--write", action="store_true", help="write into RESULTS.md, and the plots")
    parser.add_argument("--scale", type=float, default=1, help="take an Nth of the work")
    options = parser.parse_args()
    names = options.workloads or [*table_of, "costs"]
    unknown = [name for name in names if name not in [*table_of, "costs"]]
    if unknown:
        parser.error(f"no workload '{unknown[0]}': one of {', '.join([*table_of, 'costs'])}")
    if options.write and options.scale != 1:
        parser.error("--write takes workloads at full size")
    subprocess.run([ROOT / "bootstrap.sh", "zig", "build", "sim"], check=True)
    made = []
    with tempfile.TemporaryDirectory(prefix="sbc-streaming-") as folder:
        for name in names:
            if name == "costs":
                made.append(cost_table(folder, options.scale, table_of) + f"\nMeasured at {state()}.\n")
                continue
            rows = measure(table_of[name], folder, options.scale)
            made.append(table(table_of[name], rows) + f"\nMeasured at {state()}.\n\n![{table_of[name].title}]({name}.svg)\n")
            if options.write:
                (HERE / f"{name}.svg").write_text(plot(table_of[name], rows))
    if options.write:
        write(made, [*(load.title for load in table_of.values()), "Costs"])
    else:
        print("\n".join([*HEAD, *made]))


if __name__ == "__main__":
    main()
