"""argparse on explicit argument lists: subcommands, types, groups, defaults, errors."""
import argparse
from enum import Enum


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Parser(argparse.ArgumentParser):
    """Raises instead of printing usage and exiting."""

    def error(self, message):
        raise ValueError(message)


class KeyValue(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        pairs = dict(getattr(namespace, self.dest) or {})
        key, sep, value = values.partition("=")
        if not sep:
            parser.error(f"{option_string} wants KEY=VALUE")
        pairs[key] = value
        setattr(namespace, self.dest, pairs)


def positive(text):
    if (number := int(text)) <= 0:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


parser = Parser(prog="tool", add_help=False)
parser.add_argument("-v", "--verbose", action="count", default=0)
parser.add_argument("--level", type=Level, default=Level.LOW)
parser.add_argument("-D", dest="defines", action=KeyValue)
commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)

copy = commands.add_parser("copy", add_help=False)
copy.add_argument("sources", nargs="+")
copy.add_argument("target")
copy.add_argument("--jobs", "-j", type=positive, default="4")
mode = copy.add_mutually_exclusive_group()
mode.add_argument("--force", action="store_true")
mode.add_argument("--dry-run", action="store_true")
copy.set_defaults(run=lambda a: f"{'would ' * a.dry_run}copy {'+'.join(a.sources)} to {a.target} with {a.jobs}")

find = commands.add_parser("find", aliases=["f"], add_help=False)
find.add_argument("pattern", nargs="?", default="*")
find.add_argument("--color", action=argparse.BooleanOptionalAction, default=True)
find.add_argument("--depth", nargs="?", type=int, const=99, default=1)
find.add_argument("--tag", action="append", default=[])
find.set_defaults(run=lambda a: f"find {a.pattern} color={a.color} depth={a.depth} tags={a.tag}")

for line in ("copy a b c", "-vv copy x y -j8 --dry-run", "--level high -D a=1 -D b=x=y find", "f *.py --no-color --depth --tag p --tag=q",
             "find odd --depth 3", "copy only", "copy a b --force --dry-run", "copy a b -j 0", "--level mid find", "-D oops find", "fly", "find --unknown"):
    try:
        args = parser.parse_args(line.split())
        print(args.run(args), args.verbose, args.level.name, args.defines)
    except ValueError as exc:
        print(f"error in {line!r}:", exc if "wants" in str(exc) else "refused")
known, rest = parser.parse_known_args(["find", "p", "--later", "-x"])
print(known.pattern, rest, sorted(vars(known)))
