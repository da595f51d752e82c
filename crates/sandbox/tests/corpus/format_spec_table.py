"""The format mini-language: alignment, grouping, signs, nested fields, conversions."""
import math
from datetime import date

rows = [("Widget", 1234567.891, 0.0734, -3), ("Nut", 0.5, 1, 12), ("A very long product name", -42, 0.005, 0)]
widths = {"name": 12, "amount": 16, "share": 8}
print(f"{'name':_<{widths['name']}}|{'amount':^{widths['amount']}}|{'share':>{widths['share']}}|{'delta'!r:>8}")
for name, amount, share, delta in rows:
    print(f"{name:<{widths['name']}.{widths['name']}}|{amount:>+{widths['amount']},.2f}|{share:>{widths['share']}.1%}|{delta:> 8d}")

n = 48879
print(f"{n:b} {n:#o} {n:#x} {n:#X} {n:_b} {n:012_x} {n:,} {-n:=+10} {n:e} {n:.3g} {n:c}".encode("ascii", "backslashreplace").decode())
x = math.pi * 1e5
print(f"{x:.0f} {x:.3f} {x:10.2e} {x:g} {x:.10g} {x:#.3g} {1e16:g} {1e-5:g} {0.0001:g} {100000.0:n} {1e22!r} {1e-7!r} {x:%}")
print(f"{-0.0} {-0.0:+.1f} {-0.001:.2f} {-0.001:z.2f} {math.inf:+} {math.nan:>6} {2.5:.0f} {3.5:.0f} {0.125:.2f} {1.005:.2f} {1e22 * 10:.1f}")
print("%5.1f|%-8s|%+d|%05d|%x|%r|%%|%c|%.3s|%*d" % (2.25, "ab", 5, -42, 255, "q", 65, "truncate", 6, 7))
print("%(a)s and %(b)03d" % {"a": [1], "b": 7}, "{0[k][1]}-{1.real}-{2!r:>5}-{{}}".format({"k": "xyz"}, 3 + 4j, "r"))
print("{:>{w}.{p}f}|{:*^{w}}|{a!s:!<{w}}".format(3.14159, "mid", w=9, p=2, a=None), format(True, "d"), format(True), f"{True:>6}")
value = "x"
print(f"{value = }, {value!r:>5}, {n % 7 = :>4}, {value*3=}, {{literal}}, {'nested ' + f'{n:,}'}, {date(2024, 2, 9):%d.%m.%y}")
print("tab\tsep".expandtabs(8), "abc".center(8, "*"), "7".zfill(4), "-7".zfill(4), "a,b,,c".split(","), " a  b ".split(), "a-b-c".rsplit("-", 1))


class Temperature:
    def __init__(self, celsius):
        self.celsius = celsius

    def __format__(self, spec):
        unit = spec[-1:] if spec[-1:] in ("C", "F", "K") else "C"
        degrees = {"C": self.celsius, "F": self.celsius * 9 / 5 + 32, "K": self.celsius + 273.15}[unit]
        return format(degrees, spec.rstrip("CFK") or ".1f") + unit


t = Temperature(21.456)
print(f"{t} {t:F} {t:.0fK} {t:>8.2fF}", "{:C}".format(t), format(t))
print(str(1e15), str(1e16), 0.1 + 0.2, 1 / 3, 100.0, 1e100, 5e-324, complex(1, -0.5), (1e3).is_integer(), float("1_0.5"), int("0b101", 0))
for spec, arg in (("d", 1.5), (",", "text"), ("z", 1)):
    try:
        format(arg, spec)
    except (ValueError, TypeError) as exc:
        print(type(exc).__name__, end=" ")
print(round(2.5), round(-1.5), round(2.675, 2), round(1234, -2), round(-0.4), int(-2.9), -7 // 2, -7 % 3, divmod(7, -2))
