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


ARCHITECTURES = (75, 80, 89, 90, 100, 120)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


class Wrong(Exception):
    pass


# ---- NVRTC --------------------------------------------------------------------------------------

def find_nvrtc():
    """(the library, or None; why not). Suites that look at the same time wait for each other."""
    given = os.environ.get("SBC_NVRTC")
    if given:
        return given, ""
    (ROOT / "build/cuda").mkdir(parents=True, exist_ok=True)
    with open(ROOT / "build/cuda/lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install_nvrtc()


def install_nvrtc():
    venv, log = ROOT / "build/cuda/venv", ROOT / "build/cuda/pip.log"
    mark = venv / "installed"
    if not mark.exists() or mark.read_text() != NVRTC:
        done = run(sys.executable, "-m", "venv", venv)
        if not done.returncode:
            done = run(venv / "bin/pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", NVRTC)
        log.write_text(done.stdout + done.stderr)
        if done.returncode:
            return None, f"pip cannot install {NVRTC}, see build/cuda/pip.log"
        mark.write_text(NVRTC)
    found = sorted(venv.glob("lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*"))
    return (str(found[0]), "") if found else (None, "the package has no libnvrtc.so")


# ---- jobs on the fake driver ----------------------------------------------------------------------

def make_shared(source, library, standard="gnu17"):
    done = run(CLANG, f"-std={standard}", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}", HERE / source, "-o", library, "-ldl")
    if done.returncode:
        raise Wrong(f"{source} does not compile: {done.stderr[:2000]}")


def make_driver(folder):
    make_shared("driver.c", folder / "libcuda.so.1")
