#!/usr/bin/env python3
"""device.py build | run [NAME...]: kernels on a GPU of this machine (tests/gpu.sh calls it).

`build` needs sbc and NVRTC, and no GPU. It compiles the jobs of tests/cuda/kernels and the programs of
tests/cuda/bench into build/gpu: 64 MiB at most, to be taken to a machine that has nothing but Python.

`run` needs the CUDA driver and build/gpu. Each job runs over random rows on the CPU and on the GPU, with one
thread and several, with large and small partitions: the bytes of outputs and rejects have to be the same. A job
for a GPU warns nobody. With compute-sanitizer on the PATH, kernels run under memcheck too, and those with memory
that lanes share under racecheck: with one thread, as the tool loses count of launches from several.
"""
import concurrent.futures
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

import bench_products
import products
from rows import parse_columns, random_rows, write_rows
from tools import CLANG, HERE, ROOT, SBC, Wrong, find_nvrtc, run as command

BUILT = ROOT / "build/gpu"
GLIBC = (2, 35)  # The newest that what is carried may need.
COUNTS = (0, 1, 500, 20000)
WAYS = (("--device=gpu", "--threads=1"), ("--device=gpu", "--threads=4", "--partition=64KiB"),
        ("--device=auto", "--threads=4"))
TARGET = "levels: x86-64-v3\ngpus: [sm_90]\n"  # Of benchmarks, whose cubin is loaded by itself.


def cases():
    return sorted((HERE / "kernels").glob("*.sbd"))


def programs():
    return sorted((HERE / "bench").glob("*.sbd"))


# ---- building -----------------------------------------------------------------------------------

def sbc(*words, nvrtc):
    done = command(SBC, *words, env={**os.environ, "SBC_NVRTC": nvrtc})
    if done.returncode:
        raise Wrong(f"sbc {' '.join(map(str, words))} ends with {done.returncode}: {done.stderr[:2000]}")
    return done.stdout


def cubin_of(job):
    """The image of a GPU in an executable: ELF of machine 190, as far as its section headers go."""
    data = Path(job).read_bytes()
    at = data.find(b"\x7fELF", 1)
    while at >= 0:
        if int.from_bytes(data[at + 18:at + 20], "little") == 190:
            word = lambda offset, size: int.from_bytes(data[at + offset:at + offset + size], "little")
            return data[at:at + max(word(40, 8) + word(58, 2) * word(60, 2), word(32, 8) + word(54, 2) * word(56, 2))]
        at = data.find(b"\x7fELF", at + 1)
    raise Wrong(f"{job} has no code for a GPU")


def build():
    nvrtc, why = find_nvrtc()
    if not nvrtc:
        raise Wrong(why)
    shutil.rmtree(BUILT, ignore_errors=True)
    (BUILT / "jobs").mkdir(parents=True)
    (BUILT / "bench").mkdir()
    target = BUILT / "target.yaml"
    target.write_text(TARGET)
    shutil.copy(ROOT / "runtime/abi/kernel.h", BUILT)  # The shape of launches, for bench.py.
    for case in cases():
        sbc(case, "-o", BUILT / "jobs" / case.stem, nvrtc=nvrtc)
        (BUILT / "jobs" / f"{case.stem}.cu").write_text(sbc(case, "--dump=cuda", nvrtc=nvrtc))
    (BUILT / "bench/gf.sbd").write_text(bench_products.program())
    (BUILT / "bench/gf_job.sbd").write_text(bench_products.program("f32"))
    for program in [*programs(), *sorted((BUILT / "bench").glob("*.sbd"))]:
        to = BUILT / "bench" / program.stem
        sbc(program, "-o", to, f"--target={target}", nvrtc=nvrtc)
        to.with_suffix(".cu").write_text(sbc(program, "--dump=cuda", nvrtc=nvrtc))
        to.with_suffix(".cubin").write_bytes(cubin_of(to))
    (BUILT / "products").mkdir()
    for number, (kind, sizes) in enumerate(products.NETWORKS):
        (BUILT / f"products/{number}.sbd").write_text(products.program(kind, products.make_network(kind, sizes)[0]))
        sbc(BUILT / f"products/{number}.sbd", "-o", BUILT / f"products/{number}", nvrtc=nvrtc)
    device = ROOT / "runtime/device"
    done = command(CLANG, "-std=gnu23", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}", HERE / "product_calls.c",
                   device / "product.c", device / "driver.c", "-o", BUILT / "product_calls.so")
    if done.returncode:
        raise Wrong(f"product_calls.c does not compile: {done.stderr[:2000]}")
    check_carried()


