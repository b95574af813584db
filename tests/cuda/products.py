"""products.py: products of matrices by a cuBLASLt without a GPU (cublaslt.c), in jobs on the driver beside it.

Digits of such jobs may differ from those of the CPU, so they are held to what f64 gives. With k terms of a sum, and S the
sum of their sizes with that of the bias, a sum in f32 is wrong by (k + 2) 2^-23 S at most: one rounding for each product
and each addition, where tensor cores cut digits off instead of rounding. Each rounding to the type of the results adds u
times the result: u is 2^-8 for bf16, 2^-11 for f16, 2^-24 for f32. cuBLASLt rounds once, the CPU after each step. What
was wrong before the layer is wrong by that, times the sizes of the weights, after it. `greatest(x, 0.0)` adds nothing.
"""
import json
import os
import random
import re
import tempfile
from pathlib import Path

from jobs import make_job_of
from rows import NARROWED
from tools import SBC, Wrong, make_shared, run

NETWORKS = (("bf16", (39, 24, 16, 1)), ("f16", (8, 16)), ("f32", (5, 16, 3)), ("bf16", (39, 128, 64, 1)), ("f16", (40, 64, 256)))
UNITS = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-24}
LEAST = {"bf16": 2.0**-134, "f16": 2.0**-25, "f32": 2.0**-150}  # Half of the least number.


class Layer:
    """x times w, with a bias and without what is below zero, as far as the program says so."""

    def __init__(self, kind, k, n, rng, bias=True, relu=True):
        def number():
            return NARROWED[kind](rng.choice([-1, 1]) * rng.uniform(0.25, 1) / k**0.5)
        self.kind, self.k, self.n, self.relu = kind, k, n, relu
        self.w = [[number() for _ in range(n)] for _ in range(k)]
        self.bias = [number() for _ in range(n)] if bias else [0.0] * n
        self.has_bias = bias

    def text(self, x):
        text = f"matmul({x}, {self.w})" if self.n > 1 else f"matmul({x}, {[row[0] for row in self.w]})"
        text += f" + {self.bias}" if self.has_bias else ""
        return f"greatest({text}, 0.0)" if self.relu else text

    def apply(self, x, off, roundings):
        """(results in f64, how wrong those of a job may be) of a row that is wrong by `off`."""
        u, least, results, wrong = UNITS[self.kind], LEAST[self.kind], [], []
        for j in range(self.n):
            column = [row[j] for row in self.w]
            value = sum(a * b for a, b in zip(x, column)) + self.bias[j]
            size = sum((abs(a) + e) * abs(b) for a, e, b in zip(x, off, column)) + abs(self.bias[j])
            error = sum(e * abs(b) for e, b in zip(off, column)) + (self.k + 2) * 2.0**-23 * size
            largest = max(abs(value), abs(value - self.bias[j])) if roundings > 1 else abs(value)
            error += roundings * (u * (largest + error) * (1 + u)**2 + least)
            results.append(max(value, 0.0) if self.relu else value)
            wrong.append(error)
        return results, wrong


def network(kind, sizes, rng):
    layers = [Layer(kind, k, n, rng) for k, n in zip(sizes, sizes[1:])]
    if sizes[-1] == 1:
        layers[-1].relu = layers[-1].has_bias = False
        layers[-1].bias = [0.0]
    return layers


def program(kind, layers, approx=True):
    steps = "".join(f"    derive h{i + 1} = {layer.text(f'h{i}')}\n" for i, layer in enumerate(layers))
    return f"""param input: str = "in.jsonl"
param output: str = "out.jsonl"
read jsonl(input) as {{id: i64, h0: {kind}[{layers[0].k}]}}
| on gpu{' with (approx = true)' if approx else ''} {{
{steps}}}
| select id, y = h{len(layers)}
| write jsonl(output)
"""


def compare(what, lines, inputs, layers, roundings):
    """Holds the rows that a job has written to f64. How many are outside?"""
    rows = [json.loads(line) for line in lines.splitlines()]
    if [row["id"] for row in rows] != list(range(len(inputs))):
        raise Wrong(f"{what}: {len(rows)} rows, or in another order")
    outside = 0
    for row, x in zip(rows, inputs):
        off = [0.0] * len(x)
        for layer in layers:
            x, off = layer.apply(x, off, roundings)
        ours = row["y"] if isinstance(row["y"], list) else [row["y"]]
        narrowed = map(NARROWED[layers[-1].kind], ours)  # Of a half the file has the shortest text.
        outside += any(abs(a - b) > e for a, b, e in zip(narrowed, x, off))
    return outside


