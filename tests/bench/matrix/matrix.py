#!/usr/bin/env python3
"""matrix.py: programs over families of data, beside one C program by hand for each family.

usage: tests/bench/matrix/matrix.py [--scale=S] [--rounds=N] [--before=SBC] [--table=FILE] [MEMBER...]

A member is a line of families.py; MEMBER is the beginning of names. Data, jobs and programs by hand lie in build/bench/matrix/.
The jobs and the C program run in turn. Their outputs are compared byte by byte in the first round. The table has the least
processor seconds (user and system) and the least seconds of each, and the share of the C program.
"""

import argparse
import filecmp
import math
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
from families import MEMBERS  # noqa: E402

WORK = ROOT / "build" / "bench" / "matrix"
SEED = 20261124
LEVEL = "v4" if "avx512vl" in Path("/proc/cpuinfo").read_text() else "v3"


def build(options, name, source, *flags):
    """A C program of this folder; built again when it or what it includes is newer."""
    out = WORK / name
    sources = [source, *HERE.glob("*.c"), *(HERE.parent / "reference").glob("*.h")]
    if not out.exists() or out.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        subprocess.run([options.clang, "-std=gnu23", "-Wall", "-Wextra", "-Wno-unused-function", "-D_GNU_SOURCE", "-pthread",
                        "-O3", *flags, source, "-o", out], check=True)
    return out


def data_of(member, scale):
    """The member's file; members with the same columns share one."""
    rows = max(int(member.rows * scale), 1000)
    stem = f"{member.family}_{'_'.join(c.replace('=', '-').replace(':', '.') for c in member.columns)}_{rows}"
    path = WORK / f"{stem}.csv"
    if not path.exists():
        subprocess.run([WORK / "columns", str(rows), str(SEED), path, *member.columns], check=True)
    return path


def job_of(member, sbc, name):
    source = WORK / f"{member.name}.sbd"
    source.write_text(member.program)
    job = WORK / f"{member.name}.{name}"
    subprocess.run([sbc, str(source), "-o", str(job)], check=True)
    return job


def run(command):
    """Seconds and processor seconds of a program."""
    figures = WORK / "figures"
    done = subprocess.run([WORK / "measure", figures, "exit", *command], capture_output=True, check=False)
    seconds, peak, processor, code = figures.read_text().split()
    if int(code):
        sys.exit(f"matrix: {command[0]} ended with {code}: {done.stderr.decode()[-400:]}")
    return float(seconds), float(processor), int(peak) / 1024


def contenders(member, options, path):
    out = WORK / "out"
    def job(binary, name):
        return [str(binary), f"--input={path}", f"--out={out}.{name}", "--overwrite", "--threads=2"]
    both = {"C": [str(WORK / member.hand), str(path), f"{out}.C", *member.arguments]}
    if options.before:
        both["before"] = job(job_of(member, options.before, "before"), "before")
    both["sbc"] = job(job_of(member, options.sbc, "sbc"), "sbc")
    return both


def measure(member, options):
    path = data_of(member, options.scale)
    commands = contenders(member, options, path)
    figures = {name: [] for name in commands}
    for i in range(options.rounds):
        for name, command in commands.items():
            figures[name].append(run(command))
        if i == 0:
            for name in commands:
                if not filecmp.cmp(WORK / "out.C", WORK / f"out.{name}", shallow=False):
                    sys.exit(f"matrix: {member.name}: {name} wrote other bytes than the program by hand")
    for name in commands:
        (WORK / f"out.{name}").unlink()
    path.unlink()
    return {name: tuple(min(f[k] for f in all_of) for k in range(3)) for name, all_of in figures.items()}


def row_of(member, least):
    cells = [member.name]
    for name in least:
        cells.append(f"{least[name][1]:.2f}")
        cells.append(f"{least[name][0]:.2f}")
    for name in least:
        if name != "C":
            cells.append(f"{100 * least['C'][1] / least[name][1]:.0f} %")
    cells.append(f"{least['sbc'][2]:.0f}")
    return "| " + " | ".join(cells) + " |"


def summary(shares):
    """By family: the least share and the geometric mean."""
    lines = ["", "| family | members | least share | geometric mean |", "|---|---:|---:|---:|"]
    for family, values in shares.items():
        mean = math.exp(sum(math.log(v) for v in values) / len(values))
        lines.append(f"| {family} | {len(values)} | {100 * min(values):.0f} % | {100 * mean:.0f} % |")
    return lines


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sbc", default=ROOT / "zig-out" / "bin" / "sbc")
    parser.add_argument("--before")
    parser.add_argument("--clang", default="clang-22", help="builds the programs by hand")
    parser.add_argument("--table", type=Path)
    parser.add_argument("members", nargs="*")
    options = parser.parse_args()
    chosen = [m for m in MEMBERS if not options.members or m.name.startswith(tuple(options.members))]
    if not chosen:
        sys.exit(f"matrix: no member begins with {' or '.join(options.members)}")
    WORK.mkdir(parents=True, exist_ok=True)
    build(options, "columns", HERE / "columns.c")
    build(options, "measure", HERE.parent / "measure.c")
    for hand in {m.hand for m in chosen}:
        build(options, hand, HERE / f"{hand}.c", f"-march=x86-64-{LEVEL}")
    names = ["C", *(["before"] if options.before else []), "sbc"]
    head = ["member", *(f"{n} {unit}" for n in names for unit in ("processor s", "s")),
            *(f"share, {n}" for n in names[1:]), "MB"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    print("\n".join(lines), flush=True)
    shares = {}
    for member in chosen:
        least = measure(member, options)
        lines.append(row_of(member, least))
        print(lines[-1], flush=True)
        shares.setdefault(member.family, []).append(least["C"][1] / least["sbc"][1])
    lines += summary(shares)
    print("\n".join(summary(shares)))
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
