"""Forms of sources: CSV with and without quotes, ends of lines and delimiters; JSON lines of many shapes."""

from member import File, Member, program

ORDER = (("id", "i64"), ("name", "str"), ("zone", "i64"), ("note", "str"), ("value", "f64"))
WIDE = tuple(sorted(((f"o{i}", "i64") for i in range(40)), key=lambda of: int(of[0][1:])))
WIDE_ORDER = (ORDER[0], *WIDE[:10], ORDER[1], *WIDE[10:20], ORDER[2], *WIDE[20:30], ORDER[3], *WIDE[30:], ORDER[4])
SUMS = "| group by zone { n = count(), s = sum(value), t = sum(byte_len(note)) }\n| sort zone"
COPY = "| where zone > 250\n| select id, zone, value"
# Name: the line, what else is different, rows at a scale of 1, and the form as csv.c takes it.
CSV = {
    "plain": ("order", {}, 2_000_000, ",5:0:2:3:4:-"),
    "no_quotes": ("order", {"quoted": False}, 2_000_000, ",5:0:2:3:4:-"),
    "crlf": ("order", {"end": "\r\n"}, 2_000_000, ",5:0:2:3:4:r"),
    "tab": ("order_tab", {"delimiter": "\t"}, 2_000_000, "\t5:0:2:3:4:-"),
    "semicolon": ("order_semicolon", {"delimiter": ";"}, 2_000_000, ";5:0:2:3:4:-"),
    "long": ("order_long", {}, 600_000, ",5:0:2:3:4:-"),
    "wide": ("order_wide", {"fields": WIDE_ORDER}, 400_000, ",45:0:22:33:44:-"),
    "quoted": ("order_quoted", {}, 2_000_000, ",5:0:2:3:4:q"),
    "quoted_crlf": ("order_quoted", {"end": "\r\n"}, 2_000_000, ",5:0:2:3:4:qr"),
    "all_quoted": ("order_all_quoted", {}, 2_000_000, ",5:0:2:3:4:qa"),
    "some_quoted": ("order_some_quoted", {}, 2_000_000, ",5:0:2:3:4:q"),
}
COPIED = ("plain", "crlf", "wide", "quoted", "all_quoted", "some_quoted")


def csv_file(name):
    line, more, rows, _ = CSV[name]
    fields = more.get("fields", ORDER)
    return File(rows, line=line, **({"fields": fields} | more))


def csv_sums(name):
    file = csv_file(name)
    return Member(
        f"csv_sum_{name}", "csv", program(file, SUMS), "csv", ("sum", CSV[name][3]), file,
        duckdb="SELECT zone, count(*) AS n, sum(value) AS s, sum(strlen(note)) AS t FROM {input} GROUP BY zone ORDER BY zone",
        polars=lambda pl, f: f.group_by("zone").agg(
            n=pl.len(), s=pl.col("value").sum(), t=pl.col("note").str.len_bytes().cast(pl.Int64).sum()).sort("zone"))


def csv_copy(name):
    file = csv_file(name)
    return Member(f"csv_copy_{name}", "csv", program(file, COPY), "csv", ("copy", CSV[name][3]), file,
                  duckdb="SELECT id, zone, value FROM {input} WHERE zone > 250",
                  polars=lambda pl, f: f.filter(pl.col("zone") > 250).select("id", "zone", "value"))


EVENT = (("kind", "str"), ("user", "{country: str}"), ("value", "f64"), ("note", "str"))
NULLS = (("kind", "str"), ("user", "{country: str}"), ("value", "f64?"), ("note", "str?"))
# Name: the form as json.c takes it, fields, rows at a scale of 1.
JSON = {
    "uniform": ("event", "slots", EVENT, 500_000),
    "spaced": ("event_spaced", "slots-", EVENT, 500_000),
    "five_shapes": ("event_shapes", "walk", EVENT, 500_000),
    "any_order": ("event_any_order", "walk", EVENT, 500_000),
    "optional": ("event_optional", "walk", NULLS, 500_000),
    "null": ("event_null", "walk", NULLS, 500_000),
    "escaped": ("event_escaped", "slots", EVENT, 500_000),
    "all_escaped": ("event_all_escaped", "slots", EVENT, 500_000),
    "unicode": ("event_unicode", "slotsu", EVENT, 500_000),
    "wide": ("event_wide", "slots", EVENT, 500_000),
    "many": ("event_many", "walk", EVENT, 150_000),
    "short": ("event_short", "walk", EVENT, 1_500_000),
}
FILTERED = ("uniform", "five_shapes", "any_order", "optional", "all_escaped")
DEEP = (("data", "{inner: {kind: str, user: {country: str}, value: f64}, note: str}"),)


def json_members(name):
    line, form, fields, rows = JSON[name]
    file = File(rows, line=line, fields=fields, form="jsonl")
    note = 'note ?? ""' if fields is NULLS else "note"
    yield Member(
        f"json_group_{name}", "json",
        program(file, f"| group by kind, country = user.country {{ n = count(), s = sum(value), t = sum(byte_len({note})) }}\n"
                      "| sort kind, country"), "json", ("group", form), file,
        duckdb='SELECT kind, "user".country AS country, count(*) AS n, coalesce(sum(value), 0) AS s, coalesce(sum(strlen(note)), 0) AS t '
               "FROM {input} GROUP BY 1, 2 ORDER BY 1, 2",
        polars=lambda pl, f: f.group_by("kind", country=pl.col("user").struct.field("country")).agg(
            n=pl.len(), s=pl.col("value").sum(), t=pl.col("note").str.len_bytes().cast(pl.Int64).sum()).sort("kind", "country"))
    if name in FILTERED:
        value = "(value ?? 0.0)" if fields is NULLS else "value"
        yield Member(
            f"json_filter_{name}", "json",
            program(file, f"| where {value} > 50.0\n| aggregate {{ n = count(), t = sum(byte_len({note})) }}"), "json", ("filter", form),
            file, duckdb="SELECT count(*) AS n, sum(strlen(note)) AS t FROM {input} WHERE value > 50.0",
            polars=lambda pl, f: f.filter(pl.col("value") > 50.0).select(
                n=pl.len(), t=pl.col("note").str.len_bytes().cast(pl.Int64).sum()))


def json_deep():
    file = File(500_000, line="event_deep", fields=DEEP, form="jsonl")
    inner = "data.inner"
    return Member(
        "json_group_deep", "json",
        program(file, f"| group by kind = {inner}.kind, country = {inner}.user.country "
                      f"{{ n = count(), s = sum({inner}.value), t = sum(byte_len(data.note)) }}\n| sort kind, country"),
        "json", ("group", "walk"), file)


MEMBERS = (
    *map(csv_sums, CSV), *map(csv_copy, COPIED),
    *(member for name in JSON for member in json_members(name)), json_deep(),
)
