"""CSV, JSON and text with everything that makes them hard, judged by Python, DuckDB and Polars."""
import csv
import io
import json
import random

import duckdb
import polars

from harness import Different, case, expect

PIECES = ["", "a", "word", '"', '""', ",", ";", "\n", "\r\n", " ", "  x  ", "é", "ü", "日本語", "😀", "\u00a0", "\u2028", "\ufeff",
          "#", "\\", "\\n", "null", "NULL", "1", "-0", "1e5", "true", "\t", "'", "\x7f", "a,b", "\"q\"", "{}", "[1]"]


def texts(seed, rows, columns):
    r = random.Random(seed)
    return [["".join(r.choice(PIECES) for _ in range(r.randint(0, 4))) for _ in range(columns)] for _ in range(rows)]


def written(rows, **dialect):
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows(rows)
    return out.getvalue()


def without_lone_cr(rows):
    return [[field.replace("\r\n", "\n") for field in row] for row in rows]


TABLE = "{ a: str, b: str, c: str }"


@case
def csv_is_read_as_python_does(work):
    for seed, dialect in [(1, {"lineterminator": "\n"}), (2, {"lineterminator": "\r\n"}),
                          (3, {"lineterminator": "\n", "quoting": csv.QUOTE_ALL})]:
        rows = texts(seed, 4000, 3)
        work.put("t.csv", written([["a", "b", "c"], *rows], **dialect))
        expect(rows, work.rows(f'read csv("t.csv") as {TABLE} | write jsonl("out.jsonl")'))


@case
def csv_of_other_dialects(work):
    rows = [[field.replace("'", "") for field in row] for row in texts(4, 3000, 3)]
    work.put("t.csv", written(rows, delimiter=";", quotechar="'", lineterminator="\n"))
    got = work.rows(f'''read csv("t.csv", delimiter = ";", quote = "'", header = false) as {TABLE} | write jsonl("out.jsonl")''')
    expect(rows, got)
    rows = [[field.replace("\n", "").replace("\r", "").replace("\t", "") for field in row] for row in texts(5, 3000, 3)]
    work.put("t.tsv", "a\tb\tc\n" + "".join("\t".join(row) + "\n" for row in rows))
    expect(rows, work.rows(f'read tsv("t.tsv", quote = "") as {TABLE} | write jsonl("out.jsonl")'))


@case
def csv_is_written_for_all_to_read(work):
    """JSON in, CSV out; what Python, DuckDB and Polars read from it is what went in."""
    rows = texts(6, 3000, 3)
    work.put("t.jsonl", "".join(json.dumps(dict(zip("abc", row))) + "\n" for row in rows))
    path = work.path / "out.csv"
    got = work.run(f'read jsonl("t.jsonl") as {TABLE} | write csv("out.csv")', "out.csv")
    expect(rows, list(csv.reader(io.StringIO(got.decode(), newline="")))[1:])
    frame = polars.read_csv(path, schema={k: polars.String for k in "abc"}).fill_null("")
    expect(frame.rows(), rows)
    relation = duckdb.sql(f"SELECT * FROM read_csv('{path}', header=true, delim=',', quote='\"', escape='\"', "
                          "columns={'a': 'VARCHAR', 'b': 'VARCHAR', 'c': 'VARCHAR'}, nullstr='\\0', parallel=false)")
    expect([["" if x is None else x for x in row] for row in relation.fetchall()], rows)


@case
def csv_to_csv_leaves_bytes_alone(work):
    rows = texts(7, 3000, 3)
    for terminator in ["\n", "\r\n"]:
        text = written([["a", "b", "c"], *rows], lineterminator=terminator, quoting=csv.QUOTE_ALL)
        work.put("t.csv", text)
        got = work.run(f'read csv("t.csv") as {TABLE} | where byte_len(a) >= 0 | write csv("out.csv")', "out.csv")
        # Fields as they were spelled; line ends and the header are the sink's own.
        expected = "a,b,c\n" + written(rows, lineterminator="\n", quoting=csv.QUOTE_ALL)
        if got.decode() != expected:
            raise Different(f"{len(got)} bytes, {len(expected)} expected")


