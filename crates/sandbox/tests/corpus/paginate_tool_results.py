"""Walk a paginated, flaky tool API with retries, then aggregate lazily."""
from collections import deque
from itertools import islice, takewhile


waits = []


class RateLimited(Exception):
    def __init__(self, retry_after):
        super().__init__(f"retry after {retry_after}")
        self.retry_after = retry_after


class FakeApi:
    def __init__(self, total, page_size):
        self.items = [{"id": n, "size": (n * 37) % 101, "kind": "ab"[n % 2]} for n in range(total)]
        self.page_size = page_size
        self.calls = []
        self.trouble = deque([None, RateLimited(2), RateLimited(4), None, TimeoutError("slow"), None])

    def list(self, *, cursor=None, **filters):
        self.calls.append(cursor)
        problem = self.trouble.popleft() if self.trouble else None
        if problem is not None:
            raise problem
        start = int(cursor.removeprefix("c")) if cursor else 0
        end = start + self.page_size
        chosen = [i for i in self.items if all(i[k] == v for k, v in filters.items())]
        return {"items": chosen[start:end], "next_cursor": f"c{end}" if end < len(chosen) else None}


def with_retries(call, attempts=4):
    for attempt in range(1, attempts + 1):
        try:
            return call()
        except RateLimited as exc:
            waits.append(exc.retry_after)
        except TimeoutError:
            waits.append(2 ** attempt)
    raise RuntimeError(f"gave up after {attempts} attempts")


def every_item(api, **filters):
    cursor, page = None, 0
    while True:
        answer = with_retries(lambda: api.list(cursor=cursor, **filters))
        page += 1
        yield from answer["items"]
        if not (cursor := answer["next_cursor"]):
            return page


api = FakeApi(total=23, page_size=5)
first = list(islice(every_item(api), 7))
print("first 7:", [i["id"] for i in first], "calls:", api.calls, "waits:", waits)

walker = every_item(api, kind="b")
print("prefix:", [i["size"] for i in takewhile(lambda i: i["size"] != 57, walker)])
print("rest:", [i["id"] for i in walker], "calls now:", len(api.calls))

print("total size:", sum(i["size"] for i in every_item(api)))
api.trouble.extend([RateLimited(1)] * 9)
try:
    next(every_item(api))
except RuntimeError as exc:
    print(exc, "| context:", exc.__context__)
