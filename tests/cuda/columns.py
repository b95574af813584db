"""columns.py: blocks over sources that have columns, which lie in the memory of launches from the start."""
import json
import random
import struct
import tempfile
from pathlib import Path

from jobs import make_job_of
from rows import FORMATS
from tools import SBC, Wrong, run

# By name: the type of a row of in.npy, the order of its bytes, and the steps.
PROGRAMS = {
    "numbers": ("f32", "<", "on gpu { derive y = x * 1.5 + 0.25 | select y } | write npy(output)"),
    "swapped": ("f32", ">", "on gpu { derive y = sqrt(abs(x)) | select y } | write npy(output)"),
    "bools": ("bool", "|", "on gpu { derive y = not x | select y } | write npy(output)"),
    "shorts": ("i16", ">", "on gpu { derive y = i32(x) * 3 | select y } | write npy(output)"),
    "tensors": ("f32[5]", "<", "on gpu { derive y = x * 2.0 | select y } | write npy(output)"),
    "swapped_tensors": ("f64[2, 3]", ">", "on gpu { derive y = transpose(x) - 1.0 | select y } | write npy(output)"),
    "faults": ("i32", "<", "on gpu { derive y = 100000 // (x % 97) | select y } | write npy(output)"),
    "filters": ("i32", "<", "on gpu { derive y = x * 3 | where x % 5 != 0 | select y } | write npy(output)"),
    "rest": ("i32", "<", "on gpu { derive y = i64(x) * 3 } | derive t = f\"{y} {x}\" | where y % 2 == 0 | write jsonl(output)"),
    "limited": ("i32", "<", "on gpu { derive y = i64(x) - 1 | select y } | limit 1777 | write npy(output)"),
    "groups": ("i32", "<", "on gpu { group by k = x % 7 { n = count(), s = sum(i64(x)), most = max(x) } } | sort k | write jsonl(output)"),
    "groups_after": ("i32", "<", "on gpu { derive y = i64(x) * 2 } | group by k = x % 7 { n = count(), s = sum(y) } | sort k | write jsonl(output)"),
    "sorted": ("i32", "<", "on gpu { derive y = i64(x) * 2 } | sort y, x | write jsonl(output)"),
    "batches": ("i32", "<", "on gpu with (batch = 100) { derive y = i64(x) * 2 | select y } | write npy(output)"),
    "two_sinks": ("i32", "<", "on gpu { derive y = i64(x) * 2 }\nboth | select y | write npy(output)\n"
                              "both | where x % 3 == 0 | write jsonl(output + \".jsonl\")"),
    "two_readers": ("i32", "<", "where x > -20000\nboth | on gpu { derive y = i64(x) * 2 | select y } | write npy(output)\n"
                                "both | where x % 3 == 0 | write jsonl(output + \".jsonl\")"),
}
RANGE = "range(n) | on gpu { derive y = 3 - i * i % 1000 | select y } | write npy(output)"
HEAD = 'param input: str = "in.npy"\nparam output: str = "out"\nparam n: i64 = 30000\n'
WAYS = (("--threads=1",), ("--threads=2", "--partition=4KiB"), ("--workers=2", "--partition=16KiB"), ("--gpu-memory=64KiB",))
ENTRIES = {"batches", "two_readers"}


def write_npy(path, kind, order, rows, rng):
    """Random rows of the type; one in fifty is zero."""
    name, _, shape = kind.partition("[")
    sizes = [int(size) for size in shape.rstrip("]").split(",")] if shape else []
    count = rows
    for size in sizes:
        count *= size
    code = "?" if name == "bool" else FORMATS[name]
    draw = (lambda: rng.random() < 0.5) if name == "bool" else (lambda: rng.gauss(0, 100)) if name[0] == "f" else \
        (lambda: rng.randrange(-30000, 30000) if rng.randrange(50) else 0)
    letter = "b" if name == "bool" else name[0]
    descr = f"{order}{letter}{struct.calcsize(code)}"
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, [rows, *sizes]))},), }}".ljust(117) + "\n"
    data = struct.pack(f"{'>' if order == '>' else '<'}{count}{code}", *(draw() for _ in range(count)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def check_program(name, text, kind, order, nvrtc):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        env = make_job_of(folder, HEAD + text + "\n", nvrtc)
        said = run(SBC, folder / "program.sbd", "--explain").stdout
        if ("stage 0 is for a GPU" in said) == (name in ENTRIES):
            raise Wrong(f"columns {name}: the source is read by another stage than expected: {said[:1000]}")

        def job(*options, **settings):
            for old in folder.glob("out*"):
                old.unlink()
            done = run(folder / "job", f"--input={place}/in.npy", f"--output={place}/out", f"--rejects={place}/out.bad", "--overwrite",
                       "--reject-limit=100%", "--stats=json", "--progress=none", *options, env={**env, **settings})
            if done.returncode:
                raise Wrong(f"columns {name} {options} {settings}: exit {done.returncode}: {done.stderr[:2000]}")
            figures = json.loads([line for line in done.stderr.splitlines() if line.startswith("{")][-1])
            return {file.name: file.read_bytes() for file in folder.glob("out*")}, figures["steps"], \
                sum(gpu["rows"] for gpu in figures.get("gpus", []))

        for rows in (0, 1, 1023, 5000, 30000):
            if kind:
                write_npy(folder / "in.npy", kind, order, rows, random.Random(rows))
            count = f"--n={rows}"
            wanted = job("--device=cpu", "--threads=1", count)
            ways = WAYS if rows == 30000 else WAYS[:1]
            for options in ways:
                left = job("--device=gpu", *options, count)
                bare = name == "limited" and ways is WAYS
                if left[0] != wanted[0] or (left[1] != wanted[1] and not bare) or (rows and not left[2]) or wanted[2]:
                    raise Wrong(f"columns {name}, {rows} rows, {options}: {'other' if left[0] != wanted[0] else 'the same'} bytes, "
                                f"{left[2]} rows in launches\n{left[1]}\n{wanted[1]}")
        for settings in ({"FAKE_CUDA_FAIL": "2"}, {"FAKE_CUDA_FAIL": "1"}):
            if job("--device=auto", "--partition=4KiB", count, **settings)[0] != wanted[0]:
                raise Wrong(f"columns {name}: other bytes after {settings}")


def check_columns(nvrtc):
    for name, (kind, order, steps) in PROGRAMS.items():
        first = "let both = " if "both" in steps else ""
        check_program(name, f"{first}read npy(input) as {{x: {kind}}} | {steps}", kind, order, nvrtc)
    check_program("range", RANGE, None, None, nvrtc)
