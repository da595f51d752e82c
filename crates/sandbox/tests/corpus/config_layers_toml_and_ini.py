"""Layered settings: tomllib and configparser merged, interpolated, pretty-printed."""
import configparser
import tomllib
from pprint import pformat, pprint

TOML = """
started = 2024-02-29T08:30:00Z
ports = [8000, 8_001, 0x1F90]
ratio = 1e-3
raw = 'C:\\temp'
text = \"\"\"
first \\
    joined
second\"\"\"

[owner]
name = "Ana"
"quoted key".deep = true
born = 1990-05-17

[[server]]
host = "a"
tags = { role = "db", zone.name = "eu" }
[[server]]
host = "b"
"""
INI = """
[DEFAULT]
base = /srv
retries = 3
[paths]
data = %(base)s/data
Logs = %(data)s/logs
percent = 100%%
[server:b]
base = /opt
enabled = yes
weights = 1.5, 2
multi =
    one
    two
flag
"""
settings = tomllib.loads(TOML)
print(type(settings["started"]).__name__, settings["started"].isoformat(), settings["ports"], settings["ratio"], settings["raw"])
print(repr(settings["text"]), settings["owner"]["born"].year)
pprint(settings["server"], width=60)
print(pformat({"owner": settings["owner"], "n": list(range(12))}, width=50, compact=True, sort_dicts=False))
for bad in ("a = 1\na = 2", "a = [1,", "[t]\n[t]"):
    try:
        tomllib.loads(bad)
    except tomllib.TOMLDecodeError as exc:
        print(type(exc).__name__, isinstance(exc, ValueError), end=" ")
print()

ini = configparser.ConfigParser(allow_no_value=True, converters={"list": lambda s: [float(x) for x in s.split(",")]})
ini.read_string(INI)
print(ini.sections(), dict(ini["paths"]), ini.get("paths", "data", raw=True))
b = ini["server:b"]
print(b.getboolean("enabled"), b.getlist("weights"), b["multi"].split(), b["flag"], b.getint("retries"), b.get("nope", "fallback"), "base" in b)
ini["paths"]["BASE"] = "/override"
print(ini["paths"]["logs"], ini.defaults()["base"], ini.getfloat("paths", "retries", fallback=0), ini.has_option("paths", "flag"))
for where in (("nowhere", "x"), ("paths", "missing")):
    try:
        ini.get(*where)
    except configparser.Error as exc:
        print(type(exc).__name__, end=" ")
print()
merged = {s["host"]: {**dict(ini.defaults()), **(dict(ini[f"server:{s['host']}"]) if f"server:{s['host']}" in ini else {}), **s.get("tags", {})} for s in settings["server"]}
pprint(merged, width=100)
