"""devices.py: jobs whose kernels run on a driver without a GPU (tests/cuda/driver.c)."""
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(os.path.dirname(os.path.abspath(__file__))).parent.parent
sys.path.append(str(ROOT / "tests/cuda"))
import on_host
import tools

TARGET = "levels: x86-64-v3\ngpus: [sm_90]\n"


class Devices:
    """What jobs with kernels need; `why` says why there are none."""

    def __init__(self):
        self.nvrtc, self.why = tools.find_nvrtc()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sbc-devices-"))
        if self.nvrtc:
            tools.make_driver(self.folder)
            (self.folder / "target.yaml").write_text(TARGET)

    def options(self):
        return f"--target={self.folder}/target.yaml"

    def compiling(self):
        return {"SBC_NVRTC": self.nvrtc}

    def running(self, source, work, fusion):
        """(Variables for a job of the program, whose kernels are compiled for the host; what is wrong with these)."""
        done = tools.run(tools.SBC, os.path.basename(source), "--dump=cuda", self.options(), *([fusion] if fusion else []), cwd=work,
                             env={**os.environ, **self.compiling()})
        if "__global__" not in done.stdout:
            return [], ""
        try:
            on_host.compile_host(done.stdout, pathlib.Path(work))
        except tools.Wrong as wrong:
            return [], str(wrong)
        return [f"LD_LIBRARY_PATH={self.folder}", f"FAKE_CUDA_KERNELS={work}/kernels.so", f"FAKE_CUDA_LOG={work}/launches"], ""