@case
def csv_nulls(work):
    text = 'a,b,c\n,"",x\n"",,\nNA,"NA",NA\n,,\n'
    work.put("t.csv", text)
    got = work.rows('read csv("t.csv", null = ["", "NA"]) as { a: str?, b: str?, c: str } | write jsonl("out.jsonl")')
    expect([[None, "", "x"], ["", None, ""], [None, "NA", "NA"], [None, None, ""]], got)


@case
def csv_typed_columns(work):
    r = random.Random(8)
    rows = [[str(r.randint(-999, 999)), f"{r.uniform(-9, 9):.3f}", r.choice(["true", "FALSE", "True"]),
             f"20{r.randint(10, 29)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
             f"2024-0{r.randint(1, 9)}-1{r.randint(0, 9)}T0{r.randint(0, 9)}:{r.randint(10, 59)}:00.{r.randint(0, 999):03}Z"]
            for _ in range(3000)]
    spaced = [[f" {row[0]} ", f"{row[1]} ", *row[2:]] if i % 3 == 0 else row for i, row in enumerate(rows)]
    path = work.put("t.csv", "i,f,b,d,t\n" + "".join(",".join(row) + "\n" for row in spaced))
    got = work.rows('''read csv("t.csv") as { i: i32, f: f64, b: bool, d: date, t: timestamp }
        | derive i = i + 0, f = f * 1.0, b = not not b, d = add_days(d, 0), t = t + 0s | write jsonl("out.jsonl")''')
    expect(duckdb.sql(f"""SELECT * FROM read_csv('{path}', header=true, parallel=false,
        columns={{'i': 'INTEGER', 'f': 'DOUBLE', 'b': 'BOOLEAN', 'd': 'DATE', 't': 'TIMESTAMP'}})""").fetchall(), got)


def json_text(r, depth=0):
    """A value and one of its many spellings."""
    kind = r.random()
    if kind < 0.5 or depth > 3:
        text = "".join(r.choice(PIECES) for _ in range(r.randint(0, 4))) + chr(r.choice([1, 31, 0x7f, 0x7ff, 0xfffd, 0x1f600]))
        return text, spelled(r, text)
    if kind < 0.6:
        return None, "null"
    if kind < 0.7:
        return True, "true"
    if kind < 0.8:
        n = r.randint(-10**18, 10**18)
        return n, str(n)
    if kind < 0.9:
        items = [json_text(r, depth + 1) for _ in range(r.randint(0, 3))]
        return [i[0] for i in items], "[" + r.choice([",", " , ", "\t,"]).join(i[1] for i in items) + "]"
    items = {f"k{i}": json_text(r, depth + 1) for i in range(r.randint(0, 3))}
    return {k: v[0] for k, v in items.items()}, "{ " + ", ".join(f'"{k}" : {v[1]}' for k, v in items.items()) + "}"


def spelled(r, text):
    out = ""
    for c in text:
        if c in '"\\' or c < " ":
            out += json.dumps(c)[1:-1]
        elif r.random() < 0.2:
            out += json.dumps(c)[1:-1]
        elif r.random() < 0.1:
            out += "".join(f"\\u{u:04{r.choice('xX')}}" for u in units(c))
        elif c == "/":
            out += "\\/"
        else:
            out += c
    return f'"{out}"'


def units(c):
    encoded = c.encode("utf-16-be")
    return [int.from_bytes(encoded[i:i + 2]) for i in range(0, len(encoded), 2)]