class Jobs:
    """A job of the program, over rows of small numbers."""

    def __init__(self, folder, text, nvrtc, inputs):
        self.folder, self.env = folder, make_job_of(folder, text, nvrtc)
        make_shared("cublaslt.c", folder / "libcublasLt.so.13")
        write_inputs(folder / "in.jsonl", inputs)

    def run(self, *options, **settings):
        """(what it did, how many rows went through products, what it left)"""
        (self.folder / "log").write_text("")
        (self.folder / "out.jsonl").unlink(missing_ok=True)
        done = run(self.folder / "job", f"--input={self.folder}/in.jsonl", f"--output={self.folder}/out.jsonl", "--progress=none",
                   *options, env={**self.env, **settings})
        rows = sum(map(int, re.findall(r"^product of (\d+) rows", (self.folder / "log").read_text(), re.M)))
        left = (self.folder / "out.jsonl").read_text() if (self.folder / "out.jsonl").exists() else ""
        return done, rows, left


def make_network(kind, sizes):
    """(layers, rows)"""
    rng = random.Random(f"{kind} {sizes}")
    layers = network(kind, sizes, rng)
    return layers, [[NARROWED[kind](rng.uniform(-2, 2)) for _ in range(sizes[0])] for _ in range(300)]


def write_inputs(path, inputs):
    with open(path, "w", encoding="utf-8") as file:
        for i, x in enumerate(inputs):
            file.write(json.dumps({"id": i, "h0": x}) + "\n")


def check_network(kind, sizes, nvrtc):
    """By products the job gives what f64 gives, and the same bytes however its rows are cut; without a library it runs
    on the CPU."""
    layers, inputs = make_network(kind, sizes)
    multiplied = sum(layer.n > 1 for layer in layers)
    with tempfile.TemporaryDirectory() as name:
        jobs = Jobs(Path(name), program(kind, layers), nvrtc, inputs)
        done, rows, on_cpu = jobs.run("--device=cpu")
        if done.returncode or rows or compare("CPU", on_cpu, inputs, layers, 3):
            raise Wrong(f"{kind} {sizes} on the CPU: exit {done.returncode}, {rows} rows: {done.stderr[:2000]}")
        wanted = None
        for options in (("--threads=1",), ("--threads=4", "--partition=1KiB"), ("--device=auto", "--threads=2"),
                        ("--threads=4", "--partition=1KiB", "--gpu-memory=64KiB"), ("--threads=2", "--partition=1KiB", "--workers=2")):
            done, rows, left = jobs.run("--device=gpu", *options)
            wanted = wanted or left
            if done.returncode or rows != len(inputs) * multiplied or left != wanted or "SB8090" in done.stderr:
                raise Wrong(f"{kind} {sizes} {options}: exit {done.returncode}, {rows} rows by products, "
                            f"{'the same' if left == wanted else 'other'} bytes: {done.stderr[:2000]}")
        if compare("GPU", wanted, inputs, layers, 1):
            raise Wrong(f"{kind} {sizes}: results are far from those of f64")
        layers[0].w[-1] = [-3 * weight for weight in layers[0].w[-1]]
        if not compare("another network", wanted, inputs, layers, 1):
            raise Wrong(f"{kind} {sizes}: nothing is far enough from anything")
        jobs_without(jobs, on_cpu)
        jobs_with_faults(jobs, wanted)
        jobs_resumed(jobs, wanted)


