"""lives.py: worker processes of jobs on the driver without a GPU, and jobs that die and go on."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from jobs import make_job_of
from tools import Wrong, make_shared, run

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
        # Twice as many are lost as there are slots, which are free when the launches of the dead end. The CPU does some
        # rows until then, and half of them or more on a busy machine. It would do most of them, each time, if slots stayed taken.
        for last in (False, False, False, True):
            code, said, launches, left, figures = job("--device=gpu", "--workers=2", "--worker-restarts=20", kills=8, FAKE_CUDA_KERNEL_US="40000")
            on_gpus = sum(gpu["rows"] for gpu in figures["gpus"])
            if code or left != wanted or "SB8077" not in said or (last and on_gpus < 60000):
                raise Wrong(f"workers are lost: exit {code}, {launches} launches, {on_gpus} rows on GPUs: {said[:2000]}")
            if on_gpus >= 60000:
                break
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


class LostJob:
    """A job of LOST."""

    def __init__(self, folder, nvrtc):
        self.folder, self.env = folder, make_job_of(folder, LOST, nvrtc)
        code, said = self.life("--device=cpu", "--threads=2")
        if code:
            raise Wrong(f"on the CPU: exit {code}: {said[:2000]}")
        self.wanted = self.left(said)

    def life(self, *options, disturb=None, **settings):
        """(exit, what it says)"""
        (self.folder / "log").write_text("")
        command = [self.folder / "job", "--overwrite", "--progress=none", *options]
        with subprocess.Popen(command, cwd=self.folder, env={**self.env, **settings}, stderr=subprocess.PIPE, text=True) as process:
            if disturb:
                disturb(process)
            try:
                said = process.communicate(timeout=120)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                raise Wrong(f"{options}: the job does not end")
        return process.returncode, said

    def left(self, said):
        steps = [line for line in said.splitlines() if line.startswith(("range", "where", "derive", "group", "write"))]
        return steps, (self.folder / "out.jsonl").read_bytes(), (self.folder / "bad.jsonl").read_bytes()

    def forget(self):
        shutil.rmtree(self.folder / "journal", ignore_errors=True)

    def ends_at(self, launches, number):
        def disturb(process):
            while process.poll() is None and (self.folder / "log").read_text().count("launch") < launches:
                time.sleep(0.005)
            if process.poll() is None:
                process.send_signal(number)
        return disturb

    def processes(self):
        """Those that still run the job's program."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                found += [pid] if os.readlink(f"/proc/{pid}/exe") == str(self.folder / "job") else []
            except OSError:
                pass
        return found


def check_lost_groups(nvrtc):
    """Groups of kernels where workers die, and where the job does and goes on: no row is lost or counts twice."""
    with tempfile.TemporaryDirectory() as name:
        job = LostJob(Path(name), nvrtc)
        code, said = job.life("--device=gpu", "--threads=2", "--workers=2", "--worker-restarts=20", FAKE_CUDA_KERNEL_US="20000",
                              disturb=lambda process: kill_workers(process, job.folder / "log", 4))
        if code or job.left(said) != job.wanted:
            raise Wrong(f"workers are lost: exit {code}: {said[:2000]}")
        for seed in range(4):
            job.forget()
            for number in range(1, 7):
                signal_number = signal.SIGKILL if (seed + number) % 3 else signal.SIGTERM
                disturb = job.ends_at(8 + 3 * seed + 5 * number, signal_number) if number < 6 else None
                code, said = job.life("--device=gpu", "--threads=2", "--resume=journal", *["--workers=2"] * (seed % 2),
                                      disturb=disturb, FAKE_CUDA_KERNEL_US="5000", SBC_TEST_COMMIT="1")
                if not code:
                    break
            if code or job.left(said) != job.wanted:
                raise Wrong(f"a job that dies and goes on, {seed}: exit {code}: {said[:2000]}")


# ---- chaos --------------------------------------------------------------------------------------

LIMIT_MS = 1000  # Of a launch.


class Chaos(threading.Thread):
    """Kills and stops processes of GPUs of a running job, at times of a seed, so many times at most. May kill the job besides."""

    def __init__(self, draw, count, murders):
        super().__init__(daemon=True)
        self.draw, self.count, self.murders = draw, count, murders
        self.kills = self.stops = self.naps = 0
        self.process = None

    def __call__(self, process):
        self.process = process
        self.start()

    def is_over(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, pid):
        """It stands still for less than a launch may take, or for more, and then it is lost."""
        nap = self.draw.random() < 0.3
        os.kill(pid, signal.SIGSTOP)
        self.naps += nap
        self.stops += not nap
        self.is_over((0.2 if nap else 1.6) * LIMIT_MS / 1000)
        os.kill(pid, signal.SIGCONT)

    def run(self):
        for _ in range(self.count):
            if self.is_over(self.draw.uniform(0.02, 0.3)):
                return
            found = children(self.process.pid, "gpu")
            try:
                if found and self.draw.random() < 0.5:
                    os.kill(self.draw.choice(found), signal.SIGKILL)
                    self.kills += 1
                elif found:
                    self.stop(self.draw.choice(found))
            except ProcessLookupError:
                pass
        if self.murders and not self.is_over(self.draw.uniform(0.02, 0.3)):
            self.process.kill()


def disturb_job(job, seed):
    """(what was done to it, was a GPU started anew or left out)."""
    draw = random.Random(f"gpus {seed}")
    done, again = {"kills": 0, "stops": 0, "naps": 0, "deaths": 0}, False
    device = draw.choice(["gpu", "auto"])
    options = [f"--device={device}", f"--threads={draw.choice([1, 2])}", *draw.choice([[], ["--workers=2"]])]
    resumes = draw.random() < 0.5
    job.forget()
    for life in range(5):
        # A GPU that fails for the third time is left out, and without any --device=gpu ends the job.
        chaos = Chaos(draw, 2 if device == "gpu" else draw.randint(1, 8), resumes and life < 4)
        code, said = job.life(*options, *["--resume=journal"] * resumes, disturb=chaos, FAKE_CUDA_KERNEL_US="8000",
                              FAKE_CUDA_DEVICES=draw.choice(["1", "1", "3"]), SBC_TEST_GPU_WAIT_MS=str(LIMIT_MS), SBC_TEST_COMMIT="1")
        chaos.join()
        done["kills"] += chaos.kills
        done["stops"] += chaos.stops
        done["naps"] += chaos.naps
        done["deaths"] += code == -signal.SIGKILL
        again |= "SB8117" in said or "SB8090" in said
        if code != -signal.SIGKILL:
            break
    if code or job.left(said) != job.wanted:
        raise Wrong(f"seed {seed}, {options}, {done}: exit {code}: {said[:2000]}")
    end = time.monotonic() + 5
    while job.processes():
        if time.monotonic() > end:
            raise Wrong(f"seed {seed}, {options}, {done}: processes stay")
        time.sleep(0.02)
    return done, again


def check_chaos(nvrtc, first=1, count=6):
    """The processes of GPUs are killed or stand still, and the job dies and goes on: the bytes of an undisturbed one."""
    with tempfile.TemporaryDirectory() as name:
        job = LostJob(Path(name), nvrtc)
        found = [disturb_job(job, seed) for seed in range(first, first + count)]
        met = {kind for done, _ in found for kind in done if done[kind]}
        if count >= 6 and (not {"kills", "stops", "deaths"} <= met or not any(again for _, again in found)):
            raise Wrong(f"some disturbances were not met: {found}")
