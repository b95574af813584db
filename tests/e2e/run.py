#!/usr/bin/env python3
"""run.py: runs the end-to-end cases and the examples; tests/README.md says how to write one.

usage: tests/e2e/run.py [--update] [--keep] [--brief | --races] [--share] [CASE...]

Each is run by the reference interpreter, and compiled with and without fusion on 1 and 4 threads
with three partition sizes, and once more with breakers that put every few rows on disk. All of them must leave the bytes that the case holds.
--brief compiles each once, for the least CPU level, and runs it in two ways, for builds that are slow.
--races does so too, with several threads or processes in all ways, for ThreadSanitizer.
--share takes this submission's share of the cases (tests/share.py).
"""
import concurrent.futures
import difflib
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

import accounting
import case as cases
import examples

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import share  # noqa: E402

SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
THREADS = ("1", "4")
PARTITIONS = ("16", "200", "4MiB")
SCHEDULES = ("full", "paper", "static", "staged", "pessimistic")  # In turn, with several threads.
SPILLS = {"SBC_TEST_SPILL": "1"}  # Breakers put every few rows on disk.
FUSIONS = ((), ("--no-fuse",))
# Each job is for one level of CPUs, which takes half the time to compile: with fusion for the highest that this
# machine has, else for the least. Suites that compile examples have jobs for all levels.
LEVEL = "levels: x86-64-v%d\n"
LEVEL_LEAST, LEVEL_MOST = 3, 4
FLAGS_MOST = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
WORKERS = ("--workers=2",)  # Tasks run in processes of their own.
RUNS = [(threads, partition, {}, ()) for threads in THREADS for partition in PARTITIONS] + \
       [("4", "200", {}, WORKERS), ("4", "16", SPILLS, WORKERS)] + \
       [(threads, PARTITIONS[1], SPILLS, ()) for threads in THREADS]
BRIEF_RUNS = [("4", "200", {}, WORKERS), ("1", "4MiB", SPILLS, ())]
RACE_RUNS = [("4", "200", SPILLS, WORKERS), ("4", "16", {}, ()), ("4", "200", {}, WORKERS)]
SLOW_BUILDS = {"--brief": BRIEF_RUNS, "--races": RACE_RUNS}
OPTIONS = ("--update", "--keep", "--share", *SLOW_BUILDS)
# Modules leave no files. Kernels belong to tests/cuda: here the CPU does the work of `on gpu` blocks.
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "SBC_NVRTC": "/nowhere"}
SECONDS_MAX = 180   # The slowest takes 40 s with AddressSanitizer, beside nothing else.
DIFF_LINES_MAX = 14
SAID_LINES_MAX = 30  # The report of a sanitizer says in these where it is.
CRASH = re.compile(rb"^(?:warning\[SB80(?:26|77|79)\]| ).*\n", re.M)  # What is said of a worker that crashes.

NO_KERNELS = re.compile(rb"^warning\[SB0014\]: .*\n", re.M)  # Of programs for a GPU: NVRTC belongs to tests/cuda.


class Result:
    """What a run left: files and streams by name, and the exit code."""

    def __init__(self):
        self.found = {}
        self.code = 0

    def add_stream(self, name, body):
        self.found[name] = self.found.get(name, b"") + NO_KERNELS.sub(b"", body)

    def add_files(self, folder, inputs):
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                short = os.path.relpath(path, folder)
                if short not in inputs:
                    with open(path, "rb") as file:
                        self.found[short] = readable(short, file.read())

    def finish(self, crashes=False):
        """Leaves out what is empty, the time, what a failed job had done when it stopped, and what is said of crashes."""
        errors = re.sub(rb"^time .*\n", b"", self.found.get("stderr", b""), flags=re.M)
        if crashes:
            errors = CRASH.sub(b"", errors)
        if self.code:
            errors = re.sub(rb"^step +in +made .*", b"", errors, flags=re.M | re.S)
        self.found["stderr"] = errors.rstrip(b"\n") + b"\n" if errors.strip() else b""
        self.found = {name: body for name, body in self.found.items()
                      if body or name not in ("stdout", "stderr")}


