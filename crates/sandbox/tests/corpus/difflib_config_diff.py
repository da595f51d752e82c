"""difflib: unified and context diffs, opcodes applied as a patch, fuzzy matching."""
from difflib import SequenceMatcher, context_diff, get_close_matches, ndiff, restore, unified_diff

OLD = """\
host = localhost
port = 8080
debug = true
workers = 4
timeout = 30
log = stdout
retries = 3
""".splitlines(keepends=True)
NEW = """\
host = example.org
port = 8080
workers = 4
timeout = 30
log = stdout
retries = 5
backoff = 2
""".splitlines(keepends=True)

print("".join(unified_diff(OLD, NEW, "old.cfg", "new.cfg", n=1)), end="")
changed = [line.rstrip() for line in context_diff(OLD, NEW, n=0) if line[:2] in ("! ", "+ ", "- ")]
print(changed)

delta = list(ndiff(OLD[:3], NEW[:2]))
print([line.rstrip("\n") for line in delta])
print(list(restore(delta, 1)) == OLD[:3], list(restore(delta, 2)) == NEW[:2])


def make_patch(a, b):
    return [(i1, i2, b[j1:j2]) for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b).get_opcodes() if tag != "equal"]


def apply_patch(a, patch):
    out = list(a)
    for start, stop, lines in reversed(patch):
        out[start:stop] = lines
    return out


patch = make_patch(OLD, NEW)
print([(a, b, len(lines)) for a, b, lines in patch], apply_patch(OLD, patch) == NEW)

words = SequenceMatcher(None, "the quick brown fox".split(), "the slow brown dog fox".split())
print([(tag, words.a[i1:i2], words.b[j1:j2]) for tag, i1, i2, j1, j2 in words.get_opcodes()])
print([tuple(m) for m in words.get_matching_blocks()], round(words.ratio(), 4))
match = SequenceMatcher(lambda c: c == " ", " abcd", "abcd abcd").find_longest_match(0, 5, 0, 9)
print(match.a, match.b, match.size, round(SequenceMatcher(None, "abcd", "bcde").quick_ratio(), 3))

COMMANDS = ["status", "stash", "start", "commit", "checkout", "cherry-pick"]
for typed in ("statsu", "chekcout", "xyzzy", "sta"):
    print(typed, "->", get_close_matches(typed, COMMANDS, n=2, cutoff=0.6))


def side_by_side(a, b):
    old, new = (" ".join(x) for x in (a, b))
    m = SequenceMatcher(None, old, new, autojunk=False)
    return "".join(old[i1:i2] if tag == "equal" else f"[{old[i1:i2]}|{new[j1:j2]}]" for tag, i1, i2, j1, j2 in m.get_opcodes())


print(side_by_side(["version", "1.2.3"], ["version", "1.12.4"]))
