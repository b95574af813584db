"""ray_kill.py LOADS LOAD_SECONDS INFER_SECONDS SLOTS ACCELERATORS KILLS: the same work in Ray Data, in seconds; one process that
loads is killed half-way, if KILLS is 1."""
import os
import signal
import sys
import threading
import time

import ray

loads, load, infer, slots, accelerators, kills = (float(word) for word in sys.argv[1:])


def load_one(row):
    time.sleep(load)
    return {"i": row["id"], "x": b"x" * 100000, "pid": os.getpid()}


def infer_one(row):
    time.sleep(infer)
    return {"i": row["i"], "h": hash(row["x"])}


def workers():
    """Processes of Ray that run a task of the first step."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                name = file.read()
        except OSError:
            continue
        if name.startswith("ray::") and "load_one" in name:
            found.append(int(pid))
    return found


ray.init(num_cpus=int(slots), resources={"accel": accelerators}, include_dashboard=False, log_to_driver=False, logging_level="error")
ray.data.DataContext.get_current().enable_progress_bars = False
flow = ray.data.range(int(loads), override_num_blocks=int(loads)).map(load_one, num_cpus=1)
flow = flow.map(infer_one, num_cpus=0, resources={"accel": 1})
killed = []


def kill():
    time.sleep(loads * load / slots / 2)
    for pid in workers()[:1]:
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)


begin = time.monotonic()
if kills:
    threading.Thread(target=kill, daemon=True).start()
rows = sum(len(batch["i"]) for batch in flow.iter_batches(batch_size=None))
print(f"{time.monotonic() - begin:.2f} {rows} {len(killed)}")
