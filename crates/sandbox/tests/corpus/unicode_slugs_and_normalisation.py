"""Unicode: normal forms, slugs, casefolding, grapheme-ish reversal, byte codecs."""
import re
import unicodedata as ud

TITLES = ["Cr\u00e8me Br\u00fbl\u00e9e", "Stra\u00dfe 42", "na\u00efve  caf\u00e9!", "\uff26\uff55\uff4c\uff4c\uff57\uff49\uff44\uff54\uff48",
          "\u0130stanbul", "\u041c\u043e\u0441\u043a\u0432\u0430", "5\u00bd \ufb01sh", "---"]


def slug(text):
    text = ud.normalize("NFKD", text.replace("\u00df", "ss"))
    text = "".join(c for c in text if not ud.combining(c))
    text = text.encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-") or "untitled"


for title in TITLES:
    print(f"{ascii(title):<58} {slug(title)}")

composed, decomposed = "\u00e9", "e\u0301"
print(composed == decomposed, ud.normalize("NFC", decomposed) == composed, len(composed), len(decomposed), ud.is_normalized("NFD", composed))
print("STRASSE".casefold() == "stra\u00dfe".casefold(), "\u00df".upper(), ascii("\u0130".lower()), len("\u0130".lower()), ascii("\u01c6".title()))
print([ud.name(c, "?") for c in "a\u20ac\x00"], [ud.category(c) for c in "aA1 _-\u20ac\u0301"], ud.lookup("GREEK SMALL LETTER ALPHA") == "\u03b1")
print("\u00b2".isdigit(), "\u00b2".isdecimal(), "\u00bd".isnumeric(), ud.numeric("\u00bd"), int("\u0663\u0661"), "\u0663".isdecimal())


def clusters(text):
    out = []
    for c in text:
        if out and (ud.combining(c) or c == "\u200d" or out[-1].endswith("\u200d")):
            out[-1] += c
        else:
            out.append(c)
    return out


word = "cafe\u0301 \U0001f469\u200d\U0001f4bb"
print(len(word), len(clusters(word)), ascii("".join(reversed(clusters(word)))))
print(len(word.encode()), len(word.encode("utf-16-le")) // 2, [len(c.encode()) for c in "a\u00e9\u20ac\U0001f600"])

for raw in (b"caf\xe9", b"\xe2\x82", b"ok\xed\xa0\x80"):
    print(ascii(raw.decode("utf-8", "replace")), ascii(raw.decode("latin-1")), raw.decode("utf-8", "backslashreplace"), end=" ")
    print(raw.decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape") == raw)
try:
    "\u20ac5".encode("latin-1")
except UnicodeEncodeError as exc:
    print(exc.encoding, exc.start, exc.end, ascii(exc.object[exc.start]), "\u20ac5".encode("latin-1", "xmlcharrefreplace"))
print(sorted(["z", "\u00e9", "e", "E", "a"], key=lambda s: (ud.normalize("NFD", s).casefold(), s)) == ["a", "E", "e", "\u00e9", "z"])
