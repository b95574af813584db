"""Regular expressions over lines of a log, and functions of texts over a column."""

from member import File, Member, program

LOG = File(500_000, line="log", form="text", fields=(("line", "str"),))
# Name: the operation, the expression, and what else it takes.
SHAPES = {
    "literal": ("matches", "timeout", ""),
    "words": ("matches", "timeout|refused|reset", ""),
    "anchored": ("matches", "^[0-9-]+ [0-9:]+ ERROR", ""),
    "suffix": ("matches", "[0-9]ms$", ""),
    "any_case": ("matches", "(?i)error|warn", ""),
    "user": ("extract", "user=([a-z]+)", 1),
    "took": ("extract", "took ([0-9]+)ms", 1),
    "date": ("extract", "([0-9]{4})-([0-9]{2})-([0-9]{2})", 2),
    "address": ("extract", r"([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)", 1),
    "path": ("extract", r"/([a-z0-9]+)\.(png|jpg|css|html)", 1),
    "lazy": ("extract", r"\[(.*?)\]", 1),
    "runs": ("find_all", "[a-z0-9]+", 0),
    "numbers": ("find_all", "[0-9]+", 0),
    "whole_words": ("find_all", r"[A-Za-z0-9_]+", 0),
    "pairs": ("find_all", "[a-z]=([a-z0-9.]+)", 1),
    "bounded": ("find_all", "[a-z]{3,5}", 0),
    "either": ("find_all", "[a-z0-9]+|[^a-z0-9 ]", 0),
    "vowels": ("count", "[aeiou]", ""),
    "replace_digits": ("replace", "[0-9]", "##"),
    "replace_runs": ("replace", "[0-9]+", "#"),
    "replace_user": ("replace", "user=[a-z]+", "user=*"),
    "replace_pairs": ("replace", "([a-z])=([a-z0-9])", "${1}: ${2}"),
    "split_spaces": ("split", r"\s+", ""),
    "split_marks": ("split", r"[,;]\s*", ""),
}


def steps_of(kind, pattern, more):
    text = f'r"{pattern}"'
    group = f", {more}" if more else ""
    return {
        "matches": f"| where matches(line, {text})\n| aggregate {{ n = count(), b = sum(byte_len(line)) }}",
        "extract": f"| derive x = extract(line, {text}{group})\n| where x != null\n| aggregate {{ n = count(), b = sum(byte_len(x)) }}",
        "find_all": f"| select x = find_all(line, {text}{group})\n| explode x\n| aggregate {{ n = count(), b = sum(byte_len(x)) }}",
        "count": f"| derive x = count_matches(line, {text})\n| aggregate {{ n = sum(x), b = sum(x) }}",
        "replace": f'| derive x = replace_matches(line, {text}, "{more}")\n| aggregate {{ n = count(), b = sum(byte_len(x)) }}',
        "split": f"| select x = split_matches(line, {text})\n| explode x\n| aggregate {{ n = count(), b = sum(byte_len(x)) }}",
    }[kind]


def duckdb_of(kind, pattern, more):
    pattern = pattern.replace("{", "{{").replace("}", "}}")
    with_ = str(more).replace("${1}", "\\1").replace("${2}", "\\2")
    sums = "SELECT count(*) AS n, sum(strlen(x)) AS b FROM "
    return {
        "matches": f"SELECT count(*) AS n, sum(strlen(line)) AS b FROM {{input}} WHERE regexp_matches(line, '{pattern}')",
        "extract": f"{sums}(SELECT regexp_extract(line, '{pattern}', {more or 0}) AS x FROM {{input}}) WHERE x <> ''",
        "find_all": f"{sums}(SELECT unnest(regexp_extract_all(line, '{pattern}', {more or 0})) AS x FROM {{input}})",
        "count": f"SELECT sum(x) AS n, sum(x) AS b FROM (SELECT len(regexp_extract_all(line, '{pattern}')) AS x FROM {{input}})",
        "replace": f"{sums}(SELECT regexp_replace(line, '{pattern}', '{with_}', 'g') AS x FROM {{input}})",
        "split": f"{sums}(SELECT unnest(string_split_regex(line, '{pattern}')) AS x FROM {{input}})",
    }[kind]


