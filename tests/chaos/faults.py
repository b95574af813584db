"""faults.py: what befalls a job: in one of its lives, by its failpoints, from outside, and by its machine."""
import os
import random
import signal
import threading
import time

WORKER_POINTS = ("worker-asked", "worker-cut", "worker-runs", "worker-made", "worker-said")
COORDINATOR_POINTS = ("0/task", "finish", "committed", "commit-synced", "journal-written", "checkpoint-synced", "publish-begins",
                      "publish-recorded", "renamed", "published")
DISK_POINTS = ("source-read", "header-read", "source-open", "stream-read", "output-create", "output-write", "spill-write",
               "spill-read")
HARMED_ROWS = ("rows-made", "rows-held", "rows-listed", "bytes-made")
WRITES = ("output-create", "output-write", "spill-write")
SILENCE_SECONDS = 0.4  # Of a worker that is lost then.
SILENCE = f"--worker-timeout={round(1000 * SILENCE_SECONDS)}ms"
KILLED, ENDED, UNREAD, INTERRUPTED = -signal.SIGKILL, 3, 1, 130


# What has to befall some job of the short run: how a job of a seed comes to meet it. `points` and `outside` name a line of the
# tables below, `network` is one that workers join over, `harm` the foreign code that does it.
FAULTS = {
    "a worker killed": ("outside", "kills_one"),
    "several workers killed": ("outside", "kills_several"),
    "all workers killed": ("outside", "kills_all"),
    "a worker killed at a failpoint": ("points", "killed workers"),
    "a worker crashed": ("points", "crashed workers"),
    "a worker stopped until it is lost": ("points", "stopped workers"),
    "a worker woken when it is lost": ("outside", "stops"),
    "all of the job stopped": ("outside", "sleeps"),
    "the job killed": ("outside", "murders"),
    "the job killed at a failpoint": ("points", "killed job"),
    "the job asked to end": ("points", "ended job"),
    "a socket cut": ("points", "cut sockets"),
    "a network cut": ("network", "cut"),
    "a network open on one side": ("network", "deaf"),
    "a full disk": ("points", "full disk"),
    "errors of reading": ("points", "read errors"),
    "errors of writing": ("points", "read errors"),
    "a disk that stays broken": ("points", "broken disk"),
    "a slow disk": ("points", "slow disk"),
    "corrupt rows": ("points", "corrupt rows"),
    "a process killed for memory": ("harm", "leaks"),
    "code in C that crashes": ("harm", "crashes"),
    "code in C that hangs": ("harm", "hangs"),
    "a process of Python killed": ("outside", "pythons"),
}
READS = ("source-read", "header-read", "source-open", "stream-read", "spill-read")


def met_at(told, code):
    """The faults of the lines that failpoints have told, and of how the job ended."""
    lines, met = set(told.splitlines()), set()
    for line in lines:
        node, _, point = line.partition("/")
        name, _, what = point.partition("=")
        if not what:
            met.add("a worker killed at a failpoint" if node != "0" else "the job killed at a failpoint")
        elif what in MET_BY:
            met.add(MET_BY[what])
        elif name.startswith("link-"):
            met.add("a socket cut")
        else:
            met.add("errors of reading" if name in READS else "errors of writing")
    if code in (ENDED, UNREAD) and any(line.endswith("=EIO") and "/link-" not in line for line in lines):
        met.add("a disk that stays broken")
    return met


MET_BY = {"SIGTERM": "the job asked to end", "STOP": "a worker stopped until it is lost", "SIGSEGV": "a worker crashed", "FLIP": "corrupt rows",
          "WAIT": "a slow disk", "ENOSPC": "a full disk"}


class Life:
    """One run of a job: its options, its variables, how it may end, what is done to it from outside."""

    def __init__(self, options, points=(), ends=(0,), outside=None, limit=0, joined=0):
        self.options, self.points, self.ends = list(options), list(points), set(ends)
        self.outside, self.limit = outside, limit  # A kind of Outside; bytes of a cgroup.
        self.joined = joined                       # Workers that join over a network.

    def variables(self):
        return {"SBC_FAILPOINT": ",".join(self.points)} if self.points else {}

    def words(self):
        said = [f"{name}={value}" for name, value in self.variables().items()]
        more = [f"[{self.outside} from outside]"] * bool(self.outside) + [f"[in {self.limit >> 20} MiB]"] * bool(self.limit)
        more += [f"[{self.joined} join over a network]"] * bool(self.joined)
        return " ".join([*said, "JOB", *self.options, *more])


# ---- failpoints ---------------------------------------------------------------------------------------------------


def killed_workers(draw):
    """One worker, or every one, dies at some of its tasks; in each of its lives."""
    node = draw.choice(["", "1/", "2/"])
    return [f"{node}{draw.choice(WORKER_POINTS)}:{draw.choice([5, 12, 31, 75])}" for _ in range(draw.randint(1, 2))]


def stopped_workers(draw):
    """One stands still until it is lost."""
    return [f"{draw.choice([1, 2])}/{draw.choice(WORKER_POINTS)}=STOP:{draw.randint(1, 30)}"]


def cut_sockets(draw):
    """A connection breaks, at the end of the job or of a worker."""
    node, way, error = draw.choice([0, 1, 2]), draw.choice(["read", "write"]), draw.choice(["ECONNRESET", "EIO"])
    return [f"{node}/link-{way}={error}:1+{draw.choice([2, 5, 11, 40, 90])}"]


def crashed_workers(draw):
    return [f"{draw.choice([1, 2])}/{draw.choice(WORKER_POINTS)}=SIGSEGV:{draw.randint(3, 60)}"]


