#!/usr/bin/env python3
"""run.py: random programs over random data, interpreted and compiled, and killed and gone on with: all ways must
leave the same bytes.

usage: tests/differential/run.py [--count N] [--seed N] [--processes N] [--keep FOLDER] [--no-shrink] [--gpu]

With --gpu many steps stand in `on gpu` blocks, and jobs run on a driver without a GPU (tests/cuda). Program number k of seed N is that of seed N + k: `--count 1 --seed N+k` runs it alone. A seed fixes the
program, its data and the ways it is run in; many seeds together go all ways.
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import sys
import tempfile

import devices
import pipeline
import shrink
import ways

# Jobs bring what they write to the disk before they end: in memory that takes no time.
MEMORY_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
SCHEDULES = ("full", "paper", "pessimistic", "static", "staged")
UNITS_MAX = 20_000
SMALL, LARGE, HUGE = ((0, 3), (1, 12), (5, 60)), ((300, 3000),), ((15000, 30000),)


def sizes_of(seed):
    """Most tables are small; one program in 10 has thousands of rows, one in 100 some MiB."""
    return HUGE if seed % 100 == 99 else LARGE if seed % 10 == 9 else SMALL


def make(seed, gpu=False):
    source = random.Random(seed)
    return pipeline.Maker(source, sizes_of(seed), gpu).program()


def options_of(seed):
    """Job options to run with: one thread, then several, partitions from a few bytes up; at last under any
    schedule, sometimes with breakers and rows that wait on disk (an environment variable), or with the least memory."""
    source = random.Random(seed)
    huge = sizes_of(seed) is HUGE
    small = source.choice((4096, 65536) if huge else (1, 7, 16, 64, 200))
    other = source.choice((30000, 300000) if huge else (33, 500, 3000))
    return [["--threads=1"], [f"--threads={source.choice((1, 2, 4, 4, 8))}", f"--partition={small}"],
            [f"--threads={source.choice((2, 3, 4, 4))}", f"--partition={other}",
             f"--schedule={source.choice(SCHEDULES)}", *source.choice(([], ["SBC_TEST_SPILL=1"], [ways.LEAST]))],
            [f"--threads={source.choice((2, 3, 4))}", f"--partition={other}", f"--workers={source.choice((1, 2, 3))}"]]


def lives_of(seed):
    """Lives of a job that is killed behind some commits, or between one and its record, or asked to end there, at
    any task or before any breaker is finished, or that waits in a commit, and goes on."""
    source = random.Random(-seed)
    workers = random.Random(-seed)  # Some lives have worker processes, others none.
    sizes = (4096, 30000, 65536) if sizes_of(seed) is HUGE else (1, 7, 16, 64, 200, 3000)
    lives = []
    for at in [source.choice(("committed", "committed", "commit-synced", "journal-written", "committed=SIGTERM",
                              "task=SIGTERM", "task=SIGTERM", "finish=SIGTERM", "commit-synced=WAIT"))
               for _ in range(source.randint(1, 3))] + [""]:
        spills = source.choice(([], [], ["SBC_TEST_SPILL=1"]))
        dies = [f"SBC_FAILPOINT={at}:{source.randint(1, 12)}"] if at else []
        lives.append([*spills, *dies, f"--threads={source.choice((1, 1, 2, 4))}",
                      f"--partition={source.choice(sizes)}", *workers.choice(([], [], ["--workers=2"]))])
    return lives


def fit(ways_to_run, program):
    """Rows may be so wide that a partition of a byte makes millions: each way gets at most UNITS_MAX of them."""
    size = sum(len(piece) for pieces in program.files.values() for piece in pieces)
    least = size // UNITS_MAX
    return [[f"--partition={max(least, int(option.partition('=')[2]))}" if option.startswith("--partition=") else option
             for option in options] for options in ways_to_run]


def fusion_of(seed):
    """Compiling takes nearly all of the time: a program is compiled once."""
    return "--no-fuse" if seed % 3 == 0 else ""


def judge(seed, keep, shrinks, devices):
    """(seed, kind, report, launched); kind is "" if all ways agree."""
    work = tempfile.mkdtemp(prefix=f"sbc-differential-{seed}-", dir=MEMORY_FOLDER)
    try:
        program, fusion = make(seed, bool(devices)), fusion_of(seed)
        options, lives = fit(options_of(seed), program), fit(lives_of(seed), program)
        judged = ways.Ways(program, os.path.join(work, "all"), devices)
        found = judged.difference(options, lives, fusion)
        if not found:
            return seed, "", "", judged.launched
        if found[0] != ways.INVALID and shrinks:
            def fails(smaller):
                again = ways.Ways(smaller, os.path.join(work, "less"), devices).difference(options, lives, fusion)
                return bool(again) and again[0] == found[0]
            program = shrink.Shrinker(program, fails).smallest()
            found = ways.Ways(program, os.path.join(work, "all"), devices).difference(options, lives, fusion) or found
        if found[0] == ways.INVALID:
            keep = os.path.join(keep, ways.INVALID)
        save(program, os.path.join(keep, str(seed)), found)
        return seed, *found, False
    finally:
        shutil.rmtree(work, ignore_errors=True)


def save(program, folder, found):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ways.write_files(program, folder)
    report = "\n".join([*found, "options: " + " ".join(program.arguments)])
    for name, text in (("p.sbd", program.text()), ("report.txt", report + "\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "sbc-differential"))
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    passed, failed, invalid, launched = 0, 0, 0, 0
    found = devices.Devices() if options.gpu else None
    if found and not found.nvrtc:
        print(f"skip kernels: {found.why}\ndifferential: 0 passed, 0 failed, 1 skipped")
        return 0
    with concurrent.futures.ProcessPoolExecutor(max_workers=options.processes) as pool:
        tasks = [pool.submit(judge, seed, options.keep, not options.no_shrink, found)
                 for seed in range(options.seed, options.seed + options.count)]
        for task in concurrent.futures.as_completed(tasks):
            seed, kind, report, launches = task.result()
            launched += launches
            passed += not kind
            invalid += kind == ways.INVALID
            failed += bool(kind) and kind != ways.INVALID
            if kind and kind != ways.INVALID:
                print(f"FAIL differential {seed}: {kind}\n{report}\n  kept in {options.keep}/{seed}", flush=True)
    print(f"differential: {invalid} programs do not compile")
    if found:
        print(f"differential: {launched} programs launch kernels")
        shutil.rmtree(found.folder)
        failed += not launched and options.count >= 10
    print(f"differential: {passed} passed, {failed} failed, {invalid} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