def newest_glibc(program):
    """Of the symbols that it takes from glibc, the version of the newest one."""
    return max(tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", command("readelf", "-V", program).stdout))


def check_carried():
    """Whoever has the GPU may have an older system."""
    for program in BUILT.rglob("*"):
        elf = program.is_file() and program.open("rb").read(4) == b"\x7fELF" and program.suffix != ".cubin"
        if elf and newest_glibc(program) > GLIBC:
            raise Wrong(f"{program} needs a newer glibc than {GLIBC[0]}.{GLIBC[1]}")


# ---- running ------------------------------------------------------------------------------------

def run_job(job, folder, *options, before=()):
    for name in ("out.jsonl", "bad.jsonl"):
        (folder / name).unlink(missing_ok=True)
    done = command(*before, job, f"--input={folder}/in.jsonl", f"--output={folder}/out.jsonl", "--overwrite",
                    f"--rejects={folder}/bad.jsonl", "--reject-limit=100%", "--progress=none", *options)
    return done, [(folder / name).read_bytes() for name in ("out.jsonl", "bad.jsonl") if (folder / name).exists()]


def check(case, folder, count):
    columns = parse_columns(re.search(r" as \{(.*?)\}", case.read_text())[1])
    write_rows(folder / "in.jsonl", columns, random_rows(columns, count, random.Random(count)))
    job = BUILT / "jobs" / case.stem
    done, wanted = run_job(job, folder, "--device=cpu")
    if done.returncode:
        raise Wrong(f"{count} rows on the CPU: exit {done.returncode}: {done.stderr[:2000]}")
    for way in WAYS:
        done, left = run_job(job, folder, *way)
        if done.returncode or left != wanted or "SB8090" in done.stderr:
            raise Wrong(f"{count} rows, {' '.join(way)}: exit {done.returncode}, "
                             f"{'the same' if left == wanted else 'other'} bytes: {done.stderr[:2000]}")


def check_products(number):
    """Digits of products are held to f64. However rows are cut, they are the same bytes."""
    kind, sizes = products.NETWORKS[number]
    layers, inputs = products.make_network(kind, sizes)
    with tempfile.TemporaryDirectory() as name:
        folder, left = Path(name), set()
        products.write_inputs(folder / "in.jsonl", inputs)
        for way in (("--threads=1",), ("--threads=4", "--partition=1KiB"), ("--threads=4", "--partition=16KiB"), ("--threads=1",)):
            done = command(BUILT / f"products/{number}", f"--input={name}/in.jsonl", f"--output={name}/out.jsonl", "--overwrite",
                           "--progress=none", "--device=gpu", *way)
            if done.returncode or "warning" in done.stderr:
                raise Wrong(f"{kind} {sizes} {way}: exit {done.returncode}: {done.stderr[:2000]}")
            left.add((folder / "out.jsonl").read_text())
    outside = products.compare("GPU", left.pop(), inputs, layers, 1)
    if outside or left:
        raise Wrong(f"{kind} {sizes}: {outside} rows are far from f64, {len(left)} ways leave other bytes")


def check_sanitized(case, folder):
    shares = "SB_SHARED" in (BUILT / "jobs" / f"{case.stem}.cu").read_text()
    for tool in ("memcheck", "racecheck") if shares else ("memcheck",):
        before = ("compute-sanitizer", f"--tool={tool}", "--error-exitcode=9", "--target-processes=all")
        done, _ = run_job(BUILT / "jobs" / case.stem, folder, "--device=gpu", "--threads=1", before=before)
        if done.returncode:
            raise Wrong(f"{tool}: exit {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")


def run_case(case, sanitizer):
    """How many parts passed, and what is wrong."""
    passed, wrong = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = [lambda count=count: check(case, folder, count) for count in COUNTS]
        if sanitizer:
            parts.append(lambda: check_sanitized(case, folder))
        for part in parts:
            try:
                part()
                passed += 1
            except Wrong as error:
                wrong.append(f"FAIL {case.stem}: {error}")
    return passed, wrong


def run(names):
    """Cases side by side, on half of the cores."""
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        print("skip sanitizer: compute-sanitizer is not on the PATH")
    chosen = [case for case in cases() if not names or case.stem in names]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        for good, wrong in pool.map(lambda case: run_case(case, sanitizer), chosen):
            passed += good
            failed += len(wrong)
            for line in wrong:
                print(line, flush=True)
    for number in range(len(products.NETWORKS)) if not names or "products" in names else ():
        try:
            check_products(number)
            passed += 1
        except Wrong as wrong:
            failed += 1
            print(f"FAIL products: {wrong}", flush=True)
    print(f"{passed} passed, {failed} failed, {0 if sanitizer else 1} skipped")
    return 1 if failed else 0


def main():
    try:
        return run(sys.argv[2:]) if sys.argv[1:2] == ["run"] else build()
    except Wrong as wrong:
        return f"device.py: {wrong}"


if __name__ == "__main__":
    sys.exit(main())
