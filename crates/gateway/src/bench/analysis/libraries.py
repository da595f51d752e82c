"""The operations of `narrows bench analysis` with pandas or Polars, from opening the files to the small result.

    analysis.py pandas|polars DIRECTORY

The directory has rows.jsonl, rows.parquet, customers.jsonl and customers.parquet. First the library's version
comes out; then each line that comes in names a source and an operation, which is done once: what comes out are
its seconds, and the result as rows of plain values.
"""

import gc
import json
import sys
import time
from pathlib import Path

PERCENTILES = (0.5, 0.95, 0.99)


def with_pandas(directory):
    import pandas
    import pyarrow  # for read_parquet

    def read(name, source):
        path = directory / f"{name}.{source}"
        return pandas.read_json(path, lines=True) if source == "jsonl" else pandas.read_parquet(path)

    def group(source):
        groups = read("rows", source).groupby(["region", "product"], as_index=False)
        return groups.agg(total=("price", "sum"), mean=("weight", "mean"), count=("id", "size"))

    def choose(source):
        rows = read("rows", source)
        rows = rows[(rows["region"] == "north") & (rows["customer"] >= 5_000) & (rows["price"] < 500)]
        top = rows.sort_values(["price", "id"], ascending=[False, True]).head(100)
        return top[["id", "price"]].assign(count=len(rows))

    def join(source):
        joined = read("rows", source).merge(read("customers", source), on="customer")
        return joined.groupby("segment", as_index=False).agg(total=("price", "sum"), count=("id", "size"))

    def percentile(source):
        prices = read("rows", source).groupby("product")["price"]
        return prices.quantile(list(PERCENTILES)).unstack().reset_index()

    def plain(table):
        return table.values.tolist()

    return pandas.__version__, (group, choose, join, percentile), plain


def with_polars(directory):
    import polars
    from polars import col

    def scan(name, source):
        path = directory / f"{name}.{source}"
        return polars.scan_ndjson(path) if source == "jsonl" else polars.scan_parquet(path)

    def group(source):
        groups = scan("rows", source).group_by("region", "product")
        table = groups.agg(col("price").sum().alias("total"), col("weight").mean(), polars.len().alias("count"))
        return table.sort("region", "product").collect()

    def choose(source):
        wanted = (col("region") == "north") & (col("customer") >= 5_000) & (col("price") < 500)
        rows = scan("rows", source).filter(wanted)
        top = rows.sort("price", "id", descending=[True, False]).head(100).select("id", "price")
        count, top = polars.collect_all([rows.select(polars.len()), top])
        return top.with_columns(count=count.item())

    def join(source):
        joined = scan("rows", source).join(scan("customers", source), on="customer")
        groups = joined.group_by("segment")
        return groups.agg(col("price").sum().alias("total"), polars.len().alias("count")).sort("segment").collect()

    def percentile(source):
        quantiles = [col("price").quantile(part, "linear").alias(str(part)) for part in PERCENTILES]
        return scan("rows", source).group_by("product").agg(quantiles).sort("product").collect()

    def plain(table):
        return [list(row) for row in table.rows()]

    return polars.__version__, (group, choose, join, percentile), plain


def main():
    mode, directory = sys.argv[1:]
    library = {"pandas": with_pandas, "polars": with_polars}[mode]
    version, operations, plain = library(Path(directory))
    operations = dict(zip(("group", "filter", "join", "percentile"), operations))
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        gc.collect()
        start = time.perf_counter()
        result = operations[asked["operation"]](asked["source"])
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "result": plain(result)}), flush=True)


main()
