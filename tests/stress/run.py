#!/usr/bin/env python3
"""run.py [--runs N] [--seed N] [--joins N] [PART OF A NAME]: every pipeline of this folder, and N random ones of
joins (joins.py; number k of seed N is the first of seed N + k), is compiled
and run N times with random threads, partitions, schedules and memory, also the least. Each run must leave the same files,
the same standard output, the same messages and the same exit code as the first, which has one
thread and whole files, and must end in time. A first line `# exit: N` says that the job fails so, a line `# compile: OPTIONS`
how it is compiled, `# many rows` that partitions are not to be tiny; the data that pipelines read is made here. Whatever differs stays in /tmp/sbc-stress/."""

import argparse
import gzip
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import joins

HERE = pathlib.Path(__file__).resolve().parent
SBC = os.environ.get("SBC", str(HERE.parent.parent / "zig-out/bin/sbc"))
KEPT = pathlib.Path("/tmp/sbc-stress")
SECONDS = 60
PARTITIONS = ["16", "100", "1000", "4KiB", "64KiB", "1MiB"]
MANY_PARTITIONS = PARTITIONS[3:]  # Of programs that read many rows.
SCHEDULES = ["full", "paper", "pessimistic", "static", "staged"]
MEMORIES = [None, None, 1, 1, 1.5, 3]  # Times the least that the job runs with.
MIB = 1 << 20


def make_data(folder):
    """Rows, plain and packed; the same with bad values among them; more rows than the least memory; lines of words."""
    draw = random.Random(7)
    rows = ["id,key,value,text"]
    bad = ["id,key,value,text"]
    for number in range(2000):
        row = f"{number},{draw.randrange(50)},{draw.randrange(-1000, 1000) / 8},w{draw.randrange(300)} x y"
        rows.append(row)
        bad.append(row if draw.random() < 0.95 else row.replace(",", draw.choice([",z", ",,"]), 1))
    (folder / "rows.csv").write_text("\n".join(rows) + "\n")
    (folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes()))
    (folder / "bad.csv.gz").write_bytes(gzip.compress("\n".join(bad).encode()))
    (folder / "bad.csv").write_text("\n".join(bad) + "\n")
    many = ["id,key,value,text"] + [f"{i},{i % 50},{i * 7919 % 60000 / 8},text {draw.randrange(10**9)} of {i}" for i in range(60000)]
    (folder / "many.csv.gz").write_bytes(gzip.compress("\n".join(many).encode(), 1))
    words = [" ".join(f"a{draw.randrange(9)}" for _ in range(draw.randrange(6))) for _ in range(2000)]
    (folder / "words.txt").write_text("\n".join(words) + "\n")


def leavings(folder, data):
    """All files of the folder but the data."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and name not in data:
            files[name] = path.read_bytes()
    return files


def run(job, folder, options):
    """What a run leaves: exit code, standard output, messages, files. Options may be variables of the environment."""
    data = {path.name for path in folder.iterdir()}
    variables = dict(option.split("=", 1) for option in options if not option.startswith("-"))
    options = [option for option in options if option.startswith("-")]
    try:
        done = subprocess.run([job, "--progress=none", *options], cwd=folder, capture_output=True, timeout=SECONDS, env=os.environ | variables)
    except subprocess.TimeoutExpired:
        return {"exit": "none: it hangs"}
    # How far a failed job was, its summary, depends on when it was noticed.
    said = done.stderr if done.returncode == 0 else done.stderr.split(b"\n\n")[0]
    left = {"exit": done.returncode, "stdout": done.stdout, "stderr": said}
    for name, content in leavings(folder, data).items():
        left["file " + name] = content
    return left


def random_options(draw, job, partitions):
    options = [f"--threads={draw.randrange(1, 9)}", f"--partition={draw.choice(partitions)}",
               f"--schedule={draw.choice(SCHEDULES)}"]
    times = draw.choice(MEMORIES)
    if not times:
        return options
    plan = subprocess.run([job, "--plan", *options], capture_output=True, text=True, check=True).stdout
    least = float(re.search(r"^--memory +([\d.]+) MiB", plan, re.M)[1])
    return [*options, f"--memory={int(times * least * MIB)}", *draw.choice([[], ["SBC_TEST_SPILL=1"]])]


def differences(first, other):
    """The names of what differs."""
    return [name for name in sorted(first.keys() | other.keys()) if first.get(name) != other.get(name)]


def in_a_copy(data, job, options):
    """Runs the job in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for path in data.iterdir():
            os.link(path, folder / path.name)
        return run(job, folder, options)


def keep(name, first, other):
    for kind, left in (("first", first), ("other", other)):
        folder = KEPT / name / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for key, value in left.items():
            text = value if isinstance(value, bytes) else str(value).encode()
            (folder / key.replace("/", "_")).write_bytes(text)


def stress(program, data, work, runs, seed):
    """The complaint about one pipeline, or None."""
    name = program.stem
    job = work / name
    text = program.read_text()
    how = re.search(r"^# compile: (.+)$", text, re.M)
    compiled = subprocess.run([SBC, program, "-o", job, f"--target={HERE.parent}/least_level.yaml", *(how[1].split() if how else [])], capture_output=True, text=True)
    if compiled.returncode != 0:
        return "it does not compile:\n" + compiled.stderr
    said = re.match(r"# exit: (\d+)", text)
    partitions = MANY_PARTITIONS if re.search(r"many\.csv|^# many rows$", text, re.M) else PARTITIONS
    wanted = int(said[1]) if said else 0
    first = in_a_copy(data, job, ["--threads=1"])
    if first["exit"] != wanted:
        return f"exit {first['exit']} instead of {wanted}:\n" + first.get("stderr", b"").decode()
    draw = random.Random(f"{seed} {name}")
    for _ in range(runs):
        options = random_options(draw, job, partitions)
        other = in_a_copy(data, job, options)
        changed = differences(first, other)
        if changed:
            keep(name, first, other)
            return f"{' '.join(options)}: other {', '.join(changed)}; exit {other['exit']}; see {KEPT / name}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--joins", type=int, default=12)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as made:
        work = pathlib.Path(made)
        data = work / "data"
        data.mkdir()
        make_data(data)
        made_up = []
        for seed in range(arguments.seed, arguments.seed + arguments.joins):
            made_up.append(work / f"joins_{seed}.sbd")
            made_up[-1].write_text(joins.program(random.Random(seed)))
        for program in [*sorted(HERE.glob("*.sbd")), *made_up]:
            if arguments.name not in program.stem:
                continue
            complaint = stress(program, data, work, arguments.runs, arguments.seed)
            passed += complaint is None
            failed += complaint is not None
            if complaint:
                print(f"FAIL {program.stem}: {complaint}\n  alone: tests/stress/run.py --seed {arguments.seed} "
                      f"--runs {arguments.runs} {program.stem}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
