"""Runs the questions of a page on tables, and compares sums over tables with the JSON. Arguments: the folder, the page."""

import json
import os
import re
import sys

import duckdb
import pandas

work, page = sys.argv[1], open(sys.argv[2], encoding="utf-8").read()
os.chdir(work)
report = json.load(open("report.json", encoding="utf-8"))

questions = re.findall(r"```sql\n(.*?)```", page, re.S)
assert len(questions) == 5, len(questions)
for question in questions:
    rows = duckdb.sql(question).fetchall()
    assert rows or "NOT IN" in question, question
    print(f"{len(rows)} rows: {' '.join(question.split())[:90]}")

sums = {
    "sas": ("frames", sum(sa["frames"] for sa in report["sas"])),
    "sizes": ("frames", sum(size["frames"] for size in report["sizes"])),
    "captures": ("frames", sum(capture["frames"] for capture in report["captures"])),
    "layers": ("wire_bytes", sum(layer["wire_bytes"] for layer in report["layers"])),
    "findings": ("count", sum(finding["count"] for finding in report["findings"])),
    "rates": ("frames", sum(rate["frames"] for rate in report["rates"]["directions"])),
    "bins": ("frames", sum(row["frames"] for row in report["rates"]["bins"])),
    "outer_sizes": ("frames", sum(row["frames"] for row in report["outer_sizes"])),
}
for table, (column, expected) in sums.items():
    if not os.path.isdir(f"tables/{table}"):
        assert expected == 0, f"{table} is missing"
        continue
    for source in (f"read_parquet('tables/{table}/**/*.parquet', hive_partitioning = true)", f"read_csv('{table}.csv')"):
        (got,) = duckdb.sql(f'SELECT coalesce(sum("{column}"), 0) FROM {source}').fetchall()[0]
        assert got == expected, f"{source}: {column} is {got}, in the JSON {expected}"
for table in ("tunnels", "gaps", "padding"):
    (csv,) = duckdb.sql(f"SELECT count(*) FROM read_csv('{table}.csv')").fetchall()[0]
    parquet = 0
    if os.path.isdir(f"tables/{table}"):
        (parquet,) = duckdb.sql(f"SELECT count(*) FROM read_parquet('tables/{table}/**/*.parquet')").fetchall()[0]
    assert csv == parquet, table

# Frames and pairs, row by row: what has another form in CSV is compared as a number.
for table, reals in (("frames", []), ("pairs", ["confidence"])):
    shown = ", ".join(f'"{real}"::DOUBLE AS "{real}"' for real in reals)
    replaced = f" REPLACE ({shown})" if reals else ""
    columns = f"SELECT *{replaced} FROM (SELECT COLUMNS(*)::VARCHAR FROM {{}})"
    parquet = columns.format(f"read_parquet('tables/{table}/**/*.parquet', hive_partitioning = false)")
    csv = columns.format(f"read_csv('{table}.csv', all_varchar = true, nullstr = '')")
    (rows,) = duckdb.sql(f"SELECT count(*) FROM ({csv})").fetchall()[0]
    assert rows > 1000, f"{table}: {rows} rows"
    for one, other in ((csv, parquet), (parquet, csv)):
        different = duckdb.sql(f"({one}) EXCEPT ALL ({other})").fetchall()
        assert not different, f"{table}: {different[:3]}"
days = duckdb.sql(
    "SELECT DISTINCT dt::VARCHAR, strftime(make_timestamp_ns(time_ns), '%Y-%m-%d') "
    "FROM read_parquet('tables/frames/**/*.parquet', hive_partitioning = true)"
).fetchall()
assert days and all(folder == day for folder, day in days), days

# Moments are moments, to the nanosecond.
(first,) = duckdb.sql("SELECT min(epoch_ns(first)) FROM read_parquet('tables/sas/**/*.parquet')").fetchall()[0]
assert first == min(sa["first_ns"] for sa in report["sas"]), first

sas = pandas.read_parquet("tables/sas")
assert sas["frames"].sum() == sums["sas"][1]
print("tables: all sums agree with the JSON")
