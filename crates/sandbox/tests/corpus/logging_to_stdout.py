"""logging to stdout: hierarchy, propagation, filters, adapters, JSON lines, lazy args."""
import json
import logging
import sys


class JsonFormatter(logging.Formatter):
    RESERVED = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

    def format(self, record):
        entry = {"level": record.levelname, "logger": record.name, "msg": record.getMessage()}
        entry |= {k: v for k, v in vars(record).items() if k not in self.RESERVED}
        entry |= {"error": record.exc_info[0].__name__} if record.exc_info else {}
        return json.dumps(entry, default=str, sort_keys=True)


class Redact(logging.Filter):
    def filter(self, record):
        if isinstance(record.args, dict):
            record.args |= {k: "***" for k in record.args.keys() & {"password"}}
        return "healthcheck" not in record.getMessage()


class Costly:
    calls = 0
    def __str__(self):
        Costly.calls += 1
        return "costly"


plain = logging.StreamHandler(sys.stdout)
plain.setFormatter(logging.Formatter("{levelname:<8}|{name}|{funcName}|{message}", style="{"))
plain.addFilter(Redact())
as_json = logging.StreamHandler(sys.stdout)
as_json.setFormatter(JsonFormatter())
as_json.setLevel(logging.WARNING)

app = logging.getLogger("app")
app.setLevel(logging.INFO)
app.addHandler(plain)
db = logging.getLogger("app.db")
db.addHandler(as_json)
audit = logging.getLogger("audit")
app.propagate = audit.propagate = False
audit.addHandler(as_json)
quiet = app.getChild("db.pool")
quiet.setLevel(logging.ERROR)


def main():
    app.info("start %s of %d", "job", 3)
    app.debug("not shown %s", Costly())
    app.info("login %(user)s/%(password)s", {"user": "ana", "password": "hunter2"})
    app.info("healthcheck ok")
    db.warning("slow query", extra={"ms": 120, "tags": ("a", "b")})
    quiet.warning("dropped"), quiet.error("pool exhausted")
    try:
        {}["missing"]
    except KeyError:
        audit.exception("lookup failed")
    request = logging.LoggerAdapter(app, {"request_id": 7})
    request.process = lambda msg, kw: (f"[{request.extra['request_id']}] {msg}", kw)
    request.warning("adapted %s", Costly())
    app.log(35, "custom level")
    logging.addLevelName(35, "NOTICE")
    app.log(35, "named level")


main()
print(Costly.calls, app.isEnabledFor(logging.DEBUG), quiet.getEffectiveLevel(), db.parent is app, quiet.parent is db, logging.getLevelName(20))
