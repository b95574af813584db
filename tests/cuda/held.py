"""held.py: what each program of kernels/ is held to: counts, the interpreter, NVRTC, and itself without a barrier."""
import json
import math
import os
import random
import re
import struct
import tempfile
from pathlib import Path

from on_host import KINDS, LAUNCHES, compile_host, find_shapes, kernels_of, launches_of, run_kernels
from rows import NARROWED, flat, parse_columns, random_rows, write_rows
from tools import ARCHITECTURES, SBC, Wrong, run

ROWS = (0, 1, 7, 16, 61)  # With packs of 2 to 16 rows: empty, ragged and whole.


STRUCTURE = {
    "kernels": r"__global__",
    "loads": r"= sb_load<",
    "turns": r"^        for \(int u = 0; u < (?!1;)\d+; u\+\+\) \{\n.*\n +x",
    "stores": r"sb_store<(?!u8, \d+>\(a\.status)",
    "tables": r"__device__ const",
    "wide": r"_load<\w+, (?!1>)",
    "filters": r"return judged \? judged : out",
}
# Of reductions and of kept rows, where there are some.
TREES = {
    "moves": r"^        sb_move<",
    "warps": r"= sb_of_warp<",
    "blocks": r"= sb_of_parts<",
    "threads": r"= sb_of_thread<",
    "kept": r"^    \w+ k\d+\[",
    "temporaries": r"^    const \w+ \*x\d+;  // \(",
}
# What struct calls them. It has no bf16: its bits are those of u16.


# ---- cases --------------------------------------------------------------------------------------

def number(value):
    """A value of a line of JSON, as bits that can be compared. Texts stay what they are."""
    floats = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
    return floats.get(value.lower().replace("infinity", "inf"), value) if isinstance(value, str) else value


def same(kind, ours, theirs):
    if theirs is None or ours is None:
        return ours is None and theirs is None
    theirs = [number(x) for x in flat(theirs)]
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs):
        if isinstance(b, bool):
            b = int(b)
        if kind in NARROWED:
            if struct.pack("d", a) != struct.pack("d", NARROWED[kind](float(b))):
                return False
        elif a != b:
            return False
    return True


def has_nan(row):
    return any(isinstance(number(x), float) and math.isnan(number(x)) for value in row.values() if value is not None
               for x in flat(value))


def interpret(case, columns, rows):
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder) / "in.jsonl", columns, rows)
        done = run(SBC, "run", "--engine=reference", case, "--", f"--input={folder}/in.jsonl", "--reject-limit=100%",
                   f"--output={folder}/out.jsonl", "--progress=none")
        if done.returncode:
            raise Wrong(f"the interpreter ends with {done.returncode}:\n{done.stderr[:2000]}")
        return [json.loads(line) for line in (Path(folder) / "out.jsonl").read_text().splitlines()]


def same_group(ours, theirs):
    """`ours` is as the table has it; of any and all how many are true, and how many are not."""
    for name, value in ours.items():
        there = theirs[name]
        if isinstance(value, tuple):
            good = there is None if not any(value) else there == (bool(value[0]) if name.startswith("any") else not value[1])
        else:
            good = value == there
        if not good:
            return False
    return True


def compare_groups(case, library, kernels, columns, rows, params, launch, seed):
    """Of the rows that a kernel did not leave to the CPU, the interpreter makes the groups of its table. How many?"""
    status, results = run_kernels(library, kernels, columns, rows, params, launch, seed)
    taken = [row for row, byte in zip(rows, status) if not byte]
    ours = results["groups"]
    if results["rows"] != len(taken):
        raise Wrong(f"seed {seed}, {len(rows)} rows: {results['rows']} are counted, and {len(taken)} have status 0")
    theirs = interpret(case, columns, taken)
    if kernels[0].groups.keys or ours:
        if len(ours) != len(theirs) or not all(map(same_group, ours, theirs)):
            raise Wrong(f"seed {seed}, {len(rows)} rows: the table has {ours}, the interpreter {theirs}")
    return len(taken) if ours else 0


def compare(case, text, library, kernels, seed):
    source = case.read_text()
    columns = parse_columns(re.search(r" as \{(.*?)\}", source)[1])
    params = {f"p{i}": json.loads(value) for i, value in
              enumerate(re.findall(r"^param (?!input|output)\w+: \w+ = (.*)$", source, re.M), 2)}
    rng = random.Random(seed)
    find_shapes(text)
    kept = 0
    for count in ROWS:
        rows = random_rows(columns, count, rng)
        if kernels[-1].groups:
            kept += sum(compare_groups(case, library, kernels, columns, rows, params, launch, seed) for launch in LAUNCHES)
            continue
        expected = {row["id"]: row for row in interpret(case, columns, rows)}
        for launch in launches_of(text):
            status, results = run_kernels(library, kernels, columns, rows, params, launch, seed)
            for i in range(count):
                what = f"seed {seed}, {count} rows, row {rows[i]}"
                if status[i] == 0:
                    kept += 1
                    if i not in expected:
                        raise Wrong(f"{what}: kept by kernels, not by the interpreter")
                    for column, values in results.items():
                        if column not in expected[i]:
                            continue
                        ours, theirs = values[i], expected[i][column]
                        if not same(KINDS[column], ours, theirs):
                            raise Wrong(f"{what}: {column} is {ours}, the interpreter has {theirs}")
                elif i in expected and not has_nan(expected[i]):
                    raise Wrong(f"{what}: left to the CPU, the interpreter has {expected[i]}")
    if not kept:
        raise Wrong("no row was kept: the case shows nothing")


