#!/usr/bin/env python3
"""bench.py [ROUNDS [NAME...]]: kernels of tests/cuda/bench on a GPU, beside a copy, torch and CuPy; gf and gi.

Needs build/gpu (device.py build), the CUDA driver and torch. The kernel of a program is loaded from its cubin
and launched as a job launches it (runtime/device/gpu_serve.c). All contenders of a row work on the same memory, which is larger than the
GPU's caches, and take turns; each figure is the median of its turns, by CUDA events. Results are compared.
Prints one table in Markdown.

bench.py opening: what a job takes to open GPUs, and what a launch takes beside its rows: constants of
ir/plan_cost.c. Needs numpy.

bench.py jobs [SHARE [NAME...]]: whole jobs, on the CPU and on the GPU, from npy to npy in memory: their wall time. Needs numpy
in place of torch. SHARE of 1 takes 2,048 images and 2^26 values.
"""
import ctypes
import filecmp
import json
import os
import re
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

import bench_groups
import bench_products
from device import BUILT
from on_host import kernels_of
from tools import Wrong, run


def launch_lanes():
    """Lanes of a block, as jobs have them."""
    return int(re.search(r"SB_KERNEL_LANES = (\d+)", (BUILT / "kernel.h").read_text())[1])


class Driver:
    """Calls of libcuda.so.1, in torch's context."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.lanes = launch_lanes()

    def call(self, name, *words):
        error = getattr(self.library, name)(*words)
        if error:
            raise Wrong(f"{name} fails with {error}")

    def kernel(self, cubin, name):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def launch(self, function, blocks, lanes, args, stream):
        words = (ctypes.c_void_p * 1)(ctypes.addressof(args))
        self.call("cuLaunchKernel", function, blocks, 1, 1, lanes, 1, 1, 0, ctypes.c_void_p(stream), words, None)


class Program:
    """The kernels of one program over tensors of torch, by the names of columns."""

    def __init__(self, torch, driver, name):
        self.torch, self.driver = torch, driver
        text = (BUILT / "bench" / f"{name}.cu").read_text()
        cubin = (BUILT / "bench" / f"{name}.cubin").read_bytes()
        self.kernels = []
        for kernel in kernels_of(text):
            head = re.search(rf"// {kernel.name}: (?:(\d+) elements of a row|rows), (\d+) at a time; (\d+) blocks", text)
            if not head:  # Over segments: a row takes so many lanes.
                head = re.search(rf"// {kernel.name}: segments of \d+ elements, (\d+) lanes of a row; (\d+) blocks", text)
                head = (head[0], head[1], 1, head[2])
            self.kernels.append((driver.kernel(cubin, kernel.name), kernel, int(head[1] or 1), int(head[2]), int(head[3])))

    def bind(self, rows, columns):
        """A function that launches the kernels once."""
        torch = self.torch
        status = torch.zeros(rows, dtype=torch.uint8, device="cuda")
        some = torch.zeros(1, dtype=torch.uint8, device="cuda")
        processors = torch.cuda.get_device_properties(0).multi_processor_count
        launches, table, groups = [], None, None
        for function, kernel, elements, width, most in self.kernels:
            words = [struct.pack("<qQQ", rows, status.data_ptr(), some.data_ptr())]
            if kernel.groups:
                groups = kernel.groups
                table = torch.zeros(groups.numbers(), dtype=torch.int64, device="cuda")
                words.append(struct.pack("<Q", table.data_ptr()))
            words += [struct.pack("<Q", columns[column].data_ptr()) for _, _, column, _ in kernel.fields]
            args = ctypes.create_string_buffer(b"".join(words))
            lanes = rows * elements // width + 1
            of_block = kernel.groups.lanes if kernel.groups else self.driver.lanes
            blocks = min((lanes + of_block - 1) // of_block, processors * most)
            launches.append((function, blocks, of_block, args))
        stream = torch.cuda.current_stream().cuda_stream

        def go():
            if groups:
                table.zero_()
            for launch in launches:
                self.driver.launch(*launch, stream)
        go.raised = lambda: int(some.item())
        go.groups = lambda: groups.read([x & (1 << 64) - 1 for x in table.tolist()])["groups"]
        return go


def measure(torch, contenders, rounds):
    """By name: the median milliseconds of a call."""
    times = {name: [] for name in contenders}
    for go in contenders.values():
        go()
        go()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, go in contenders.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            go()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end))
    return {name: statistics.median(values) for name, values in times.items()}


# ---- rows of the table ----------------------------------------------------------------------------

def chain(x):
    a = x * 1.5
    c = (a + 0.25) * (a + 0.25)
    return (c - x).abs().sqrt().clamp(max=3.0) / 3.0


def chain_tensor(x):
    a = x * 1.5
    b = a + 0.25
    return (-(b * b - x) * 0.125 + a) / 3.0


def row_ga(torch):
    n = 1 << 28
    x = torch.rand(n, device="cuda") * 8 - 4
    return {"rows": n, "columns": {"x": x, "y": torch.empty_like(x)}, "bytes": 8 * n, "call": chain, "with": (x,)}


def row_ga_tensor(torch):
    row = row_ga(torch)
    return {**row, "rows": row["rows"] >> 10, "call": chain_tensor}


def pixels(torch, turned):
    images = 4096
    img = torch.randint(0, 256, (images, 224, 224, 3), dtype=torch.uint8, device="cuda")
    y = torch.empty((images, 3, 224, 224) if turned else img.shape, dtype=torch.float32, device="cuda")
    mean = torch.tensor([0.485, 0.456, 0.406], device="cuda")
    std = torch.tensor([0.229, 0.224, 0.225], device="cuda")

    def normalise(x):
        scaled = (x.float() / 255.0 - mean) / std
        return scaled.permute(0, 3, 1, 2).contiguous() if turned else scaled
    return {"rows": images, "columns": {"img": img, "y": y}, "bytes": 5 * img.numel(), "call": normalise, "with": (img,)}


def row_normalise(torch):
    return pixels(torch, False)


def row_gb(torch):
    return pixels(torch, True)


def row_softmax(torch):
    row = row_ga_tensor(torch)
    columns = {name: values.view(-1, 1024) for name, values in row["columns"].items()}
    return {**row, "columns": columns, "call": lambda x: torch.softmax(x, 1), "with": (columns["x"],)}


def row_layernorm(torch):
    """Rows less their mean, by their deviation."""
    row = row_softmax(torch)
    return {**row, "call": lambda x: torch.nn.functional.layer_norm(x, (1024,), eps=1e-5)}


def row_ge(torch):
    n = 1 << 24
    dense = [torch.rand(n, device="cuda") * 20000 - 5000 for _ in range(13)]
    folded = [torch.randint(0, 1 << 30, (n,), dtype=torch.int32, device="cuda") for _ in range(26)]
    sizes = [1000 + 37 * i for i in range(26)]
    columns = {f"d{i}": column for i, column in enumerate(dense)}
    columns.update((f"k{i}", column) for i, column in enumerate(folded))
    columns["dense"] = torch.empty((n, 13), dtype=torch.float32, device="cuda")
    columns["categories"] = torch.empty((n, 26), dtype=torch.int32, device="cuda")

    def features(*columns):
        first = torch.stack([torch.log1p(x.clamp(0.0, 10000.0)) * 0.125 for x in columns[:13]], 1)
        second = torch.stack([x % size for x, size in zip(columns[13:], sizes)], 1)
        return first, second
    return {"rows": n, "columns": columns, "bytes": 2 * 39 * 4 * n, "call": features, "with": (*dense, *folded),
            "results": ("dense", "categories")}


ROWS = {"ga": row_ga, "ga_tensor": row_ga_tensor, "normalise": row_normalise, "gb": row_gb, "softmax": row_softmax,
        "layernorm": row_layernorm, "ge": row_ge,
        "q6": bench_groups.row_q6, "q1": bench_groups.row_q1}


def difference(row):
    """The largest, relative to numbers over 1."""
    theirs = row["call"](*row["with"])
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    most = 0.0
    for name, there in zip(row.get("results", ("y",)), theirs):
        ours = row["columns"][name].reshape(there.shape)
        for a, b in zip(ours.split(max(1, len(ours) // 16)), there.split(max(1, len(ours) // 16))):
            most = max(most, ((a - b).abs() / b.abs().clamp(min=1)).max().item())
    return most


def find_cupy():
    try:
        import cupy
        return cupy
    except ImportError:
        return None


def run_row(torch, driver, name, rounds):
    program = Program(torch, driver, name)
    row = ROWS[name](torch)
    ours = program.bind(row["rows"], row["columns"])
    ours()
    if "words" in row:
        apart = bench_groups.difference(ours.groups(), row["call"](*row["with"]), row["words"])
    else:
        apart = difference(row)
    source = torch.empty(row["bytes"] // 8, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    function, arguments = row["call"], row["with"]
    compiled = torch.compile(function)
    begun = time.monotonic()
    compiled(*arguments)
    torch.cuda.synchronize()
    seconds = time.monotonic() - begun
    contenders = {"sbc": ours, "copy": lambda: target.copy_(source), "torch": lambda: function(*arguments),
                  "compiled": lambda: compiled(*arguments)}
    cupy = find_cupy() if "cupy" in row else None
    if cupy:
        query, arrays = row["cupy"](cupy)
        contenders["cupy"] = lambda: query(cupy, *arrays)
    times = measure(torch, contenders, rounds)
    ms = times["sbc"]
    print(f"| {name} | {ms:.3f} | {row['bytes'] / ms / 1e6:.0f} | {times['copy'] / ms:.1%} | {times['torch'] / ms:.2f} "
          f"| {times['compiled'] / ms:.2f} | {apart:.2g}{' RAISED' if ours.raised() else ''} | {seconds:.0f} s "
          f"| {times['cupy'] / ms if cupy else 0:.2f} |", flush=True)


# ---- copies beside kernels ------------------------------------------------------------------------

SLOTS, SLOT_BYTES, TURNS = 8, 8 << 20, 24


def run_copies(torch, driver, rounds):
    """GI: slots go round, each with a stream, pinned memory and a kernel between two copies, as the process of a
    GPU has them (runtime/device/gpu_serve.c). Milliseconds of a round: copies in alone, copies out alone, both, all."""
    program = Program(torch, driver, "ga_tensor")
    values = SLOT_BYTES // 4
    slots = []
    for _ in range(SLOTS):
        stream = torch.cuda.Stream()
        x, y = torch.empty(values, device="cuda"), torch.empty(values, device="cuda")
        given, taken = torch.rand(values).pin_memory(), torch.empty(values).pin_memory()
        with torch.cuda.stream(stream):
            launch = program.bind(values // 1024, {"x": x, "y": y})
        slots.append((stream, x, y, given, taken, launch))
    torch.cuda.synchronize()

    def round_of(copies_in, computes, copies_out):
        for turn in range(TURNS * SLOTS):
            stream, x, y, given, taken, launch = slots[turn % SLOTS]
            with torch.cuda.stream(stream):
                if copies_in:
                    x.copy_(given, non_blocking=True)
                if computes:
                    launch()
                if copies_out:
                    taken.copy_(y, non_blocking=True)
        torch.cuda.synchronize()

    times = {"in": (1, 0, 0), "kernels": (0, 1, 0), "out": (0, 0, 1), "in and out": (1, 0, 1), "all": (1, 1, 1)}
    best = {name: [] for name in times}
    for parts in times.values():
        round_of(*parts)
    for _ in range(rounds):
        for name, parts in times.items():
            begun = time.monotonic()
            round_of(*parts)
            best[name].append((time.monotonic() - begun) * 1e3)
    ms = {name: statistics.median(values) for name, values in best.items()}
    bound = max(ms["in"], ms["kernels"], ms["out"])
    print(f"\nGI, {TURNS * SLOTS} times {SLOT_BYTES >> 20} MiB in and out through {SLOTS} slots: in {ms['in']:.1f} ms, "
          f"kernels {ms['kernels']:.1f} ms, out {ms['out']:.1f} ms, in and out {ms['in and out']:.1f} ms, all "
          f"{ms['all']:.1f} ms: {bound / ms['all']:.1%} of the longest, {ms['in and out'] / ms['all']:.1%} of copies both "
          f"ways at once", flush=True)


# ---- whole jobs -----------------------------------------------------------------------------------

def run_jobs(share, names):
    import numpy
    random = numpy.random.default_rng(1)
    images, values = max(1, int(2048 * share)), max(1, int((1 << 26) * share))
    inputs = {"gb": random.integers(0, 256, (images, 224, 224, 3), dtype=numpy.uint8),
              "ga": random.random(values, dtype=numpy.float32) * 8 - 4,
              "gf_job": random.standard_normal((max(1, int((1 << 20) * share)), 39), dtype=numpy.float32)}
    print(f"{os.cpu_count()} processors\n\n| job | rows | CPU s | GPU s |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        folder = Path(name)
        for job, data in [(job, data) for job, data in inputs.items() if not names or job in names]:
            numpy.save(folder / "in.npy", data)
            seconds = {"cpu": [], "gpu": []}
            for device in ("cpu", "gpu") * 3:
                begun = time.monotonic()
                done = run(BUILT / "bench" / job, f"--input={folder}/in.npy", f"--output={folder}/{device}.npy",
                                "--overwrite", f"--device={device}", "--progress=none")
                seconds[device].append(time.monotonic() - begun)
                if done.returncode:
                    raise Wrong(f"{job} --device={device} ends with {done.returncode}: {done.stderr[:2000]}")
            if job != "gf_job" and not filecmp.cmp(folder / "cpu.npy", folder / "gpu.npy", shallow=False):
                raise Wrong(f"{job}: the GPU left other bytes")
            cpu, gpu = (statistics.median(seconds[device]) for device in ("cpu", "gpu"))
            print(f"| {job} | {len(data):,} | {cpu:.2f} | {gpu:.2f} |", flush=True)


def run_opening():
    """Launches of 64 KiB beside those of 4 MiB: what partitions take besides, the CPU takes too."""
    import numpy
    values, seconds, launches = 1 << 21, {}, {}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        folder = Path(name)
        numpy.save(folder / "one.npy", numpy.ones(1, dtype=numpy.float32))
        numpy.save(folder / "in.npy", numpy.random.default_rng(1).random(values, dtype=numpy.float32))
        ways = [(device, "one", "4MiB", threads) for device in ("cpu", "gpu") for threads in (1, 16)] + \
               [(device, "in", size, 1) for device in ("cpu", "gpu") for size in ("64KiB", "4MiB")]
        for way in ways * 5:
            device, file, size, threads = way
            done = run(BUILT / "bench/ga", f"--input={folder}/{file}.npy", f"--output={folder}/out.npy", "--overwrite", f"--threads={threads}",
                       f"--device={device}", f"--partition={size}", "--progress=none", "--stats=json")
            if done.returncode:
                raise Wrong(f"ga {way} ends with {done.returncode}: {done.stderr[:2000]}")
            figures = json.loads(done.stderr.splitlines()[-1])
            seconds.setdefault(way, []).append(figures["seconds"])
            launches[way] = sum(gpu["launches"] for gpu in figures.get("gpus", []))
    took = {way: statistics.median(values) for way, values in seconds.items()}
    few, many = ("gpu", "in", "4MiB", 1), ("gpu", "in", "64KiB", 1)
    alike = took["cpu", "in", "64KiB", 1] - took["cpu", "in", "4MiB", 1]
    opening = [took["gpu", "one", "4MiB", threads] - took["cpu", "one", "4MiB", threads] for threads in (1, 16)]
    each = (took[many] - took[few] - alike) / (launches[many] - launches[few])
    print(f"opening a GPU: {opening[0]:.3f} s with one thread, {opening[1]:.3f} s with 16; a launch: {each * 1e6:.0f} us, by "
          f"{launches[many]} and {launches[few]} launches in {took[many]:.3f} and {took[few]:.3f} s", flush=True)


def main():
    if sys.argv[1:2] == ["opening"]:
        run_opening()
        return
    if sys.argv[1:2] == ["jobs"]:
        run_jobs(float(sys.argv[2]) if len(sys.argv) > 2 else 1, sys.argv[3:])
        return
    try:
        import torch
    except ImportError:
        sys.exit("bench.py: there is no torch; `bench.py jobs` needs numpy only")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    properties = torch.cuda.get_device_properties(0)
    print(f"{properties.name}, {properties.multi_processor_count} processors, torch {torch.__version__}, {rounds} rounds\n")
    print("| program | ms | GB/s | of a copy | torch eager / sbc | torch.compile / sbc | largest difference | compiled in | CuPy eager / sbc |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    torch.zeros(1, device="cuda")
    driver = Driver()
    for name in sys.argv[2:] or ROWS:
        if name in ROWS:
            run_row(torch, driver, name, rounds)
        torch.cuda.empty_cache()
    if len(sys.argv) <= 2 or "gf" in sys.argv:
        bench_products.run_gf(torch, Program, driver, BUILT, measure, rounds)
    if len(sys.argv) <= 2 or "gi" in sys.argv:
        run_copies(torch, driver, rounds)


if __name__ == "__main__":
    main()
