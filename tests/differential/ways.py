"""ways.py: runs a program in every way there is and says where two of them differ."""
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SBC = os.environ.get("SBC", os.path.join(ROOT, "zig-out", "bin", "sbc"))
INTERPRET = os.environ.get("INTERPRET", os.path.join(ROOT, "zig-out", "test", "interpret"))
SECONDS_MAX = 60
INVALID = "invalid"


class Found:
    """What a run left: streams and files by name, and the exit code."""

    def __init__(self, done, folder, inputs):
        self.code = done.returncode
        self.files = {"stdout": done.stdout, "stderr": re.sub(rb"\n?^time .*\n", b"", done.stderr, flags=re.M)}
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                short = os.path.relpath(path, folder)
                if short not in inputs:
                    with open(path, "rb") as file:
                        self.files[short] = file.read()

    def said(self, name):
        """A file or stream; of a failed job's words only what concerns a row, not how far it came."""
        body = self.files.get(name)
        if self.code == 0:
            return body
        of_row = self.files["stderr"].startswith(b"error[SB7")
        if name == "stderr" and of_row:
            return body.split(b"\n\n")[0]
        return body if of_row else b""


def start(command, folder):
    try:
        return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, b"", b"it did not end in time\n")


class Ways:
    """One program in a work folder of its own."""

    def __init__(self, program, work):
        self.program, self.work = program, work
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        self.source = os.path.join(work, "p.sbd")
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(program.text())
        # One CPU level: half the time to compile. Every job with all levels runs in tests/e2e.
        self.target = f"--target={os.path.join(work, 'target.yaml')}"
        with open(os.path.join(work, "target.yaml"), "w", encoding="utf-8") as file:
            file.write("levels: x86-64-v3\n")

    def run(self, name, command):
        folder = os.path.join(self.work, name)
        os.mkdir(folder)
        for file_name, pieces in self.program.files.items():
            with open(os.path.join(folder, file_name), "wb") as file:
                file.write(b"".join(pieces))
        done = start(command, folder)
        found = Found(done, folder, self.program.files)
        shutil.rmtree(folder)
        return found

    def check(self):
        """What the compiler finds wrong with the text, or nothing."""
        done = start([SBC, "check", "p.sbd"], self.work)
        return done.stderr.decode(errors="replace") if done.returncode else ""

    def difference(self, options, fusions):
        """(kind, report) of the first difference; None if all ways agree."""
        if self.check():
            return INVALID, self.check()
        plain = self.run("plain", [INTERPRET, "--after=spell", self.source])
        if plain.code not in (0, 1):
            return f"reference ends with {plain.code}", plain.files["stderr"].decode(errors="replace")
        passes = self.run("passes", [INTERPRET, self.source])
        # What is pruned, and what an edge keeps of a made row, shows in the records of rejects.
        found = compare("passes", plain, passes, False)
        if found:
            return found
        for fusion in fusions:
            job = os.path.join(self.work, "job" + fusion)
            done = start([SBC, "p.sbd", "-o", job, self.target, *([fusion] if fusion else [])],
                         self.work)
            if done.returncode:
                return f"sbc ends with {done.returncode}", done.stderr.decode(errors="replace")
            for i, option in enumerate(options):
                found = compare(" ".join(["job", fusion, *option]), plain, self.run(f"job{i}", [job, *option]),
                                not fusion)
                if found:
                    return found
        return None


def compare(way, want, got, records):
    """`records`: also those of rejects, and what is said of the first."""
    if want.code != got.code:
        return (f"{way.split()[0]}: exit code {got.code}, not {want.code}",
                f"{way}\n--- want\n{shown(want.files['stderr'])}\n--- got\n{shown(got.files['stderr'])}")
    for name in sorted(set(want.files) | set(got.files)):
        a, b = want.said(name), got.said(name)
        if not records and (name.startswith("rejects") or name == "stderr"):
            continue
        if a != b:
            stem = re.sub(r"\d", "", name)
            return f"{way.split()[0]}: {stem} differs", f"{way}: {name}\n{lines_apart(a, b)}"
    return None


def shown(body):
    return body.decode(errors="backslashreplace")[:3000]


def lines_apart(a, b):
    if a is None or b is None:
        return "  there is none in " + ("the reference" if a is None else "the job")
    a, b = a.split(b"\n"), b.split(b"\n")
    out = []
    for i in range(max(len(a), len(b))):
        left, right = (lines[i] if i < len(lines) else None for lines in (a, b))
        if left != right:
            out.append(f"  line {i + 1}\n    reference {left!r}\n    job       {right!r}")
        if len(out) == 5:
            break
    return "\n".join(out)
