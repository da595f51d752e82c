"""Writes what reference.py finds, for the Rust engine to be compared with.

    python golden.py --labelled ../../tests/data/queries.json \\
        --table ../../crates/search/src/table.bin --out ../../crates/search/tests/golden.json
"""

import argparse
import json

import reference

# Each set gives so many queries, evenly spread.
PER_SET = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labelled", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    with open(args.labelled, encoding="utf-8") as f:
        data = json.load(f)
    index = reference.Index(data["tools"], args.table)
    queries = list(data.get("unanswerable", []))
    for name in dict.fromkeys(q["set"] for q in data["queries"]):
        of_set = [q["query"] for q in data["queries"] if q["set"] == name]
        queries += of_set[:: len(of_set) // PER_SET][:PER_SET]
    golden = []
    for query in queries:
        top = index.search(query)
        golden.append({
            "query": query,
            "parts": reference.split_query(query),
            "stems": reference.bm25_tokens(query),
            "has_match": index.has_match(query, [i for i, _ in top]),
            "top": [[data["tools"][i]["id"], round(score, 4)] for i, score in top],
        })
    with open(args.out, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in golden) + "\n]\n")


if __name__ == "__main__":
    main()
