#!/usr/bin/env python3
"""cases.py: runs the cases of a folder whose commands are a script; tests/README.md says how to write one.

usage: tests/cases.py FOLDER [--keep] [--beside | --alone] [CASE...]     FOLDER: `job` for tests/job. SBC names the compiler.

Each case is run once, in a folder of its own; one more at a time than there are processors, for many wait. A program
that several cases hold is compiled once. Cases with `alone: yes` are run last, one by one. --alone runs just these,
--beside all others.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "e2e"))
import case as cases  # noqa: E402

ROOT = os.path.dirname(HERE)
SBC = os.path.abspath(os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc")))
SETTINGS = ("alone",)
SWITCHES = ("--keep", "--beside", "--alone")
SECONDS_MAX = 600
PASSED, FAILED, SKIPPED = 0, 1, 77  # How a case's shell ends.
OPTIONS = re.compile(rb"^# compile: (.*)\n")
# What a misspelt word leaves; the shell goes on after it.
UNKNOWN_WORD = re.compile(r"^\S+: (?:line )?\d+: .*not found$", re.M)

PRELUDE = """\
mounted= checks=0
leave() {{ [ -z "$mounted" ] || umount "$mounted"; }}
trap leave EXIT
. {here}/words.sh
skip() {{ echo "$case_name: skipped: $*"; exit {skipped}; }}
"""


def is_program(name):
    return name.endswith(".sbd") and "/" not in name


def is_beside(name):
    """Programs, and the C and Python that they name, lie above the case's folder, where `only_files` does not look."""
    return is_program(name) or name.endswith((".c", ".py"))


class Script:
    """A case: its programs, its files, its commands."""

    def __init__(self, path, alone):
        name = os.path.basename(path)[:-len(".case")]
        self.case = cases.load(path, name, SETTINGS)
        self.name, self.alone = name, f"{alone} {name}"
        self.measures = "alone" in self.case.settings
        sections = dict(self.case.inputs)
        self.commands = sections.pop("commands", b"").decode()
        self.beside = {key: body for key, body in sections.items() if is_beside(key)}
        self.case.inputs = [(key, body) for key, body in sections.items() if not is_beside(key)]
        if not self.commands:
            raise ValueError(f"{path}: no section `commands`")

    def programs(self):
        """What the compiler is given for each program: (its name, all that it can see)."""
        more = tuple((key, body) for key, body in self.beside.items() if not is_program(key))
        return [(key, ((key, body), *more)) for key, body in self.beside.items() if is_program(key)]


class Jobs:
    """Compiled programs, each once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def compile(self, number, name, texts):
        """(path of the job, None), or (None, what the compiler said)."""
        folder = os.path.join(self.folder, str(number))
        os.mkdir(folder)
        for key, body in texts:
            with open(os.path.join(folder, key), "wb") as file:
                file.write(body)
        options = OPTIONS.match(dict(texts)[name])
        job = os.path.join(folder, name[:-len(".sbd")])
        done = subprocess.run([SBC, os.path.join(folder, name), "-o", job, f"--target={HERE}/least_level.yaml", *(options[1].decode().split() if options else [])],
                              capture_output=True, check=False, timeout=SECONDS_MAX)
        return (job, None) if done.returncode == 0 else (None, f"{name} does not compile\n{done.stderr.decode()}")

    def make(self, scripts, pool):
        wanted = dict.fromkeys(program for script in scripts for program in script.programs())
        tasks = [(program, pool.submit(self.compile, number, *program)) for number, program in enumerate(wanted)]
        self.made = {program: task.result() for program, task in tasks}


def run(script, jobs, work, helpers):
    """(PASSED, FAILED or SKIPPED, what it said)."""
    top = os.path.join(work, script.name)
    folder = os.path.join(top, script.name)
    os.makedirs(folder)
    for program in script.programs():
        job, said = jobs.made[program]
        if not job:
            return FAILED, f"{script.name}: {said}"
        os.link(job, os.path.join(top, os.path.basename(job)))
    for key, body in script.beside.items():
        with open(os.path.join(top, key), "wb") as file:
            file.write(body)
    script.case.fill(folder)
    text = PRELUDE.format(here=HERE, skipped=SKIPPED)
    text += "".join(f". {path}\n" for path in helpers) + f"cd {folder}\n{script.commands}"
    text += '\n[ $checks -gt 0 ] || wrong "it checks nothing"\n[ ! -e "$work/failed" ]\n'
    with open(os.path.join(top, "commands.sh"), "w", encoding="utf-8") as file:
        file.write(text)
    known = {"work": top, "sbc": SBC, "tests": HERE, "case_name": script.name, "alone": script.alone.rpartition(" ")[0]}
    try:
        done = subprocess.run(["sh", os.path.join(top, "commands.sh")], cwd=folder, env={**os.environ, **known},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return FAILED, f"{script.name}: not over after {SECONDS_MAX} s"
    said = done.stdout.decode(errors="replace")
    unknown = UNKNOWN_WORD.search(said)
    if unknown or done.returncode not in (PASSED, SKIPPED):
        return FAILED, f"{said}{script.name}: FAILED; run it alone: {script.alone}\n"
    return done.returncode, said


def find(folder, names):
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".case"))
    alone = "tests/cases.py " + os.path.relpath(folder, HERE)
    scripts = [Script(path, alone) for path in paths]
    unknown = set(names) - {script.name for script in scripts}
    if unknown:
        sys.exit(f"no case '{unknown.pop()}' in {folder}")
    return [script for script in scripts if not names or script.name in names]


def main(arguments):
    unknown = [option for option in arguments if option.startswith("--") and option not in SWITCHES]
    if unknown:
        sys.exit(f"no option '{unknown[0]}': there are {', '.join(SWITCHES)}")
    keep = "--keep" in arguments
    folder, *names = [word for word in arguments if not word.startswith("--")]
    folder = os.path.join(HERE, folder)
    scripts = [script for script in find(folder, names) if script.measures or "--alone" not in arguments]
    scripts = [script for script in scripts if not script.measures or "--beside" not in arguments]
    helpers = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".sh")]
    work = tempfile.mkdtemp(prefix="sbc-cases-")
    os.chmod(work, 0o711)  # A case runs a job as another user.
    counts = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    jobs = Jobs(os.path.join(work, "jobs.made"))
    os.mkdir(jobs.folder)

    def finish(result):
        code, said = result
        counts[code] += 1
        if said:
            print(said, end="", flush=True)

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() + 1) as pool:
        jobs.make(scripts, pool)
        together = [script for script in scripts if not script.measures]
        for result in pool.map(lambda script: run(script, jobs, work, helpers), together):
            finish(result)
    for script in scripts:
        if script.measures:
            finish(run(script, jobs, work, helpers))
    if keep:
        print(f"kept: {work}")
    else:
        shutil.rmtree(work)
    print(f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[SKIPPED]} skipped")
    return 1 if counts[FAILED] else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
