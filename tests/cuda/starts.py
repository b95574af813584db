"""starts.py: what jobs find when they start: drivers of other versions, GPUs of other kinds, little memory."""
import ctypes
import re
import tempfile
from pathlib import Path

from jobs import make_job_of
from tools import ARCHITECTURES, SBC, Wrong, find_nvdisasm, run


PROGRAM = """param output: str = "out.jsonl"
range(3000) | derive v = f32(i) | repartition rows 1000 | on gpu with (batch = 900) { derive x = exp(v / 1000.0) } | write jsonl(output)
"""


def version_of(nvrtc):
    major, minor = ctypes.c_int(), ctypes.c_int()
    if ctypes.CDLL(nvrtc).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)):
        raise Wrong("NVRTC does not say its version")
    return f"{major.value}.{minor.value}"


class Started:
    """A job of PROGRAM, and what it leaves on the CPU."""

    def __init__(self, folder, nvrtc):
        self.folder, self.env = folder, make_job_of(folder, PROGRAM, nvrtc)
        self.wanted = self.run("--device=cpu")[2]

    def run(self, *options, **settings):
        """How it ended, how many launches it made, and what it left."""
        (self.folder / "log").write_text("")
        done = run(self.folder / "job", f"--output={self.folder}/out.jsonl", "--overwrite", "--threads=1", "--progress=none",
                   *options, env={**self.env, **settings})
        left = (self.folder / "out.jsonl").read_bytes() if not done.returncode else b""
        return done, (self.folder / "log").read_text().count("launch"), left


def check_old_driver(job, nvrtc):
    """One that is older than the compiler of the kernels is named with both versions, and the CPU does the work."""
    both = f"the driver is for CUDA 12.4, the kernels are of CUDA {version_of(nvrtc)}, which is newer: update the driver"
    done, launches, left = job.run(FAKE_CUDA_VERSION="12040")
    if done.returncode or launches or left != job.wanted or "warning[SB8090]" not in done.stderr or both not in done.stderr:
        raise Wrong(f"an old driver: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")
    done, _, _ = job.run("--device=gpu", FAKE_CUDA_VERSION="12040")
    if done.returncode != 3 or "error[SB8091]" not in done.stderr or both not in done.stderr:
        raise Wrong(f"an old driver with --device=gpu: exit {done.returncode}: {done.stderr[:2000]}")


def rows_of(job):
    """The rows of each launch."""
    return [int(rows) for rows in re.findall(r" of (\d+) rows$", (job.folder / "log").read_text(), re.M)]


def check_little_memory(job):
    """Where a batch does not fit, as many rows as the job says fit, and no row more."""
    for options, settings in ((("--gpu-memory=24KiB",), {}), ((), {"FAKE_CUDA_MEMORY": "24576"})):
        for more in (), ("--workers=2",):
            done, _, left = job.run("--device=gpu", *options, *more, **settings)
            said = re.search(r"warning\[SB8135\]: '.*' says batch = 900, but the GPU has memory for (\d+) rows of it at a time", done.stderr)
            if done.returncode or left != job.wanted or not said or int(said[1]) not in (rows := rows_of(job)) or \
                    int(said[1]) >= 900 or (options and max(rows) != int(said[1])):
                raise Wrong(f"little memory {options} {more}: exit {done.returncode}, {rows_of(job)} rows: {done.stderr[:2000]}")
    done, launches, left = job.run("--device=gpu", "--gpu-memory=24MiB")
    if done.returncode or left != job.wanted or not launches or "SB8135" in done.stderr or max(rows_of(job)) != 900:
        raise Wrong(f"enough memory: exit {done.returncode}, {rows_of(job)} rows: {done.stderr[:2000]}")
    done, launches, left = job.run("--device=gpu", FAKE_CUDA_MEMORY="4096")
    if done.returncode or left != job.wanted or launches or "warning[SB8135]: the GPU has no memory for a row of 'derive" not in done.stderr:
        raise Wrong(f"no memory for a row: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")