def level_here():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    return LEVEL_MOST if flags >= FLAGS_MOST else LEVEL_LEAST


def readable(name, body):
    """The text of a .gz; of the other compressed files only that they are there."""
    if name.endswith(".gz"):
        return gzip.decompress(body)
    return b"compressed\n" if name.endswith((".zst", ".lz4")) else body


def start(command, folder, stdin, more=None):
    with open(os.path.join(folder, stdin) if stdin else os.devnull, "rb") as source:
        try:
            return subprocess.run(command, cwd=folder, stdin=source, capture_output=True,
                                  timeout=SECONDS_MAX, check=False, env={**ENVIRONMENT, **(more or {})})
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, b"", b"not over after %d s\n" % SECONDS_MAX)


class Runner:
    """One case in all its ways."""

    def __init__(self, case, work, slow_ways):
        self.case, self.work = case, work
        self.fusions, self.ways = (FUSIONS[:1], slow_ways) if slow_ways else (FUSIONS, RUNS)
        self.level_fused = LEVEL_LEAST if slow_ways else level_here()  # valgrind and sanitizers know the least.
        self.runs = 0

    def folder(self):
        self.runs += 1
        path = os.path.join(self.work, f"run{self.runs}")
        os.mkdir(path)
        self.case.fill(path)
        return path

    def run(self, command_of, more=None):
        """Runs every program by `command_of`; the first that ends badly is the last."""
        folder, result = self.folder(), Result()
        for program in self.case.programs():
            for command in command_of(program):
                done = start(command, folder, self.case.settings.get("stdin"), more)
                result.add_stream("stdout", done.stdout)
                result.add_stream("stderr", done.stderr)
                result.code = done.returncode
                if result.code:
                    break
            if result.code:
                break
        result.add_files(folder, {name for name, _ in self.case.inputs})
        result.finish("crashes" in self.case.settings)
        return result

    def levels(self, fusion):
        path = os.path.join(self.work, "target.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LEVEL % (LEVEL_LEAST if fusion else self.level_fused))
        return [f"--target={path}"]

    def ways_of(self, fusion):
        """All, or of a submission that runs a share every second one, and the others with its next one. The rows of a case with
        `spill: once` go to disk with fusion and several threads alone."""
        ways = self.ways
        if ways is RUNS and share.shares() > 1:
            ways = ways[(share.turn() + zlib.crc32(self.case.name.encode())) % 2::2]
        if self.case.settings.get("spill") != "once":
            return ways
        return [way for way in ways if not way[2] or way is self.ways[-1] and not fusion]

    def reference(self):
        return self.run(lambda program: [
            [SBC, "run", "--engine=reference", program, "--", *self.case.args()]])

    def compiled(self):
        """Yields (what it is, result) of each way to compile and run."""
        turn = zlib.crc32(self.case.name.encode())
        for fusion in self.fusions:
            jobs, messages = {}, Result()
            source = self.folder()
            for program in self.case.programs():
                jobs[program] = os.path.join(self.work, os.path.basename(program) + "".join(fusion))
                done = start([SBC, program, "-o", jobs[program], *fusion, *self.levels(fusion)], source, None)
                messages.add_stream("stderr", done.stderr)
                messages.code = messages.code or done.returncode
                jobs[program] = jobs[program], NO_KERNELS.sub(b"", done.stderr)
            if messages.code:
                messages.finish()
                yield " ".join(("compile", *fusion)), messages
                continue
            for threads, partition, more, workers in self.ways_of(fusion):
                schedule = []
                if threads != "1":
                    schedule.append(f"--schedule={SCHEDULES[turn % len(SCHEDULES)]}")
                    turn += 1
                options = [f"--threads={threads}", f"--partition={partition}", *workers, *schedule, *self.case.args()]
                if not any(option.startswith("--progress") for option in options):
                    # What a run says where it takes long is not expected, nor that a GPU is missing.
                    options += ["--progress=none", "--watchdog=1h", "--device=cpu"]
                result = self.run(lambda program: [[jobs[program][0], *options]], more)
                warned = b"".join(jobs[program][1] for program in self.case.programs())
                if warned:
                    result.found["stderr"] = warned + result.found.get("stderr", b"")
                yield " ".join((*more, *fusion, *options)), result


def difference(want, got, name):
    def lines(body):
        return [repr(line)[1:] for line in body.splitlines(keepends=True)]
    shown = list(difflib.unified_diff(lines(want), lines(got), "expected " + name, "found " + name,
                                      lineterm="", n=1))
    return "\n".join("    " + line for line in shown[:DIFF_LINES_MAX])


def compare(way, expected, code, result):
    """What differs, as text; empty if nothing does."""
    report = []
    if result.code != code:
        report.append(f"    exit code {result.code}, expected {code}; it said:")
        said = result.found.get("stderr", b"").decode(errors="replace").splitlines()
        report += ["      " + line for line in said[:SAID_LINES_MAX]]
    for name in sorted(set(expected) | set(result.found)):
        if name not in result.found:
            report.append(f"    {name}: missing")
        elif name not in expected:
            report.append(f"    {name}: not expected")
            report.append(difference(b"", result.found[name], name))
        elif expected[name] != result.found[name]:
            report.append(difference(expected[name], result.found[name], name))
    if result.code == 0:
        wrong = accounting.wrong(result.found.get("stderr", b"").decode(errors="replace"))
        report += [f"    accounting: {line}" for line in wrong]
    return "\n".join([f"  {way}:", *report]) if report else ""


def judge(case, work, update, slow_ways):
    """Runs a case; gives the reports of the ways in which it differs."""
    os.makedirs(work)
    runner = Runner(case, work, slow_ways)
    reports = []
    expected, code = case.expected, case.exit_code()
    if "skip_reference" not in case.settings:
        reference = runner.reference()
        if update:
            expected, code = reference.found, reference.code
            case.save(expected, code)
        reports.append(compare("reference", expected, code, reference))
    for way, result in runner.compiled():
        if update and "skip_reference" in case.settings and not reports:
            expected, code = result.found, result.code
            case.save(expected, code)
        reports.append(compare(way, expected, code, result))
    return [report for report in reports if report]


def find(names):
    every = [os.path.join(folder, name) for folder, _, files in os.walk(HERE) for name in files
             if name.endswith(".case")]
    found = [cases.load(path, os.path.relpath(path, HERE)[:-len(".case")]) for path in sorted(every)]
    found += examples.load_all(os.path.join(ROOT, "examples"))
    if not names:
        return found
    return [case for case in found if any(case.name.startswith(name) for name in names)]


def main(arguments):
    unknown = [option for option in arguments if option.startswith("--") and option not in OPTIONS]
    if unknown:
        sys.exit(f"no option '{unknown[0]}': there are {', '.join(OPTIONS)}")
    update, keep = (option in arguments for option in ("--update", "--keep"))
    slow_ways = next((ways for option, ways in SLOW_BUILDS.items() if option in arguments), None)
    names = [a[:-len(".case")] if a.endswith(".case") else a for a in arguments
             if not a.startswith("--")]
    chosen = share.share_of(find(names)) if "--share" in arguments else find(names)
    work = tempfile.mkdtemp(prefix="sbc-e2e-")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        tasks = [(case, pool.submit(judge, case, os.path.join(work, case.name), update,
                                    slow_ways))
                 for case in chosen]
        for case, task in tasks:
            reports = task.result()
            if not reports:
                continue
            failed += 1
            shown = reports[:1]
            print(f"FAIL e2e {case.name}", *shown, sep="\n")
            if len(reports) > len(shown):
                print(f"  and {len(reports) - len(shown)} more ways to run it")
            print(f"  run it alone: tests/e2e/run.py {case.name}")
    if keep:
        print(f"kept: {work}")
    else:
        shutil.rmtree(work)
    print(f"e2e: {len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