@case
def json_strings_are_read_as_python_does(work):
    r = random.Random(9)
    rows, lines = [], []
    for _ in range(5000):
        texts_of_row = ["".join(r.choice(PIECES) for _ in range(r.randint(0, 4))) for _ in range(3)]
        keys = [spelled(r, k) for k in "abc"]
        order = r.sample(range(3), 3)
        other = f'{spelled(r, "other")}: {json_text(r)[1]}'
        fields = [f"{keys[k]}:{spelled(r, texts_of_row[k])}" for k in order]
        fields.insert(r.randint(0, 3), other)
        rows.append(texts_of_row)
        lines.append(" {" + r.choice([",", " , "]).join(fields) + "} ")
    text = "\n".join(lines) + "\n"
    for line, row in zip(lines, rows):
        assert [json.loads(line)[k] for k in "abc"] == row
    work.put("t.jsonl", text)
    got = work.rows(f'read jsonl("t.jsonl") as {TABLE} | write jsonl("out.jsonl")')
    expect(rows, got, about=lambda i: lines[i])


@case
def json_of_any_shape(work):
    r = random.Random(10)
    values = [json_text(r) for _ in range(3000)]
    work.put("t.jsonl", "".join(f'{{"j": {v[1]}}}\n' for v in values))
    got = work.run('read jsonl("t.jsonl") as { j: json? } | write jsonl("out.jsonl")').decode()
    for (value, spelling), line in zip(values, got.split("\n")[:-1], strict=True):
        if json.loads(line)["j"] != value:
            raise Different(f"{spelling} became {line}")


