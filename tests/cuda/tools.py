"""tools.py: programs, libraries and NVRTC that tests of kernels need."""
import fcntl
import os
import subprocess
import sys
from pathlib import Path


HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SBC = os.environ.get("SBC", str(ROOT / "zig-out/bin/sbc"))
CLANG = os.environ.get("CLANG", "/usr/lib/llvm-22/bin/clang")
NVRTC = "nvidia-cuda-nvrtc==13.5.37"
NVDISASM = "nvidia-cuda-nvdisasm==13.5.37"


ARCHITECTURES = (75, 80, 89, 90, 100, 120)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


class Wrong(Exception):
    pass


# ---- NVRTC --------------------------------------------------------------------------------------

def find_nvrtc():
    """(the library, or None; why not)."""
    given = os.environ.get("SBC_NVRTC")
    return (given, "") if given else find_in(NVRTC, "installed", "lib/libnvrtc.so.*")


def find_nvdisasm():
    """(the program that makes text of machine code, or None; why not)."""
    given = os.environ.get("SBC_NVDISASM")
    return (given, "") if given else find_in(NVDISASM, "nvdisasm", "bin/nvdisasm")


def find_in(package, mark, pattern):
    """A file of a package, which pip installs once. Suites that look at the same time wait for each other."""
    (ROOT / "build/cuda").mkdir(parents=True, exist_ok=True)
    with open(ROOT / "build/cuda/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install(package, ROOT / "build/cuda/venv", mark, pattern)


def install(package, venv, mark, pattern):
    mark, log = venv / mark, ROOT / "build/cuda/pip.log"
    if not mark.exists() or mark.read_text() != package:
        done = run(sys.executable, "-m", "venv", venv)
        if not done.returncode:
            done = run(venv / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", package)
        log.write_text(done.stdout + done.stderr)
        if done.returncode:
            return None, f"pip cannot install {package}, see build/cuda/pip.log"
        mark.write_text(package)
    found = sorted(venv.glob(f"lib/python3*/site-packages/nvidia/*/{pattern}"))
    return (str(found[0]), "") if found else (None, f"{package} has no {pattern}")


# ---- jobs on the fake driver ----------------------------------------------------------------------

def make_shared(source, library, standard="gnu17"):
    done = run(CLANG, f"-std={standard}", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}", HERE / source, "-o", library, "-ldl")
    if done.returncode:
        raise Wrong(f"{source} does not compile: {done.stderr[:2000]}")


def make_driver(folder):
    make_shared("driver.c", folder / "libcuda.so.1")
