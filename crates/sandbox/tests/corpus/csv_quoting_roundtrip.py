"""CSV dialects, quoting rules, embedded newlines and a lossless round trip."""
import csv
import io

rows = [
    ["id", "title", "notes", "price"],
    [1, 'The "Big" One', "line one\nline two", 9.5],
    [2, "commas, everywhere", "", None],
    [3, " leading space", "tab\there", -0.0],
    [4, "semi;colon", "quote at end\"", 1e21],
]


def dump(dialect_args):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, **dialect_args).writerows(rows)
    return buffer.getvalue()


variants = {
    "minimal": {"lineterminator": "\n"},
    "nonnumeric": {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC},
    "escaped": {"lineterminator": "\n", "quoting": csv.QUOTE_NONE, "escapechar": "\\"},
    "semicolon": {"lineterminator": "|\r\n", "delimiter": ";", "quoting": csv.QUOTE_ALL},
}
for name, args in variants.items():
    text = dump(args)
    print(f"{name:<11}{len(text):>4} chars, line breaks {text.count(chr(10))}: {text.split(chr(10))[1]!r}")

back = list(csv.reader(io.StringIO(dump(variants["minimal"]), newline="")))
print("rows back:", len(back), "of", len(rows))
for before, after in zip(rows, back):
    expected = ["" if v is None else str(v) for v in before]
    assert expected == after, (expected, after)
print("row 2 back:", back[2])

reader = csv.reader(io.StringIO(dump(variants["minimal"]), newline=""))
print("line numbers:", [(reader.line_num, row[0]) for row in reader])

numeric = csv.reader(io.StringIO('"a",1,"2"\n"b",2.50,"x"\n'), quoting=csv.QUOTE_NONNUMERIC)
print("nonnumeric read:", list(numeric))


class Pipes(csv.excel):
    delimiter = "|"
    quotechar = "'"
    skipinitialspace = True
    lineterminator = "\n"


csv.register_dialect("pipes", Pipes)
parsed = list(csv.reader(["a| 'b | c'|  d", "", "''''|x"], dialect="pipes"))
print("pipes:", parsed)
print("doubled quote:", next(csv.reader(['"a""b",""'])))
sniffed = csv.Sniffer().sniff("name;age\nana;31\nbob;44\n", delimiters=";,")
print("sniffed:", repr(sniffed.delimiter), "registered:", "pipes" in csv.list_dialects())
try:
    csv.writer(io.StringIO(), quoting=csv.QUOTE_NONE).writerow(["a,b"])
except csv.Error as exc:
    print("unescapable field:", type(exc).__module__, type(exc).__name__)
