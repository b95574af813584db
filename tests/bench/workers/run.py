#!/usr/bin/env python3
"""run.py [--write] [--check] [--rounds N] [--scale X] [--ray PYTHON] [ROW ...]: what worker processes cost, and what a loss costs.

Rows: throughput, partition, joined, streaming, start, idle, fresh, kill, coordinator, ray. `throughput` runs rows of tests/bench, on X times
their data (1), and a group of many keys. `ray` runs Ray Data's kill test with that Python, which has `ray[data]`
(python3 -m venv ray && ray/bin/pip install "ray[data]==2.60.0"). --write puts the table into RESULTS.md; rows that did not run stay as they are. Work that is held has a bound: no schedule of its slots
beats it. A time under its bound ends the run. --check tries that on small jobs."""
import argparse
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
sys.path.append(str(HERE.parent))

import rows as bench_rows  # noqa: E402

DATA = ROOT / "build/bench/data"
KEYS = 5_000_000
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))
STREAMING = HERE.parent / "streaming"
RESULTS = HERE / "RESULTS.md"
LOADS, LOAD, INFER, SLOTS, ACCELERATORS, WORKERS = 104, 0.4, 0.1, 8, 4, 4
MIB = 1 << 20
# Seconds of held work by all slots that have it, and what is held after the last of it.
BOUNDS = {"M1": 160 * 500 * 0.0015 / 8, "M2, 4 MB": 8192 * 0.01 / 8 + 4 * 0.01, "kill": LOADS * LOAD / SLOTS + INFER}


class UnderBound(Exception):
    """A time that no schedule can take: more slots worked than there are, or work was held for too short."""


def hold_to(what, bound, *times):
    for seconds in times:
        if seconds < bound:
            raise UnderBound(f"{what}: {seconds:.2f} s is under the bound of {bound:.2f} s")


def children(pid):
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    except OSError:
        pass
    return found


def workers_of(pid):
    """Processes that have said that they are workers."""
    found = []
    for child in children(pid):
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "worker\n":
                found.append(child)
        except OSError:
            pass
    return found


def data_of(name, scale):
    """Data of a row of tests/bench, made once."""
    data = bench_rows.DATA[name]
    folder = DATA if scale == 1 else DATA / f"scale-{scale:g}"
    path, maker = folder / name, DATA / "generate"
    folder.mkdir(parents=True, exist_ok=True)
    if not maker.exists():
        subprocess.run([ROOT / "bootstrap.sh", "zig", "cc", "-std=gnu23", "-O2", HERE.parent / "generate.c", "-lm", "-o", maker], check=True,
                       cwd=ROOT, capture_output=True)
    if not path.exists():
        words = max(1, round(data.vocabulary * (scale if data.grows else 1)))
        subprocess.run([maker, data.kind, str(round(data.rows * scale)), str(words), str(bench_rows.SEED), path], check=True)
    return path


