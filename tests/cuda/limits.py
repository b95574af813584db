"""limits.py: what no launch may pass is refused by the driver without a GPU, as by one with a GPU."""
import ctypes
import os
import sys
import tempfile
from pathlib import Path

from jobs import make_job_of
from tools import ARCHITECTURES, CLANG, Wrong, make_driver, run

# One takes most of the registers that a thread can have, the other 40,000 bytes of shared memory.
KERNELS = r"""
extern "C" __global__ void many(const double *from, double *to) {
    double x[120];
#pragma unroll
    for (int i = 0; i < 120; i++) x[i] = from[i * 4096 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 120; i++) to[i * 4096 + threadIdx.x] = x[i] * x[119 - i];
}
extern "C" __global__ void shares(const double *from, double *to) {
    __shared__ double x[5000];
    x[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = x[blockDim.x - threadIdx.x];
}
"""
ON_HOST = "void launch_many(void) {} void launch_shares(void) {}"
INVALID, RESOURCES = 1, 701


def cubin_of(nvrtc, architecture):
    library, program, size = ctypes.CDLL(nvrtc), ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 1)(f"-arch=sm_{architecture}".encode())
    wrong = library.nvrtcCreateProgram(ctypes.byref(program), KERNELS.encode(), b"limits.cu", 0, None, None) or \
        library.nvrtcCompileProgram(program, 1, options) or library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    if wrong or library.nvrtcGetCUBIN(program, code):
        raise Wrong(f"NVRTC does not compile the kernels for sm_{architecture}: {wrong}")
    return code


def launch(driver, function, grid, block, shared):
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(ctypes.create_string_buffer(8192)))
    stream = ctypes.c_void_p()
    if driver.cuStreamCreate(ctypes.byref(stream), 1):
        raise Wrong("no stream")
    return driver.cuLaunchKernel(function, *[ctypes.c_uint(n) for n in (*grid, *block, shared)], stream, arguments, None)


# Kernel, grid, block, bytes of shared memory that are asked for beside its own; the last number that is good of each is in the first
# of two lines, one more in the second.
LAUNCHES = [
    ("shares", (2**31 - 1, 1, 1), (256, 1, 1), 0, 0), ("shares", (2**31, 1, 1), (256, 1, 1), 0, INVALID),
    ("shares", (1, 65535, 1), (256, 1, 1), 0, 0), ("shares", (1, 65536, 1), (256, 1, 1), 0, INVALID),
    ("shares", (1, 1, 65535), (256, 1, 1), 0, 0), ("shares", (1, 1, 65536), (256, 1, 1), 0, INVALID),
    ("shares", (1, 1, 1), (1024, 1, 1), 0, 0), ("shares", (1, 1, 1), (1025, 1, 1), 0, INVALID),
    ("shares", (1, 1, 1), (1, 1024, 1), 0, 0), ("shares", (1, 1, 1), (1, 1025, 1), 0, INVALID),
    ("shares", (1, 1, 1), (1, 1, 64), 0, 0), ("shares", (1, 1, 1), (1, 1, 65), 0, INVALID),
    ("shares", (1, 1, 1), (32, 32, 1), 0, 0), ("shares", (1, 1, 1), (32, 33, 1), 0, INVALID),
    ("shares", (0, 1, 1), (256, 1, 1), 0, INVALID), ("shares", (1, 1, 1), (0, 1, 1), 0, INVALID),
    ("shares", (1, 1, 1), (256, 1, 1), 49152 - 40000, 0), ("shares", (1, 1, 1), (256, 1, 1), 49152 - 40000 + 1, INVALID),
    ("many", (1, 1, 1), (512, 1, 1), 0, 0), ("many", (1, 1, 1), (513, 1, 1), 0, RESOURCES),
]


def check_launches(folder, nvrtc, architecture):
    """In a process of its own, as the driver keeps what it was told by its environment."""
    driver = ctypes.CDLL(f"{folder}/libcuda.so.1")
    code, module, context = cubin_of(nvrtc, architecture), ctypes.c_void_p(), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) or \
            driver.cuModuleLoadData(ctypes.byref(module), code):
        raise Wrong(f"the driver does not take code of sm_{architecture}")
    for name, grid, block, shared, wanted in LAUNCHES:
        function = ctypes.c_void_p()
        if driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()):
            raise Wrong(f"sm_{architecture} has no kernel '{name}'")
        error = launch(driver, function, grid, block, shared)
        if error != wanted:
            raise Wrong(f"sm_{architecture}: '{name}' over {grid} of {block} with {shared} bytes: error {error}, not {wanted}")


PROGRAM = """param output: str = "out.jsonl"
range(3000) | derive v = f32(i) | on gpu { derive x = exp(v / 1000.0) } | write jsonl(output)
"""


def check_limits(nvrtc):
    """Each limit of a launch, and a job whose kernels need more than there is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_driver(folder)
        (folder / "kernels.c").write_text(ON_HOST)
        done = run(CLANG, "-shared", "-fPIC", folder / "kernels.c", "-o", folder / "kernels.so")
        for architecture in ARCHITECTURES:
            env = {**os.environ, "FAKE_CUDA_KERNELS": f"{name}/kernels.so", "FAKE_CUDA_ARCH": str(architecture)}
            done = run(sys.executable, __file__, folder, nvrtc, architecture, env=env)
            if done.returncode:
                raise Wrong(f"limits: {done.stdout}{done.stderr[-2000:]}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_job_of(folder, PROGRAM, nvrtc)

        def job(*options, **settings):
            done = run(folder / "job", f"--output={name}/out.jsonl", "--overwrite", "--progress=none", "--threads=1", *options,
                       env={**env, **settings})
            return done, (folder / "out.jsonl").read_bytes()

        _, wanted = job("--device=cpu")
        for registers, good in (("255", True), ("257", False)):
            done, left = job(FAKE_CUDA_REGISTERS=registers)
            said = "too many resources requested for launch" in done.stderr and "warning[SB8090]" in done.stderr
            if done.returncode or left != wanted or said == good:
                raise Wrong(f"{registers} registers: exit {done.returncode}: {done.stderr[:2000]}")


if __name__ == "__main__":
    try:
        check_launches(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    except Wrong as wrong:
        sys.exit(str(wrong))
