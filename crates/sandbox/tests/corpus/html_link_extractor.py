"""html.parser: links, headings, a table and text out of an untidy page."""
import html
from html.parser import HTMLParser
from urllib.parse import urljoin

PAGE = """
<html><head><meta charset="utf-8"></head>
<body class="main dark" data-x>
<h1>Price <em>list</em> &amp; more</h1>
<p>See <a href="/about?x=1&amp;y=2">about&nbsp;us</a>, <a HREF='docs/index.html#top'>docs</a> or <a name=anchor>nowhere</a>.
<p>Unclosed paragraph &lt;ok&gt; &copy; &#8364;5 &#x41; &unknown;<br/>
<table>
 <tr><th>Item<th>Cost</tr>
 <tr><td>Nut</td><td> 1,50 </td></tr>
 <tr><td>Bolt <b>M4</b></td><td>2</td></tr>
</table>
<h2>Links</h2><a href="https://other.example/">ext<img src=logo.png alt="Logo"></a>
</body></html>
"""


class Extractor(HTMLParser):
    def __init__(self, base):
        super().__init__(convert_charrefs=True)
        self.base = base
        self.links, self.headings, self.rows, self.flags = [], [], [], {}
        self.sinks = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        match tag:
            case "a" if attributes.get("href"):
                self.sinks.append(("a", []))
                self.links.append([urljoin(self.base, attributes["href"]), None])
            case "h1" | "h2" | "h3":
                self.sinks.append((tag, []))
            case "tr":
                self.rows.append([])
            case "td" | "th":
                self.rows[-1].append("")
            case "body":
                self.flags.update(attributes)

    def handle_startendtag(self, tag, attrs):
        self.flags[f"selfclosed {tag}"] = len(attrs)

    def handle_endtag(self, tag):
        if self.sinks and self.sinks[-1][0] == tag:
            _, parts = self.sinks.pop()
            text = " ".join("".join(parts).split())
            if tag == "a":
                self.links[-1][1] = text
            else:
                self.headings.append((tag, text, self.getpos()[0]))

    def handle_data(self, data):
        for _, parts in self.sinks:
            parts.append(data)
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] = self.rows[-1][-1] + data


parser = Extractor("https://shop.example/catalog/list.html")
for start in range(0, len(PAGE), 41):
    parser.feed(PAGE[start:start + 41])
parser.close()
print(*parser.links, *parser.headings, sep="\n")
print([[" ".join(cell.split()) for cell in row] for row in parser.rows][:2], parser.rows[2][0], parser.flags)
print(ascii(html.unescape("&copy; &#8364;5 &#x41; &unknown; &notit; &lt;")), html.escape("<a b=\"c\" d='e'>&amp;"), html.escape('"', quote=False))
