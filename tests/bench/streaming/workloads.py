"""The workloads of run.py: programs, their arguments, the same chains for the simulator, and targets."""
import dataclasses

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Link:
    """A stage: 0 for cpus or 1 for the second resource, seconds of a row, of one in the later half, bytes of a row."""
    name: str
    resource: int
    seconds: float
    late: float
    bytes: int


def ledger(memory):
    """What a job shares out of --memory: all but a twentieth, or 32 MiB for what nobody counts, and a sixteenth of that."""
    return int((memory - max(memory / 20, 32 * MIB)) * 15 / 16)


@dataclasses.dataclass(frozen=True)
class Chain:
    """What tests/sim/chain.h takes, and what becomes arguments of the job."""
    slots: tuple
    units: int
    rows: int    # Of a unit.
    cut: int     # Rows of a partition.
    links: tuple
    kind: str = "plain"

    def words(self, memory_mib):
        """For `sim chain`."""
        links = [f"{l.name}:{l.resource}:{l.seconds:.9f}:{l.late:.9f}:{l.bytes}" for l in self.links]
        numbers = (*self.slots, self.units, self.rows, self.cut, ledger(memory_mib * MIB))
        return [*map(str, numbers), self.kind, *links]

    def scaled(self, by):
        """Fewer units, but for each of the first resource's slots one at least."""
        return dataclasses.replace(self, units=max(int(self.units / by), self.slots[0]))


@dataclasses.dataclass(frozen=True)
class Run:
    label: str
    chain: Chain
    memory: int  # MiB
    schedule: str = "full"
    judged: bool = True  # The target is for it, if it runs under `full`:
    target: float = 0    # this one, or that of the workload.


@dataclasses.dataclass(frozen=True)
class Workload:
    title: str
    program: str
    arguments: object   # Of a chain: those of the job.
    runs: tuple
    target: float       # Times the bound, of `full`.
    why: str            # What keeps it from its target where it misses it.
    flags: tuple = ()   # Of the compiler.
    flat: bool = False  # The memory peak must not grow with the number of units.
    gpus: bool = False  # The second resource are GPUs, of a driver that has none: a row takes as long there as the link says.


def micros(seconds):
    return f"{round(seconds * 1e6)}us"


def two_resources(chain):
    return [f"--threads={chain.slots[0]}", f"--resource=accel={chain.slots[1]}", "--resource=out=2"]


def with_gpus(arguments, link):
    """The same with GPUs for `accel`: what a row takes there is up to the driver."""
    def made(chain):
        words = [word.replace("--resource=accel", "--resource=gpus") for word in arguments(chain)]
        return [*(word for word in words if not word.startswith(f"--{link}=")), "--device=gpu"]
    return made


def m1_arguments(chain):
    transform = chain.links[-1].seconds
    load = chain.links[0].seconds - (transform if len(chain.links) == 2 else 0)
    return [*two_resources(chain), f"--tasks={chain.units}", f"--bytes={chain.links[0].bytes}", f"--load={micros(load)}",
            f"--transform={micros(transform)}", f"--infer={micros(transform)}"]


def sized(chain):
    return [*two_resources(chain), f"--units={chain.units}", f"--rows={chain.rows}",
            f"--partition={chain.cut * chain.links[0].bytes}", f"--bytes={chain.links[0].bytes}"]


def times(chain):
    return [f"--{link.name}={micros(link.seconds)}" for link in chain.links]


def chain_arguments(chain):
    return sized(chain) + times(chain)


def three_arguments(chain):
    late = [f"--late_{link.name}={micros(link.late)}" for link in chain.links[1:]]
    return [*sized(chain), *times(chain), *late, f"--block={chain.cut}",
            f"--spike={10 if chain.kind == 'spiky' else 1}", f"--long={8 if chain.kind == 'skewed' else 1}"]


def m2_arguments(chain):
    size, step = chain.links[0].bytes, chain.links[0].seconds
    return ["--threads=2", f"--resource=left={chain.slots[0]}", f"--resource=right={chain.slots[1]}", "--resource=out=2",
            f"--count={chain.units * chain.rows}", f"--rows={chain.rows}", f"--bytes={size}", f"--step={micros(step)}"]