def jobs_without(jobs, on_cpu):
    """Without the library, or without an algorithm, one warning and the CPU; an error where only GPUs may."""
    for what, settings in (("there is no cuBLASLt", {"SBC_CUBLASLT": "/nowhere/libcublasLt.so"}),
                           ("cuBLASLt does not multiply by", {"FAKE_LT_REFUSES": "16"}),
                           ("putting constants on the GPU fails", {"FAKE_CUDA_MEMORY": "100"})):
        done, rows, left = jobs.run(**settings)
        said = done.stderr.count("warning[SB8090]")
        if done.returncode or rows or left != on_cpu or said != 1 or what not in done.stderr:
            raise Wrong(f"{what}: exit {done.returncode}, {rows} rows by products, {said} warnings: {done.stderr[:2000]}")
        done, rows, left = jobs.run("--device=gpu", **settings)
        if done.returncode != 3 or rows or left or "error[SB8091]" not in done.stderr or what not in done.stderr:
            raise Wrong(f"{what}, with --device=gpu: exit {done.returncode}: {done.stderr[:2000]}")


def jobs_with_faults(jobs, wanted):
    """A process that is started anew gives the same bytes. Without a GPU the job ends: nothing goes on elsewhere."""
    for fault in ("FAIL", "HANG"):
        done, _, left = jobs.run("--device=auto", "--partition=1KiB", "--threads=2", **{
            f"FAKE_CUDA_{fault}": "3", "FAKE_CUDA_ONCE": f"{jobs.folder}/once-{fault}", "SBC_TEST_GPU_WAIT_MS": "300"})
        if done.returncode or left != wanted or "warning[SB8117]" not in done.stderr:
            raise Wrong(f"{fault} once: exit {done.returncode}: {done.stderr[:2000]}")
    for options, settings in ((("--partition=1KiB",), {"FAKE_CUDA_FAIL": "3"}), ((), {"FAKE_CUDA_MEMORY": "4000"})):
        done, _, left = jobs.run("--device=auto", "--threads=2", *options, **settings)
        if done.returncode != 3 or left or "error[SB8091]" not in done.stderr or "does not go on elsewhere" not in done.stderr or \
                "SB8090" in done.stderr:
            raise Wrong(f"{settings}: exit {done.returncode}: {done.stderr[:2000]}")


def jobs_resumed(jobs, wanted):
    """A job that was killed goes on with the same device only."""
    options = ("--threads=1", "--partition=1KiB", f"--resume={jobs.folder}/journal")
    killed, _, _ = jobs.run("--device=gpu", *options, SBC_FAILPOINT="committed:3", SBC_TEST_COMMIT="1")
    if killed.returncode != -9:
        raise Wrong(f"the job was not killed: exit {killed.returncode}: {killed.stderr[:2000]}")
    done, _, left = jobs.run("--device=cpu", *options)
    if done.returncode != 1 or left or "the device of approx steps was fake device 0, sm_90 when" not in done.stderr:
        raise Wrong(f"resumed on the CPU: exit {done.returncode}: {done.stderr[:2000]}")
    done, rows, left = jobs.run("--device=gpu", *options)
    if done.returncode or left != wanted or not rows:
        raise Wrong(f"resumed: exit {done.returncode}, {rows} rows by products: {done.stderr[:2000]}")


OTHERS = """param input: str = "in.jsonl"
param output: str = "out.jsonl"
read jsonl(input) as {id: i64, h0: f32[2, 5]}
| on gpu with (approx = true) {
    where h0[0][0] > -1.5
    derive x = bf16(clamp(h0 * 0.5, -1.0, 1.0)), s = sum(h0)
    derive a = matmul(x, [[1.0, 0.5, 2.0], [-1.0, 2.0, 0.5], [0.25, 1.0, -1.0], [2.0, -2.0, 1.0], [1.0, 1.0, 0.5]]) + 0.5
    derive b = tanh(f32(a)) - s, c = greatest(0.0, a + [1.0, 0.0, -1.0]), i = 100 // (id % 3 - 1)
}
| select id, y = flatten(b), c = flatten(c), i
| write jsonl(output)
"""


