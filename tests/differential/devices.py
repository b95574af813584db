"""devices.py: jobs whose kernels run on a driver without a GPU (tests/cuda/driver.c)."""
import importlib.util
import os
import pathlib
import tempfile

ROOT = pathlib.Path(os.path.dirname(os.path.abspath(__file__))).parent.parent
TARGET = "levels: x86-64-v3\ngpus: [sm_90]\n"


def load_cuda():
    """tests/cuda/run.py, which has the name of the program that loads it."""
    spec = importlib.util.spec_from_file_location("cuda_run", ROOT / "tests/cuda/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Devices:
    """What jobs with kernels need; `why` says why there are none."""

    def __init__(self):
        self.cuda = load_cuda()
        self.nvrtc, self.why = self.cuda.find_nvrtc()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sbc-devices-"))
        if self.nvrtc:
            self.cuda.make_driver(self.folder)
            (self.folder / "target.yaml").write_text(TARGET)

    def __getstate__(self):
        """For processes beside this one, which load the module again."""
        return {"nvrtc": self.nvrtc, "why": self.why, "folder": self.folder}

    def __setstate__(self, state):
        self.__dict__.update(state, cuda=load_cuda())

    def options(self):
        return f"--target={self.folder}/target.yaml"

    def compiling(self):
        return {"SBC_NVRTC": self.nvrtc}

    def running(self, source, work, fusion):
        """(Variables for a job of the program, whose kernels are compiled for the host; what is wrong with these)."""
        done = self.cuda.run(self.cuda.SBC, os.path.basename(source), "--dump=cuda", self.options(), *([fusion] if fusion else []), cwd=work,
                             env={**os.environ, **self.compiling()})
        if "__global__" not in done.stdout:
            return [], ""
        try:
            self.cuda.compile_host(done.stdout, pathlib.Path(work))
        except self.cuda.Wrong as wrong:
            return [], str(wrong)
        return [f"LD_LIBRARY_PATH={self.folder}", f"FAKE_CUDA_KERNELS={work}/kernels.so", f"FAKE_CUDA_LOG={work}/launches"], ""
