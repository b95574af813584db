"""examples.py: makes a case of each example: its text, the data beside it and the expected folder."""
import os
import shutil

import case as cases


def files_below(folder):
    for parent, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, folder), file.read()


def load_all(folder):
    if not os.path.isdir(folder):
        return []
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sbd"))
    shared = [("examples/" + name, body) for name, body in files_below(folder)
              if not name.startswith("expected/")]
    return [load(folder, name, shared) for name in names]


def load(folder, name, shared):
    """Runs in a copy of the repository's root, as the example's own text says."""
    case = Example("examples/" + name, os.path.join(folder, name))
    case.inputs = shared
    case.expected = dict(files_below(os.path.join(folder, "expected", case.stem())))
    settings = case.expected.pop("settings", b"").decode()
    case.settings = dict(line.split(": ", 1) for line in settings.splitlines())
    return case


class Example(cases.Case):
    """A case that stands in files of its own."""

    def programs(self):
        return [self.name]

    def stem(self):
        return os.path.basename(self.name)[:-len(".sbd")]

    def save(self, found, exit_code):
        """Writes the expected folder anew."""
        folder = os.path.join(os.path.dirname(self.path), "expected", self.stem())
        shutil.rmtree(folder, ignore_errors=True)
        self.settings.pop("exit", None)
        if exit_code:
            self.settings["exit"] = str(exit_code)
        settings = "".join(f"{key}: {value}\n" for key, value in self.settings.items())
        for name, body in [*found.items(), *([("settings", settings.encode())] if settings else [])]:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(body)