def corrupt_rows(draw):
    """Something writes to rows of a worker, which is lost with each partition that is found so."""
    return [f"{draw.choice(['', '1/', '2/'])}{draw.choice(HARMED_ROWS)}=FLIP:{draw.choice([5, 12, 31, 75])}"
            for _ in range(draw.randint(1, 3))]


def read_errors(draw):
    """Some calls fail, and are made again."""
    return [f"{draw.choice(DISK_POINTS)}=EIO:{draw.randint(1, 2)}+{draw.randint(0, 20)}" for _ in range(draw.randint(1, 2))]


def slow_disk(draw):
    return [f"{draw.choice(DISK_POINTS)}=WAIT:{draw.randint(1, 40)}" for _ in range(3)]


def broken_disk(draw):
    """Calls fail until the job gives up."""
    return [f"{draw.choice(DISK_POINTS)}=EIO:1000000+{draw.randint(0, 20)}"]


def full_disk(draw):
    return [f"{draw.choice(WRITES)}=ENOSPC:1000000+{draw.randint(0, 20)}"]


def killed_job(draw):
    return [f"{draw.choice(COORDINATOR_POINTS)}:{draw.randint(1, 12)}"]


def ended_job(draw):
    return [f"0/task=SIGTERM:{draw.randint(1, 12)}"]


# By name: what makes the points, and how a life may end that meets them.
POINTS = {
    "killed workers": (killed_workers, ()),
    "stopped workers": (stopped_workers, ()),
    "cut sockets": (cut_sockets, ()),
    "crashed workers": (crashed_workers, ()),
    "corrupt rows": (corrupt_rows, ()),
    "read errors": (read_errors, ()),
    "slow disk": (slow_disk, ()),
    "broken disk": (broken_disk, (ENDED, UNREAD)),
    "full disk": (full_disk, (ENDED,)),
    "killed job": (killed_job, (KILLED,)),
    "ended job": (ended_job, (INTERRUPTED,)),
}


# ---- from outside -------------------------------------------------------------------------------------------------


def children(pid):
    """Processes that a process has started."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def name_of(pid):
    with open(f"/proc/{pid}/comm") as name:
        return name.read()


def may_die(pid, job):
    """Not an interpreter that a job runs its functions in, nor a script that finds one: a job without its first one cannot begin
    (SB8100). What has the name of the job still may become one."""
    try:
        with open(f"/proc/{pid}/cmdline", errors="replace") as words:
            begins = [os.path.basename(word) for word in words.read().split("\0")[:2]]
        name = name_of(pid)
        return name != name_of(job) and not name.startswith("python") and not any(word.startswith(("python", "pyenv")) for word in begins)
    except OSError:
        return False


def is_python(pid):
    try:
        return name_of(pid).startswith("python")
    except OSError:
        return False


def send(pid, number):
    if pid <= 0:
        raise ValueError("no process, but a group")
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Outside(threading.Thread):
    """Does things to a running job until it ends, at times of a seed."""

    def __init__(self, pid, kind, seed):
        super().__init__(daemon=True)
        self.met = []  # Names of FAULTS.
        self.pid, self.kind, self.draw = pid, kind, random.Random(seed)
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(self.draw.choice([0.002, 0.01, 0.03, 0.1])):
            getattr(self, self.kind)([pid for pid in children(self.pid) if may_die(pid, self.pid)])

    def kills(self, workers):
        """One, several or all of the workers die at once."""
        getattr(self, self.draw.choice(["kills_one", "kills_several", "kills_all"]))(workers)

    def kills_one(self, workers):
        self.kill(workers, 1, "a worker killed")

    def kills_several(self, workers):
        self.kill(workers, len(workers) - 1 if len(workers) > 2 else 0, "several workers killed")

    def kills_all(self, workers):
        self.kill(workers, len(workers), "all workers killed")

    def kill(self, workers, count, name):
        for pid in self.draw.sample(workers, min(count, len(workers))):
            send(pid, signal.SIGKILL)
            self.met.append(name)
        self.over.wait(0.05)

    def stops(self, workers):
        """A worker stands still, and wakes before it is lost or after."""
        for pid in workers[:1]:
            send(pid, signal.SIGSTOP)
            seconds = self.draw.choice([0.1, 0.2, 0.3, 0.6])
            if not self.over.wait(seconds) and seconds > SILENCE_SECONDS:
                self.met.append("a worker woken when it is lost")
            send(pid, signal.SIGCONT)

    def sleeps(self, _):
        """All of the job stands still, as its machine does."""
        pids = [self.pid] if self.draw.random() < 0.5 else [self.pid, *children(self.pid)]
        for pid in pids:
            send(pid, signal.SIGSTOP)
        self.met.append("all of the job stopped")
        self.over.wait(self.draw.choice([0.1, 0.6]))
        for pid in pids:
            send(pid, signal.SIGCONT)

    def murders(self, _):
        """The job itself dies; its workers with it."""
        self.over.wait(self.draw.choice([0, 0.05, 0.2]))
        send(self.pid, signal.SIGKILL)
        self.met.append("the job killed")

    def pythons(self, workers):
        """A process of Python dies, once: a row that ends two of them is rejected."""
        pids = [pid for worker in workers for pid in children(worker) if is_python(pid)]
        if not pids or self.met:
            return
        self.over.wait(self.draw.choice([0, 0.05, 0.2]))
        send(self.draw.choice(pids), signal.SIGKILL)
        self.met.append("a process of Python killed")


OUTSIDE = {"kills": (), "kills_one": (), "kills_several": (), "kills_all": (), "stops": (), "sleeps": (), "murders": (KILLED,), "pythons": ()}


def end_quietly(outside):
    outside.over.set()
    outside.join()


def wait_until(what, seconds):
    """Does it come true in time?"""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
