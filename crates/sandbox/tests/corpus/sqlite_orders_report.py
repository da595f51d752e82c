"""sqlite3 in memory: joins, windows, CTEs, upserts, transactions, custom functions."""
import sqlite3
from contextlib import closing
from statistics import median

SCHEMA = """
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, parent INTEGER REFERENCES customer(id));
CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer_id INT REFERENCES customer(id), day TEXT, cents INT CHECK(cents >= 0));
"""


class Median:
    def __init__(self): self.values = []
    def step(self, value): self.values += [] if value is None else [value]
    def finalize(self): return median(self.values) if self.values else None


with closing(sqlite3.connect(":memory:")) as db:
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.executescript(SCHEMA)
    db.create_function("money", 1, lambda cents: None if cents is None else f"{cents / 100:.2f}", deterministic=True)
    db.create_aggregate("median", 1, Median)
    db.create_collation("shortest", lambda a, b: len(a) - len(b))
    with db:
        db.executemany("INSERT INTO customer VALUES (?, ?, ?)", [(1, "Acme", None), (2, "Acme East", 1), (3, "Bolt", None), (4, "Acme Far East", 2)])
        db.executemany("INSERT INTO purchase(customer_id, day, cents) VALUES (:c, :d, :m)",
                       ({"c": c, "d": f"2024-0{d}-01", "m": m} for c, d, m in [(1, 1, 500), (1, 2, 250), (2, 1, 999), (3, 3, 0), (2, 4, 1), (1, 5, 300)]))

    for row in db.execute("""
        SELECT name, count(p.id) AS n, money(sum(cents)) AS total, median(cents) AS mid
        FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id
        GROUP BY c.id ORDER BY sum(cents) DESC NULLS LAST, name"""):
        print(dict(row))

    print([tuple(r) for r in db.execute("""
        SELECT day, cents, sum(cents) OVER (PARTITION BY customer_id ORDER BY day) AS running,
               row_number() OVER (ORDER BY cents DESC, day) AS place, lag(cents) OVER (PARTITION BY customer_id ORDER BY day)
        FROM purchase WHERE customer_id = ? ORDER BY day""", (1,))])
    print([r["path"] for r in db.execute("""
        WITH RECURSIVE tree(id, path, depth) AS (
            SELECT id, name, 0 FROM customer WHERE parent IS NULL
            UNION ALL SELECT c.id, path || ' > ' || c.name, depth + 1 FROM customer c JOIN tree t ON c.parent = t.id)
        SELECT path FROM tree ORDER BY depth, path""")])

    for sql, args in (("INSERT INTO purchase(customer_id, cents) VALUES (99, 1)", ()), ("UPDATE purchase SET cents = -1", ()),
                      ("INSERT INTO customer(name) VALUES (?)", ("Bolt",)), ("SELECT * FROM nowhere", ())):
        try:
            with db:
                db.execute("UPDATE customer SET name = 'changed' WHERE id = 1")
                db.execute(sql, args)
        except sqlite3.Error as exc:
            print(type(exc).__name__, db.in_transaction, db.execute("SELECT name FROM customer WHERE id = 1").fetchone()[0])

    cur = db.execute("INSERT INTO customer(name) VALUES ('Bolt') ON CONFLICT(name) DO UPDATE SET name = name || '!' RETURNING id, name")
    print(tuple(cur.fetchone()), [c[0] for c in cur.description])
    cur = db.execute("DELETE FROM purchase WHERE cents < ?", (10,))
    print(cur.rowcount, [r[0] for r in db.execute("SELECT name FROM customer ORDER BY name COLLATE shortest")])
    row = db.execute("SELECT typeof(1) AS first, typeof(?), typeof(?), ? IS NULL, ? || 'x'", (2.0, b"b", None, "it's; --")).fetchone()
    print(tuple(row), row.keys()[0], len(row), sum(1 for line in db.iterdump() if line.startswith("INSERT")))
