#!/usr/bin/env python3
"""matrix.py: programs over families of data, beside a C program by hand for each family and other tools.

usage: tests/bench/matrix/matrix.py [--scale=S] [--rounds=N] [--no-peers] [--before=SBC] [--write] [MEMBER...]
       tests/bench/matrix/matrix.py --instructions [--write] [MEMBER...]
       tests/bench/matrix/matrix.py --check [MEMBER...]

A member is a line of a file family_*.py; MEMBER is the beginning of names. Data, jobs and programs by hand lie in
build/bench/matrix/. All contenders run in turn, and the outputs of the first round are compared. The table has the least processor
seconds (user and system) of each, and the share of the C program. Peers are those of tests/bench/run.sh, which installs them; what
they import and compile is not timed. --write puts the table into RESULTS.md. --instructions counts those of a byte, of job and C
program, by callgrind, which needs no quiet machine; its table is INSTRUCTIONS.md. --check compares outputs alone, on few rows and without peers: a test, of which a
submission runs its share (tests/share.py).
"""

import argparse
import atexit
import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests")]
import count  # noqa: E402
import lines  # noqa: E402
import share  # noqa: E402
import tables  # noqa: E402
from families import MEMBERS  # noqa: E402

WORK = ROOT / "build" / "bench" / "matrix"
VENV = ROOT / "build" / "bench" / "venv" / "bin" / "python"
SEED = 20261124
OUT = WORK / f"out-{os.getpid()}"
LEVEL = "v4" if "avx512vl" in Path("/proc/cpuinfo").read_text() else "v3"
PEERS = {"DuckDB": ("ordered",), "Polars": ("streaming", "in-memory"), "numba": ("",)}
# Of a third of all suites a check does a part.
CHECK_ROWS, CHECK_PARTS, ROWS_MIN, RUN_SECONDS_MAX = 3000, 2, 1000, 60
WARNINGS = ("-std=gnu23", "-Wall", "-Wextra", "-Wno-unused-function", "-D_GNU_SOURCE", "-pthread", "-O3")


class Fault(Exception):
    """A result that is wrong, or a program that ended early."""


def build(options, name, source, *flags):
    """A C program; built again when it or what it includes is newer."""
    out = WORK / name
    sources = [source, *HERE.glob("hand/*.h"), *(HERE.parent / "reference").glob("*.h")]
    if not out.exists() or out.stat().st_mtime < max(s.stat().st_mtime for s in sources):
        numbers = ROOT / "zig-out" / "lib" / "libsbrt.a"
        extra = [numbers, "-lm"] if "sb_put" in source.read_text() else ["-lm"]
        subprocess.run([options.clang, *WARNINGS, *flags, f"-I{ROOT}", source, *extra, "-o", out], check=True)
    return out


def make(file, rows):
    """The file with so many rows; members with the same one share it."""
    path = WORK / "data" / f"{file.stem}_{rows}.{file.form}"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    if file.columns:
        subprocess.run([WORK / "columns", str(rows), str(SEED), part, *file.columns], check=True)
    else:
        lines.write(part, file, rows, SEED)
    part.rename(path)
    return path


def data_of(member, scale):
    return {name: make(file, max(int(file.rows * scale), ROWS_MIN) if file.scales else file.rows)
            for name, file in member.files.items()}


def forget(paths, others, scale):
    """Removes files that no later member reads."""
    needed = {f"{file.stem}_{max(int(file.rows * scale), ROWS_MIN) if file.scales else file.rows}.{file.form}"
              for other in others for file in other.files.values()}
    for path in paths.values():
        if path.name not in needed:
            path.unlink(missing_ok=True)


def job_of(member, sbc, name, *flags):
    source = WORK / f"{member.name}.sbd"
    source.write_text(member.program)
    job = WORK / f"{member.name}.{name}"
    subprocess.run([sbc, str(source), "-o", str(job), *flags], check=True)
    return job


