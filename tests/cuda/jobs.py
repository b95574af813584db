"""jobs.py: jobs on a driver without a GPU (driver.c): the bytes of the CPU, whatever the driver does."""
import array
import http.client
import json
import math
import os
import random
import re
import struct
import subprocess
import tempfile
from pathlib import Path

from on_host import compile_host
from rows import parse_columns, random_rows, write_rows
from tools import ROOT, SBC, Wrong, make_driver, run


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


def check_examples(nvrtc):
    """Examples with a block leave on the driver the files that they leave on the CPU."""
    for example in ("15-pixels", "21-features"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            env = make_job(folder, ROOT / f"examples/{example}.sbd", nvrtc)
            (folder / "examples").symlink_to(ROOT / "examples")
            (folder / "out").mkdir()
            expected = {file.name: file.read_bytes() for file in (ROOT / f"examples/expected/{example}/out").iterdir()}
            done = run(folder / "job", "--device=gpu", "--threads=1", "--progress=none", env=env, cwd=folder)
            left = {file.name: file.read_bytes() for file in (folder / "out").iterdir()}
            launches = (folder / "log").read_text().count("launch") if (folder / "log").exists() else 0
            if done.returncode or left != expected or not launches:
                raise Wrong(f"example {example}: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")


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


KEPT = """param output: str = "out.jsonl"
param least: i64 = 0
param count: i64 = 0
range(50000) | where i < count | derive a = f32(i), k: i32? = if i % 7 == 0 then null else i32(i) | repartition rows 20000
| on gpu {
    derive x: f32[24] = [a, a + 1.0, a + 2.0, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a / 3.0]
    derive y = x * 0.5, n = k, z = 1000 // (i - 12345)
    where i % 10 >= least and z != 7
  }
| select i, y, n, z
| write jsonl(output)
"""


def check_kept(nvrtc):
    """Kept rows alone come back, in launches of several segments: whether filters take out all rows, none or some."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, KEPT, nvrtc)
        if "rows that filters take out stay there" not in run(SBC, folder / "program.sbd", "--explain").stdout:
            raise Wrong("kept rows: the program brings none together")

        def job(least, count, *options):
            done = run(folder / "job", f"--output={name}/out.jsonl", f"--rejects={name}/bad.jsonl", f"--least={least}", f"--count={count}",
                       "--overwrite", "--reject-limit=100%", "--stats=json", "--progress=none", *options, env=env)
            if done.returncode:
                raise Wrong(f"kept rows {options}: exit {done.returncode}: {done.stderr[:2000]}")
            figures = json.loads(done.stderr.splitlines()[-1])
            return [(folder / file).read_bytes() for file in ("out.jsonl", "bad.jsonl") if (folder / file).exists()], \
                sum(gpu["bytes_out"] for gpu in figures.get("gpus", []))

        taken = {}
        for least, count in ((0, 50000), (4, 50000), (9, 50000), (10, 50000), (5, 8192), (5, 4097), (5, 4096), (5, 1), (5, 0)):
            wanted, none = job(least, count, "--device=cpu")
            for options in (("--threads=1",), ("--threads=2", "--partition=64KiB"), ("--workers=2",)):
                left, taken[least, count] = job(least, count, "--device=gpu", *options)
                if left != wanted or none:
                    raise Wrong(f"kept rows {least}, {count}, {options}: other bytes")
        if not 0 < taken[9, 50000] < taken[4, 50000] < taken[0, 50000] or taken[10, 50000] or taken[9, 50000] > 0.11 * taken[0, 50000]:
            raise Wrong(f"kept rows: bytes that come back: {taken}")


JOINED = """param output: str = "out.jsonl"
range(30000) | derive a = f32(i), s = if i % 11 == 3 then "none" else f"{i}" | repartition rows 5000
| on gpu {
    derive x: f32[24] = [a, a + 1.0, a + 2.0, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a / 3.0]
    derive y = x * 0.5, q = 1000 // (i - 12345)
  }
| BETWEEN { derive n = i64(s), m = q + 1 }
| on gpu {
    derive z = y + 1.0, l = 7 // (i - 4321)
    where i % 10 >= 4
  }
| select i, z, n, m, l
| write jsonl(output)
"""


def check_joined(nvrtc):
    """Steps between two blocks join them: fewer launches and bytes, but the same rows, rejects and counts, after faults too."""
    said, made = [], {}
    for between in ("on any", "on cpu"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = JOINED.replace("BETWEEN {", "on cpu {") if between == "on cpu" else JOINED.replace("BETWEEN { ", "").replace("m = q + 1 }", "m = q + 1")
            env = make_job_of(folder, text, nvrtc)
            joins = "joins the `on gpu` blocks" in run(SBC, folder / "program.sbd", "--explain").stdout
            if joins != (between == "on any"):
                raise Wrong(f"joined blocks, {between}: joined {joins}")

            def job(*options, **settings):
                (folder / "log").write_text("")
                done = run(folder / "job", f"--output={name}/out.jsonl", f"--rejects={name}/bad.jsonl", "--overwrite", "--reject-limit=100%",
                           "--stats=json", "--progress=none", *options, env={**env, **settings})
                if done.returncode:
                    raise Wrong(f"joined blocks {between} {options} {settings}: exit {done.returncode}: {done.stderr[:2000]}")
                figures = json.loads([line for line in done.stderr.splitlines() if line.startswith("{")][-1])
                counts = [step for step in figures["steps"] if not step["step"].startswith("on ")]
                return [(folder / file).read_bytes() for file in ("out.jsonl", "bad.jsonl")], counts, figures.get("gpus", [])

            said.append(job("--device=cpu", "--threads=1")[:2])
            for options in (("--threads=1",), ("--threads=2", "--partition=64KiB"), ("--workers=2",), ("--gpu-memory=2MiB",)):
                left, counts, gpus = job("--device=gpu", *options)
                said.append((left, counts))
                made[between, options] = sum(gpu["launches"] for gpu in gpus), sum(gpu["bytes_in"] + gpu["bytes_out"] for gpu in gpus)
            for fault in ("FAIL", "HANG"):
                said.append(job("--device=gpu", **{f"FAKE_CUDA_{fault}": "3", "FAKE_CUDA_ONCE": f"{name}/{fault}", "SBC_TEST_GPU_WAIT_MS": "2000"})[:2])
            said.append(job("--device=auto", FAKE_CUDA_FAIL="2")[:2])
    if any(one != said[0] for one in said) or not said[0][1] or len(said[0][0][1]) < 1000:
        raise Wrong(f"joined blocks: other bytes or counts: {[one == said[0] for one in said]}, {said[0][1]}")
    launches, taken = made["on any", ("--threads=1",)], made["on cpu", ("--threads=1",)]
    if not launches[0] < taken[0] or not launches[1] < 0.7 * taken[1]:
        raise Wrong(f"joined blocks: launches and bytes {launches}, of two stages {taken}")


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


HELD = """param output: str = "out.jsonl"
range(20000) | repartition rows 100 | derive a = i * 2
| on gpu with (gpus = 1) { derive y = a * 3 }
| write jsonl(output)
"""


def check_slots(nvrtc):
    """Tasks that hold a GPU take no cpu. Each has one for itself, so that no launch waits while another GPU is idle."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, HELD, nvrtc) | {"FAKE_CUDA_DEVICES": "3", "FAKE_CUDA_ROW_US": "40"}
        done = run(folder / "job", f"--output={name}/out.jsonl", "--threads=2", "--resource=gpus=3", "--device=gpu", f"--trace={name}/trace.json",
                   "--stats=json", "--progress=none", env=env)
        if done.returncode:
            raise Wrong(f"slots: exit {done.returncode}: {done.stderr[:2000]}")
        spans = [e for e in json.loads((folder / "trace.json").read_text())["traceEvents"] if e.get("cat") == "gpu"]
        for gpu in {span["pid"] for span in spans}:
            all_of = sorted((span["ts"], span["ts"] + span["dur"], span["tid"]) for span in spans if span["pid"] == gpu)
            both = [(a, b) for a, b in zip(all_of, all_of[1:]) if a[2] != b[2] and b[0] < a[1] - 100]
            if both or len(all_of) < 3:
                raise Wrong(f"slots: two launches of gpu {gpu} at once: {both[:3]}")
        figures = json.loads(done.stderr.splitlines()[-1])
        if sum(gpu["rows"] for gpu in figures["gpus"]) != 20000 or len(figures["gpus"]) != 3:
            raise Wrong(f"slots: {figures['gpus']}")


SLOW = """param output: str = "out.jsonl"
range(200) | repartition rows 10 | where hold(2ms) | derive a = i * 2
| on gpu with (gpus = 1, batch = ROWS) { derive y = a * 3 }
| write jsonl(output)
"""


PARTS = """param output: str = "out.jsonl"
range(6000) | repartition rows 7 | derive a = f32(i), s = f"{i}"
| on gpu with (batch = 300) {
    derive x: f32[24] = [a, a + 1.0, a + 2.0, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a / 3.0]
    derive y = x * 0.5, z = 1000 // (i % 71 - 3)
    where i % 10 >= 4
  }
| select i, s, y, z
| write jsonl(output)
"""


def check_parts(nvrtc):
    """A launch has rows of several partitions where a batch has: the same bytes, rejects and counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, PARTS, nvrtc)

        def job(*options, **settings):
            (folder / "log").write_text("")
            done = run(folder / "job", f"--output={name}/out.jsonl", f"--rejects={name}/bad.jsonl", "--overwrite", "--reject-limit=100%",
                       "--stats=json", "--progress=none", *options, env={**env, **settings})
            if done.returncode:
                raise Wrong(f"parts {options} {settings}: exit {done.returncode}: {done.stderr[:2000]}")
            figures = json.loads([line for line in done.stderr.splitlines() if line.startswith("{")][-1])
            launches = [int(n) for n in re.findall(r"launch .* of (\d+) rows", (folder / "log").read_text())]
            return [(folder / file).read_bytes() for file in ("out.jsonl", "bad.jsonl")], figures["steps"], launches

        wanted = job("--device=cpu", "--threads=1")
        for options, settings in ((("--threads=1",), {}), (("--threads=3",), {}), (("--threads=2", "--workers=2"), {}), (("--gpu-memory=64KiB",), {}),
                                  (("--threads=2",), {"FAKE_CUDA_FAIL": "5", "FAKE_CUDA_ONCE": f"{name}/once"}),
                                  (("--device=auto",), {"FAKE_CUDA_FAIL": "3"}), (("--threads=2", "--memory=96MiB"), {"SBC_TEST_SPILL": "1"})):
            left = job(*(() if "--device=auto" in options else ("--device=gpu",)), *options, **settings)
            if left[:2] != wanted[:2] or not left[2]:
                raise Wrong(f"parts {options} {settings}: other bytes or counts, launches {left[2][:20]}")
            if not settings and "--workers=2" not in options and (max(left[2]) <= 7 or max(left[2]) > 300):
                raise Wrong(f"parts {options}: launches {left[2][:20]}")


def check_batches(nvrtc):
    """A batch whose rows take longer than a launch begins with those that are there; others wait for more."""
    check_parts(nvrtc)
    for rows, said, good in (("1000000", "the rows that are there, up to a batch", lambda first: first == 10),
                             ("1000", "a batch, for which fewer rows wait", lambda first: first > 10)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            env = make_job_of(folder, SLOW.replace("ROWS", rows), nvrtc) | {"FAKE_CUDA_KERNEL_US": "50000"}
            explained = run(SBC, folder / "program.sbd", "--explain").stdout
            done = run(folder / "job", f"--output={name}/out.jsonl", "--threads=2", "--resource=gpus=1", "--device=gpu", "--progress=none", env=env)
            launches = [int(n) for n in re.findall(r"launch .* of (\d+) rows", (folder / "log").read_text())]
            if done.returncode or said not in explained or sum(launches) != 200 or not good(launches[0]):
                raise Wrong(f"batches of {rows}: exit {done.returncode}, launches {launches}: {done.stderr[:2000]}\n{explained[:3000]}")


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
