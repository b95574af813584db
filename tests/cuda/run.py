#!/usr/bin/env python3
"""run.py [--update] [PART OF A NAME]: kernels for GPUs, tested without a GPU.

Each tests/cuda/kernels/*.sbd reads rows, computes in an `on gpu` block and writes JSON lines. It is held to

- its first comments, which count what the text of its kernels is made of (`# kernels: 1`, as STRUCTURE has it);
- the reference interpreter: the kernels' text is compiled for the host (host.h) and run over random rows of
  every type, at several lengths and launches. A row whose status is 0 must be a row of the interpreter's
  output, with the same values. A row that the interpreter puts out must have status 0, unless it holds a NaN
  or is a case where kernels may ask the CPU;
- itself with each barrier taken out, which has to give something else;
- NVRTC, which compiles the kernels for all architectures, where it is there ($SBC_NVRTC, or
  build/cuda/venv, which pip fills once). Without it that part is skipped, with the reason;
- itself: the job runs on a driver without a GPU (driver.c), which runs the kernels on the host. With kernels,
  with little memory and with faults of the driver it must leave the bytes that it leaves on the CPU.

It proves arithmetic, nulls, faults, shapes and ends of columns. It proves nothing of coalescing, of the order
of memory or of speed. --update writes the counts anew.
"""
import array
import ctypes
import fcntl
import http.client
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))
CLANG = os.environ.get("CLANG", "/usr/lib/llvm-22/bin/clang")
NVRTC = "nvidia-cuda-nvrtc==13.5.37"
ROWS = (0, 1, 7, 16, 61)  # With packs of 2 to 16 rows: empty, ragged and whole.
LAUNCHES = ((1, 1), (3, 5))  # Blocks and threads.
WARP_LAUNCHES = ((1, 32), (3, 64))  # Of kernels with shuffles.
BLOCK_LAUNCHES = ((2, 256),)  # Of kernels that have a warp for each block of the tree.
ARCHITECTURES = (75, 80, 89, 90, 100, 120)
STRUCTURE = {
    "kernels": r"__global__",
    "loads": r"= sb_load<",
    "turns": r"^        for \(int u = 0; u < (?!1;)\d+; u\+\+\) \{\n.*\n +x",
    "stores": r"sb_store<(?!u8, \d+>\(a\.status)",
    "tables": r"__device__ const",
    "wide": r"_load<\w+, (?!1>)",
}
# Of reductions, where there are some.
TREES = {
    "warps": r"= sb_of_warp<",
    "blocks": r"= sb_of_parts<",
    "threads": r"= sb_of_thread<",
    "kept": r"^    \w+ k\d+\[",
    "temporaries": r"^    const \w+ \*x\d+;  // \(",
}
# What struct calls them. It has no bf16: its bits are those of u16.
FORMATS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f16": "e",
           "bf16": "H", "f32": "f", "f64": "d"}
BITS = {name: struct.calcsize(code) * 8 for name, code in FORMATS.items()}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


class Wrong(Exception):
    pass


# ---- rows ---------------------------------------------------------------------------------------