@case
def json_lists_and_structs(work):
    r = random.Random(11)
    rows = [{"l": [r.randint(-9, 9) for _ in range(r.randint(0, 4))],
             "s": {"x": r.choice([None, r.uniform(-1, 1)]), "t": [r.choice(PIECES) for _ in range(r.randint(0, 3))]},
             "n": [[r.random() for _ in range(r.randint(0, 2))] for _ in range(r.randint(0, 3))]} for _ in range(2000)]
    work.put("t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    kind = "{ l: [i64], s: { x: f64?, t: [str] }, n: [[f64]] }"
    got = work.rows(f'read jsonl("t.jsonl") as {kind} | write jsonl("out.jsonl")')
    expect([list(row.values()) for row in rows], got)
    sorted_rows = sorted(enumerate(rows), key=lambda e: (len(e[1]["l"]), e[0]))
    got = work.rows(f'read jsonl("t.jsonl") as {kind} | sort len(l) | write jsonl("out.jsonl")')
    expect([list(row.values()) for _, row in sorted_rows], got)


@case
def json_explodes(work):
    r = random.Random(12)
    rows = [{"id": i, "l": None if r.random() < 0.2 else [r.choice(PIECES) for _ in range(r.randint(0, 4))]} for i in range(1500)]
    path = work.put("t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    got = work.rows('read jsonl("t.jsonl") as { id: i64, l: [str]? } | explode outer l | write jsonl("out.jsonl")')
    expect(polars.read_ndjson(path).explode("l", empty_as_null=True, keep_nulls=True).rows(), got)
    got = work.rows('read jsonl("t.jsonl") as { id: i64, l: [str]? } | explode l | write jsonl("out.jsonl")')
    frame = polars.read_ndjson(path).filter(polars.col("l").list.len() > 0).explode("l")
    expect(frame.rows(), got)


@case
def lines_of_text(work):
    rows = [row[0].replace("\n", "").replace("\r", "") for row in texts(13, 3000, 1)]
    work.put("t.txt", "".join(f"{row}\n" for row in rows))
    got = work.rows('read text("t.txt") | write jsonl("out.jsonl")')
    expect([[row] for row in rows], got)


@case
def compressed_files(work):
    import gzip
    rows = texts(14, 2000, 3)
    text = written([["a", "b", "c"], *rows], lineterminator="\n").encode()
    half = len(text) // 2
    work.put("t.csv.gz", gzip.compress(text[:half]) + gzip.compress(text[half:]))
    expect(rows, work.rows(f'read csv("t.csv.gz") as {TABLE} | write jsonl("out.jsonl")'))


# Encodings, and characters that each has beside ASCII; Python writes a mark of the byte order in utf-16 alone.
ENCODINGS = {"utf-16": "é日", "utf-16le": "é日😀", "utf-16be": "é日😀", "iso-8859-1": "éÿ\u00a0", "iso-8859-2": "ěőß", "iso-8859-5": "Яё",
             "iso-8859-7": "ΩΏ", "iso-8859-9": "ğİ", "iso-8859-15": "€Ž", "windows-1250": "ěő€", "windows-1251": "Яё", "windows-1252": "é€œ",
             "windows-1253": "Ωώ", "windows-1254": "ğ€", "windows-1257": "ėų", "koi8-r": "Я║", "cp437": "é│α", "cp850": "éÞ", "cp852": "ěő",
             "cp866": "Я░", "macintosh": "é€Ω"}


@case
def csv_of_other_encodings(work):
    """Python writes the files; DuckDB reads some of them too."""
    for seed, (name, own) in enumerate(ENCODINGS.items()):
        r = random.Random(seed)
        letters = ["a", '"', ",", "\n", "\r\n", " ", "1", *own]
        rows = [["".join(r.choice(letters) for _ in range(r.randint(0, 6))) for _ in range(3)] for _ in range(500)]
        codec = "mac-roman" if name == "macintosh" else name
        path = work.put("t.csv", written([["a", "b", "c"], *rows], lineterminator="\n").encode(codec))
        expect(rows, work.rows(f'read csv("t.csv", encoding = "{name}") as {TABLE} | write jsonl("out.jsonl")'), about=lambda i: (name, rows[i]))
        theirs = {"iso-8859-1": "latin-1", "utf-16": "utf-16"}.get(name)  # DuckDB knows no surrogates.
        if theirs:
            relation = duckdb.sql(f"SELECT * FROM read_csv('{path}', encoding='{theirs}', header=true, delim=',', quote='\"', escape='\"', "
                                  "columns={'a': 'VARCHAR', 'b': 'VARCHAR', 'c': 'VARCHAR'}, nullstr='\\0', parallel=false)")
            expect([["" if x is None else x for x in row] for row in relation.fetchall()], rows)


@case
def numbers_with_separators(work):
    """DuckDB and Polars read the same numbers of such files."""
    r = random.Random(15)
    for thousands, decimal, delimiter in [(",", ".", ";"), (".", ",", ";"), (",", ".", ",")]:
        rows = [(r.randint(-10 ** r.randint(1, 12), 10 ** r.randint(1, 12)), r.randint(-10 ** 9, 10 ** 9) / 8) for _ in range(2000)]
        swap = str.maketrans(",.", thousands + decimal)
        lines = [[f"{n:,}".translate(swap), f"{x:,.3f}".translate(swap)] for n, x in rows]
        path = work.put("t.csv", written([["n", "x"], *lines], delimiter=delimiter, lineterminator="\n"))
        got = work.rows(f'''read csv("t.csv", delimiter = "{delimiter}", thousands = "{thousands}", decimal = "{decimal}") as {{ n: i64, x: f64 }}
            | derive n = n + 0, x = x * 1.0 | write jsonl("out.jsonl")''')
        expect(rows, got, about=lambda i: lines[i])
        # DuckDB has separators of floats; these are exact.
        theirs = duckdb.sql(f"SELECT n::BIGINT, x FROM read_csv('{path}', header=true, delim='{delimiter}', thousands='{thousands}', "
                            f"decimal_separator='{decimal}', columns={{'n': 'DOUBLE', 'x': 'DOUBLE'}})").fetchall()
        expect(theirs, got, about=lambda i: lines[i])
    path = work.put("t.csv", "x\n" + "".join(f"\"{x:.3f}\"\n".replace(".", ",") for _, x in rows))
    got = work.rows('read csv("t.csv", delimiter = ";", decimal = ",") as { x: f64 } | derive x = x * 1.0 | write jsonl("out.jsonl")')
    expect(polars.read_csv(path, decimal_comma=True, separator=";", schema={"x": polars.Float64}).rows(), got)


@case
def lines_in_front_of_a_header(work):
    rows = texts(17, 1000, 3)
    body = written([["a", "b", "c"], *rows], lineterminator="\n")
    for count, front in enumerate(["", "a title\n", "one\n\n", 'one "\ntwo, three, four, five\n,,\n']):
        path = work.put("t.csv", front + body)
        got = work.rows(f'read csv("t.csv", skip = {count}) as {TABLE} | write jsonl("out.jsonl")')
        expect(rows, got)
        frame = polars.read_csv(path, skip_lines=count, schema={k: polars.String for k in "abc"}).fill_null("")
        expect(frame.rows(), got)


@case
def files_with_other_columns(work):
    """missing = null, beside DuckDB's union_by_name and Polars' diagonal concat."""
    r = random.Random(18)
    (work.path / "in").mkdir()
    frames = []
    for i in range(6):
        names = r.sample("abc", r.randint(0, 3)) + ["id"]
        r.shuffle(names)
        rows = [[str(100 * i + k) if name == "id" else str(r.randint(0, 99)) for name in names] for k in range(50)]
        path = work.put(f"in/{i}.csv", written([names, *rows], lineterminator="\n"))
        frames.append(polars.read_csv(path))
    got = work.rows('''read csv("in/*.csv", missing = null) as { id: i64, a: i64?, b: i64?, c: i64? }
        | derive a = (a ?? 1000) + 0 | write jsonl("out.jsonl")''')
    whole = polars.concat(frames, how="diagonal").sort("id").with_columns(polars.col("a").fill_null(1000))
    expect(whole.select("id", "a", "b", "c").rows(), got)
    theirs = duckdb.sql(f"SELECT id, coalesce(a, 1000), b, c FROM read_csv('{work.path}/in/*.csv', union_by_name=true, header=true) ORDER BY id")
    expect(theirs.fetchall(), got)


@case
def json_arrays(work):
    """One array, and objects one after the other: laid out in any way by Python, read by DuckDB too."""
    r = random.Random(19)
    rows = [{"i": r.choice([None, r.randint(-99, 99)]), "s": "".join(r.choice(PIECES) for _ in range(r.randint(0, 3))),
             "l": [r.randint(0, 9) for _ in range(r.randint(0, 3))]} for _ in range(1500)]
    program = 'read json("t.json") as { i: i64?, s: str, l: [i64] } | write jsonl("out.jsonl")'
    for indent in (None, 0, 3):
        path = work.put("t.json", json.dumps(rows, indent=indent, ensure_ascii=indent == 0))
        got = work.rows(program)
        expect([list(row.values()) for row in rows], got)
        theirs = duckdb.sql(f"SELECT * FROM read_json('{path}', format='array', columns={{i: 'BIGINT', s: 'VARCHAR', l: 'BIGINT[]'}})")
        expect(theirs.fetchall(), got)
        path = work.put("t.json", r.choice(["", "\n"]).join(json.dumps(row, indent=indent) for row in rows))
        got = work.rows(program)
        expect([list(row.values()) for row in rows], got)


@case
def outputs_that_grow(work):
    """Three runs append; what Python, DuckDB and Polars read is the rows of all of them, one after the other."""
    rows = texts(20, 900, 3)
    whole = []
    for run in range(3):
        part = rows[300 * run:300 * (run + 1)]
        whole += part
        work.put("t.jsonl", "".join(json.dumps(dict(zip("abc", row))) + "\n" for row in part))
        got = work.run(f'''let rows = read jsonl("t.jsonl") as {TABLE}
            rows | write csv("out.csv", append = true)
            rows | write jsonl("out.jsonl.gz", append = true)''', "out.csv")
        expect(whole, list(csv.reader(io.StringIO(got.decode(), newline="")))[1:])
    frame = polars.read_csv(work.path / "out.csv", schema={k: polars.String for k in "abc"}).fill_null("")
    expect(frame.rows(), whole)
    theirs = duckdb.sql(f"SELECT * FROM read_json('{work.path}/out.jsonl.gz', format='newline_delimited', "
                        "columns={a: 'VARCHAR', b: 'VARCHAR', c: 'VARCHAR'})")
    expect(theirs.fetchall(), whole)