class Bench:
    def __init__(self, folder, rounds, ray, scale):
        self.folder, self.rounds, self.ray, self.scale = folder, rounds, ray, scale
        self.jobs = {}
        self.lines = []

    def job(self, source):
        if source not in self.jobs:
            self.jobs[source] = self.folder / source.stem
            subprocess.run([SBC, source, "-o", self.jobs[source]], check=True, cwd=self.folder)
        return self.jobs[source]

    def start(self, source, *options):
        out = self.folder / "out.csv"
        return subprocess.Popen([self.job(source), "--progress=none", "--overwrite", f"--out={out}", *options], cwd=self.folder,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def end(self, process):
        said = process.communicate()[1]
        if process.returncode:
            sys.exit(said.decode())

    def seconds(self, source, *options):
        begin = time.monotonic()
        self.end(self.start(source, *options))
        return time.monotonic() - begin

    def least(self, source, *options):
        return min(self.seconds(source, *options) for _ in range(self.rounds))

    def add(self, what, figure, unit, target, met):
        self.lines.append(f"| {what} | {figure:.3g} {unit} | {target} | {'' if met else 'missed'} |")
        print(self.lines[-1], flush=True)

    # ---- rows -------------------------------------------------------------------------------------------------

    def throughput(self):
        """Two worker processes and two threads, in turn."""
        keys = round(KEYS * self.scale)
        jobs = {f"a group of {keys / 1e6:g} M keys": (HERE / "keys.sbd", [f"--keys={keys}"])}
        for name in ("a0", "c1", "c3", "j2"):
            row = bench_rows.ROWS[name]
            inputs = [f"--{param}={data_of(file, self.scale)}" for param, file in row.inputs.items()]
            jobs[row.title] = (HERE.parent / "pipelines" / f"{row.pipeline}.sbd", inputs)
        for title, (source, inputs) in jobs.items():
            self.job(source)  # To compile it takes none of its time.
            sides, processor, bytes_of = ([], []), [0, 0], set()
            for turn in range(2 * self.rounds):
                far = (turn + turn // 2) % 2  # Threads, workers, workers, threads.
                options = ["--threads=2", *["--workers=2"] * far]
                before = os.times()
                sides[far].append(self.seconds(source, *inputs, *options))
                after = os.times()  # Workers are children of a child that has waited for them.
                processor[far] += after.children_user + after.children_system - before.children_user - before.children_system
                bytes_of.add(hash(self.content()))
            assert len(bytes_of) == 1, title
            share = min(sides[0]) / min(sides[1])
            what = f"{title}: two workers beside two threads ({min(sides[0]):.2f} s), {processor[1] / processor[0]:.2f} times their processor time"
            self.add(what, 100 * share, "% of the throughput", ">= 95 %", share >= 0.95)

    def partition(self):
        """Of a job with workers; the job of one partition is taken off."""
        noop, count = STREAMING / "noop.sbd", 100_000
        for name, options in (("threads", ["--threads=2"]), ("worker processes", ["--threads=2", "--workers=2"])):
            options = [*options, "--resource=step=2", "--resource=out=2"]
            empty = self.least(noop, "--count=1", *options)
            micros = (self.least(noop, f"--count={count}", *options) - empty) / count * 1e6
            target = 5 if name == "threads" else 30
            self.add(f"a partition of one row through a step, {name}", micros, "us", f"<= {target} us", micros <= target)

    def joined_seconds(self, source, *options):
        """Of a job that has one worker, which joins over TCP with a key."""
        key = self.folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(32))
        begin = time.monotonic()
        job = self.start(source, "--listen=127.0.0.1:0", f"--key-file={key}", "--workers=0", "--places=1", *options)
        at = job.stderr.readline().split()[-1].decode()
        worker = subprocess.Popen([self.job(source), f"--join={at}", f"--key-file={key}", f"--out={self.folder / 'out.csv'}", *options],
                                  cwd=self.folder, stderr=subprocess.DEVNULL)
        self.end(job)
        seconds = time.monotonic() - begin
        worker.wait()
        return seconds

    def joined(self):
        """One worker of this machine, and one that joins over TCP on loopback; the job of one partition is taken off."""
        edge, count, stages = HERE / "edge.sbd", 20_000, 3
        ways = (("one worker process", lambda *more: self.seconds(edge, "--threads=2", "--workers=1", *more), 30),
                ("a worker that joins over TCP with TLS", lambda *more: self.joined_seconds(edge, "--threads=2", *more), 100))
        for name, way, target in ways:
            empty, full = (min(way(f"--count={n}") for _ in range(self.rounds)) for n in (1, count))
            micros = (full - empty) / (count * stages) * 1e6
            self.add(f"a partition of one row, one of three stages, {name}", micros, "us", f"<= {target} us", micros <= target)

    def streaming(self):
        """M1 and M2 in turn with threads and with workers."""
        sized = {
            "M1": (STREAMING / "m1.sbd", ["--threads=8", "--resource=accel=4", "--resource=out=2", "--memory=1600MB"]),
            "M2, 4 MB": (STREAMING / "m2.sbd", ["--threads=2", "--resource=left=8", "--resource=right=8", "--resource=out=2",
                                                "--memory=4GB", "--rows=4", f"--partition={4000000}"]),
        }
        for name, (source, options) in sized.items():
            pairs = [(self.seconds(source, *options), self.seconds(source, *options, "--workers=2")) for _ in range(self.rounds)]
            hold_to(name, BOUNDS[name], *(seconds for pair in pairs for seconds in pair))
            ratio = min(pair[1] for pair in pairs) / min(pair[0] for pair in pairs)
            self.add(f"{name}: two workers beside threads ({min(p[0] for p in pairs):.2f} s)", ratio, "times", "<= 1.02", ratio <= 1.02)

    def start_of(self):
        tiny = [HERE / "kill.sbd", "--loads=1", "--load=0s", "--infer=0s", "--threads=8", "--resource=accel=8"]
        bare = min(self.seconds(*tiny) for _ in range(5 * self.rounds))
        millis = (min(self.seconds(*tiny, "--workers=8") for _ in range(5 * self.rounds)) - bare) * 1000
        self.add("start and stop of 8 workers", millis, "ms", "<= 100 ms", millis <= 100)

    def waiting_job(self, workers, *more):
        """A job whose workers are there; most have nothing to do."""
        process = self.start(HERE / "kill.sbd", "--loads=8", "--load=2s", f"--threads={workers}", f"--resource=accel={workers}",
                             f"--workers={workers}", "--worker-restarts=1000", *more)
        while len(workers_of(process.pid)) < workers:
            time.sleep(0.001)
        return process

    def idle(self):
        process = self.waiting_job(8)
        time.sleep(0.5)
        figures = []
        for pid in workers_of(process.pid):
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            figures.append(sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")) / 1024)
        self.end(process)
        most = statistics.median(figures)
        self.add("memory of a worker that waits, its own pages", most, "MiB", "<= 10 MB", most <= 10e6 / MIB)

    def fresh(self):
        """From kill -9 until the worker after it has said so."""
        process, times = self.waiting_job(4), []
        for _ in range(5 * self.rounds):
            before = workers_of(process.pid)
            if len(before) < 4:
                break
            begin = time.monotonic()
            os.kill(before[0], signal.SIGKILL)
            while process.poll() is None and not set(workers_of(process.pid)) - set(before):
                time.sleep(0.001)
            times.append(time.monotonic() - begin)
            time.sleep(0.05)
        process.terminate()
        process.communicate()
        millis = statistics.median(times) * 1000
        self.add(f"a fresh worker after kill -9, median of {len(times)}", millis, "ms", "<= 100 ms", millis <= 100)

    def kill_options(self, *more):
        return (HERE / "kill.sbd", f"--threads={SLOTS}", f"--resource=accel={ACCELERATORS}", f"--workers={WORKERS}",
                f"--loads={LOADS}", f"--load={int(LOAD * 1000)}ms", f"--infer={int(INFER * 1000)}ms", *more)

    def content(self):
        return (self.folder / "out.csv").read_bytes()

    def check(self):
        """Slots of workers are as many as a job has, and one too many would be found out."""
        slots, loads, load = 4, 16, 0.1
        options = (HERE / "kill.sbd", f"--threads={slots}", f"--resource=accel={slots}", f"--loads={loads}", "--load=100ms", "--infer=0s")
        self.job(options[0])
        times = [self.seconds(*options, f"--workers={workers}") for workers in (1, 2, 4)]
        bound = loads * load / slots
        hold_to("check", bound, *times)
        try:
            hold_to("check", bound, *times, bound * slots / (slots + 1))
        except UnderBound:
            print("1 passed, 0 failed, 0 skipped")
            return
        raise UnderBound("a time under its bound is not found out")

    def kill(self):
        whole = self.least(*self.kill_options())
        want, times = self.content(), []
        for _ in range(self.rounds):
            begin = time.monotonic()
            process = self.start(*self.kill_options())
            time.sleep(whole / 2)
            os.kill(workers_of(process.pid)[0], signal.SIGKILL)
            self.end(process)
            times.append(time.monotonic() - begin)
            assert self.content() == want
        hold_to("kill", BOUNDS["kill"], whole, *times)
        extra, bound = min(times) - whole, (SLOTS // WORKERS * LOAD + INFER) / SLOTS + 0.05 * whole
        self.add(f"kill -9 one of {WORKERS} workers half-way: beside {whole:.2f} s", extra, "s", f"<= {bound:.2f} s", extra <= bound)

    def coordinator(self):
        options, wholes, times = self.kill_options("--resume=journal"), [], []
        self.job(options[0])
        for life in range(2 * self.rounds):
            subprocess.run(["rm", "-rf", self.folder / "journal"], check=True)
            begin = time.monotonic()
            process = self.start(*options)
            if life % 2 == 0:
                self.end(process)
                wholes.append(time.monotonic() - begin)
                want = self.content()
                continue
            time.sleep(wholes[0] / 2)
            process.kill()
            process.communicate()
            self.end(self.start(*options))
            times.append(time.monotonic() - begin)
            assert self.content() == want
        whole = min(wholes)
        hold_to("kill the coordinator", BOUNDS["kill"], *wholes, *times)
        extra = min(times) - whole
        self.add(f"kill -9 the coordinator half-way, --resume: beside {whole:.2f} s", extra, "s", "<= 1 s", extra <= 1)

    def ray_data(self):
        """The same work; Ray re-runs the tasks of the process that died."""
        if not self.ray:
            print("ray: no --ray PYTHON", flush=True)
            return
        found = []
        for kills in (0, 1):
            words = map(str, (LOADS, LOAD, INFER, SLOTS, ACCELERATORS, kills))
            done = subprocess.run([self.ray, HERE / "ray_kill.py", *words], capture_output=True, text=True, check=True)
            found.append(done.stdout.split())
            print(f"ray: seconds, rows, kills: {done.stdout.strip()}", flush=True)
        whole, killed = float(found[0][0]), float(found[1][0])
        self.lines.append(f"| Ray Data: the same kill, {found[1][2]} process: beside {whole:.2f} s | {killed - whole:.3g} s | | |")


ROWS = {"throughput": Bench.throughput, "partition": Bench.partition, "joined": Bench.joined, "streaming": Bench.streaming, "start": Bench.start_of, "idle": Bench.idle,
        "fresh": Bench.fresh, "kill": Bench.kill, "coordinator": Bench.coordinator, "ray": Bench.ray_data}


def row_of(line):
    """What a line of the table is about, whatever its figures."""
    return re.sub(r"[\d.]+", "", line.split("|")[1])


def merged(lines, at):
    """The lines of RESULTS.md, with these in place of theirs."""
    old = [line for line in RESULTS.read_text().splitlines() if line.startswith("| ") and not line.startswith("| what")] if RESULTS.exists() else []
    new = {row_of(line): f"{line} {at} |" for line in lines}
    kept = [new.pop(row_of(line), line) for line in old]
    return kept + list(new.values())


def page(lines, load):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    cpus = os.cpu_count()
    return "\n".join([
        "# Worker processes", "",
        "Written by `tests/bench/workers/run.py --write`. Least of several rounds, unless a row says otherwise. Work is held until a "
        "deadline, so that slots do not need cpus. No time of held work is under its bound, the work by all of its slots: "
        f"{BOUNDS['M1']:.2f} s of M1, {BOUNDS['M2, 4 MB']:.2f} s of M2, {BOUNDS['kill']:.2f} s of the kill test.", "",
        f"Measured on {cpus} cpus ({platform.machine()}), at the commit of the row, with that load of the machine before and after. "
        f"Where it is above {cpus}, other programs ran beside it.", "",
        "| what | figure | target | | at | load |", "|---|---:|---|---|---|---|", *merged(lines, f"{commit} | {load[0]:.1f}, {load[1]:.1f}"), "",
        f"The kill test: {LOADS} loads of {LOAD} s on {SLOTS} slots, then {INFER} s on {ACCELERATORS} accelerators each. The bound of "
        "a kill is the unfinished work of the worker by all slots, and 5 %.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of the data of the row `throughput`")
    parser.add_argument("--ray", help="a Python that has ray[data]")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row '{unknown[0]}': one of {', '.join(ROWS)}")
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="sbc-workers-") as folder:
        bench = Bench(pathlib.Path(folder), options.rounds, options.ray, options.scale)
        try:
            for row in [Bench.check] if options.check else [ROWS[name] for name in options.rows or ROWS]:
                row(bench)
        except UnderBound as wrong:
            sys.exit(f"FAIL {wrong}" + "\n0 passed, 1 failed, 0 skipped" * options.check)
    if options.write:
        RESULTS.write_text(page(bench.lines, (before, os.getloadavg()[0])))


if __name__ == "__main__":
    main()
