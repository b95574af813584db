#!/usr/bin/env python3
"""run.py [--update] [PART OF A NAME]: kernels for GPUs, tested without a GPU.

Each tests/cuda/kernels/*.sbd reads rows, computes in an `on gpu` block and writes JSON lines. It is held to

- its first comments, which count what the text of its kernels is made of (`# kernels: 1`, as STRUCTURE has it);
- the reference interpreter: the kernels' text is compiled for the host (host.h) and run over random rows of
  every type, at several lengths and launches. A row whose status is 0 must be a row of the interpreter's
  output, with the same values. A row that the interpreter puts out must have status 0, unless it holds a NaN
  or is a case where kernels may ask the CPU;
- itself with each barrier taken out, which has to give something else;
- where kernels bring kept rows together, status bytes: these rows have moved, and nothing else. Once more with segments of
  16 rows in place of 4,096;
- NVRTC, which compiles the kernels for all architectures, where it is there ($SBC_NVRTC, or
  build/cuda/venv, which pip fills once). Without it that part is skipped, with the reason;
- itself: the job runs on a driver without a GPU (driver.c), which runs the kernels on the host. With kernels,
  with little memory and with faults of the driver it must leave the bytes that it leaves on the CPU.

It proves arithmetic, nulls, faults, shapes and ends of columns. It proves nothing of coalescing, of the order
of memory or of speed. --update writes the counts anew.
"""
import sys
import tempfile

from columns import check_columns
from held import check_barriers, check_counts, check_full, check_host, check_kept, check_nvrtc, check_shuffles
from jobs import check_batches, check_examples, check_job, check_joined, check_kept as check_kept_job, check_placed, check_shares, check_slots, check_wide
from limits import check_limits
from lives import check_chaos, check_lost_groups, check_workers
from products import check_products
from starts import check_starts
from tools import CLANG, HERE, ROOT, SBC, Wrong, find_nvrtc, run


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
        alone |= {"wide": lambda: check_wide(nvrtc), "shares": lambda: check_shares(nvrtc), "slots": lambda: check_slots(nvrtc), "batches": lambda: check_batches(nvrtc),
                  "workers": lambda: check_workers(nvrtc), "placed": lambda: check_placed(nvrtc),
                  "keeping": lambda: check_kept_job(nvrtc), "joining": lambda: check_joined(nvrtc),
                  "examples": lambda: check_examples(nvrtc), "starts": lambda: check_starts(nvrtc), "columns": lambda: check_columns(nvrtc),
                  "limits": lambda: check_limits(nvrtc), "chaos": lambda: check_chaos(nvrtc), "lost": lambda: check_lost_groups(nvrtc), "products": lambda: check_products(nvrtc)}
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
                 "nvrtc": lambda: check_nvrtc(case, text, nvrtc)}
        if " bits of the key: " in text:
            parts["full"] = lambda: check_full(case, text)
        if "__syncthreads();" not in text:
            del parts["barriers"]
        if "sb_move<" in text:
            parts["kept"] = lambda: check_kept(case, text)
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
