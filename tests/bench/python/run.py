#!/usr/bin/env python3
"""run.py [--write] [--rounds N] [--scale X] [NAME ...]: functions in Python beside Ray Data's, the same function on the same rows.

The functions stand in functions.py: `same` and `straight` take batches as arrays of pyarrow, `row` the values of a row. Contenders run in
turn on as many CPUs, and must give the same count and sum. A job is timed from exec to exit, the starts of its interpreters included;
Ray Data inside a session that stands and has run a small job before. Ray goes into build/bench/ray, once."""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))
VENV = ROOT / "build/bench/ray"
WANTED = ["ray[data]==2.60.0", "pyarrow==26.0.1"]
CPUS, BATCH = 2, 8192
ROWS = {"same": 20_000_000, "straight": 20_000_000, "row": 2_000_000}


def install():
    """False: pip cannot get it, and has said why."""
    mark = VENV / "installed"
    if mark.exists() and mark.read_text() == str(WANTED):
        return True
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    done = subprocess.run([VENV / "bin/pip", "install", "-q", "--disable-pip-version-check", *WANTED], check=False)
    if done.returncode == 0:
        mark.write_text(str(WANTED))
    return done.returncode == 0


def run_job(job, rows):
    begin = time.monotonic()
    done = subprocess.run([job, f"--rows={rows}", f"--threads={CPUS}", f"--python={VENV}/bin/python"], check=True,
                          capture_output=True, text=True)
    return time.monotonic() - begin, tuple(map(int, done.stdout.splitlines()[1].split(",")))


def run_ray(name, rows):
    done = subprocess.run([VENV / "bin/python", HERE / "ray_data.py", name, str(rows), str(BATCH), str(CPUS)], check=True,
                          capture_output=True, text=True)
    seconds, count, total = done.stdout.split()[-3:]
    return float(seconds), (int(count), int(total))


def measure(name, rows, rounds, folder):
    job = folder / name
    subprocess.run([SBC, HERE / f"{name}.sbd", "-o", job], check=True)
    ours, theirs = [], []
    for _ in range(rounds):
        for found, one in ((ours, run_job(job, rows)), (theirs, run_ray(name, rows))):
            found.append(one)
            print(f"{name}: {'job' if found is ours else 'ray'} {one[0]:.2f} s", flush=True)
    if len({values for _, values in ours + theirs}) != 1:
        sys.exit(f"{name}: the results differ: {ours} {theirs}")
    job_s, ray_s = ([seconds for seconds, _ in found] for found in (ours, theirs))
    return (f"| `{name}` | {rows:,} | {min(job_s):.2f} | {statistics.median(job_s):.2f} | {rows / min(job_s) / 1e6:.1f} | "
            f"{min(ray_s):.2f} | {statistics.median(ray_s):.2f} | {rows / min(ray_s) / 1e6:.2f} | {min(ray_s) / min(job_s):.1f} | "
            f"{statistics.median(ray_s) / statistics.median(job_s):.1f} |")


def page(lines, rounds, load):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    busy = "other programs ran beside it, so only the ratios say something" if max(load) > CPUS + 1 else "nothing else ran"
    return "\n".join([
        "# Functions in Python beside Ray Data", "",
        "Written by `tests/bench/python/run.py --write`. Both call the same function of `functions.py` on the same rows, and gave the same "
        "count and sum.", "",
        f"Measured at {commit} on {os.cpu_count()} cpus ({platform.machine()}) with {', '.join(WANTED)}, in {rounds} rounds in turn. "
        f"The load of the machine was {load[0]:.1f} before and {load[1]:.1f} after: {busy}.", "",
        "| function | rows | job, s, least | median | million rows a second | Ray Data, s, least | median | million rows a second | "
        "ratio, least | ratio, median |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|", *lines, "",
        "A job is timed from exec to exit, the starts of its interpreters included. Ray Data is timed inside a session that stands and has "
        f"run a small job before. Batches have {BATCH:,} rows. The target is 10 million rows a second of `same` on a machine where nothing "
        "else runs.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of the rows")
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ROWS]
    if unknown:
        parser.error(f"no function '{unknown[0]}': one of {', '.join(ROWS)}")
    if not install():
        sys.exit("Ray is not there: see what pip says")
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="sbc-python-") as folder:
        lines = [measure(name, round(ROWS[name] * options.scale), options.rounds, pathlib.Path(folder)) for name in options.names]
    text = page(lines, options.rounds, (before, os.getloadavg()[0]))
    print(text)
    if options.write:
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
