#!/usr/bin/env python3
"""run.py: jobs with workers that die, stand still or lose their connection, on machines that fail: what they leave must be the same
bytes as that of a job that nothing befalls, and so must their closing table.

usage: tests/chaos/run.py [--count N] [--seed N] [--kind KIND] [--fault FAULT] [--keep]

A seed fixes a program, its data, and the lives of its jobs: number k of seed N is that of seed N + k, so `--count 1 --seed N+k` runs
it alone. Each seed has five jobs: one on which calls of the disk fail or wait, one whose workers meet failpoints, one that is
disturbed from outside, one whose workers join over a network that delays, stalls and cuts, and one with --resume, which dies in
some of its lives and goes on with other numbers of workers.
--kind takes programs of one kind only: see programs.py. --fault runs one job a seed, which may meet that fault of faults.py.

The last lines say what befell the jobs, and how often. After ten seeds and more each fault that befell none has jobs of its own,
until one meets it; if none does, a test has failed.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import faults
import network
import programs

sys.path.append(str(programs.TESTS / "memory"))
import accounting  # noqa: E402
import cgroup  # noqa: E402

SBC = os.environ.get("SBC", str(programs.ROOT / "zig-out/bin/sbc"))
SECONDS_MAX = 60
KEPT = pathlib.Path("/tmp/sbc-chaos")
CRASH = re.compile(rb"^error\[SB8026\].*?^  = fix: .*?\n|^warning\[SB8026\][^\n]*\n|^ [^\n]*\n", re.M | re.S)
NOTES = re.compile(rb"^(resume: .*|time .*|workers join at .*|worker [0-9]+ has (joined|left).*|warning\[SB8(040|063|07[0-9]|090|11[2-6])\].*|  = fix: .*)\n", re.M)
WORKERS = (1, 2, 2, 3)
GROUP_BYTES = 256 << 20
SEEDS, TRIES = 10, 40  # What no job of so many seeds meets has jobs of its own, until one does.
HARM = {"foreign leaks": "cgroup", "foreign crashes": "marks"}


class Left:
    """What a job left: how it ended, what it said, its files."""

    def __init__(self, code, out, said, folder, inputs):
        self.code = code
        self.files = {"standard output": out, "closing table": NOTES.sub(b"", CRASH.sub(b"", said)).lstrip(b"\n")}
        self.said = said.decode(errors="replace")
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_file() and name not in inputs and not name.startswith("journal/") and not name.endswith(".manifest.json"):
                self.files[name] = path.read_bytes()

    def differences(self, other):
        """The names of what differs."""
        names = sorted(self.files.keys() | other.files.keys())
        exits = [f"exit code {other.code} instead of {self.code}"] if self.code != other.code else []
        if self.code:  # How far a failed job was depends on when it was noticed.
            names = [name for name in names if name != "closing table"]
        return exits + [name for name in names if self.files.get(name) != other.files.get(name)]


class Trial:
    """A program of a seed, and its jobs."""

    def __init__(self, seed, kind, work, fault=None):
        self.draw = random.Random(f"chaos {seed}" + f" {fault}" * bool(fault))
        self.seed, self.work, self.fault = seed, work, fault
        self.program = programs.for_fault(self.draw, *faults.FAULTS[fault]) if fault else programs.of(self.draw, kind)
        self.met = collections.Counter()  # In how many lives each fault happened.
        self.job = work / "job"

    def compile(self):
        """What the compiler says, if it does not."""
        source = self.work / "source"
        self.program.fill(source)
        done = subprocess.run([SBC, self.program.source, "-o", self.job, f"--target={programs.ROOT / 'tests/least_level.yaml'}",
                               *self.program.options], cwd=source, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else None

    # ---- running ----------------------------------------------------------------------------------------------

    def run_life(self, life, folder, marks):
        """(exit code, standard output, messages) of a life; text instead of a code: it did not end."""
        command = [str(self.job), "--progress=none", *life.options, *self.program.arguments]
        told = self.work / "told"
        told.write_bytes(b"")
        environment = {**os.environ, **life.variables(), "SBC_FAILPOINT_TOLD": str(told), **({"SBC_CHAOS_MARK": str(marks)} if marks else {})}
        group = cgroup.Cgroup(life.limit) if life.limit else None
        if group:
            group.__enter__()
            enter = f'echo $$ >"{group.folder}/cgroup.procs" && exec "$@"'
            command = ["sh", "-c", enter, "sh", *command]
        said = self.work / "said"
        with open(said, "wb") as messages:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=messages)
        outside = faults.Outside(process.pid, life.outside, self.draw.random()) if life.outside else None
        if outside:
            outside.start()
        joiners = self.joiners(life, folder, environment, said)
        met = set()
        try:
            out, _ = process.communicate(timeout=SECONDS_MAX)
            return process.returncode, out, said.read_bytes()
        except subprocess.TimeoutExpired:
            for pid in [process.pid, *faults.children(process.pid)]:
                faults.send(pid, faults.signal.SIGKILL)
            out, _ = process.communicate()
            return "none: it hangs", out, said.read_bytes()
        finally:
            if joiners:
                joiners.close()
                met.update(joiners.met())
            if outside:
                faults.end_quietly(outside)
                met.update(outside.met)
            if group:
                met.update(["a process killed for memory"] * (group.killed() > 0))
                faults.wait_until(lambda: not (group.folder / "cgroup.procs").read_text(), 2)
                group.__exit__()
            self.met.update(met | faults.met_at(told.read_text(), process.returncode))

    def joiners(self, life, folder, environment, said):
        if not life.joined:
            return None
        options = [word for word in life.options if not word.startswith(("--listen", "--workers", "--places", "--worker-restarts"))]
        found = network.Joiners([str(self.job), "--progress=none", *options, *self.program.arguments], environment, folder, said,
                                life.joined, self.draw.random())
        found.start()
        return found

    def key(self):
        """The file with the key of both sides."""
        path = self.work / "key"
        if not path.exists():
            path.touch(0o600)
            path.write_bytes(self.draw.randbytes(32))
        return path

    def left_processes(self):
        """Those that still run the job's program."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/exe") == str(self.job):
                    found.append(pid)
            except OSError:
                pass
        return found

    def run_lives(self, lives, name, harms=False):
        """(what is left, complaint). The last life is the first that ends by itself."""
        folder = self.work / name
        self.program.fill(folder)
        inputs = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        marks = None
        if harms:
            marks = self.work / (name + ".marks")
            marks.mkdir()
        code, out, said, given = 0, b"", b"", b""
        for life in lives:
            code, out, said = self.run_life(life, folder, marks)
            if code == 3 and b"error[SB8136]" in said:  # The files are published, and the same command says that it is done.
                code, out, said = self.run_life(life, folder, marks)
            if b"an earlier run has written standard output" in said:
                out = given
            given = out
            if not faults.wait_until(lambda: not self.left_processes(), 2):
                return None, f"a process stays: {life.words()}"
            if code == faults.ENDED and b"error[SB8076]" in said and life.points:
                return None, None  # A worker that always dies before it has done anything: its job has to end.
            if code == faults.ENDED and b"error[SB8125]" in said and b"come of what can be read only once" in said:
                return None, None  # Corrupt rows of a stream: its job has to end.
            if code not in life.ends and code != self.wanted:
                return None, f"exit code {code}: {life.words()}\n{said.decode(errors='replace')}"
            if code == self.wanted and code not in (faults.ENDED,):
                break
        return Left(code, out, said, folder, inputs), None

    # ---- lives ------------------------------------------------------------------------------------------------

    def options(self, workers):
        draw = self.draw
        partition = draw.choice([64, 300, 3000] if sum(map(len, self.program.files.values())) < 50_000 else [4096, 65536])
        more = [f"--workers={workers}", "--worker-restarts=1000", faults.SILENCE] if workers else []
        return [f"--threads={draw.choice([1, 2, 4])}", f"--partition={partition}", "--overwrite", *more]

    def met_by(self, names, workers):
        """A life that meets what is called so."""
        points, ends = [], {0}
        for name in names:
            make, may = faults.POINTS[name]
            points += make(self.draw)
            ends |= set(may)
        return faults.Life(self.options(workers), points, ends)

    def listening(self, joined, own):
        """A life whose workers join. With none of its own the job waits for them, however little there is to do."""
        options = [*self.options(max(own, 1)), "--listen=127.0.0.1:0", f"--places={joined}", f"--key-file={self.key()}"]
        options = [f"--workers={own}" if word.startswith("--workers=") else word for word in options]
        return faults.Life(options, joined=joined)

    def jobs(self):
        """(name, lives) of each."""
        draw = self.draw
        workers = draw.choice(WORKERS)
        yield "disk", [self.met_by([draw.choice(["read errors", "slow disk"])], workers)]
        yield "workers", [self.met_by([draw.choice(["killed workers", "stopped workers", "cut sockets", "crashed workers"]),
                                    draw.choice(["killed workers", "slow disk", "read errors"])], max(workers, 2))]
        yield "corrupt", [self.met_by(["corrupt rows", draw.choice(["corrupt rows", "killed workers", "cut sockets"])], max(workers, 2))]
        yield "outside", [faults.Life(self.options(workers), outside=draw.choice(self.program.outside))]
        yield "joined", [self.listening(draw.choice([1, 2]), draw.choice([0, 0, 1]))]
        lives = []
        for _ in range(draw.randint(1, 3)):
            workers = draw.choice((*WORKERS, 0))
            if draw.random() < 0.3:
                life = faults.Life(self.options(workers), ends=(0, *faults.OUTSIDE["murders"]), outside="murders")
            else:
                life = self.met_by([draw.choice(["killed job", "killed job", "ended job", "broken disk", "full disk"]),
                                 draw.choice(["killed workers", "cut sockets", "slow disk"])], workers)
            lives.append(life)
        lives.append(self.met_by(["killed workers"], draw.choice((*WORKERS, 0))))
        for life in lives:
            life.options.append("--resume=journal")
        yield "resumed", lives

    def meeting(self):
        """(name, lives, does it harm) of a job that may meet the fault of this trial."""
        how, what = faults.FAULTS[self.fault]
        if how == "network":
            return "joined", [self.listening(2, 0)], False
        if how == "harm":
            return "harmed", self.harmful(), True
        ends = faults.OUTSIDE[what] if how == "outside" else faults.POINTS[what][1]
        lives = [self.met_by([what], 2) if how == "points" else faults.Life(self.options(3), outside=what, ends=(0, *ends))]
        if ends:
            lives.append(faults.Life(self.options(2)))
            for life in lives:
                life.options.append("--resume=journal")
        return how, lives, False

    def harmful(self):
        """Lives in which the code in C of the program does harm."""
        options = ["--threads=2", "--partition=300", "--workers=2", "--worker-restarts=1000", "--overwrite"]
        if HARM.get(self.program.name) == "cgroup":
            return [faults.Life([*options, "--memory=128MiB"], limit=GROUP_BYTES)]
        return [faults.Life(options)]

    def harms(self, name):
        """What foreign code did to this job."""
        marks = self.work / (name + ".marks")
        if self.program.name == "foreign crashes" and marks.is_dir() and any(marks.iterdir()):
            yield "code in C that crashes"
        if self.program.name == "foreign hangs":
            yield "code in C that hangs"

    # ---- judging ----------------------------------------------------------------------------------------------

    def judge(self, want, name, lives, harms):
        """The complaint about one job, or None."""
        got, complaint = self.run_lives(lives, name, harms)
        words = "\n    ".join(life.words() for life in lives)
        if harms and got:
            self.met.update(harm for harm in self.harms(name) if harm)
        if complaint:
            return f"{name}: {complaint}\n  lives:\n    {words}"
        differs = want.differences(got) if got else []
        if not differs:
            return None
        return f"{name}: other {', '.join(differs)}\n  lives:\n    {words}\n{got.said}"

    def complaints(self):
        """None: the program is none for this test."""
        wrong = self.compile()
        if wrong:
            return [wrong] if self.program.name.startswith("foreign") else None
        self.wanted = 0
        undisturbed = faults.Life(["--threads=1", "--overwrite"])
        code, _, _ = self.run_life(undisturbed, self.filled("probe"), None)
        if code not in (0, 1):
            return None
        self.wanted = code
        want, complaint = self.run_lives([undisturbed], "undisturbed")
        if complaint or accounting.wrong(want.said):
            return [complaint or "its closing table cannot be"]
        if self.fault:
            complaint = self.judge(want, *self.meeting())
            return [complaint] if complaint else []
        jobs = list(self.jobs()) if code == 0 else list(self.jobs())[:5]
        found = [self.judge(want, name, lives, False) for name, lives in jobs]
        if self.program.name in HARM and (HARM[self.program.name] != "cgroup" or not cgroup.why_not()):
            found.append(self.judge(want, "harmed", self.harmful(), True))
        return [text for text in found if text]

    def filled(self, name):
        folder = self.work / name
        self.program.fill(folder)
        return folder


