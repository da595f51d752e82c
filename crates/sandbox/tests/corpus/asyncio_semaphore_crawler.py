"""A bounded crawler: semaphore limits, dedupe, per-host locks, retry with backoff."""
import asyncio
from collections import Counter, defaultdict

SITE = {
    "a.org/": ["a.org/1", "a.org/2", "b.org/"],
    "a.org/1": ["a.org/", "a.org/3"],
    "a.org/2": ["a.org/3", "c.org/x"],
    "a.org/3": [],
    "b.org/": ["b.org/flaky", "a.org/1", "b.org/gone"],
    "b.org/flaky": ["c.org/x"],
    "c.org/x": ["c.org/x"],
}


class Fetcher:
    def __init__(self, limit):
        self.limit = asyncio.Semaphore(limit)
        self.hosts = defaultdict(asyncio.Lock)
        self.running = self.peak = self.overlaps = 0
        self.per_host, self.attempts = Counter(), Counter()

    async def fetch(self, url):
        host = url.split("/")[0]
        async with self.limit, self.hosts[host]:
            self.running += 1
            self.per_host[host] += 1
            self.peak = max(self.peak, self.running)
            self.overlaps += self.per_host[host] > 1
            try:
                await asyncio.sleep(0.001)
                self.attempts[url] += 1
                if url.endswith("flaky") and self.attempts[url] < 3:
                    raise ConnectionError(url)
                return SITE[url]
            finally:
                self.running -= 1
                self.per_host[host] -= 1


async def fetch_with_retry(fetcher, url, tries=4):
    for attempt in range(tries):
        try:
            return await fetcher.fetch(url)
        except ConnectionError:
            await asyncio.sleep(0.001 * 2 ** attempt)
    raise ConnectionError(f"{url} after {tries}")


async def crawl(start, limit):
    fetcher, seen, broken = Fetcher(limit), {start}, []
    async with asyncio.TaskGroup() as group:
        async def visit(url):
            try:
                links = await fetch_with_retry(fetcher, url)
            except KeyError as exc:
                return broken.append(exc.args[0])
            for link in links:
                if link not in seen:
                    seen.add(link)
                    group.create_task(visit(link))
        group.create_task(visit(start))
    return fetcher, seen, broken


for limit in (1, 3):
    fetcher, seen, broken = asyncio.run(crawl("a.org/", limit))
    print(f"limit {limit}: {len(seen)} pages, broken {broken}, within limit {fetcher.peak <= limit}, same-host overlaps {fetcher.overlaps}")
    print("  attempts:", {u: n for u, n in sorted(fetcher.attempts.items()) if n > 1}, fetcher.limit.locked(), fetcher.running)
