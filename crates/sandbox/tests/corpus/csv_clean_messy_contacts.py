"""Clean a messy contact export: headers, ragged rows, dates in many formats."""
import csv
import io
from datetime import date, datetime

RAW = """\
\ufeffFull Name , E-Mail,Joined,Spend (USD)
"Lovelace, Ada", ADA@Example.org ,2021-03-04,"1,204.50"
Grace Hopper,grace@example.org,04/03/2021,$99
,,,
Edsger Dijkstra,edsger(at)example.org,4 Mar 2021,n/a
Ada Lovelace,ada@example.org,March 4 2021,10,extra,fields
Barbara Liskov,barbara@example.org
Alan Turing,alan@example.org,2021-02-30,0
"""
FORMATS = ("%Y-%m-%d", "%d/%m/%Y", "%d %b %Y", "%B %d %Y")


def slug(header):
    kept = "".join(c if c.isalnum() else " " for c in header.lstrip("\ufeff").lower())
    return "_".join(kept.split())


def parse_date(text):
    for fmt in FORMATS:
        try:
            return datetime.strptime(text.strip(), fmt).date()
        except ValueError:
            continue
    raise ValueError(f"no known format: {text!r}")


def parse_money(text):
    text = text.replace("$", "").replace(",", "").strip()
    return None if text.lower() in {"", "n/a", "-"} else float(text)


lines = RAW.splitlines()
header = [slug(h) for h in next(csv.reader(lines[:1]))]
print("header:", header)

clean, problems = {}, []
reader = csv.DictReader(io.StringIO("\n".join(lines[1:])), fieldnames=header, restkey="_extra", restval="")
for number, row in enumerate(reader, start=2):
    extra = row.pop("_extra", [])
    if not any(v.strip() for v in row.values()):
        continue
    name = row["full_name"]
    if "," in name:
        name = " ".join(part.strip() for part in reversed(name.split(",")))
    email = row["e_mail"].strip().lower()
    try:
        if "@" not in email:
            raise ValueError(f"bad address: {email}")
        joined = parse_date(row["joined"]) if row["joined"] else None
        record = clean.setdefault(email, {"name": name, "joined": joined, "spend": 0.0, "rows": []})
        record["spend"] += parse_money(row["spend_usd"]) or 0.0
        record["rows"].append(number)
    except ValueError as exc:
        problems.append((number, str(exc)))
    if extra:
        problems.append((number, f"{len(extra)} extra fields"))

for email, rec in clean.items():
    print(f"{email:<22}{rec['name']:<16}{rec['joined'] or date.min}  {rec['spend']:>8.2f} rows={rec['rows']}")
for number, why in problems:
    print(f"line {number}: {why}")