def check_others(nvrtc):
    """Products of several rows of a row, of what kernels compute before, and read by others after; a filter, and rejects."""
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = [[[NARROWED["f32"](rng.uniform(-2, 2)) for _ in range(5)] for _ in range(2)] for _ in range(200)]
        jobs = Jobs(folder, OTHERS, nvrtc, inputs)
        options = ("--reject-limit=100%", f"--rejects={name}/bad.jsonl", "--overwrite")
        left = {}
        for device in ("cpu", "gpu"):
            done, rows, text = jobs.run(f"--device={device}", *options)
            if done.returncode or rows != (200 if device == "gpu" else 0) * 2:
                raise Wrong(f"others on {device}: exit {done.returncode}, {rows} rows by products: {done.stderr[:2000]}")
            left[device] = [json.loads(line) for line in text.splitlines()], (folder / "bad.jsonl").read_text()
        if left["cpu"][1] != left["gpu"][1] or len(left["cpu"][0]) != len(left["gpu"][0]) or not left["cpu"][1]:
            raise Wrong("others: the GPU rejects other rows")
        for ours, theirs in zip(*(left[device][0] for device in ("gpu", "cpu"))):
            # One rounding of bf16 to 4 at most in a, another one after it.
            far = [abs(a - b) > 2.0**-8 * 12 for key in ("y", "c") for a, b in zip(ours[key], theirs[key])]
            if any(far) or ours["i"] != theirs["i"] or ours["id"] != theirs["id"]:
                raise Wrong(f"others: {ours} is far from {theirs}")


GROUPS = """param input: str = "in.jsonl"
param output: str = "out.jsonl"
read jsonl(input) as {id: i64, h0: f32[5]}
| on gpu with (approx = true) {
    derive k = argmax(matmul(h0, [[1.0, 0.5, 2.0], [-1.0, 2.0, 0.5], [0.25, 1.0, -1.0], [2.0, -2.0, 1.0], [1.0, 1.0, 0.5]]))
    group by k { n = count(), s = sum(id) }
}
| write jsonl(output)
"""


def check_groups(nvrtc):
    """Groups by what a product gives: each row counts once, however rows are cut."""
    rng = random.Random(8)
    with tempfile.TemporaryDirectory() as name:
        inputs = [[NARROWED["f32"](rng.uniform(-2, 2)) for _ in range(5)] for _ in range(2000)]
        jobs = Jobs(Path(name), GROUPS, nvrtc, inputs)
        done, _, wanted = jobs.run("--device=cpu")
        for options in (("--threads=1",), ("--threads=4", "--partition=1KiB"), ("--threads=2", "--partition=1KiB", "--workers=2")):
            done, rows, left = jobs.run("--device=gpu", *options)
            if done.returncode or rows != len(inputs) or left != wanted:
                raise Wrong(f"groups {options}: exit {done.returncode}, {rows} rows by products, {left}, not {wanted}: {done.stderr[:2000]}")


def check_said(nvrtc):
    """What --explain says of products, of blocks without `approx`, and of `approx` without products."""
    layers = network("bf16", (39, 24, 16, 1), random.Random(3))
    texts = {"by": program("bf16", layers), "exact": program("bf16", layers, False),
             "none": program("bf16", layers).replace("matmul(h2", "dot(h2")}
    texts["none"] = re.sub(r"matmul\(h(\d), \[\[.*?\]\]\) \+ .*?\], 0\.0\)", r"h\1 * bf16(2.0), bf16(0.0))", texts["by"])
    texts["none"] = re.sub(r"    derive h3.*\n", "    derive h3 = h2\n", texts["none"])
    wanted = {"by": ("cuBLASLt multiplies by a matrix of 39 x 24 bf16, sums in f32, adds a bias, and makes zero of what is below",
                     "cuBLASLt multiplies by a matrix of 24 x 16 bf16"),
              "exact": ("by cuBLASLt, which is faster, with `on gpu with (approx = true)`",),
              "none": ("`approx` changes nothing",)}
    with tempfile.TemporaryDirectory() as name:
        for which, text in texts.items():
            (Path(name) / "program.sbd").write_text(text)
            done = run(SBC, f"{name}/program.sbd", "--explain", env={**os.environ, "SBC_NVRTC": nvrtc})
            missing = [part for part in wanted[which] if part not in done.stdout]
            if done.returncode or missing or (which != "by") != ("cuBLASLt multiplies" not in done.stdout):
                raise Wrong(f"--explain of {which}: {missing} are missing: {done.stdout[-3000:]}{done.stderr[:2000]}")


def check_products(nvrtc):
    for kind, sizes in NETWORKS[:3]:  # The others take the host long.
        check_network(kind, sizes, nvrtc)
    check_others(nvrtc)
    check_groups(nvrtc)
    check_said(nvrtc)
