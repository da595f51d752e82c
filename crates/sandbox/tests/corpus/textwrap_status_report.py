"""A plain-text report: wrapping, indenting, dedenting, shortening, box drawing."""
import textwrap

NOTES = """
    The nightly import finished with warnings. Three records had no owner and
    were assigned to the fallback queue, which is documented in the runbook.

      * retry-able errors: 2
      * fatal errors: none

    See https://example.org/a/very/long/path/that/does/not/break/anywhere/at/all for details.
"""
text = textwrap.dedent(NOTES).strip()
paragraphs = text.split("\n\n")
print([len(p.splitlines()) for p in paragraphs], repr(paragraphs[1]))


def box(title, lines, width):
    inner = width - 4
    bar = "+" + f" {title} ".center(width - 2, "-") + "+"
    body = [f"| {line:<{inner}} |" for line in lines]
    return "\n".join([bar, *body, "+" + "-" * (width - 2) + "+"])


wrapper = textwrap.TextWrapper(width=36, break_long_words=False, break_on_hyphens=False)
lines = []
for paragraph in paragraphs:
    if paragraph.lstrip().startswith("*"):
        for item in paragraph.splitlines():
            lines += textwrap.wrap(item.strip(), 36, initial_indent="- ", subsequent_indent="  ")
    else:
        lines += wrapper.wrap(" ".join(paragraph.split()))
print(box("status", [textwrap.shorten(line, 36, placeholder="~") for line in lines], 40))

print(textwrap.shorten("Hello   wonderful\nworld of text", 20), "|", textwrap.shorten("Hello world", 4, placeholder=".."))
print(textwrap.fill("supercalifragilistic word", 10).split("\n"), textwrap.wrap("well-known half-open co-op", 9))
print(repr(textwrap.indent("a\n\n b\n", "> ")), repr(textwrap.indent("a\n\nb", "> ", lambda line: True)))
print(repr(textwrap.dedent("\tx\n\t  y\n   \n\tz")), repr(textwrap.dedent("  a\n\tb")))
print(textwrap.wrap("one two three four five six", 9, max_lines=2, placeholder=" [...]"), textwrap.wrap("", 5), textwrap.wrap("  lead", 10))

items = [("total", "1,204"), ("owner missing", "3"), ("elapsed", "00:04:10")]
width = max(len(k) for k, _ in items) + 3
print("\n".join(f"{k} {'.' * (width - len(k))} {v:>9}" for k, v in items))