def check_plan(job):
    """--plan says what of each GPU slots take, and what launches --gpu-memory has room for."""
    def plan(*options):
        done = run(job.folder / "job", "--plan", *options, env=job.env)
        row = re.search(r"^--gpu-memory +(\d+) KiB +(\d+) KiB$", done.stdout, re.M)
        rows = re.search(r"stage (\d+) launches (\d+) of 900 rows at a time$", done.stdout, re.M)
        return done.stdout, [int(size) for size in row.groups()] if row else [], int(rows[2]) if rows else None

    for threads in (1, 3):
        text, sizes, rows = plan(f"--threads={threads}")
        slot = re.search(r"^stage \d+: a slot +\d+ KiB +(\d+) KiB$", text, re.M)
        if len(sizes) != 2 or rows or "without --gpu-memory slots grow" not in text or "beside --memory and --gpu-memory: the process of each GPU" not in text \
                or not slot or not 0 <= 2 * threads * int(slot[1]) - sizes[1] < 2 * threads:
            raise Wrong(f"the plan says of {threads} threads: {text}")
    for size, least in (("24KiB", 100), (f"{sizes[1]}KiB", 900), (f"{sizes[0]}KiB", 1)):
        text, _, rows = plan("--threads=3", f"--gpu-memory={size}")
        done, launches, left = job.run("--device=gpu", "--threads=3", f"--gpu-memory={size}")
        said = re.search(r"the GPU has memory for (\d+) rows", done.stderr)
        if done.returncode or left != job.wanted or not launches or not rows or rows < least or \
                (rows < 900 and (not said or int(said[1]) != rows)) or max(rows_of(job)) != rows:
            raise Wrong(f"--gpu-memory={size}: exit {done.returncode}, {rows_of(job)} rows: {done.stderr[:2000]}{text}")
    done, launches, _ = job.run("--device=gpu", f"--gpu-memory={sizes[0] - 1}KiB")
    if done.returncode != 3 or "is too little for one row" not in done.stderr:
        raise Wrong(f"less than the least: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")
    if "memory of a GPU" in plan("--device=cpu")[0]:
        raise Wrong("the plan of a job on the CPU has memory of a GPU")


def check_kinds(job):
    """Each kind of GPU runs its own code, else that of an older kind of its major number, else PTX, as --devices says."""
    for kind, code in (("75", "a cubin of sm_75"), ("80", "a cubin of sm_80"), ("86", "a cubin of sm_80"), ("89", "a cubin of sm_89"),
                       ("90", "a cubin of sm_90"), ("103", "a cubin of sm_100"), ("121", "a cubin of sm_120"), ("110", "PTX of sm_75"),
                       ("199", "PTX of sm_75")):
        listed = job.run("--devices", FAKE_CUDA_ARCH=kind)[0]
        says = code.replace("a cubin of", "code for") + ", which the driver compiles" * code.startswith("PTX")
        said = f"gpu 0: fake device 0, sm_{kind}, 1024 MiB, a driver for CUDA 13.5\n    'derive x = exp(v / 1000.0)' runs {says}\n"
        if listed.returncode or listed.stdout != said:
            raise Wrong(f"--devices with sm_{kind}: exit {listed.returncode}: {listed.stdout}{listed.stderr[:2000]}")
        done, launches, left = job.run("--device=gpu", FAKE_CUDA_ARCH=kind)
        loaded = re.findall(r"^code of gpu 0: (.*)$", (job.folder / "log").read_text(), re.M)
        if done.returncode or not launches or left != job.wanted or loaded != [code]:
            raise Wrong(f"sm_{kind}: exit {done.returncode}, {launches} launches of {loaded}: {done.stderr[:2000]}")
    listed = job.run("--devices", FAKE_CUDA_DEVICES="2", FAKE_CUDA_ARCH="61,90")[0]
    if listed.returncode or "sm_61" not in listed.stdout or "has no code for it, and runs on the CPU\ngpu 1: " not in listed.stdout:
        raise Wrong(f"--devices with sm_61 and sm_90: exit {listed.returncode}: {listed.stdout}{listed.stderr[:2000]}")
    done, launches, left = job.run(FAKE_CUDA_ARCH="61")
    if done.returncode or launches or left != job.wanted or "the job has no code for fake device 0, sm_61" not in done.stderr:
        raise Wrong(f"sm_61: exit {done.returncode}, {launches} launches: {done.stderr[:2000]}")


def check_unknown(job, nvrtc):
    """An architecture that NVRTC does not know is refused, with a list of those that it does."""
    target = job.folder / "target.yaml"
    target.write_text("gpus: [sm_90, sm_61]\n")
    known = r"does not know sm_61; it knows (sm_\d+(?:, sm_\d+)*)$"
    for options in (["--dump=ptx"], ["--explain"], ["-o", job.folder / "unknown"]):
        done = run(SBC, job.folder / "program.sbd", f"--target={target}", *options, env={**job.env, "SBC_NVRTC": nvrtc})
        said = re.search(known, done.stderr, re.M)
        if done.returncode != 2 or not said or not {f"sm_{kind}" for kind in ARCHITECTURES} <= set(said[1].split(", ")):
            raise Wrong(f"sm_61 with {options}: exit {done.returncode}: {done.stderr[:2000]}")


