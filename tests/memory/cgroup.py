"""A cgroup with a limit of memory, below the one that we are in, for commands that are run in it."""
import os
import pathlib
import subprocess

V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")


def own_folder():
    """The folder of the cgroup that we are in, and whether it is of version 1."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return V1 / path.lstrip("/"), True
        if number == "0" and (V2 / "cgroup.controllers").exists():
            return V2 / path.lstrip("/"), False
    return None, False


class Cgroup:
    """`with Cgroup(bytes) as group: group.run(...)`. OSError: none can be made here."""

    def __init__(self, limit):
        parent, self.first = own_folder()
        if parent is None:
            raise OSError("no memory controller")
        self.folder = parent / f"sbc-memory-{os.getpid()}"
        self.limit = limit

    def __enter__(self):
        self.folder.mkdir()
        try:
            (self.folder / ("memory.limit_in_bytes" if self.first else "memory.max")).write_text(str(self.limit))
        except OSError:
            self.folder.rmdir()
            raise
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def run(self, command, **options):
        """As subprocess.run; the command is in the cgroup before it begins."""
        enter = f'echo $$ >"{self.folder}/cgroup.procs" && exec "$@"'
        return subprocess.run(["sh", "-c", enter, "sh", *map(str, command)], **options)

    def killed(self):
        """Processes that the system has killed for their memory."""
        events = (self.folder / ("memory.oom_control" if self.first else "memory.events")).read_text()
        return sum(int(line.split()[1]) for line in events.splitlines() if line.startswith("oom_kill "))


def why_not():
    """None, or why no cgroup can be made here."""
    try:
        with Cgroup(1 << 30) as group:
            done = group.run(["true"])
        return None if done.returncode == 0 else "a process cannot be moved into a cgroup"
    except OSError as error:
        return f"no cgroup can be made: {error}"
