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

# Moments are moments, to the nanosecond.
(first,) = duckdb.sql("SELECT min(epoch_ns(first)) FROM read_parquet('tables/sas/**/*.parquet')").fetchall()[0]
assert first == min(sa["first_ns"] for sa in report["sas"]), first

sas = pandas.read_parquet("tables/sas")
assert sas["frames"].sum() == sums["sas"][1]
print("tables: all sums agree with the JSON")
