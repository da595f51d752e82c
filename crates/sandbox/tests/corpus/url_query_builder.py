"""urllib.parse: split, join, quote, merge query strings, canonicalise and dedupe."""
from collections import defaultdict
from urllib.parse import (parse_qs, parse_qsl, quote, quote_plus, unquote, unquote_plus, urlencode, urljoin,
                          urlsplit, urlunsplit)

TRACKING = {"utm_source", "utm_medium", "ref"}
DEFAULT_PORTS = {"http": 80, "https": 443}


def canonical(url):
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if parts.port and parts.port != DEFAULT_PORTS.get(parts.scheme):
        host += f":{parts.port}"
    query = sorted((k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if k not in TRACKING)
    path = quote(unquote(parts.path), safe="/~") or "/"
    return urlunsplit((parts.scheme, host, path, urlencode(query), ""))


URLS = [
    "HTTP://Example.com:80/a%7Eb/?b=2&a=1&utm_source=x#frag",
    "http://example.com/a~b/?a=1&b=2",
    "https://user:p%40ss@example.com:8443/x y?q=caf%C3%A9&q=&ref=1",
    "https://example.com",
    "http://example.com./a%7eb/?a=1&b=2&ref=mail",
]
groups = defaultdict(list)
for n, url in enumerate(URLS):
    groups[canonical(url)].append(n)
for url, numbers in groups.items():
    print(numbers, url)

parts = urlsplit("https://user:p%40ss@[2001:db8::1]:8443/p;v=1/q?x=1&x=2#top")
print(parts.scheme, parts.netloc, parts.hostname, parts.port, parts.username, unquote(parts.password), parts.path, parts.fragment)
print(parts._replace(netloc="h", fragment="").geturl(), parse_qs(parts.query), parse_qs("a=1;b=2&c", keep_blank_values=True))

base = "http://h.example/a/b/c?x#y"
for link in ("d", "./d", "../d", "../../../d", "/d", "//other/d", "?q=1", "#f", "", "mailto:x@y.z", "d/../e"):
    print(f"{link or '(empty)':<13}{urljoin(base, link)}")

print(quote("a b/c?d=\u00e9&~"), quote("a/b", safe=""), quote_plus("a b+c"), unquote("%E9%zz%41", errors="replace") == "\ufffd%zzA")
print(unquote_plus("a+b%2Bc"), urlencode({"q": ["x", "y z"], "n": 5, "e": ""}, doseq=True), urlencode([("k", "a/b"), ("k", None)], safe="/"))
nested = urlencode({"next": "/login?" + urlencode({"to": "/home?tab=1", "x": "1&2"})})
print(nested, parse_qs(urlsplit(parse_qs(nested)["next"][0]).query))
try:
    urlsplit("http://h:99999/").port
except ValueError as exc:
    print(type(exc).__name__, "for the port")