def counts_of(text):
    counts = {name: len(re.findall(pattern, text, re.M)) for name, pattern in STRUCTURE.items()}
    trees = {name: len(re.findall(pattern, text, re.M)) for name, pattern in TREES.items()}
    return {**counts, **{name: count for name, count in trees.items() if count}}


def check_counts(case, text, update):
    lines = case.read_text().splitlines(keepends=True)
    counts = ", ".join(f"{name} {count}" for name, count in counts_of(text).items())
    line = f"# {counts}\n"
    if update:
        rest = [x for x in lines if not x.startswith("# kernels ")]
        case.write_text("".join(rest[:1] + [line] + rest[1:]))
    elif line not in lines:
        raise Wrong(f"the text is made of: {counts}")


def check_nvrtc(case, text, library):
    kernels = counts_of(text)["kernels"]
    done = run(SBC, case, "--dump=ptx", env={**os.environ, "SBC_NVRTC": library})
    if done.returncode or ".visible .entry sb_kernel_" not in done.stdout:
        raise Wrong(f"no PTX: {done.stderr[:2000]}")
    done = run(SBC, case, "--explain", env={**os.environ, "SBC_NVRTC": library})
    for architecture in ARCHITECTURES:
        uses = re.findall(rf"^ +sm_{architecture}: (\d+) registers, (\d+) bytes spilled, (\d+) bytes of shared memory$", done.stdout, re.M)
        if len(uses) != kernels:
            raise Wrong(f"sm_{architecture}: {len(uses)} of {kernels} kernels compile: {done.stderr[:2000]}")
        if any(int(spilled) for _, spilled, _ in uses):
            raise Wrong(f"sm_{architecture}: registers are spilled: {uses}")
        if any(int(shared) for _, _, shared in uses) != ("SB_SHARED(" in text):
            raise Wrong(f"sm_{architecture}: bytes of shared memory: {uses}")


# ---- the suite ----------------------------------------------------------------------------------

def check_host(case, text, lost=0):
    with tempfile.TemporaryDirectory() as folder:
        library, kernels = compile_host(text, Path(folder), lost)
        for seed in (1, 2, 3):
            compare(case, text, library, kernels, seed)


def check_full(case, text):
    """In a table of four slots other groups have no room: their rows are left to the CPU, and no others."""
    slots = {kernel.groups.slots for kernel in kernels_of(text)}
    for count in slots:
        text = re.sub(rf"\b{count}(?=, \d+>\(g\.keys| slots of|, \w+_words, \d+>)", "4", text)
    if {kernel.groups.slots for kernel in kernels_of(text)} != {4}:
        raise Wrong("the text does not say how many slots there are")
    check_host(case, text)
    columns = parse_columns(re.search(r" as \{(.*?)\}", case.read_text())[1])
    with tempfile.TemporaryDirectory() as folder:
        library, kernels = compile_host(text, Path(folder))
        params = {f"p{i}": -12 for i in range(9)}
        status, results = run_kernels(library, kernels, columns, random_rows(columns, 200, random.Random(1)), params, (3, 5), 1)
    if len(results["groups"]) != 4 or status.count(0) > 150:
        raise Wrong(f"a table of 4 slots has {len(results['groups'])} groups, and {status.count(0)} of 200 rows")


def in_segments(text):
    """Kernels that bring rows together take 16 at a time, so that a few rows are several segments."""
    return re.sub(r"\b4096\b", "16", text)


def check_kept(case, text):
    """Kept rows of several segments, of which blocks take more than one: whatever rows filters take out."""
    check_host(case, in_segments(text))


def is_wrong(case, text, lost=0):
    """In a process of its own: what such kernels compute may end it."""
    child = os.fork()
    if not child:
        try:
            check_host(case, text, lost)
        except Wrong:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def check_barriers(case, text):
    """Without any one of its barriers a kernel gives something else."""
    parts = in_segments(text).split("__syncthreads();")
    for i in range(len(parts) - 1):
        without = "__syncthreads();".join(parts[:i + 1]) + ";" + "__syncthreads();".join(parts[i + 1:])
        if not is_wrong(case, without):
            raise Wrong(f"barrier {i + 1} of {len(parts) - 1} can be taken out")


def check_shuffles(case, text):
    """Without a step of the tree, or without its end, a kernel gives something else."""
    lanes = max(int(n) for n in re.findall(r"sb_of_warp<[^\n]*, (\d+)>\(lane", text) + ["32"] * ("sb_of_parts<" in text))
    for lost in [n for n in (16, 8, 4, 2, 1) if n < lanes] + [64] * ("sb_each<" in text):
        if not is_wrong(case, text, lost):
            raise Wrong(f"shuffle {lost} can be taken out")
