"""Polars: lazy frames over text with explicit column types. Modes: streaming, in-memory."""

import datetime

import columns
import polars as pl
import timing

TYPES = {"i32": pl.Int32, "i64": pl.Int64, "f64": pl.Float64, "str": pl.String, "date": pl.Date,
         "timestamp": pl.Datetime("us")}

col = pl.col


def csv(path, types, delimiter=",", header=True):
    return pl.scan_csv(path, schema={name: TYPES[kind] for name, kind in types.items()},
                       has_header=header, separator=delimiter,
                       quote_char='"' if delimiter == "," else None)


def stations(path):
    return csv(path, columns.STATIONS, ";", False).group_by("station").agg(
        low=col("celsius").min(), mean=col("celsius").mean(), high=col("celsius").max(),
    ).sort("station")


def words(path):
    line = pl.scan_lines(path, name="word")
    return line.select(col("word").str.split(" ").explode()).group_by("word").agg(n=pl.len())


def a0(data):
    return csv(f"{data}/trips.csv", columns.TRIPS).filter(
        (col("fare") > 0) & (col("distance") < 100),
    ).group_by(hour=col("pickup").dt.hour()).agg(
        trips=pl.len(), mean_rate=(col("tip") / col("fare")).mean(), total_=col("total").sum(),
        farthest=col("distance").max(),
    ).rename({"total_": "total"}).sort("hour")


def a4_q1(data):
    disc_price = col("price") * (1 - col("discount"))
    return csv(f"{data}/lineitem.tbl", columns.LINEITEM, "|", False).filter(
        col("shipdate") <= datetime.date(1998, 9, 2),
    ).group_by("returnflag", "linestatus").agg(
        sum_quantity=col("quantity").sum(), sum_price=col("price").sum(),
        sum_disc_price=disc_price.sum(), sum_charge=(disc_price * (1 + col("tax"))).sum(),
        mean_quantity=col("quantity").mean(), mean_price=col("price").mean(),
        mean_discount=col("discount").mean(), orders=pl.len(),
    ).sort("returnflag", "linestatus")


def a4_q6(data):
    return csv(f"{data}/lineitem.tbl", columns.LINEITEM, "|", False).filter(
        (col("shipdate") >= datetime.date(1994, 1, 1)) & (col("shipdate") < datetime.date(1995, 1, 1))
        & col("discount").is_between(0.05, 0.07) & (col("quantity") < 24),
    ).select(revenue=(col("price") * col("discount")).sum())


def b2(data):
    return csv(f"{data}/groups.csv", columns.GROUPS).group_by("id4").agg(
        total=col("v1").sum(), mean=col("v3").mean(),
    ).sort("id4")


def c1(data):
    schema = {"kind": pl.String, "user": pl.Struct({"country": pl.String}), "value": pl.Float64,
              "duration": pl.Int64}
    return pl.scan_ndjson(f"{data}/events.jsonl", schema=schema).filter(
        (col("kind") != "scroll") & (col("value") > 10),
    ).group_by(country=col("user").struct.field("country")).agg(
        events=pl.len(), total=col("value").sum(), mean_duration=col("duration").mean(),
        low=col("value").min(), high=col("value").max(),
    ).sort("country")


def j1(data):
    zones = csv(f"{data}/zones.csv", columns.ZONES)
    return csv(f"{data}/trips.csv", columns.TRIPS).join(
        zones, left_on="pickup_zone", right_on="id",
    ).group_by("borough").agg(trips=pl.len(), total=col("total").sum()).sort("borough")


def j2(data):
    orders = csv(f"{data}/orders.tbl", columns.ORDERS, "|", False).select("key", "priority")
    return csv(f"{data}/lineitem.tbl", columns.LINEITEM, "|", False).join(
        orders, left_on="orderkey", right_on="key",
    ).group_by("priority").agg(lines=pl.len(), total=col("price").sum()).sort("priority")


def k1(data):
    tokens = col("line").str.to_lowercase().str.extract_all("[a-z0-9]+").explode()
    return pl.scan_lines(f"{data}/documents.txt", name="line").select(token=tokens).select(
        tokens=pl.len(), different=col("token").hash().n_unique(),
    )


def w1(data):
    minutes = (col("dropoff") - col("pickup")).dt.total_microseconds() / 6e7
    return csv(f"{data}/trips.csv", columns.TRIPS).with_columns(minutes=minutes).select(
        "vendor", "cab", "pickup_zone", "dropoff_zone", "distance", "fare", "total",
        col("pickup").dt.hour().alias("hour"), "minutes",
        (col("distance") / col("minutes") * 60).alias("speed"), (col("tip") / col("fare")).alias("rate"),
        (col("payment") + "/" + col("passengers").cast(pl.String)).alias("label"),
    )


ROWS = {
    "a0": a0, "a4_q1": a4_q1, "a4_q6": a4_q6, "b2": b2, "c1": c1, "j1": j1, "j2": j2, "k1": k1, "w1": w1,
    "b1_413": lambda data: stations(f"{data}/stations_413.txt"),
    "b1_10000": lambda data: stations(f"{data}/stations_10000.txt"),
    "c2_small": lambda data: words(f"{data}/words_small.txt"),
    "c2_large": lambda data: words(f"{data}/words_large.txt"),
    "c3": lambda data: csv(f"{data}/trips.csv", columns.TRIPS).sort("pickup_zone", "pickup", "total"),
    "c3_records": lambda data: csv(f"{data}/records.tsv", columns.RECORDS, "\t", False).sort("key"),
    "j3": lambda data: csv(f"{data}/names.csv", columns.NAMES).select("user").unique(maintain_order=True),
}


def prepare(row, data, out, mode):
    def work():
        frame = ROWS[row](data)
        if row == "w1":
            frame.sink_ndjson(out, engine=mode)
        elif row == "c3_records":
            frame.sink_csv(out, engine=mode, separator="\t", include_header=False, quote_style="never")
        else:
            frame.sink_csv(out, engine=mode, datetime_format="%Y-%m-%d %H:%M:%S")

    return work


timing.main(prepare)