def run_seed(seed, kind, keep, fault=None):
    """(name of the program, complaints, what befell its jobs)."""
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"sbc-chaos-{seed}-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    os.environ["SBC_CHAOS_WORK"] = str(work.parent / f"sbc-chaos-data-{os.getpid()}")
    try:
        trial = Trial(seed, kind, work, fault)
        found = trial.complaints()
        if found and keep:
            shutil.rmtree(KEPT / str(seed), ignore_errors=True)
            shutil.copytree(work, KEPT / str(seed))
        return trial.program.name, found, trial.met
    finally:
        shutil.rmtree(work, ignore_errors=True)


class Run:
    """Seeds, and what came of them."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.passed = self.failed = self.skipped = 0
        self.met = collections.Counter()

    def seed(self, seed, fault=None):
        kind = None if fault else self.arguments.kind
        name, found, met = run_seed(seed, kind, self.arguments.keep, fault)
        self.met += met
        self.passed += found == []
        self.failed += bool(found)
        self.skipped += found is None
        if self.arguments.verbose:
            print(f"seed {seed}: {name}" + f", {fault}" * bool(fault) + f": {dict(met)}", flush=True)
        if found:
            alone = f"tests/chaos/run.py --count 1 --seed {seed}" + f" --kind {kind}" * bool(kind) + f" --fault '{fault}'" * bool(fault)
            print(f"FAIL chaos {seed}: {name}\n" + "\n".join("  " + line for text in found for line in text.split("\n")) +
                  f"\n  alone: {alone} --keep", flush=True)

    def meet_all(self):
        """Every fault befalls some job. Returns why some cannot."""
        no_group = cgroup.why_not()
        skipped = {"a process killed for memory": no_group} if no_group else {}
        for fault in [fault for fault in faults.FAULTS if fault not in skipped]:
            for seed in range(1, TRIES + 1):
                if self.met[fault]:
                    break
                self.seed(seed, fault)
            if not self.met[fault]:
                self.failed += 1
                print(f"FAIL chaos: no job meets '{fault}'; alone: tests/chaos/run.py --count {TRIES} --fault '{fault}'", flush=True)
        return skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=SEEDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(programs.KINDS))
    parser.add_argument("--fault", choices=list(faults.FAULTS))
    parser.add_argument("--keep", action="store_true", help=f"keep what a failed seed leaves in {KEPT}")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    run = Run(arguments)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        run.seed(seed, arguments.fault)
    all_faults = arguments.count >= SEEDS and not arguments.kind and not arguments.fault
    skipped = run.meet_all() if all_faults else {}
    print("chaos met: " + ", ".join(f"{fault} {run.met[fault]}" for fault in faults.FAULTS if run.met[fault]))
    for fault, why in skipped.items():
        print(f"chaos skipped: {fault}: {why}")
    shutil.rmtree(os.environ.get("SBC_CHAOS_WORK", "/nonexistent"), ignore_errors=True)
    print(f"chaos: {run.passed} passed, {run.failed} failed, {run.skipped + len(skipped)} skipped")
    return run.failed > 0


if __name__ == "__main__":
    sys.exit(main())