def check_run(job, nvrtc):
    """`sbc run` compiles for the GPUs that are there alone, and once for the same ones; without a driver for all kinds."""
    cache = job.folder / "cache"

    def devices(**settings):
        """What a job of `sbc run` says that it would run, and how many entries its cache has more after it."""
        before = len(list(cache.glob("sbc/*")))
        done = run(SBC, "run", job.folder / "program.sbd", "--", "--devices",
                   env={**job.env, "XDG_CACHE_HOME": str(cache), "SBC_NVRTC": nvrtc, **settings})
        if done.returncode:
            raise Wrong(f"sbc run {settings}: exit {done.returncode}: {done.stderr[:2000]}")
        return re.findall(r"runs (?:code for|PTX of) (sm_\d+)", done.stdout), len(list(cache.glob("sbc/*"))) - before

    devices(FAKE_CUDA_ARCH="75")  # The cache gets what it needs once.
    for kinds, said, made in (("86", ["sm_86"], 2), ("86", ["sm_86"], 0), ("90,86", ["sm_90", "sm_86"], 2), ("86,90", ["sm_86", "sm_90"], 0),
                              ("90", ["sm_90"], 1)):
        found = devices(FAKE_CUDA_ARCH=kinds, FAKE_CUDA_DEVICES=str(len(said)))
        if found != (said, made):
            raise Wrong(f"sbc run with GPUs {kinds}: {found}")
    # One that NVRTC does not know yet, and none: code for all kinds, of which the cache has two.
    all_kinds = devices(FAKE_CUDA_ARCH="199")
    none = devices(LD_LIBRARY_PATH="")
    if all_kinds != (["sm_75"], len(ARCHITECTURES) - 2 + len(["PTX", "the job"])) or none != ([], 1):
        raise Wrong(f"sbc run for all kinds: {all_kinds}, {none}")
    done = run(SBC, "run", "--no-cache", job.folder / "program.sbd", "--", "--devices", env={**job.env, "SBC_NVRTC": nvrtc, "FAKE_CUDA_ARCH": "86"})
    if done.returncode or "runs code for sm_86" not in done.stdout:
        raise Wrong(f"sbc run --no-cache: exit {done.returncode}: {done.stdout}{done.stderr[:2000]}")


def check_cache(job, nvrtc):
    """What is in the cache is not compiled: where two entries change places, each program gets the PTX of the other one."""
    programs, cache = (job.folder / "program.sbd", job.folder / "other.sbd"), job.folder / "changed"
    programs[1].write_text(PROGRAM.replace("1000.0", "17.0"))

    def ptx():
        done = [run(SBC, program, "--dump=ptx", env={**job.env, "SBC_NVRTC": nvrtc, "XDG_CACHE_HOME": str(cache)}) for program in programs]
        if any(one.returncode for one in done):
            raise Wrong(f"--dump=ptx: {[one.stderr[:1000] for one in done]}")
        return [one.stdout for one in done]

    first = ptx()
    entries = list(cache.glob("sbc/*"))
    if len(entries) != 2 or first[0] == first[1] or ".visible .entry sb_kernel_" not in first[0]:
        raise Wrong(f"the cache has {[entry.name for entry in entries]}")
    for entry, bytes in zip(entries, [entry.read_bytes() for entry in reversed(entries)]):
        entry.write_bytes(bytes)
    if ptx() != first[::-1]:
        raise Wrong("what is in the cache is compiled again")


def check_sass(job, nvrtc):
    """--dump=sass has the machine code of the least architecture with lines of the program, or says what is missing."""
    def sass(program, *options):
        (job.folder / "target.yaml").write_text("gpus: [sm_90, sm_89]\n")
        return run(SBC, job.folder / "program.sbd", f"--target={job.folder}/target.yaml", "--dump=sass", *options,
                   env={**job.env, "SBC_NVRTC": nvrtc, "SBC_NVDISASM": str(program)})

    done = sass("/nowhere/nvdisasm")
    if done.returncode != 3 or "there is no /nowhere/nvdisasm, which makes text of machine code" not in done.stderr:
        raise Wrong(f"--dump=sass without nvdisasm: exit {done.returncode}: {done.stderr[:2000]}")
    made = job.folder / "nvdisasm"
    for code, said in ((0, "text of sm_89"), (1, "a fault of sm_89")):
        made.write_text(f'#!/bin/sh\nfor file; do :; done\ntest "$(od -An -tu1 -j49 -N1 "$file")" -eq 89 && echo "{said}"; exit {code}\n')
        made.chmod(0o755)
        done = sass(made)
        if done.returncode != (3 if code else 0) or said not in (done.stderr if code else done.stdout):
            raise Wrong(f"--dump=sass and an nvdisasm that ends with {code}: exit {done.returncode}: {done.stdout}{done.stderr[:2000]}")
    real, _ = find_nvdisasm()
    done = sass(real) if real else None  # Without the package the two others have to do.
    if done and (done.returncode or not re.search(r"^\s*/\*0000\*/\s", done.stdout, re.M) or "program.sbd" not in done.stdout):
        raise Wrong(f"--dump=sass: exit {done.returncode}: {done.stdout[:1000]}{done.stderr[:2000]}")


def check_starts(nvrtc):
    with tempfile.TemporaryDirectory() as name:
        job = Started(Path(name), nvrtc)
        check_old_driver(job, nvrtc)
        check_little_memory(job)
        check_plan(job)
        check_kinds(job)
        check_unknown(job, nvrtc)
        check_run(job, nvrtc)
        check_cache(job, nvrtc)
        check_sass(job, nvrtc)
