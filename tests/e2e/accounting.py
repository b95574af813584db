"""accounting.py: what holds of the closing summary of every job that succeeds, whatever it does."""
import re

HEADS = ("in", "made", "on", "filtered", "rejected", "merged")


def number(text):
    return int(text.replace(",", ""))


def tables(summary):
    """The tables of one or more summaries: (name of the first column, [(label, figures)])."""
    found, columns = [], 0
    for line in summary.split("\n"):
        words = line.split()
        if re.fullmatch(r"step +in +made .*|(source|sink) +rows +bytes", line):
            found.append((words[0], []))
            columns = len(words) - 1
            continue
        cells = line.rsplit(None, columns)
        if found and len(cells) == columns + 1 and all(re.fullmatch(r"-?[\d,]+", cell) for cell in cells[1:]):
            found[-1][1].append((cells[0], [number(cell) for cell in cells[1:]]))
    return found


def wrong(summary):
    """What cannot be, a line each."""
    report, written = [], {}
    for name, rows in tables(summary):
        if name == "step":
            written = {}
        for label, figures in rows:
            if name == "sink" and label in written and written.pop(label) != figures[0]:
                report.append(f"sink {label} holds {figures[0]} rows, `write` passed on others")
            if name != "step":
                continue
            counts = dict(zip(HEADS, figures))
            out = counts["on"] + counts["filtered"] + counts["rejected"] + counts["merged"]
            if counts["in"] + counts["made"] != out or min(figures) < 0:
                report.append(f"`{label}`: in + made is not on + filtered + rejected + merged, or one is negative")
            path = re.fullmatch(r'write \w+\("([^"]*)".*\)', label)
            if path:
                written[path[1]] = counts["on"]
    return report
