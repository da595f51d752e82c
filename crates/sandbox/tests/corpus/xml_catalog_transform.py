"""xml.etree: parse with namespaces, query, rewrite, build and serialise."""
import io
import xml.etree.ElementTree as ET

SOURCE = """<?xml version="1.0"?>
<cat:catalog xmlns:cat="urn:cat" xmlns:x="urn:extra" version="2">
  <!-- a comment the parser drops -->
  <cat:book id="b1" x:rank="2"><cat:title>Fish &amp; Chips</cat:title><cat:price cur="EUR">9.50</cat:price></cat:book>
  <cat:book id="b2"><cat:title>Mixed <i>inline</i> tail <b/>text</cat:title><cat:price cur="USD">12</cat:price></cat:book>
  <cat:group name="old">
    <cat:book id="b3" x:rank="1"><cat:title><![CDATA[<raw> & data]]></cat:title></cat:book>
  </cat:group>
</cat:catalog>"""
NS = {"c": "urn:cat", "x": "urn:extra"}

root = ET.fromstring(SOURCE)
print(root.tag, root.attrib, len(root), [child.tag.split("}")[1] for child in root])
for book in root.iterfind(".//c:book", NS):
    title = book.find("c:title", NS)
    price = book.findtext("c:price", default="n/a", namespaces=NS)
    print(book.get("id"), repr("".join(title.itertext())), price, book.get("{urn:extra}rank", "-"))

title = root.find("c:book[@id='b2']/c:title", NS)
print([(e.tag, e.text, e.tail) for e in title], repr(title.text))
print([b.get("id") for b in root.findall("c:book", NS)], root.find(".//c:price[@cur='USD']..", NS).get("id"),
      root.find("c:book[2]", NS).get("id"), root.find("c:book[last()]", NS).get("id"), root.find("c:nope", NS))

# Rewrite: convert prices, drop a group, move its books up, sort by an attribute.
parents = {child: parent for parent in root.iter() for child in parent}
for group in root.findall("c:group", NS):
    root.extend(list(group))
    root.remove(group)
for price in root.iter("{urn:cat}price"):
    price.text, price.attrib["cur"] = f"{float(price.text) * 2:.2f}", price.get("cur").lower()
root[:] = sorted(root, key=lambda b: b.get("{urn:extra}rank", "9"))
print([b.get("id") for b in root], len(parents))

out = ET.Element("books", {"count": str(len(root)), "note": 'quotes " < & and\nnewline'})
for book in root:
    entry = ET.SubElement(out, "book", id=book.get("id"))
    entry.text = "".join(book.find("c:title", NS).itertext())
    entry.tail = None
ET.SubElement(out, "empty")
ET.indent(out, space="  ")
text = ET.tostring(out, encoding="unicode")
print(text)
again = ET.fromstring(text)
print(again.get("note") == out.get("note"), ET.canonicalize("<a  z='1' b='2'/>"), ET.tostring(ET.Element("v"), short_empty_elements=False))

ET.register_namespace("k", "urn:cat")
print(ET.tostring(root.find("c:book[@id='b3']", NS), encoding="unicode").strip().split(">")[0])
events = [(event, e.tag) for event, e in ET.iterparse(io.StringIO("<r><a>1</a><b/></r>"), events=("start", "end"))]
print(events)
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as exc:
    print("parse error on line", exc.position[0], exc.code)