def as_f32(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def bf16_bits(value):
    """Of the nearest, ties to even."""
    if math.isnan(value):
        return 0x7fc0
    bits = struct.unpack("I", struct.pack("f", as_f32(value)))[0]
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def of_bf16(bits):
    return struct.unpack("f", struct.pack("I", bits << 16))[0]


def as_f16(value):
    try:
        return struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


NARROWED = {"f16": as_f16, "bf16": lambda value: of_bf16(bf16_bits(value)), "f32": as_f32, "f64": lambda value: value}


def random_number(kind, rng, calm=False):
    """A value of the type; often one near an end, or small. Calm: small ones only."""
    if kind == "bool":
        return rng.random() < 0.5
    if kind in NARROWED:
        some = [0.0, -0.0, 1.0, -1.5, 0.1, 3e38, -3e38, 65504.0, 6e-8, 1e300, math.inf, -math.inf, math.nan, 1e-310, 16777217.0, 2.0**31]
        value = rng.choice(some) if not calm and rng.random() < 0.3 else rng.uniform(-20, 20)
        return NARROWED[kind](value)
    signed = kind[0] == "i"
    low = -(1 << BITS[kind] - 1) if signed else 0
    high = (1 << BITS[kind] - signed) - 1
    if not calm and rng.random() < 0.3:
        return rng.choice([low, low + 1, high, high - 1, 0, 1, high // 2])
    return max(low, min(high, rng.randint(-20, 40)))


def elements(shape):
    return math.prod(shape)


def parse_columns(text):
    """The columns of `as {a: i64, b: f32[4, 3]?}`: (name, type, shape, null)."""
    columns = []
    for name, kind, shape, null in re.findall(r"(\w+): (\w+)(?:\[([\d, ]+)\])?(\?)?", text):
        columns.append((name, kind, [int(n) for n in shape.split(",")] if shape else [], bool(null)))
    return columns


def nested(values, shape):
    if len(shape) <= 1:
        return values
    step = len(values) // shape[0]
    return [nested(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


def as_json(value):
    """As the language reads numbers: floats that are none are strings."""
    if isinstance(value, list):
        return "[" + ",".join(as_json(x) for x in value) + "]"
    if isinstance(value, float):
        return json.dumps(str(value)) if not math.isfinite(value) else repr(value)
    return json.dumps(value)


def random_rows(columns, count, rng):
    rows = []
    for i in range(count):
        row = {}
        for name, kind, shape, null in columns:
            if name == "id":
                row[name] = i
            elif null and rng.random() < 0.3:
                row[name] = None
            elif shape:
                calm = elements(shape) > 16 and rng.random() < 0.8  # One NaN settles the row.
                row[name] = [random_number(kind, rng, calm) for _ in range(elements(shape))]
            else:
                row[name] = random_number(kind, rng)
        rows.append(row)
    return rows


def write_rows(path, columns, rows):
    shapes = {name: shape for name, _, shape, _ in columns}
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            parts = [f"{json.dumps(k)}:{as_json(nested(v, shapes[k]) if shapes[k] else v)}" for k, v in row.items()]
            file.write("{" + ",".join(parts) + "}\n")


# ---- kernels on the host ------------------------------------------------------------------------

class Kernel:
    """What the text says of one kernel: its name and the columns of its struct."""

    def __init__(self, name, body):
        self.name = name
        self.fields = []  # (field, type, column or None, is input)
        column = None
        for line in body.splitlines():
            found = re.match(r"    (const )?(\w+) \*([xy]\d+n?);(?:  // (.*))?", line)
            if found:
                column = found[4] or column
                self.fields.append((found[3], found[2], column.strip("`"), bool(found[1])))
            found = re.match(r"    alignas\(8\) (\w+) (p\d+);", line)
            if found:
                self.fields.append((found[2], found[1], None, True))


class Groups:
    """The table of groups that a kernel fills, as its comments say."""

    def __init__(self, lanes, heads, slots, stride, lines):
        self.lanes, self.heads, self.slots, self.stride = int(lanes), int(heads), int(slots), int(stride)
        self.keys = [(int(bits), kind, name) for bits, kind, name in re.findall(r"(\d+) bits of the key: (\S+) of (\S+)", lines)]
        self.aggs = [(int(value), int(beyond or 0), int(count), how, kind, name) for value, beyond, count, how, kind, name in
                     re.findall(r"word (\d+)(?: and (\d+))?, word (\d+): (\w+) (\S*) of (\S+)", lines)]

    def numbers(self):
        return self.heads + self.slots * self.stride

    def key(self, bits):
        values = {}
        for width, kind, name in reversed(self.keys):
            value, bits = bits & (1 << width) - 1, bits >> width
            if kind.endswith("?"):
                there, value, width = value & 1, value >> 1, width - 1
            else:
                there = 1
            if kind[0] == "i" and value >> width - 1:
                value -= 1 << width
            values[name] = None if not there else bool(value) if kind.startswith("bool") else value
        if bits != 1:
            raise Wrong(f"a key has the bits {bits} on top")
        return {name: values[name] for _, _, name in self.keys}

    def agg(self, words, value, beyond, count, how, kind, name):
        if how == "count":
            return words[count]
        if how == "bools":
            return words[value], words[count]
        number = words[value]
        if how == "least":
            number ^= (1 << 64) - 1
        if how == "sum":
            number |= words[beyond] << 64
            number -= number >> 127 << 128
        elif kind[0] == "i":
            number -= 1 << 63
        if name.startswith("mean"):
            return float(number) / float(words[count]) if words[count] else None
        return number if words[count] or how == "sum" else None

    def read(self, numbers):
        """Groups in the order of their first rows, and how many rows filters took out."""
        groups = []
        for at in range(self.heads, len(numbers), self.stride):
            key, first, *words = numbers[at:at + self.stride]
            if first:
                row = self.key(key)
                row.update((agg[-1], self.agg(words, *agg)) for agg in self.aggs)
                groups.append((first ^ (1 << 64) - 1, row))
        return {"groups": [row for _, row in sorted(groups, key=lambda x: x[0])], "rows": sum(numbers[:self.heads])}


def groups_of(text, name):
    found = re.search(rf"^// {name}\.groups: blocks of (\d+) lanes, (\d+) numbers, (\d+) slots of (\d+) words\n((?://   .*\n)*)", text, re.M)
    return Groups(*found.groups()) if found else None


def kernels_of(text):
    kernels = [Kernel(name, body) for name, body in re.findall(r"^struct (\w+)_args \{\n(.*?)^\};", text, re.M | re.S)]
    for kernel in kernels:
        kernel.groups = groups_of(text, kernel.name)
    return kernels


MAIN = """
extern "C" void launch_{name}(const void *args, unsigned blocks, unsigned threads, unsigned long long seed) {{
    host_launch<{name}_args>({name}, *(const {name}_args *)args, blocks, threads, seed);
}}
"""


def without_repeats(text):
    """Two stages may have equal kernels, which have one name."""
    seen, parts = set(), re.split(r"(?m)^(?=// sb_kernel_\w+: )", text)
    for part in parts[1:]:
        name = part.split(":")[0]
        parts[0] += "" if name in seen else part
        seen.add(name)
    return parts[0]


def has_shuffles(text):
    return "sb_of_warp<" in text or "sb_of_parts<" in text


def launches_of(text):
    return BLOCK_LAUNCHES if "sb_of_parts<" in text else WARP_LAUNCHES if has_shuffles(text) else LAUNCHES


def compile_host(text, folder, lost=0):
    source, text = folder / "kernels.cc", without_repeats(text)
    kernels = kernels_of(text)
    source.write_text('#include "tests/cuda/host.h"\n' + text + "".join(MAIN.format(name=k.name) for k in kernels))
    done = run(CLANG, "-x", "c++", "-std=c++17", "-O1", "-fPIC", "-shared", "-nostdlib++", "-march=x86-64-v3",
               "-ffp-contract=off", "-fsanitize=alignment,undefined", "-fno-sanitize=float-cast-overflow,float-divide-by-zero",
               "-fsanitize-trap=all", "-fno-builtin-new", "-w", f"-DHOST_BARRIERS={int('SB_SHARED' in text or has_shuffles(text))}",
               f"-DHOST_LOST={lost}", f"-I{ROOT}", source, "-o", folder / "kernels.so", "-lstdc++")
    if done.returncode:
        raise Wrong("the kernels do not compile for the host:\n" + done.stderr[:3000])
    return ctypes.CDLL(str(folder / "kernels.so")), kernels


GUARD = 64  # Bytes before and after a column that nothing may touch.


class Column:
    """Bytes of one column between two guards, at a multiple of 256 as cuMemAlloc gives."""

    def __init__(self, size, fill):
        self.size = size
        self.memory = ctypes.create_string_buffer(b"\xa5" * (size + 2 * GUARD + 512))
        base = ctypes.addressof(self.memory)
        self.at = (base + GUARD + 255) // 256 * 256
        ctypes.memset(self.at, fill, size)

    def put(self, data):
        ctypes.memmove(self.at, data, len(data))

    def bytes(self):
        return ctypes.string_at(self.at, self.size)

    def check(self, name):
        before, after = ctypes.string_at(self.at - GUARD, GUARD), ctypes.string_at(self.at + self.size, GUARD)
        if before + after != b"\xa5" * (2 * GUARD):
            raise Wrong(f"{name}: bytes outside of the column were written")


def packed(kind, values):
    if kind == "bf16":
        values = [bf16_bits(value) for value in values]
    return struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)


def run_kernels(library, kernels, columns, rows, params, launch, seed):
    """(status of each row, by column the values of each row)"""
    by_name = {name: (kind, shape) for name, kind, shape, _ in columns}
    status, some, results, temps = Column(len(rows), 0), Column(1, 0), {}, {}
    for kernel in kernels:
        held, words = [], [struct.pack("<q", len(rows)), struct.pack("<QQ", status.at, some.at)]
        if kernel.groups:
            table = Column(8 * kernel.groups.numbers(), 0)
            words.append(struct.pack("<Q", table.at))
        for field, kind, column, is_input in kernel.fields:
            if column is None:
                words.append(packed(kind, [params[field]]).ljust(8, b"\0"))
                continue
            if is_input and column in temps:
                words.append(struct.pack("<Q", temps[column].at))
                continue
            per_row = OUT_SHAPES.get((column, kernel.name), 1) if not is_input else elements(by_name[column][1])
            data = Column(len(rows) * BITS[kind] // 8 * per_row, 0x5a)
            if is_input and field.endswith("n"):
                data.put(packed("u8", [row[column] is not None for row in rows]))
            elif is_input:
                data.put(packed(kind, [x for row in rows for x in flat(0 if row[column] is None else row[column])]))
            held.append((field, kind, column, is_input, per_row, data))
            words.append(struct.pack("<Q", data.at))
        args = ctypes.create_string_buffer(b"".join(words))
        getattr(library, "launch_" + kernel.name)(args, *launch, ctypes.c_ulonglong(seed))
        if kernel.groups:
            table.check(f"{kernel.name}.groups")
            results = kernel.groups.read(struct.unpack(f"<{kernel.groups.numbers()}Q", table.bytes()))
        for field, kind, column, is_input, per_row, data in held:
            data.check(f"{kernel.name}.{field} ({column})")
            if is_input:
                continue
            if column.startswith("("):
                temps[column] = data
                continue
            values = struct.unpack(f"<{len(rows) * per_row}{FORMATS[kind]}", data.bytes())
            if kind == "bf16":
                values = [of_bf16(bits) for bits in values]
            if not field.endswith("n"):
                KINDS[column] = kind
            split = [list(values[i * per_row:(i + 1) * per_row]) for i in range(len(rows))]
            if field.endswith("n"):
                results[column] = [v if ok[0] else None for v, ok in zip(results[column], split)]
            else:
                results[column] = split
    status.check("status")
    some.check("some")
    if any(status.bytes()) != any(some.bytes()):
        raise Wrong("the byte for all rows does not say what those of rows say")
    return status.bytes(), results


KINDS = {}  # By column: the type of its values.
OUT_SHAPES = {}  # By column and kernel: elements of a row.


def find_shapes(text):
    OUT_SHAPES.clear()
    for name, count in re.findall(r"^// (\w+): (\d+) elements of a row", text, re.M):
        for kernel in kernels_of(text):
            if kernel.name == name:
                for _, _, column, is_input in kernel.fields:
                    if not is_input:
                        OUT_SHAPES[column, name] = int(count)
    for name, output, count in re.findall(r"^// (\w+)\.(y\d+): (\d+) elements of a row", text, re.M):
        for kernel in kernels_of(text):
            for field, _, column, _ in kernel.fields:
                if (kernel.name, field) == (name, output):
                    OUT_SHAPES[column, name] = int(count)


# ---- cases --------------------------------------------------------------------------------------

def number(value):
    """A value of a line of JSON, as bits that can be compared."""
    if isinstance(value, str):
        value = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value.lower().replace("infinity", "inf")]
    return value


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


# ---- NVRTC --------------------------------------------------------------------------------------

def find_nvrtc():
    """(the library, or None; why not). Suites that look at the same time wait for each other."""
    given = os.environ.get("SBC_NVRTC")
    if given:
        return given, ""
    (ROOT / "build/cuda").mkdir(parents=True, exist_ok=True)
    with open(ROOT / "build/cuda/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install_nvrtc()


def install_nvrtc():
    venv, log = ROOT / "build/cuda/venv", ROOT / "build/cuda/pip.log"
    mark = venv / "installed"
    if not mark.exists() or mark.read_text() != NVRTC:
        done = run(sys.executable, "-m", "venv", venv)
        if not done.returncode:
            done = run(venv / "bin/pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", NVRTC)
        log.write_text(done.stdout + done.stderr)
        if done.returncode:
            return None, f"pip cannot install {NVRTC}, see build/cuda/pip.log"
        mark.write_text(NVRTC)
    found = sorted(venv.glob("lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*"))
    return (str(found[0]), "") if found else (None, "the package has no libnvrtc.so")


def check_nvrtc(case, library, kernels):
    done = run(SBC, case, "--dump=ptx", env={**os.environ, "SBC_NVRTC": library})
    if done.returncode or ".visible .entry sb_kernel_" not in done.stdout:
        raise Wrong(f"no PTX: {done.stderr[:2000]}")
    done = run(SBC, case, "--explain", env={**os.environ, "SBC_NVRTC": library})
    for architecture in ARCHITECTURES:
        uses = re.findall(rf"^ +sm_{architecture}: (\d+) registers, (\d+) bytes spilled$", done.stdout, re.M)
        if len(uses) != kernels:
            raise Wrong(f"sm_{architecture}: {len(uses)} of {kernels} kernels compile: {done.stderr[:2000]}")
        if any(int(spilled) for _, spilled in uses):
            raise Wrong(f"sm_{architecture}: registers are spilled: {uses}")


# ---- jobs on the fake driver ----------------------------------------------------------------------

def make_shared(source, library, standard="gnu17"):
    done = run(CLANG, f"-std={standard}", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}", HERE / source, "-o", library, "-ldl")
    if done.returncode:
        raise Wrong(f"{source} does not compile: {done.stderr[:2000]}")


def make_driver(folder):
    make_shared("driver.c", folder / "libcuda.so.1")


def make_job(folder, program, nvrtc):
    """The job of a program, its kernels for the host and the driver. Returns what the job's environment has to have."""
    compile_host(run(SBC, program, "--dump=cuda").stdout, folder)
    make_driver(folder)
    done = run(SBC, program, "-o", folder / "job", env={**os.environ, "SBC_NVRTC": nvrtc})
    if done.returncode:
        raise Wrong(f"sbc ends with {done.returncode}: {done.stderr[:2000]}")
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "FAKE_CUDA_KERNELS": f"{folder}/kernels.so", "FAKE_CUDA_LOG": f"{folder}/log"}


def make_job_of(folder, text, nvrtc):
    (folder / "program.sbd").write_text(text)
    return make_job(folder, folder / "program.sbd", nvrtc)


def check_job(case, text, nvrtc):
    """The job leaves the same bytes with kernels as without, whatever the driver does."""
    columns = parse_columns(re.search(r" as \{(.*?)\}", case.read_text())[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = make_job(folder, case, nvrtc)
        write_rows(folder / "in.jsonl", columns, random_rows(columns, 500, random.Random(7)))

        def job(*options, **settings):
            env = {**base, **settings}
            (folder / "log").write_text("")
            done = run(folder / "job", f"--input={name}/in.jsonl", f"--output={name}/out.jsonl", "--overwrite",
                       f"--rejects={name}/bad.jsonl", "--reject-limit=100%", "--progress=none", *options, env=env)
            return done, (folder / "log").read_text().count("launch"), \
                [(folder / file).read_bytes() for file in ("out.jsonl", "bad.jsonl") if (folder / file).exists()]

        def table(done):
            return re.findall(r"^.*\S +\d[\d,]*(?: +\d[\d,]*){5}$", done.stderr, re.M)

        plain, launches, wanted = job("--device=cpu", "--threads=1")
        if plain.returncode or launches or not table(plain):
            raise Wrong(f"on the CPU: exit {plain.returncode}, {launches} launches: {plain.stderr[:2000]}")
        ways = [("--device=gpu", "--threads=1"), ("--device=gpu", "--threads=2", "--partition=4KiB"), ("--device=auto",),
                ("--device=gpu", "--threads=2", "--partition=4KiB", "--workers=2")]
        for options in ways:
            done, launches, left = job(*options)
            if done.returncode or not launches or left != wanted or "SB8090" in done.stderr:
                raise Wrong(f"{options}: exit {done.returncode}, {launches} launches, "
                            f"{'the same' if left == wanted else 'other'} bytes: {done.stderr[:2000]}")
            if table(done) != table(plain):
                raise Wrong(f"{options}: steps count other rows: {done.stderr[:2000]}\non the CPU: {plain.stderr[:2000]}")
        done, _, left = job("--device=gpu", FAKE_CUDA_MEMORY="4096")
        if done.returncode or left != wanted:
            raise Wrong(f"little memory: exit {done.returncode}: {done.stderr[:2000]}")
        for fault in ("FAIL", "HANG"):
            once = f"{name}/once-{fault}"
            done, launches, left = job("--device=gpu", "--partition=4KiB", "--threads=2", **{
                f"FAKE_CUDA_{fault}": "2", "FAKE_CUDA_ONCE": once, "SBC_TEST_GPU_WAIT_MS": "300"})
            again = "warning[SB8117]" in done.stderr
            if done.returncode or left != wanted or again != os.path.exists(once):
                raise Wrong(f"{fault} once: exit {done.returncode}: {done.stderr[:2000]}")
        for number in ("1", "2"):
            done, launches, left = job("--partition=4KiB", "--threads=2", FAKE_CUDA_FAIL=number)
            if done.returncode or left != wanted or "illegal memory access" not in done.stderr:
                raise Wrong(f"launch {number} fails: exit {done.returncode}: {done.stderr[:2000]}")
        done, _, _ = job("--device=gpu", FAKE_CUDA_FAIL="1")
        if done.returncode != 3 or "error[SB8091]" not in done.stderr:
            raise Wrong(f"a fault with --device=gpu: exit {done.returncode}: {done.stderr[:2000]}")
        check_devices(job, folder, wanted)
        check_memory(job, folder, wanted)


def check_devices(job, folder, wanted):
    """Launches go to all GPUs in turn, but to none that cannot be used."""
    for refused, there in (("", {"0", "1", "2"}), ("1", {"0", "2"})):
        done, launches, left = job("--device=gpu", "--threads=2", "--partition=1KiB", FAKE_CUDA_DEVICES="3",
                                   FAKE_CUDA_REFUSES=refused or "9")
        used = set(re.findall(r"^gpu (\d):", (folder / "log").read_text(), re.M))
        said = "warning[SB8117]: 1 GPU was lost, and others went on" in done.stderr
        if done.returncode or left != wanted or said != bool(refused) or used != there:
            raise Wrong(f"three GPUs, without {refused}: exit {done.returncode}, {launches} launches on {used}: "
                        f"{done.stderr[:2000]}")
    done, launches, left = job("--device=gpu", "--gpu-memory=64KiB")
    if done.returncode or not launches or left != wanted:
        raise Wrong(f"--gpu-memory: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")
    done, launches, left = job("--device=auto", "--gpu-memory=1KiB")
    if done.returncode or launches or left != wanted or "is too little for one row, which takes" not in done.stderr:
        raise Wrong(f"too little --gpu-memory: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")


def check_memory(job, folder, wanted):
    """--plan counts columns at full speed. From the minimum on rows have what they need, and launches go to GPUs."""
    options = ("--device=gpu", "--threads=2", "--partition=64MiB")
    plan = run(folder / "job", "--plan", *options, f"--rejects={folder}/bad.jsonl", "--reject-limit=100%").stdout
    row = re.search(r"^columns of GPUs +0.0 MiB +[\d.]+ MiB$", plan, re.M)
    sizes = re.search(r"^--memory +([\d.]+) MiB +([\d.]+) MiB$", plan, re.M)
    if not row or not sizes or float(sizes[1]) < 256:
        raise Wrong(f"no columns of GPUs in the plan: {plan}")
    least, full = (int(float(size) * (1 << 20)) for size in sizes.groups())
    for memory in (least, least + (1 << 20), least + (16 << 20), full):
        done, launches, left = job(*options, f"--memory={memory}")
        if done.returncode or not launches or left != wanted:
            raise Wrong(f"--memory={memory}: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")
    done, launches, _ = job(*options, f"--memory={least - (1 << 20)}")
    if done.returncode != 2 or "error[SB8067]" not in done.stderr:
        raise Wrong(f"less than the least: exit {done.returncode}: {done.stderr[:2000]}")


WIDE = """param input: str = "in.npy"
param output: str = "out.npy"
read npy(input) as {x: f32[1200000]} | on gpu { derive y = x * 0.5 + 1.0, z = x - 2.0 } | select t = y * z | write npy(output)
"""


def check_wide(nvrtc):
    """A row that is longer than launches are otherwise goes to the GPU all the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, WIDE, nvrtc)
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1200000), }".ljust(117) + b"\n"
        values = array.array("f", [(i % 1000) / 7 for i in range(1200000)]).tobytes()
        (folder / "in.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + values * 3)
        for device in ("cpu", "gpu"):
            done = run(folder / "job", f"--input={name}/in.npy", f"--output={name}/{device}.npy", f"--device={device}",
                       "--memory=1GiB", "--progress=none", env=env)
            if done.returncode:
                raise Wrong(f"long rows, --device={device}: exit {done.returncode}: {done.stderr[:2000]}")
        if not (folder / "log").exists() or (folder / "cpu.npy").read_bytes() != (folder / "gpu.npy").read_bytes():
            raise Wrong("long rows: no launch, or other bytes")


SHARES = """param output: str = "out.jsonl"
range(20000) | derive v = f32(i) | repartition rows 1000 | on gpu { derive x = exp(v / 1000.0) } | write jsonl(output)
"""


def read_metrics(process):
    """What a job that runs serves, once it has launched: (Prometheus text, the newest event)."""
    url = re.search(r"http://([\d.]+):(\d+)/", process.stderr.readline())
    while True:
        answers = []
        for path in ("/metrics", "/events"):
            connection = http.client.HTTPConnection(url[1], int(url[2]), timeout=10)
            connection.request("GET", path)
            answer = connection.getresponse()
            answers.append("".join(answer.readline().decode() for _ in range(6)) if path == "/events" else answer.read().decode())
            connection.close()
        now = json.loads(re.findall(r"^data: (.*)$", answers[1], re.M)[-1])
        if now.get("gpus") and now["gpus"][0]["launches"] > 2:
            return answers[0], now


def check_shares(nvrtc):
    """Kernels and copies that take known times show in all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, SHARES, nvrtc)
        env |= {"FAKE_CUDA_DEVICES": "2", "FAKE_CUDA_COPY_US": "2000", "FAKE_CUDA_KERNEL_US": "5000"}
        command = [folder / "job", f"--output={name}/out.jsonl", "--overwrite", "--threads=2", "--device=gpu", "--progress=none"]

        def job(*options, **settings):
            done = run(*command, *options, env={**env, **settings})
            if done.returncode:
                raise Wrong(f"shares: exit {done.returncode}: {done.stderr[:2000]}")
            return done.stderr

        figures = json.loads(job("--stats=json", f"--trace={name}/trace.json").splitlines()[-1])
        if len(figures["gpus"]) != 2 or sum(gpu["rows"] for gpu in figures["gpus"]) != 20000:
            raise Wrong(f"shares: {figures['gpus']}")
        for gpu in figures["gpus"]:
            n = gpu["launches"]
            parts = gpu["copies_in"], gpu["kernels"], gpu["copies_out"]
            good = n > 2 and gpu["kernels"] >= 0.0049 * n and gpu["copies_in"] >= 0.0019 * n and gpu["copies_out"] >= 0.0038 * n
            # The driver runs one stream at a time, so that the parts add up to all.
            good = good and abs(sum(parts) - gpu["busy"]) < 0.002 * n and gpu["busy"] <= gpu["seconds"] <= figures["seconds"]
            if not good or abs(gpu["busy"] + gpu["gaps"] - gpu["seconds"]) > 1e-5:
                raise Wrong(f"shares: {gpu}")
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        gpus = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name" and e["pid"] > 1}
        if sorted(gpus.values()) != [f"gpu {g}: fake device {g}, sm_90" for g in (0, 1)]:
            raise Wrong(f"the trace has {gpus}")
        spans = [e for e in events if e.get("cat") == "gpu"]
        kernels = [e for e in spans if e["name"] == "kernels"]
        if len(spans) != 3 * len(kernels) or len(kernels) != sum(gpu["launches"] for gpu in figures["gpus"]):
            raise Wrong(f"the trace has {len(spans)} spans, {len(kernels)} of kernels")
        for span in spans:
            least = {"kernels": 4900, "copies in": 1900, "copies out": 3800}[span["name"]]
            if span["pid"] not in gpus or span["ts"] < 0 or span["dur"] < least or span["args"]["stage"] != "derive x = exp(v / 1000.0)":
                raise Wrong(f"the trace has {span}")
        table = job("--stats")
        if not re.search(r"^gpu +busy +copies in +kernels +copies out +gaps +launches +rows", table, re.M) or \
                not re.search(r"^1: fake device 1, sm_90 +\d+ % +\d+ % +\d+ % +\d+ % +\d+ % +\d+ +[\d,]+ ", table, re.M):
            raise Wrong(f"the table: {table}")
        busy = r"gpu busy \d+ %: copies in \d+ %, kernels \d+ %, copies out \d+ %; more GPUs would help"
        for kernel_us in (40_000, 160_000, 640_000):  # On a machine that does much else a job waits for it too.
            stats = job("--stats=json", FAKE_CUDA_KERNEL_US=str(kernel_us), FAKE_CUDA_DEVICES="1")
            bound = json.loads(stats.splitlines()[-1])["bound"]
            if re.fullmatch(busy, bound):
                break
        else:
            raise Wrong(f"the bound: {bound}")
        slow = {**env, "FAKE_CUDA_KERNEL_US": "100000"}
        with subprocess.Popen([*command, "--metrics=0"], env=slow, stderr=subprocess.PIPE, text=True) as process:
            text, now = read_metrics(process)
            process.communicate(timeout=60)
        metrics = {m: re.findall(rf'^{m}\{{gpu="(\d)"[^}}]*\}} (\S+)$', text, re.M) for m in
                   ("sbc_gpu_up", "sbc_gpu_launches_total", "sbc_gpu_rows_total", "sbc_gpu_in_bytes_total", "sbc_gpu_out_bytes_total",
                    "sbc_gpu_busy_seconds_total", "sbc_gpu_work_seconds_total")}
        if any(len(found) != (6 if "work" in m else 2) for m, found in metrics.items()) or \
                any(float(value) <= 0 for m in metrics for _, value in metrics[m] if "launches" in m) or len(now["gpus"]) != 2:
            raise Wrong(f"what is served: {metrics}, {now['gpus']}")


FAR = """param output: str = "out.jsonl"
range(100000) | derive v = f32(i) | repartition rows 2000
| on gpu { derive x = exp(v / 100000.0) | where v % 7.0 != 3.0 }
| where i % 10 < 3 | write jsonl(output)
"""


def children(pid, name):
    """Processes of this name that the process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                if Path(f"/proc/{child}/comm").read_text().strip() == name:
                    found.append(int(child))
            except OSError:
                pass
    return found


def kill_workers(process, log, count):
    """Ends so many workers, each while launches are under way. Returns how many there were to end."""
    ended = 0
    while ended < count and process.poll() is None:
        before = log.read_text().count("launch")
        while process.poll() is None and (log.read_text().count("launch") < before + 2 or not children(process.pid, "worker")):
            time.sleep(0.01)
        for pid in children(process.pid, "worker")[:1]:
            os.kill(pid, signal.SIGKILL)
            ended += 1
    return ended


def check_workers(nvrtc):
    """Worker processes launch on the job's GPUs, and leave nothing behind when they are lost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, FAR, nvrtc)
        command = [folder / "job", f"--output={name}/out.jsonl", "--overwrite", "--threads=2", "--progress=none", "--stats=json"]

        def job(*options, kills=0, **settings):
            """(exit, what it says, launches, its output, its figures)"""
            (folder / "log").write_text("")
            with subprocess.Popen([*command, *options], env={**env, **settings}, stderr=subprocess.PIPE, text=True) as process:
                killed = kill_workers(process, folder / "log", kills)
                try:
                    said = process.communicate(timeout=120)[1]
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise Wrong(f"{options}, {settings}: the job does not end")
            last = said.splitlines()[-1] if said else ""
            left = (folder / "out.jsonl").read_bytes() if not process.returncode else b""
            if killed != kills:
                raise Wrong(f"{options}: {killed} workers were ended: {said[:2000]}")
            return process.returncode, said, (folder / "log").read_text().count("launch"), left, \
                json.loads(last) if last.startswith("{") else {}

        code, said, launches, wanted, _ = job("--device=cpu")
        if code or launches:
            raise Wrong(f"on the CPU: exit {code}, {launches} launches: {said[:2000]}")
        for options, settings in ((["--workers=2"], {}), (["--workers=3", "--threads=6"], {"FAKE_CUDA_DEVICES": "3"})):
            code, said, launches, left, figures = job("--device=gpu", *options, **settings)
            far = sum(worker["partitions"] for worker in figures.get("workers", []))
            if code or left != wanted or far < 20 or sum(gpu["rows"] for gpu in figures["gpus"]) != 100000:
                raise Wrong(f"{options}: exit {code}, {launches} launches, {far} partitions of workers: {said[:2000]}")
        # A slot belongs to another thread as soon as it is given back.
        make_shared("slow_give.c", folder / "slow_give.so", "gnu23")
        code, said, launches, left, figures = job("--device=gpu", "--workers=1", "--threads=4", LD_PRELOAD=f"{name}/slow_give.so")
        if code or left != wanted or sum(gpu["rows"] for gpu in figures["gpus"]) != 100000:
            raise Wrong(f"slots that are given back slowly: exit {code}, {launches} launches: {said[:2000]}")
        # Twice as many are lost as there are slots, which are free when the launches of the dead end. The CPU does
        # some rows until then. It would do most of them if slots stayed taken.
        code, said, launches, left, figures = job("--device=gpu", "--workers=2", "--worker-restarts=20", kills=8, FAKE_CUDA_KERNEL_US="40000")
        if code or left != wanted or "SB8077" not in said or sum(gpu["rows"] for gpu in figures["gpus"]) < 60000:
            raise Wrong(f"workers are lost: exit {code}, {launches} launches: {said[:2000]}")
        for fault in ("FAIL", "HANG"):
            code, said, launches, left, _ = job("--device=gpu", "--workers=2", **{
                f"FAKE_CUDA_{fault}": "3", "FAKE_CUDA_ONCE": f"{name}/once-{fault}", "SBC_TEST_GPU_WAIT_MS": "300"})
            if code or left != wanted or "warning[SB8117]" not in said:
                raise Wrong(f"{fault} once, with workers: exit {code}: {said[:2000]}")
        code, said, launches, left, _ = job("--workers=2", FAKE_CUDA_FAIL="1")
        if code or left != wanted or "warning[SB8090]" not in said:
            raise Wrong(f"each launch fails, with workers: exit {code}: {said[:2000]}")
        code, said, _, _, _ = job("--device=gpu", "--workers=2", FAKE_CUDA_FAIL="1")
        if code != 3 or "error[SB8091]" not in said:
            raise Wrong(f"a fault with --device=gpu and workers: exit {code}: {said[:2000]}")
        # The columns count once, whatever the number of workers.
        options = ["--device=gpu", "--workers=2", "--partition=64MiB"]
        plan = run(folder / "job", "--plan", "--threads=2", *options, env=env).stdout
        row = re.findall(r"^columns of GPUs +0.0 MiB +([\d.]+) MiB$", plan, re.M)
        sizes = re.search(r"^--memory +([\d.]+) MiB +([\d.]+) MiB$", plan, re.M)
        if len(row) != 1 or float(row[0]) > 4 * 8.2 or not sizes:
            raise Wrong(f"no columns of GPUs in the plan, or too many: {plan}")
        for memory in sizes.groups():
            code, said, launches, left, _ = job(*options, f"--memory={int(float(memory) * (1 << 20))}")
            if code or not launches or left != wanted:
                raise Wrong(f"--memory={memory} MiB with workers: exit {code}, {launches} launches: {said[:2000]}")


LOST = """param output: str = "out.jsonl"
rejects write jsonl("bad.jsonl") limit 100%
range(200000) | derive k = i % 5, v = i * 7 - 300000 | repartition rows 1000
| on gpu { where v % 3 != 1 | derive w = v * 3, d = 100 // (i % 400)
    group by k { n = count(), s = sum(w), low = min(v), m = mean(w + d), t = max(d) where w > 0 } }
| write jsonl(output)
"""


def check_lost_groups(nvrtc):
    """Groups of kernels where workers die, and where the job does and goes on: no row is lost or counts twice."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, LOST, nvrtc)

        def life(*options, disturb=None, **settings):
            """(exit, what it says)"""
            (folder / "log").write_text("")
            command = [folder / "job", "--overwrite", "--threads=2", "--progress=none", *options]
            with subprocess.Popen(command, cwd=folder, env={**env, **settings}, stderr=subprocess.PIPE, text=True) as process:
                if disturb:
                    disturb(process)
                try:
                    said = process.communicate(timeout=120)[1]
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise Wrong(f"{options}: the job does not end")
            return process.returncode, said

        def left(said):
            steps = [line for line in said.splitlines() if line.startswith(("range", "where", "derive", "group", "write"))]
            return steps, (folder / "out.jsonl").read_bytes(), (folder / "bad.jsonl").read_bytes()

        def ends_at(launches, number):
            def disturb(process):
                while process.poll() is None and (folder / "log").read_text().count("launch") < launches:
                    time.sleep(0.005)
                if process.poll() is None:
                    process.send_signal(number)
            return disturb

        code, said = life("--device=cpu")
        wanted = left(said)
        if code:
            raise Wrong(f"on the CPU: exit {code}: {said[:2000]}")
        code, said = life("--device=gpu", "--workers=2", "--worker-restarts=20", FAKE_CUDA_KERNEL_US="20000",
                          disturb=lambda process: kill_workers(process, folder / "log", 4))
        if code or left(said) != wanted:
            raise Wrong(f"workers are lost: exit {code}: {said[:2000]}")
        for seed in range(4):
            shutil.rmtree(folder / "journal", ignore_errors=True)
            for number in range(1, 7):
                signal_number = signal.SIGKILL if (seed + number) % 3 else signal.SIGTERM
                disturb = ends_at(8 + 3 * seed + 5 * number, signal_number) if number < 6 else None
                code, said = life("--device=gpu", "--resume=journal", *["--workers=2"] * (seed % 2), disturb=disturb,
                                  FAKE_CUDA_KERNEL_US="5000", SBC_TEST_COMMIT="1")
                if not code:
                    break
            if code or left(said) != wanted:
                raise Wrong(f"a job that dies and goes on, {seed}: exit {code}: {said[:2000]}")


PLACED = """param input: str = "in.npy"
param output: str = "out.npy"
read npy(input) as {x: f32[64]}
| derive y = tanh(exp(log1p(x * x)) * 0.1)
| derive z = exp(tanh(y + 1.0)) + tanh(exp(y) - log1p(y * y))
| derive t = tanh(exp(z)) + exp(tanh(z * 2.0)) + log1p(exp(z * 3.0))
| select t = t * 0.5
| write npy(output)
"""
FEW = """param input: str = "in.npy"
param output: str = "out.npy"
read npy(input) as {x: f32[64]} | derive y = exp(x) * 0.5 | select t = y + 1.0 | write npy(output)
"""


def check_placed(nvrtc):
    """Steps that no block names go to a GPU where that pays and the target names GPUs. Nobody misses a GPU then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "target.yaml").write_text("gpus: [sm_90]\n")
        env = {**os.environ, "SBC_NVRTC": nvrtc}

        def sbc(program, text, *options, **settings):
            (folder / f"{program}.sbd").write_text(text)
            return run(SBC, folder / f"{program}.sbd", *options, env={**env, **settings})

        target = f"--target={folder}/target.yaml"
        on_cpu = PLACED.replace("| derive y", "| on cpu { derive y").replace("* 0.5\n", "* 0.5 }\n")
        for said, program, text, options, settings in (
            ("devices: goes to a GPU: a row takes ", "placed", PLACED, [target], {}),
            ("devices: stays on the CPU: a row takes ", "few", FEW, [target], {}),
            ("devices: stays on the CPU, as there is no NVRTC: a row takes ", "placed", PLACED, [target], {"SBC_NVRTC": "/nowhere"}),
            ("devices: `on gpu`, or `gpus` of --target, would be faster: ", "placed", PLACED, [], {}),
            (None, "few", FEW, [], {}), (None, "block", on_cpu, [target], {}),
        ):
            done = sbc(program, text, *options, "--explain", **settings)
            moved = "is for a GPU" in done.stdout
            if done.returncode or (said or "runs on the CPU") not in done.stdout or moved != (said is not None and "goes" in said) \
                    or (said is None and "devices: " in done.stdout):
                raise Wrong(f"{program} {options} {settings}: {done.stdout}{done.stderr[:2000]}")
        compile_host(sbc("placed", PLACED, target, "--dump=cuda").stdout, folder)
        make_driver(folder)
        done = sbc("placed", PLACED, target, "-o", folder / "job")
        plain = sbc("plain", PLACED, "-o", folder / "plain")
        if done.returncode or plain.returncode:
            raise Wrong(f"sbc ends with {done.returncode}, {plain.returncode}: {done.stderr[:2000]}{plain.stderr[:2000]}")
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (100, 64), }".ljust(117) + b"\n"
        values = array.array("f", [(i % 997) / 300 - 1 for i in range(6400)])
        values[5], values[700] = math.nan, math.inf
        (folder / "in.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + values.tobytes())

        def job(program, *options, **settings):
            (folder / "log").write_text("")
            done = run(folder / program, f"--input={name}/in.npy", f"--output={name}/out.npy", "--overwrite", "--progress=none",
                       *options, env={**os.environ, "FAKE_CUDA_KERNELS": f"{name}/kernels.so", "FAKE_CUDA_LOG": f"{name}/log", **settings})
            left = (folder / "out.npy").read_bytes() if not done.returncode else b""
            return done, (folder / "log").read_text().count("launch"), left

        wanted = job("plain")[2]
        for what, options, settings, launches in (
            ("a GPU", [], {"LD_LIBRARY_PATH": name}, True), ("--device=cpu", ["--device=cpu"], {"LD_LIBRARY_PATH": name}, False),
            ("no driver", [], {}, False), ("workers", ["--workers=2"], {"LD_LIBRARY_PATH": name}, True),
        ):
            done, made, left = job("job", *options, **settings)
            if done.returncode or left != wanted or bool(made) != launches or "SB8090" in done.stderr:
                raise Wrong(f"{what}: exit {done.returncode}, {made} launches: {done.stderr[:2000]}")
        done, _, _ = job("job", "--device=gpu")
        if done.returncode != 3 or "error[SB8091]" not in done.stderr:
            raise Wrong(f"--device=gpu without a driver: exit {done.returncode}: {done.stderr[:2000]}")


def check_division():
    """Constant divisors, for all significands of the dividend."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("-O2", "-march=x86-64-v3", "-ffp-contract=off", "-w", f"-I{ROOT}")
        done = run(CLANG, "-std=gnu23", *options, "-c", ROOT / "codegen/cuda/divide.c", "-o", f"{folder}/divide.o")
        if not done.returncode:
            done = run(CLANG, "-x", "c++", "-std=c++17", *options, HERE / "over.cc", "-x", "none", f"{folder}/divide.o",
                       "-o", f"{folder}/over", "-lstdc++", "-lm")
        if not done.returncode:
            done = run(f"{folder}/over")
        if done.returncode:
            raise Wrong(f"division by constants: {done.stdout}{done.stderr[:2000]}")


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
    parts = text.split("__syncthreads();")
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


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    update = "--update" in sys.argv
    cases = [case for case in sorted((HERE / "kernels").glob("*.sbd")) if not words or words[0] in case.stem]
    nvrtc, why = find_nvrtc()
    if not nvrtc:
        print(f"skip NVRTC: {why}")
    passed = failed = skipped = 0
    alone = {"division": check_division}
    if nvrtc:
        alone |= {"wide": lambda: check_wide(nvrtc), "shares": lambda: check_shares(nvrtc),
                  "workers": lambda: check_workers(nvrtc), "placed": lambda: check_placed(nvrtc),
                  "lost": lambda: check_lost_groups(nvrtc)}
    for part in [part for name, part in alone.items() if not words or words[0] == name]:
        try:
            part()
            passed += 1
        except Wrong as wrong:
            failed += 1
            print(f"FAIL {wrong}")
    for case in cases:
        done = run(SBC, case, "--dump=cuda")
        text = done.stdout
        parts = {"barriers": lambda: check_barriers(case, text), "counts": lambda: check_counts(case, text, update), "host": lambda: check_host(case, text),
                 "job": lambda: check_job(case, text, nvrtc),
                 "nvrtc": lambda: check_nvrtc(case, nvrtc, counts_of(text)["kernels"])}
        if " bits of the key: " in text:
            parts["full"] = lambda: check_full(case, text)
        if "__syncthreads();" not in text:
            del parts["barriers"]
        if "sb_of_warp<" in text or "sb_of_parts<" in text:
            parts["shuffles"] = lambda: check_shuffles(case, text)
        for name, part in parts.items():
            try:
                if done.returncode:
                    raise Wrong(done.stderr)
                if name in ("nvrtc", "job") and not nvrtc:
                    skipped += 1
                    continue
                part()
                passed += 1
            except Wrong as wrong:
                failed += 1
                print(f"FAIL {case.stem} {name}: {wrong}\n  alone: tests/cuda/run.py {case.stem}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