def run(command):
    """Processor seconds, seconds and peak MiB of a program."""
    figures = OUT / "figures"
    try:
        done = subprocess.run([WORK / "measure", figures, "exit", *command], capture_output=True, check=False, timeout=RUN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise Fault(f"{command[0]} takes more than {RUN_SECONDS_MAX} s") from None
    seconds, peak, processor, code = figures.read_text().split()
    if int(code):
        raise Fault(f"{command[0]} ended with {code}: {done.stderr.decode()[-400:]}")
    return float(processor), float(seconds), int(peak) / 1024


def job_command(member, binary, paths, out, threads=2):
    return [str(binary), *(f"--{name}={path}" for name, path in paths.items()), f"--out={out}", "--overwrite", f"--threads={threads}"]


def hand_command(member, paths, out, binary=None):
    return [str(binary or WORK / member.hand), *map(str, paths.values()), str(out), *member.arguments]


class Peer:
    """A process that does members with one of the tools."""

    def __init__(self, name):
        self.process = subprocess.Popen([str(VENV), str(HERE / "peers.py"), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"BENCH_THREADS": "2", "POLARS_MAX_THREADS": "2", "NUMBA_NUM_THREADS": "2"})
        self.version = json.loads(self.process.stdout.readline())["version"]

    def run(self, member, paths, out, mode):
        request = {"member": member.name, "paths": {n: str(p) for n, p in paths.items()}, "out": str(out), "mode": mode}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "fault" in answer:
            raise Fault(answer["fault"])
        return answer["processor"], answer["seconds"], 0.0

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def same(member, name, peer):
    """Raises where an output is not what the C program wrote."""
    mode = member.peers_compare if peer and member.peers_compare else member.compare
    by_hand, got = OUT / "out.C", OUT / f"out.{name}"
    if mode == "bytes":
        if filecmp.cmp(by_hand, got, shallow=False):
            return
        raise Fault("wrote other bytes than the program by hand")
    done = subprocess.run([WORK / "compare", mode, by_hand, got], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fault("other result than the program by hand: " + " / ".join(done.stderr.split("\n"))[:300])


def contenders(member, options, paths, peers):
    """What runs, by name: a function that runs it once."""
    def program(command):
        return lambda: run(command)
    both = {"C": program(hand_command(member, paths, OUT / "out.C"))}
    if options.before:
        both["before"] = program(job_command(member, job_of(member, options.before, "before"), paths, OUT / "out.before"))
    both["sbc"] = program(job_command(member, job_of(member, options.sbc, "job"), paths, OUT / "out.sbc"))
    for name, peer in peers.items():
        for mode in PEERS[name]:
            full = f"{name} {mode}" if len(PEERS[name]) > 1 else name
            both[full] = lambda peer=peer, mode=mode, full=full: peer.run(member, paths, OUT / f"out.{full}", mode)
    return both


def keep_best_modes(turns, figures):
    """Of the modes of one peer only the one that took least in the first round goes on."""
    for name, modes in PEERS.items():
        done = {mode: figures[f"{name} {mode}"] for mode in modes if f"{name} {mode}" in figures}
        for mode in done:
            if mode != min(done, key=done.get):
                turns.pop(f"{name} {mode}")


def measure(member, options, paths, peers):
    """The least figures of each contender by its name, and why peers are not among them."""
    turns, figures, faults = contenders(member, options, paths, peers), {}, {}
    for i in range(options.rounds):
        for name, once in list(turns.items()):
            try:
                figures.setdefault(name, []).append(once())
                if i == 0:
                    same(member, name, name.split()[0] in PEERS)
            except Fault as fault:
                if name in ("C", "sbc", "before"):
                    raise Fault(f"{name}: {fault}") from None
                faults[name] = str(fault)
                figures.pop(name, None)
                turns.pop(name)
        if i == 0:
            keep_best_modes(turns, figures)
    return {name: tuple(map(min, zip(*of))) for name, of in figures.items()}, faults


def judge(member, options, others, peers):
    """A line of the table."""
    paths = data_of(member, options.scale)
    figures, faults = measure(member, options, paths, peers)
    line = tables.Line(member, sum(path.stat().st_size for path in paths.values()), figures, faults)
    forget(paths, others, options.scale)
    return line


def check(chosen, options):
    """The outputs of jobs and programs by hand on few rows."""
    failed = 0
    for member in chosen:
        paths = {name: make(file, CHECK_ROWS if file.scales else file.rows) for name, file in member.files.items()}
        try:
            run(hand_command(member, paths, OUT / "out.C"))
            run(job_command(member, job_of(member, options.sbc, "job", f"--target={count.TARGET}"), paths, OUT / "out.sbc"))
            same(member, "sbc", False)
        except (Fault, subprocess.CalledProcessError) as fault:
            failed += 1
            print(f"FAIL {member.name}: {fault}; run it alone: tests/bench/matrix/matrix.py --check {member.name}")
    print(f"matrix: {len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not chosen else 0


def parse_options():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sbc", default=ROOT / "zig-out" / "bin" / "sbc")
    parser.add_argument("--before")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--clang", default="clang-22", help="builds the programs by hand")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("members", nargs="*")
    options = parser.parse_args()
    chosen = [m for m in MEMBERS if not options.members or m.name.startswith(tuple(options.members))]
    if options.check and not options.members and share.shares() > 1:
        parts = share.shares() * CHECK_PARTS
        chosen = chosen[share.turn() % parts::parts]
    if not chosen:
        sys.exit(f"matrix: no member begins with {' or '.join(options.members)}")
    return options, chosen


def build_all(options, chosen):
    (WORK / "data").mkdir(parents=True, exist_ok=True)
    OUT.mkdir()
    atexit.register(shutil.rmtree, OUT)
    build(options, "columns", HERE / "columns.c")
    build(options, "compare", HERE.parent / "compare.c")
    build(options, "measure", HERE.parent / "measure.c")
    for hand in sorted({m.hand for m in chosen}):
        build(options, hand, HERE / "hand" / f"{hand}.c", f"-march=x86-64-{LEVEL}")
        if options.instructions:
            build(options, f"{hand}.v3", HERE / "hand" / f"{hand}.c", "-march=x86-64-v3")


def main():
    options, chosen = parse_options()
    build_all(options, chosen)
    if options.check:
        sys.exit(check(chosen, options))
    if options.instructions:
        page = count.page(chosen, options, sys.modules[__name__])
        if options.write:
            (HERE / "INSTRUCTIONS.md").write_text(page)
        return
    peers = {}
    if not options.no_peers and not options.before:
        subprocess.run([HERE.parent / "run.sh", "--install"], check=True)
        peers = {name: Peer(name) for name in PEERS}
    table = tables.Table(options, {name: peer.version for name, peer in peers.items()})
    wrong = []
    for i, member in enumerate(chosen):
        try:
            print(table.add(judge(member, options, chosen[i + 1:], peers)), flush=True)
        except Fault as fault:
            wrong.append(f"matrix: {member.name}: {fault}")
            print(wrong[-1], file=sys.stderr, flush=True)
    for peer in peers.values():
        peer.end()
    print("\n".join(table.families()))
    if wrong:
        sys.exit("\n".join(wrong))
    if options.write:
        (HERE / "RESULTS.md").write_text(table.page())


if __name__ == "__main__":
    main()