def polars_of(kind, pattern, more):
    def sums(pl, frame):
        return frame.select(n=pl.len(), b=pl.col("x").str.len_bytes().cast(pl.Int64).sum())

    def frame_of(pl, f):
        line = pl.col("line")
        if kind == "matches":
            return sums(pl, f.filter(line.str.contains(pattern)).select(x=line))
        if kind == "extract":
            return sums(pl, f.select(x=line.str.extract(pattern, more or 0)).filter(pl.col("x").is_not_null()))
        if kind == "find_all":
            found = f.select(x=line.str.extract_all(pattern).explode()).filter(pl.col("x").is_not_null())
            return sums(pl, found.select(pl.col("x").str.extract(pattern, more)) if more else found)
        if kind == "count":
            return f.select(n=line.str.count_matches(pattern).sum()).with_columns(b=pl.col("n"))
        return sums(pl, f.select(x=line.str.replace_all(pattern, more)))
    return None if kind == "split" else frame_of


def regex_member(name):
    kind, pattern, more = SHAPES[name]
    loop = {"runs": "letters_digits", "numbers": "digits", "whole_words": "words"}.get(name)
    return Member(f"regex_{kind}_{name.removeprefix(kind + '_')}", "regex", program(LOG, steps_of(kind, pattern, more)), "regex", (name,), LOG,
                  duckdb=duckdb_of(kind, pattern, more), polars=polars_of(kind, pattern, more),
                  numba=("runs", loop) if loop else ())


# Name: the expression here, in DuckDB and in Polars; its sum is taken.
FUNCTIONS = {
    "length": ("len(t)", "length(t)", lambda t: t.str.len_chars()),
    "has": ('if contains(t, "ab") then 1 else 0', "contains(t, 'ab')::INT", lambda t: t.str.contains("ab", literal=True)),
    "finds": ('(index_of(t, "q") ?? 0)', "greatest(instr(t, 'q') - 1, 0)", lambda t: t.str.find("q", literal=True).fill_null(0)),
    "upper": ("byte_len(upper(t))", "strlen(upper(t))", lambda t: t.str.to_uppercase().str.len_bytes()),
    "capital": ("byte_len(capitalize(t))", "strlen(upper(t[1]) || t[2:])", None),
    "change": ('byte_len(replace(t, "e", "e-e"))', "strlen(replace(t, 'e', 'e-e'))",
               lambda t: t.str.replace_all("e", "e-e", literal=True).str.len_bytes()),
    "piece": ("byte_len(substr(t, 1, 3))", "strlen(substr(t, 2, 3))", lambda t: t.str.slice(1, 3).str.len_bytes()),
    "parts": ('len(split(t, "e"))', "len(string_split(t, 'e'))", lambda t: t.str.split("e").list.len()),
    "back": ("byte_len(reverse(t))", "strlen(reverse(t))", lambda t: t.str.reverse().str.len_bytes()),
    "joined": ('byte_len(t + "/" + t)', "strlen(t || '/' || t)", lambda t: (t + "/" + t).str.len_bytes()),
}
TEXTS = {"4": "t:0:4", "20": "t:0:20", "200": "t:0:200", "wide_20": "u:0:20", "wide_200": "u:0:200"}
ROWS = {"4": 4_000_000, "20": 2_000_000, "200": 400_000}
# Each function of some lengths, each length of some functions.
TEXT_MEMBERS = {
    "length": ("4", "wide_20", "wide_200"), "has": ("20", "200"), "finds": ("20", "wide_200"), "upper": ("4", "200"),
    "capital": ("20",), "change": ("20", "200", "wide_20"), "piece": ("4", "wide_20"), "parts": ("20", "200"),
    "back": ("20", "wide_200"), "joined": ("20", "200"),
}


def text_member(name, size):
    here, sql, polars = FUNCTIONS[name]
    file = File(ROWS[size.removeprefix("wide_")], ("g=i:20", f"t={TEXTS[size]}", "x=i:1000"))
    return Member(f"text_{name}_{size}", "text", program(file, f"| aggregate {{ s = sum({here}) }}"), "text", (name,), file,
                  duckdb=f"SELECT sum({sql}) AS s FROM {{input}}",
                  polars=(lambda pl, f: f.select(s=polars(pl.col("t")).cast(pl.Int64).sum())) if polars else None)


MEMBERS = (
    *map(regex_member, SHAPES),
    *(text_member(name, size) for name, sizes in TEXT_MEMBERS.items() for size in sizes),
)
