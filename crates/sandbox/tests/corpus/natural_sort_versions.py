"""Locale-free sorting: natural order, semantic versions, custom alphabets, stability."""
import re
from functools import cmp_to_key, total_ordering

FILES = ["img12.png", "img10.png", "IMG2.png", "img1.png", "img01.png", "img.png", "img2b.png", "10", "9", "img2.png"]


def natural(text):
    """Digits compare as numbers; every part is tagged so types never mix."""
    parts = re.findall(r"\d+|\D+", text.casefold())
    return [(0, int(p), len(p)) if p.isdigit() else (1, p, 0) for p in parts]


print(sorted(FILES, key=natural))


@total_ordering
class Version:
    PATTERN = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")

    def __init__(self, text):
        if not (m := self.PATTERN.fullmatch(text)):
            raise ValueError(f"not a version: {text!r}")
        self.text = text
        self.release = tuple(map(int, m.group(1, 2, 3)))
        self.pre = m[4].split(".") if m[4] else None

    def key(self):
        if self.pre is None:
            return self.release, (1,)
        return self.release, (0, [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.pre])

    def __eq__(self, other): return self.key() == other.key()
    def __lt__(self, other): return self.key() < other.key()
    def __hash__(self): return hash((self.release, tuple(self.pre or ())))
    def __repr__(self): return self.text


versions = "1.0.0 1.0.0-rc.1 1.0.0-alpha.beta 1.0.0-alpha.1 1.0.0-alpha 1.0.0-rc.11 1.0.0-rc.2 0.9.12 1.0.0+build.5 1.0.0-1".split()
ordered = sorted(map(Version, versions))
print(ordered)
print(Version("1.0.0") == Version("1.0.0+x"), Version("2.0.0") >= Version("2.0.0-z"), max(ordered), len(set(ordered)))
print(sorted({"1.10", "1.9", "1.9.1"}), sorted({"1.10", "1.9", "1.9.1"}, key=lambda v: [*map(int, v.split("."))]))

# A custom alphabet, where "ch" and "ll" are letters of their own.
LETTERS = {letter: n for n, letter in enumerate("a b c ch d e f g h i j k l ll m n o p q r s t u v w x y z".split())}


def spanish(word):
    return [LETTERS[part] for part in re.findall(r"ch|ll|[a-z]", word)]


print(sorted(["dedo", "chico", "cuna", "llama", "luz", "casa", "loro"], key=spanish))


def largest_concatenation(a, b):
    return int(b + a) - int(a + b)


print("".join(sorted(["9", "34", "3", "30", "5"], key=cmp_to_key(largest_concatenation))))
people = [("Ann", 30), ("bob", 25), ("Cid", 30), ("ann", 25)]
print(sorted(people, key=lambda p: (-p[1], p[0].casefold(), p[0])), sorted(people, key=lambda p: p[0].casefold())[:2])
print(sorted([3, 1.5, True, -0.0, 0]), sorted([(2, "b"), (2, "a"), (1,)]), sorted("bAc"), sorted("bAc", key=str.swapcase))
for bad in ("1.0", "1.0.0-"):
    try:
        Version(bad)
    except ValueError as exc:
        print(exc)
