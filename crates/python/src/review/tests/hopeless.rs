//! Programs that would only run into a limit.

use super::{Severity::*, *};

#[test]
fn loops_without_an_end_are_found() {
    for code in [
        "while True: pass",
        "while 1:\n    x = 1",
        "while not False:\n    x += 1",
        "while True:\n    print('x')",
        "while True:\n    for i in range(3):\n        break",
        "while True:\n    while x:\n        break",
        "while True:\n    def f(): return 1",
        "def f():\n    while True:\n        x = 1",
        "i = 0\nwhile i < 10:\n    print(i)",
        "import itertools\nfor i in itertools.count():\n    print(i)",
        "from itertools import count as c\nfor i in c(1):\n    x = i",
        "import itertools\nfor i in itertools.repeat(1): pass",
        "import itertools\nfor i in itertools.cycle([1]): pass",
        "import itertools\nfor n, i in enumerate(itertools.count()): pass",
        "import itertools\nx = [i for i in itertools.count()]",
        "import itertools\nlist(itertools.count())",
        "for i in range(10**15): pass",
        "for i in range(10**9):\n    for j in range(10**9): pass",
        "x = {i for i in range(10**15)}",
    ] {
        assert_found(code, "endless-loop", Danger);
    }
    for code in ["while True:\n    work()", "while True:\n    x = items[0]"] {
        assert_found(code, "endless-loop", Warning);
    }
    assert_eq!(brief("x = 1\nif x:\n    while True: pass"), [("endless-loop", 3, Danger)]);
}

#[test]
fn loops_that_may_end_are_left_alone() {
    for code in [
        "while True:\n    if x: break",
        "def f():\n    while True:\n        if x: return 1",
        "while True:\n    raise ValueError",
        "while True:\n    await work()",
        "async def f():\n    while True:\n        item = await q.get()\n        q.task_done()",
        "async def f():\n    while True:\n        async with lock: pass",
        "def f():\n    while True:\n        yield 1",
        "while True:\n    for i in x:\n        pass\n    else:\n        break",
        "import sys\nwhile True:\n    sys.exit()",
        "try:\n    while True:\n        x.pop()\nexcept IndexError: pass",
        "try:\n    while True:\n        next(it)\nexcept StopIteration: pass",
        "while x: pass",
        "while queue:\n    queue.pop()",
        "i = 0\nwhile i < 10:\n    i += 1",
        "while n > 1:\n    n, m = m, n",
        "while (n := f()) > 1: print(n)",
        "while n > 1:\n    step()",
        "import itertools\nfor i in itertools.count():\n    if i > 3: break",
        "import itertools\nfor i in zip(itertools.count(), x): pass",
        "import itertools\nfor i in itertools.repeat(1, 3): pass",
        "import itertools\nx = (i for i in itertools.count())",
        "import itertools\nlist(itertools.islice(itertools.count(), 3))",
        "from mine import count\nfor i in count(): pass",
        "for i in range(10**6): pass",
        "for i in range(10**15):\n    if f(i): break",
        "event = asyncio.Event()\nawait event.wait()",
    ] {
        assert_clean(code);
    }
}

#[test]
fn values_that_cannot_fit_are_found() {
    for code in [
        "[0] * 10**10",
        "x = 10**10 * [0]",
        "x = 'x' * 10**10",
        "b'x' * (1 << 40)",
        "(1, 2) * 1_000_000_000",
        "list(range(10**9))",
        "sorted(range(0, 10**10, 2))",
        "10**10**10",
        "2 ** 99999999999",
        "1 << 10**12",
        "bytearray(10**11)",
        "bytes(10**10)",
        "[i for i in range(10**10)]",
        "[[0] * 10**5 for _ in range(10**5)]",
        "[0 for i in range(10**5) for j in range(10**5)]",
        "N = 10**10\nx = [0] * N",
        "'x'.ljust(10**10)",
        "x = 'a' + 'b' * 10**10",
        "[[0] * 10**9, 1]",
        "x = [0] * 10**400",
        "x = [0] * 99999999999999999999999999999999",
    ] {
        assert_eq!(brief(code).len(), 1, "{code}: {:?}", findings(code));
        assert_found(code, "huge-allocation", Danger);
    }
    let message = findings("x = [0] * 10**10").remove(0).message;
    assert_eq!(
        message,
        "this takes about 37 GB, and a program has 512 MB at most; work on the data in parts"
    );
}

#[test]
fn values_that_fit_are_left_alone() {
    for code in [
        "[0] * 10**6",
        "'-' * 80",
        "list(range(10**6))",
        "2 ** 64 + 10 ** 100",
        "10 ** 9 + 7",
        "pow(3, 10**100, 7)",
        "bytearray(1 << 20)",
        "range(10**18)",
        "sum(range(10**6))",
        "[0] * n",
        "N = 10**10\nN = 1\n[0] * N",
        "x = 10.0 ** 400",
        "x * 10**12",
        "1 << 20",
        "[[0] * 1000 for _ in range(1000)]",
        "[0] * -10**10",
        "list(mine(10**10))",
        "def list(x): pass\nlist(range(10**10))",
        "n = 2 ** -1",
    ] {
        assert_clean(code);
    }
}

#[test]
fn calls_beyond_the_limit_are_counted_before_they_are_made() {
    let tool = "from servers.a import t\n";
    for (code, severity) in [
        ("for i in range(5000):\n    await t(i)", Danger),
        ("for i in range(100):\n    for j in range(100):\n        await t(i)", Danger),
        ("r = await asyncio.gather(*[t(i) for i in range(5000)])", Danger),
        ("async def one(i):\n    return await t(i)\nr = [one(i) for i in range(5000)]", Danger),
        (
            "async def one(i):\n    return await t(i)\nasync def two(i):\n    for _ in range(100): await one(i)\nfor i in range(100): await two(i)",
            Danger,
        ),
        ("for i in range(5000):\n    if i % 2:\n        await t(i)", Warning),
        ("r = [t(i) for i in range(5000) if i]", Warning),
        (
            "from client import call_mcp_tool\nfor i in range(5000): await call_mcp_tool('a.t', {})",
            Danger,
        ),
        ("if __name__ == '__main__':\n    for i in range(5000): await t(i)", Danger),
    ] {
        assert_found(&format!("{tool}{code}"), "many-calls", severity);
    }
    for code in [
        "for i in range(1000):\n    await t(i)",
        "for page in range(1, 10000):\n    if not await t(page): break",
        "for i in range(5000):\n    f(i)",
        "for i in range(5000):\n    x = t",
        "for i in items:\n    await t(i)",
        "while x:\n    await t()",
        "async def one(i):\n    return await t(i)\nawait one(1)",
        "async def f(n):\n    await t(n)\n    await f(n - 1)\nawait f(9)",
    ] {
        assert_clean(&format!("{tool}{code}"));
    }
}