def m1(fused, long=1):
    """With rows of 100 kB, in a tenth of the time and of the memory; or `long` times all three."""
    step = 0.0005 * long
    load = (("load", 3 * step),) if fused else (("load", 2 * step), ("transform", step))
    links = [Link(name, 0, seconds, seconds, 100000 * long) for name, seconds in load]
    return Chain((8, 4), 160, 500, 40 // long if fused else 100, (*links, Link("infer", 1, step, step, 8)))


def m2(rows, count=8192, size=1000000, step=0.01):
    return Chain((8, 8), count // rows, rows, rows, (Link("left", 0, step, step, size), Link("right", 1, step, step, 8)))


def three(kind, units, rows, cut, load, decode, infer, late=None):
    late_decode, late_infer = late or (decode, infer)
    return Chain((8, 4), units, rows, cut, (Link("load", 0, load, load, 20000), Link("decode", 0, decode, late_decode, 20000),
                                            Link("infer", 1, infer, late_infer, 8)), kind)


SPIKY = three("spiky", 160, 500, 100, 200e-6, 100e-6, 100e-6)
CHANGING = three("phased", 200, 200, 20, 160e-6, 800e-6, 80e-6, (160e-6, 640e-6))
SKEWED = three("skewed", 160, 200, 20, 400e-6, 800e-6, 400e-6)
FOUR = Chain((8, 4), 200, 200, 20, (Link("load", 0, 4e-4, 4e-4, 10000), Link("decode", 0, 4e-4, 4e-4, 40000),
                                    Link("infer", 1, 4e-4, 4e-4, 10000), Link("encode", 0, 2e-4, 2e-4, 20)))
PRODUCER = Chain((8, 1), 128, 128, 16, (Link("load", 0, 30e-6, 30e-6, 100000), Link("infer", 1, 300e-6, 300e-6, 8)))

WAKING = ("What a job computes is real: making, copying and hashing rows, and waking a thread for each task, have to fit the "
          "cores of the machine beside the work that is held.")


def each(chain, memory, schedules, suffix="", judged=True):
    return tuple(Run(f"{name}{suffix}", chain, memory, name, judged) for name in schedules)


def sized_runs(chain, memories, others, unit, least_target=0):
    """`full` with each size of memory in MiB, the other schedules with the first one, whose target is another."""
    def label(memory):
        return f"{memory // 1000} GB" if unit == "GB" else f"{memory} MiB"
    return (*(Run(f"full, {label(memory)}", chain, memory, target=least_target if memory == memories[0] else 0) for memory in memories),
            *each(chain, memories[0], others, f", {label(memories[0])}", False))


STEPS = ("Without fusion each of eleven steps is a stage, which takes a slot to copy the rows that it hands on. `static` gives each "
         "of these stages a slot or two; the simulator has one stage for load and one for transform.")


def workloads(schedules):
    """{name: Workload}."""
    others = [name for name in schedules if name != "full"]
    return {
        "m1": Workload("M1, rows of 100 kB, a tenth of the memory and of the time", "m1", m1_arguments,
                       sized_runs(m1(True), (600, 800, 1000, 1200, 1400, 1600), others, "MiB"), 153 / 150.5, WAKING),
        "m1_unfused": Workload("M1, a stage for every step, batches of 100 rows", "m1_batch", m1_arguments,
                               sized_runs(m1(False), (600, 800, 1000, 1200, 1400, 1600), others, "MiB", 158 / 150.5), 156 / 150.5, STEPS,
                               ("--no-fuse",)),
        "m1_long": Workload("M1 in full, rows of 1 MB", "m1", m1_arguments,
                            sized_runs(m1(True, 10), (6000, 16000), others, "GB"), 153 / 150.5, WAKING),
        "m1_unfused_long": Workload("M1 in full, a stage for every step", "m1_batch", m1_arguments,
                                    sized_runs(m1(False, 10), (6000, 16000), others, "GB", 158 / 150.5), 156 / 150.5, STEPS,
                                    ("--no-fuse",)),
        "m1_gpu": Workload("M1 with kernels", "m1_gpu", with_gpus(m1_arguments, "infer"),
                           (Run("full, 600 MiB", m1(True), 600), Run("full, 1600 MiB", m1(True), 1600)), 153 / 150.5, WAKING, gpus=True),
        "four_gpu": Workload("Four stages with kernels: cpu, cpu, GPU, cpu", "four_gpu", with_gpus(chain_arguments, "infer"),
                             each(FOUR, 128, ["full"]), 1.1, WAKING, gpus=True),
        "spiky": Workload("One partition in ten takes ten times as long", "three", three_arguments,
                          each(SPIKY, 128, schedules), 1.1, WAKING),
        "changing": Workload("The bottleneck changes half-way", "three", three_arguments,
                             each(CHANGING, 64, schedules), 1.1, WAKING),
        "skewed": Workload("One unit in sixteen takes eight times as long", "three", three_arguments,
                           each(SKEWED, 128, schedules), 1.1, WAKING),
        "four": Workload("Four stages: cpu, cpu, accelerator, cpu", "four", chain_arguments,
                         each(FOUR, 128, schedules), 1.1, WAKING),
        "producer": Workload("A fast producer", "two", chain_arguments, (
            Run("full, 32 units", PRODUCER.scaled(4), 128), *each(PRODUCER, 128, schedules, ", 128 units")), 1.1, WAKING,
            flat=True),
        "m2": Workload("M2, 8,192 rows of 1 MB, by size of a partition", "m2", m2_arguments, (
            *(Run(f"full, {rows} MB", m2(rows), 4096) for rows in (1, 4, 16, 64)),
            *each(m2(4), 4096, others, ", 4 MB", False)), 1.03, WAKING),
        "m2_small": Workload("M2, rows of 16 kB, by size of a partition", "m2", m2_arguments, (
            *(Run(f"full, {rows * 16} kB", m2(rows, 524288, 16000, 0.000156), 4096) for rows in (4, 16, 64)),
            *each(m2(16, 524288, 16000, 0.000156), 4096, others, ", 256 kB", False)), 1.05,
            "A task of 64 kB holds its slot for 0.6 ms. To be woken at its end, to hand over and to begin the next one take 20 to 30 us of that, "
            "while the cores of the machine make, copy and hash 8 GB."),
    }
