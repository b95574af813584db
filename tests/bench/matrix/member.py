"""What a member of the matrix is: its files, its programs, and how results are compared."""

from dataclasses import dataclass, field

KINDS = {"t": "str", "u": "str", "w": "timestamp", "i": "i64", "d": "decimal(18, 2)", "f": "f64", "b": "bool"}
NARROW_DIGITS, WIDE_DIGITS = 18, 38  # Of a decimal in one word, and in two.


@dataclass(frozen=True)
class File:
    """A file of rows: of columns as columns.c takes them, or of lines that a function of lines.py makes."""

    rows: int  # For a scale of 1.
    columns: tuple = ()
    line: str = ""
    header: str = ""  # Of a file of lines.
    fields: tuple = ()  # Of a file of lines: the columns that the peers read, as (name, type).
    form: str = "csv"  # csv, jsonl or text.
    delimiter: str = ","
    end: str = "\n"
    quoted: bool = True  # Quotes have a meaning.
    scales: bool = True

    @property
    def types(self):
        """(name, type) of each column, as a program declares them."""
        return self.fields or tuple(type_of(column) for column in self.columns)

    @property
    def schema(self):
        return ", ".join(f"{name}: {kind}" for name, kind in self.types)

    @property
    def stem(self):
        columns = "_".join(c.replace("=", "-").replace(":", ".") for c in self.columns)
        return columns + self.line + ("_crlf" if self.end == "\r\n" else "")


@dataclass(frozen=True)
class Member:
    name: str
    family: str
    program: str  # Reads `input` (and `right`), writes `out`.
    hand: str  # The C program,
    arguments: tuple = ()  # and what it is given after inputs and output.
    input: File = None
    right: File = None
    duckdb: str = ""  # A query over {input} and {right}; empty: the peer has nothing like it.
    polars: object = None  # A function of polars' module and lazy frames of the inputs.
    numba: tuple = ()  # A loop of numba_loops.py and its arguments.
    compare: str = "ordered"  # A mode of compare.c; with the program by hand,
    peers_compare: str = ""  # and with peers, if another.
    out: str = "csv"  # What is written: csv, jsonl or npy.
    options: dict = field(default_factory=dict, hash=False)

    @property
    def files(self):
        both = {"input": self.input, "right": self.right}
        return {name: file for name, file in both.items() if file}


def type_of(column):
    """The name and the type of a column as columns.c takes it."""
    name, spec = column.split("=")
    parts = [*spec.split(":"), "0", "0", "0", "0"]
    kind = KINDS[parts[0][0]]
    if parts[0] == "d" and int(parts[2]) > NARROW_DIGITS:
        kind = f"decimal({WIDE_DIGITS}, 2)"
    elif parts[0] == "d" and int(parts[2]):
        kind = f"decimal({parts[2]}, 2)"
    return name, kind + ("?" if parts[4] != "0" else "")


def read(file, name="input"):
    """The head of a flow that reads a file."""
    if file.form == "text":
        return f"read text({name})"
    options = ""
    if file.form == "csv":
        options += f', delimiter = "{file.delimiter}"'.replace("\t", "\\t") if file.delimiter != "," else ""
        options += "" if file.header or file.columns else ", header = false"
        options += "" if file.quoted else ', quote = ""'
    return f"read {file.form}({name}{options}) as {{{file.schema}}}"


def program(file, steps, right=None, sink="write csv(out)"):
    lines = ['param input: str = "in"', 'param out: str = "out"']
    if right:
        lines += ['param right: str = "right"', "", f"let r = {read(right, 'right')}"]
    return "\n".join([*lines, "", read(file), steps, f"| {sink}", ""])
