"""string.Template mail merge: custom delimiters, safe substitution, a Formatter."""
import string
from collections import defaultdict

LETTER = string.Template("""\
Dear $title ${surname},
your order #$order costs $$${amount}$currency.
""")
people = [
    {"title": "Dr", "surname": "Curie", "order": 7, "amount": "12.50", "currency": "US"},
    {"title": "Mx", "surname": "Lee", "order": 8, "amount": "3"},
    {"surname": "$title"},
]
for person in people:
    try:
        print(LETTER.substitute(person).splitlines()[1])
    except KeyError as exc:
        missing = [name for name in LETTER.get_identifiers() if name not in person]
        print("missing", exc, "of", missing, "->", LETTER.safe_substitute(person).splitlines()[0])
print(LETTER.safe_substitute(defaultdict(lambda: "?", title="Ms")).split(), LETTER.is_valid())


class Percent(string.Template):
    delimiter = "%"
    idpattern = r"[a-z]+(?:\.[a-z]+)*"
    flags = 0


class Dotted(dict):
    def __missing__(self, path):
        value = self
        for part in path.split("."):
            value = value[part] if part in value else "<none>"
        return value


scope = Dotted(user={"name": "Ana", "team": {"lead": "Bo"}}, n=3)
print(Percent("%user.name works with %{user.team.lead}; %N 100%% %n").safe_substitute(scope))
for broken in ("costs $ 5", "${open", "$1st"):
    template = string.Template(broken)
    try:
        template.substitute()
    except ValueError as exc:
        print(template.is_valid(), str(exc), "|", template.safe_substitute())


class Shout(string.Formatter):
    def get_value(self, key, args, kwargs):
        return kwargs.get(key, f"[{key}?]") if isinstance(key, str) else super().get_value(key, args, kwargs)

    def convert_field(self, value, conversion):
        return value.upper() if conversion == "u" else super().convert_field(value, conversion)

    def format_field(self, value, spec):
        return ", ".join(value) if spec == "list" else super().format_field(value, spec)


fmt = Shout()
print(fmt.format("{name!u:>6} {absent} {0:list}|{1:>{w}}", ["x", "y"], 5, name="bob", w=4))
print([part for part in string.Formatter().parse("a{b!r:>{w}}c{{d}}")])
table = str.maketrans({"a": "4", "e": None, "o": "00"})
print("banana oboe".translate(table), string.capwords("  the  quick-brown fox "), "x".join(string.octdigits), string.hexdigits[-6:])
