//! Python as it is everywhere: asyncio, printing, time, files, and a real `__main__`.

use narrows_model::{Outcome, OutputStream};
use narrows_sandbox::RunOptions;
use serde_json::json;

use crate::support::{TestHost, failure, run, run_in, run_with, value};

/// Returns what a program that must succeed prints to stdout; it must not print to stderr.
async fn stdout_of(source: &str) -> String {
    let outcome = run(source).await;
    value(&outcome);
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

/// The same for stderr.
async fn stderr_of(source: &str) -> String {
    let outcome = run(source).await;
    value(&outcome);
    outcome.stderr
}

async fn result_of(source: &str) -> serde_json::Value {
    value(&run(source).await).clone()
}

#[track_caller]
fn shows_nothing_of_the_sandbox(outcome: &Outcome) {
    let traceback = outcome.failure().map_or("", |failure| &failure.traceback);
    for text in [&outcome.stdout, &outcome.stderr, traceback] {
        for inner in ["_narrows", "/0/", "app.py"] {
            assert!(!text.contains(inner), "{inner} in:\n{text}");
        }
    }
}

// Waiting.

#[tokio::test]
async fn await_works_at_the_top_level() {
    let outcome = run("import asyncio\nx = await asyncio.sleep(0, 'done')\nresult = x").await;
    assert_eq!(*value(&outcome), "done");
}

#[tokio::test]
async fn async_for_and_async_with_work_at_the_top_level() {
    let source = "
import asyncio, contextlib
@contextlib.asynccontextmanager
async def manager():
    print('in')
    yield 5
    print('out')
async def numbers():
    for n in range(3):
        await asyncio.sleep(0)
        yield n
async with manager() as five:
    print(five)
async for n in numbers():
    print(n)
print([n async for n in numbers()])
";
    assert_eq!(stdout_of(source).await, "in\n5\nout\n0\n1\n2\n[0, 1, 2]\n");
}

#[tokio::test]
async fn gather_runs_at_once_and_keeps_the_order() {
    let source = "
import asyncio
done = [asyncio.Event() for _ in range(4)]
done[3].set()
async def f(n):
    await done[n + 1].wait()
    print('done', n)
    done[n].set()
    return n
print(await asyncio.gather(*[f(n) for n in range(3)]))
print(await asyncio.gather(f(2), asyncio.sleep(0, 'x'), return_exceptions=True))
";
    let expected = "done 2\ndone 1\ndone 0\n[0, 1, 2]\ndone 2\n[2, 'x']\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn a_task_group_waits_for_its_tasks() {
    let source = "
import asyncio
async def f(n):
    await asyncio.sleep(0.01 * n)
    return n * n
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(f(n), name=f't{n}') for n in range(4)]
result = [(task.get_name(), task.result()) for task in tasks]
";
    assert_eq!(result_of(source).await, json!([["t0", 0], ["t1", 1], ["t2", 4], ["t3", 9]]));
}

#[tokio::test]
async fn a_timeout_ends_what_takes_too_long() {
    let source = "
import asyncio
try:
    async with asyncio.timeout(0.02) as scope:
        await asyncio.sleep(20)
except TimeoutError as error:
    print('timeout', scope.expired())
try:
    await asyncio.wait_for(asyncio.sleep(20), 0.02)
except asyncio.TimeoutError:
    print('wait_for')
async with asyncio.timeout(20):
    print('in time')
";
    assert_eq!(stdout_of(source).await, "timeout True\nwait_for\nin time\n");
}

#[tokio::test]
async fn queues_events_semaphores_locks_and_conditions_work() {
    let source = "
import asyncio
queue = asyncio.Queue(maxsize=2)
async def fill():
    for n in range(5):
        await queue.put(n)
    queue.shutdown()
async def drain():
    got = []
    while True:
        try:
            got.append(await queue.get())
        except asyncio.QueueShutDown:
            return got
print((await asyncio.gather(drain(), fill()))[0])
event = asyncio.Event()
asyncio.get_running_loop().call_later(0.01, event.set)
await event.wait()
gate, inside, most = asyncio.Semaphore(2), 0, 0
async def enter():
    global inside, most
    async with gate:
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1
await asyncio.gather(*[enter() for _ in range(10)])
print(most)
condition, ready = asyncio.Condition(), False
async def wait():
    async with condition:
        await condition.wait_for(lambda: ready)
        return 'notified'
task = asyncio.create_task(wait())
await asyncio.sleep(0)
async with condition:
    ready = True
    condition.notify_all()
print(await task)
barrier = asyncio.Barrier(3)
print(sorted(await asyncio.gather(*[barrier.wait() for _ in range(3)])))
";
    assert_eq!(stdout_of(source).await, "[0, 1, 2, 3, 4]\n2\nnotified\n[0, 1, 2]\n");
}

#[tokio::test]
async fn as_completed_and_wait_give_what_is_done_first() {
    let source = "
import asyncio
loop = asyncio.get_running_loop()
start = loop.time()
async def f(n):
    # By the clock: however late a task begins, those with less to wait are done first.
    over = loop.create_future()
    loop.call_at(start + 0.03 * n, over.set_result, n)
    return await over
print([await future for future in asyncio.as_completed([f(3), f(1), f(2)])])
print([await task async for task in asyncio.as_completed([f(1), f(0)])])
tasks = [asyncio.create_task(f(n)) for n in (0, 100_000)]
done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
print([task.result() for task in done], len(pending))
pending.pop().cancel()
";
    assert_eq!(stdout_of(source).await, "[1, 2, 3]\n[0, 1]\n[0] 1\n");
}

#[tokio::test]
async fn to_thread_runs_a_function_and_passes_its_error_on() {
    let source = "
import asyncio, contextvars
name = contextvars.ContextVar('name')
name.set('given')
def double(n, *, plus=0):
    return n * 2 + plus, name.get()
def fail():
    raise ValueError('from the function')
print(await asyncio.to_thread(double, 20, plus=2))
try:
    await asyncio.to_thread(fail)
except ValueError as error:
    print(error)
print(await asyncio.get_running_loop().run_in_executor(None, double, 1))
";
    let expected = "(42, 'given')\nfrom the function\n(2, 'given')\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn shield_and_cancel_work() {
    let source = "
import asyncio
gate = asyncio.Event()
async def work():
    await gate.wait()
    return 'finished'
inner = asyncio.create_task(work())
outer = asyncio.create_task(asyncio.wait_for(asyncio.shield(inner), 0.001))
try:
    await outer
except TimeoutError:
    print('outer gave up')
gate.set()
print(await inner)
async def clean():
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        print('cleaning')
        raise
task = asyncio.create_task(clean())
await asyncio.sleep(0)
task.cancel('enough')
try:
    await task
except asyncio.CancelledError as error:
    print('cancelled', error)
";
    let expected = "outer gave up\nfinished\ncleaning\ncancelled enough\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn asyncio_run_works_any_number_of_times_without_top_level_await() {
    let source = "
import asyncio
async def main(n):
    await asyncio.sleep(0)
    return n
def helper():
    return asyncio.run(main(2))
if __name__ == '__main__':
    print(asyncio.run(main(1)), helper(), asyncio.run(main(3)))
";
    assert_eq!(stdout_of(source).await, "1 2 3\n");
}

#[tokio::test]
async fn asyncio_run_works_below_a_top_level_await() {
    let source = "
import asyncio
async def main(n):
    await asyncio.sleep(0.001)
    return n, asyncio.current_task() is not None
def helper(n):
    return asyncio.run(main(n))
before = asyncio.current_task()
print(await main(0), helper(1), helper(2))
assert asyncio.current_task() is before
assert asyncio.get_running_loop() is before.get_loop()
async def nested():
    return asyncio.run(main(3))
print(await nested(), await main(4))
print(asyncio.run(nested()))
";
    let expected = "(0, True) (1, True) (2, True)\n(3, True) (4, True)\n(3, True)\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn runners_and_loops_of_ones_own_work() {
    let source = "
import asyncio
async def f(n):
    await asyncio.sleep(0)
    return n
with asyncio.Runner() as runner:
    print(runner.run(f(1)), runner.run(f(2)))
loop = asyncio.new_event_loop()
try:
    print(loop.run_until_complete(f(3)))
    loop.call_soon(print, 'soon')
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
finally:
    loop.close()
print(loop.is_closed())
";
    assert_eq!(stdout_of(source).await, "1 2\n3\nsoon\nTrue\n");
    let nested = format!("await __import__('asyncio').sleep(0)\n{source}");
    assert_eq!(stdout_of(&nested).await, "1 2\n3\nsoon\nTrue\n");
}

#[tokio::test]
async fn context_variables_are_each_tasks_own() {
    let source = "
import asyncio, contextvars
v = contextvars.ContextVar('v', default='none')
async def f(n):
    v.set(n)
    await asyncio.sleep(0)
    return v.get()
v.set('main')
print(await asyncio.gather(f(1), f(2)), v.get())
print(contextvars.copy_context().run(lambda: (v.set('inner'), v.get())[1]), v.get())
";
    assert_eq!(stdout_of(source).await, "[1, 2] main\ninner main\n");
}

#[tokio::test]
async fn an_async_generator_that_is_left_early_is_closed_at_the_end() {
    let source = "
async def numbers():
    try:
        yield 1
        yield 2
    finally:
        print('closed')
async for n in numbers():
    break
print('after')
";
    assert_eq!(stdout_of(source).await, "after\nclosed\n");
}

#[tokio::test]
async fn an_async_generator_that_is_still_open_is_closed_at_the_end() {
    let source = "
import asyncio
async def numbers():
    try:
        yield 1
        yield 2
    finally:
        await asyncio.sleep(0)
        print('closed')
open_one = numbers()
print(await anext(open_one))
";
    assert_eq!(stdout_of(source).await, "1\nclosed\n");
    let source = "
import asyncio
async def numbers():
    try:
        yield 1
    finally:
        print('closed')
async def main():
    async for n in numbers():
        break
    print('after')
asyncio.run(main())
";
    assert_eq!(stdout_of(source).await, "after\nclosed\n");
}

#[tokio::test]
async fn sleeping_takes_the_time_it_says() {
    // One after the other they would take longer than a program may.
    let source = "
import asyncio, time
start = time.monotonic()
await asyncio.gather(*[asyncio.sleep(0.1) for _ in range(4000)])
time.sleep(0.05)
result = time.monotonic() - start
";
    let took = result_of(source).await.as_f64().unwrap();
    assert!(took >= 0.15, "{took}");
}

// What was forgotten.

#[tokio::test]
async fn a_task_that_is_left_over_is_cancelled_and_named() {
    let source = "
import asyncio
async def poll_forever():
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        print('cancelled')
        raise
task = asyncio.create_task(poll_forever())
await asyncio.sleep(0)
result = 1
";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), 1);
    assert_eq!(outcome.stdout, "cancelled\n");
    assert_eq!(outcome.stderr, "");
    let expected = "1 task was still running when the program ended and was cancelled: \
                    poll_forever; await what must finish";
    assert_eq!(outcome.notes, [expected]);
}

#[tokio::test]
async fn several_tasks_that_are_left_over_are_counted_and_named() {
    let source = "
import asyncio
async def first(): await asyncio.sleep(1000)
async def second(): await asyncio.sleep(1000)
tasks = [asyncio.create_task(f()) for f in (first, second, first)]
await asyncio.sleep(0)
";
    let outcome = run(source).await;
    value(&outcome);
    let expected = "3 tasks were still running when the program ended and were cancelled: \
                    first, second; await what must finish";
    assert_eq!(outcome.notes, [expected]);
}

#[tokio::test]
async fn a_task_that_refuses_to_be_cancelled_does_not_hold_the_program_up() {
    let source = "
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass
task = asyncio.create_task(stubborn())
await asyncio.sleep(0)
result = 1
";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), 1);
    assert!(outcome.notes[0].contains("stubborn"), "{:?}", outcome.notes);
    assert_eq!(outcome.stderr, "");
}

#[tokio::test]
async fn a_task_that_ended_in_time_is_not_mentioned() {
    let source = "
import asyncio
async def f(): return 1
task = asyncio.create_task(f())
result = await task
";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), 1);
    assert_eq!(outcome.notes, Vec::<String>::new());
}

const DEADLOCK: &str = "the program waits for something that can no longer happen, such as an \
                        item in a queue that nobody fills or a future that nobody sets";

#[tokio::test]
async fn a_deadlock_is_reported_at_once() {
    let outcome = run("import asyncio\nprint('before')\nawait asyncio.Queue().get()").await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "Deadlock");
    assert!(failure.message.contains(DEADLOCK), "{}", failure.message);
    assert_eq!(outcome.stdout, "before\n");
    // The line that waits is shown, as if the wait itself had failed.
    assert_eq!(failure.line, Some(3));
    assert!(failure.traceback.contains("line 3, in <module>"), "{}", failure.traceback);
    shows_nothing_of_the_sandbox(&outcome);
    assert_eq!(outcome.notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_deadlock_in_asyncio_run_names_who_waits() {
    let source = "
import asyncio
async def consumer(queue):
    await queue.get()
async def main():
    queue = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        group.create_task(consumer(queue))
        group.create_task(consumer(queue))
asyncio.run(main())
";
    let outcome = run(source).await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "Deadlock");
    assert!(failure.message.contains(DEADLOCK), "{}", failure.message);
    assert!(failure.message.contains("consumer"), "{}", failure.message);
    assert!(failure.line.is_some());
    shows_nothing_of_the_sandbox(&outcome);
}

#[tokio::test]
async fn waiting_for_a_thread_that_cannot_exist_ends_at_once_and_says_why() {
    for source in [
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "import threading\nthreading.Event().wait()",
        "import queue\nqueue.Queue().get()",
    ] {
        let outcome = run(source).await;
        let failure = failure(&outcome);
        // The interpreter itself gives up, so that there is no traceback.
        assert_eq!(failure.kind, "Aborted", "{source}");
        assert!(failure.message.contains("a lock or a queue"), "{source}: {failure:?}");
    }
}

#[tokio::test]
async fn a_coroutine_that_is_dropped_without_await_is_named() {
    let source = "async def fetch(): pass\nfetch()\nresult = 1";
    let stderr = stderr_of(source).await;
    assert!(
        stderr.starts_with("main.py:2: RuntimeWarning: coroutine 'fetch' was never awaited"),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_coroutine_that_is_kept_without_await_is_named() {
    let outcome = run("async def fetch(): pass\nkept = fetch()\nresult = 1").await;
    assert_eq!(*value(&outcome), 1);
    let stderr = &outcome.stderr;
    assert!(stderr.contains("RuntimeWarning: coroutine 'fetch'"), "{stderr}");
    assert!(stderr.contains("was never awaited"), "{stderr}");
    shows_nothing_of_the_sandbox(&outcome);
}

#[tokio::test]
async fn a_coroutine_as_the_result_is_explained() {
    for source in
        ["async def main():\n    print('hi')\nmain()", "async def main(): pass\nresult = main()"]
    {
        let outcome = run(source).await;
        assert!(value(&outcome).is_null());
        assert_eq!(outcome.stdout, "");
        let expected = "result: coroutine 'main' was never awaited; write `await main(...)`";
        assert_eq!(outcome.notes, [expected]);
        shows_nothing_of_the_sandbox(&outcome);
    }
}

#[tokio::test]
async fn an_error_in_a_task_that_nobody_awaited_is_reported() {
    let source = "
import asyncio
async def work():
    raise ValueError('nobody sees this')
task = asyncio.create_task(work())
await asyncio.sleep(0)
result = 1
";
    for source in [source, &source.replace("task = ", "")] {
        let outcome = run(source).await;
        assert_eq!(*value(&outcome), 1);
        let stderr = &outcome.stderr;
        assert!(stderr.starts_with("Task exception was never retrieved\n"), "{stderr}");
        let traceback = "Traceback (most recent call last):\n  File \"main.py\", line 4, in work\n    \
                         raise ValueError('nobody sees this')\nValueError: nobody sees this\n";
        assert!(stderr.ends_with(traceback), "{stderr}");
        shows_nothing_of_the_sandbox(&outcome);
    }
}

#[tokio::test]
async fn tasks_are_numbered_from_the_start() {
    let source = "
import asyncio
async def f(): return asyncio.current_task().get_name()
print(asyncio.current_task().get_name(), await asyncio.create_task(f()))
";
    assert_eq!(stdout_of(source).await, "Task-1 Task-2\n");
}

// `__main__`.

#[tokio::test]
async fn the_program_is_a_real_main_module() {
    let source = r#"
"""Its own documentation."""
import dataclasses, pickle, sys, typing
@dataclasses.dataclass
class Point:
    x: int
    y: "list[Point]" = dataclasses.field(default_factory=list)
    count: typing.ClassVar[int] = 0
    other: "typing.ClassVar[int]" = 0
if __name__ == "__main__":
    print("main")
import __main__
print(__main__.Point is Point, sys.modules["__main__"] is __main__, Point.__module__)
print(pickle.loads(pickle.dumps([Point(1, [Point(2)])])))
print([field.name for field in dataclasses.fields(Point)])
print(typing.get_type_hints(Point)["y"] == list[Point])
print(__file__, sys.argv)
"#;
    let expected = "main\nTrue True __main__\n[Point(x=1, y=[Point(x=2, y=[])])]\n['x', 'y']\nTrue\n\
                    main.py ['main.py']\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn the_documentation_of_the_program_is_its_first_string() {
    let outcome = run("\"\"\"What it does.\"\"\"\nresult = __doc__").await;
    assert_eq!(*value(&outcome), "What it does.");
    let outcome = run("'What it does.'\nx = 1\n__doc__").await;
    assert_eq!(*value(&outcome), "What it does.");
}

#[tokio::test]
async fn exit_handlers_and_finalizers_run_at_the_end() {
    let source = "
import atexit
class Held:
    def __del__(self): print('deleted')
held = Held()
atexit.register(print, 'at exit')
print('end')
";
    assert_eq!(stdout_of(source).await, "end\nat exit\ndeleted\n");
}

#[tokio::test]
async fn the_source_of_a_function_can_be_inspected() {
    let source = "
import inspect
def add(a: int, b: int = 2) -> int:
    return a + b
print(inspect.getsource(add), end='')
print(inspect.signature(add))
";
    let expected =
        "def add(a: int, b: int = 2) -> int:\n    return a + b\n(a: int, b: int = 2) -> int\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn a_long_chain_of_objects_can_be_freed() {
    let source = "
class Node: pass
last = None
for _ in range(100_000):
    node = Node()
    node.next = last
    last = node
del node, last
nested = []
for _ in range(100_000):
    nested = [nested]
del nested
print('freed')
";
    assert_eq!(stdout_of(source).await, "freed\n");
}

// Printing and reading.

#[tokio::test]
async fn output_arrives_while_the_program_runs() {
    let host = TestHost::new();
    let source = "
from client import call_mcp_tool
print('before the call')
await call_mcp_tool('never', {})
";
    let cancel = tokio_util::sync::CancellationToken::new();
    let program = narrows_model::Program::new(source);
    let running =
        crate::support::SANDBOX.run(program, &host, RunOptions::default(), cancel.clone());
    let watching = async {
        while host.calls.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        // The call is under way, so what was printed before it is here.
        let seen = host.stdout();
        cancel.cancel();
        seen
    };
    let (outcome, seen) = tokio::join!(running, watching);
    assert_eq!(seen, "before the call\n");
    assert_eq!(outcome.unwrap().stdout, "before the call\n");
}

#[tokio::test]
async fn output_arrives_in_order_and_the_streams_are_apart() {
    let host = TestHost::new();
    let source = "
import sys
print('one')
print('two', file=sys.stderr)
sys.stdout.write('thr')
sys.stdout.flush()
sys.stdout.write('ee\\n')
sys.stderr.write('four')
print('five', end='')
";
    let outcome = run_with(source, &host, RunOptions::default()).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "one\nthree\nfive");
    assert_eq!(outcome.stderr, "two\nfour");
    let printed = host.printed.lock().unwrap();
    let mut merged: Vec<(OutputStream, String)> = Vec::new();
    for (stream, text) in printed.iter() {
        match merged.last_mut() {
            Some((last, all)) if last == stream => all.push_str(text),
            _ => merged.push((*stream, text.clone())),
        }
    }
    let (out, err) = (OutputStream::Stdout, OutputStream::Stderr);
    let expected = [(out, "one\n"), (err, "two\n"), (out, "three\n"), (err, "four"), (out, "five")];
    assert_eq!(merged, expected.map(|(stream, text)| (stream, text.to_owned())));
}

#[tokio::test]
async fn unicode_bytes_and_raw_writes_come_out() {
    let source = r#"
import os, sys
print("ünï €uro 日本 😀 \u0000 tab\t")
sys.stdout.buffer.write("größe\n".encode())
sys.stdout.buffer.write(b"not text: \xff\n")
sys.stdout.buffer.flush()
os.write(1, b"raw\n")
os.write(2, b"raw error\n")
print("a", "b", sep="-", end="!\n", flush=True)
sys.stdout.writelines(["x\n", "y\n"])
"#;
    let outcome = run(source).await;
    value(&outcome);
    let expected = "ünï €uro 日本 😀 \0 tab\t\ngröße\nnot text: \u{fffd}\nraw\na-b!\nx\ny\n";
    assert_eq!(outcome.stdout, expected);
    assert_eq!(outcome.stderr, "raw error\n");
}

#[tokio::test]
async fn a_long_text_is_printed_to_its_end() {
    let outcome = run("print('x' * 300_000)\nimport sys\nsys.stderr.write('y' * 100_000)").await;
    value(&outcome);
    assert_eq!(outcome.stdout.len(), 300_001);
    assert_eq!(outcome.stderr.len(), 100_000);
}

#[tokio::test]
async fn a_long_text_of_wide_characters_is_printed_to_its_end() {
    let outcome = run("print('日本語' * 30_000)").await;
    value(&outcome);
    assert_eq!(outcome.stdout.chars().count(), 90_001);
    assert!(!outcome.stdout.contains('\u{fffd}'));
}

#[tokio::test]
async fn many_bytes_are_written_to_their_end() {
    let outcome = run("import sys\nresult = sys.stdout.buffer.write(b'x' * 300_000)").await;
    assert_eq!(*value(&outcome), 300_000);
    assert_eq!(outcome.stdout.len(), 300_000);
}

#[tokio::test]
async fn many_lines_are_printed_to_their_end() {
    let outcome = run("for n in range(20_000): print(n)").await;
    value(&outcome);
    assert_eq!(outcome.stdout.lines().count(), 20_000);
    assert!(outcome.stdout.ends_with("\n19999\n"));
}

#[tokio::test]
async fn output_can_be_redirected_by_the_program() {
    let source = "
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()) as caught:
    print('caught')
print('seen', repr(caught.getvalue()))
sys.stdout = io.StringIO()
print('swallowed')
result = sys.stdout.getvalue()
";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), "swallowed\n");
    assert_eq!(outcome.stdout, "seen 'caught\\n'\n");
}

#[tokio::test]
async fn a_program_without_standard_streams_still_ends_well() {
    for source in [
        "import sys\nsys.stdout.close()\nresult = 1",
        "import sys\nsys.stdout = sys.stderr = None\nprint('nowhere')\nresult = 1",
        "import sys\ndel sys.stdout, sys.stderr\nresult = 1",
    ] {
        let outcome = run(source).await;
        assert_eq!(*value(&outcome), 1, "{source}");
        assert_eq!(outcome.stderr, "", "{source}");
    }
}

#[tokio::test]
async fn there_is_nothing_to_read_from_standard_input() {
    let outcome = run("input('name? ')").await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "EOFError");
    let expected = "EOF when reading a line; nobody can answer input(); put the value into the \
                    program, or into the context of the call";
    assert_eq!(failure.message, expected);
    assert_eq!(outcome.stdout, "name? ");
    assert_eq!(
        stdout_of("import sys\nprint(repr(sys.stdin.read()), list(sys.stdin))").await,
        "'' []\n"
    );
}

#[tokio::test]
async fn logging_goes_to_stderr() {
    let source = "
import logging
logging.warning('careful %s', 1)
logging.info('not shown')
logging.basicConfig(level=logging.INFO, format='%(levelname)s %(name)s %(message)s', force=True)
logging.getLogger('mine').info('shown')
try:
    1 / 0
except ZeroDivisionError:
    logging.exception('failed')
";
    let expected = "WARNING:root:careful 1\nINFO mine shown\nERROR root failed\n\
                    Traceback (most recent call last):\n  File \"main.py\", line 8, in <module>\n    \
                    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n";
    assert_eq!(stderr_of(source).await, expected);
}

// Time, chance, and the like.

#[tokio::test]
async fn time_zones_are_complete() {
    let source = "
import datetime, zoneinfo
names = zoneinfo.available_timezones()
print(len(names) > 400, {'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'UTC'} <= names)
for name in sorted(names): zoneinfo.ZoneInfo(name)
berlin = zoneinfo.ZoneInfo('Europe/Berlin')
utc = datetime.timezone.utc
for month in (1, 7):
    print(datetime.datetime(2024, month, 1, 12, tzinfo=utc).astimezone(berlin).isoformat())
before = datetime.datetime(2024, 3, 31, 0, 59, tzinfo=utc)
print(before.astimezone(berlin), (before + datetime.timedelta(minutes=1)).astimezone(berlin))
fold = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
print(fold.utcoffset(), fold.replace(fold=1).utcoffset(), fold.tzname())
print(datetime.datetime(2060, 7, 1, tzinfo=berlin).utcoffset())
try:
    zoneinfo.ZoneInfo('Mars/Base')
except zoneinfo.ZoneInfoNotFoundError as error:
    print(error)
";
    let expected = "True True\n2024-01-01T13:00:00+01:00\n2024-07-01T14:00:00+02:00\n\
                    2024-03-31 01:59:00+01:00 2024-03-31 03:00:00+02:00\n\
                    2:00:00 1:00:00 CEST\n2:00:00\n'No time zone found with key Mars/Base'\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn the_clock_is_the_real_one_and_local_time_is_utc() {
    let now = || std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let before = now();
    let source = "
import datetime, time
print(datetime.datetime.now().astimezone().utcoffset(), time.tzname[0], time.timezone)
first = time.perf_counter()
while time.perf_counter() == first: pass
result = [time.time(), datetime.datetime.now(datetime.timezone.utc).timestamp(), time.time_ns() / 1e9]
";
    let outcome = run(source).await;
    assert_eq!(outcome.stdout, "0:00:00 UTC 0\n");
    let after = now();
    for time in value(&outcome).as_array().unwrap() {
        let time = time.as_f64().unwrap();
        assert!((before - 0.1..after + 0.1).contains(&time), "{before} {time} {after}");
    }
}

#[tokio::test]
async fn the_time_of_the_process_counts_from_its_start() {
    let source = "
import time
first = time.process_time()
sum(range(1_000_000))
second = time.process_time()
print(first >= 0, second > first)
";
    assert_eq!(stdout_of(source).await, "True True\n");
}

#[tokio::test]
async fn chance_differs_between_runs_unless_seeded() {
    let source = "
import random, secrets, uuid
print(random.random(), uuid.uuid4(), secrets.token_hex(8), random.SystemRandom().random())
";
    assert_ne!(stdout_of(source).await, stdout_of(source).await);
    let seeded = "
import random
random.seed(42)
print(random.random(), random.randint(1, 100), random.sample(range(100), 3))
print(random.Random('text').random(), random.Random(7).choice('abc'))
";
    assert!(stdout_of(seeded).await.starts_with("0.6394267984578837 4 [94, 35, 31]\n"));
    assert_eq!(stdout_of(seeded).await, stdout_of(seeded).await);
}

#[tokio::test]
async fn hashes_are_complete() {
    let source = "
import hashlib, hmac, zlib
print(hashlib.sha256(b'abc').hexdigest())
print(hashlib.md5(b'abc').hexdigest(), hashlib.new('sha1', b'abc').hexdigest())
print(hashlib.sha3_256(b'').hexdigest()[:16], hashlib.blake2b(b'', digest_size=8).hexdigest())
print(hmac.new(b'key', b'message', 'sha256').hexdigest()[:16], zlib.crc32(b'abc'))
print(hmac.digest(b'key', b'message', hashlib.sha512).hex()[:16], hmac.compare_digest('a', 'a'))
print(sorted(hashlib.algorithms_guaranteed - hashlib.algorithms_available))
";
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n\
                    900150983cd24fb0d6963f7d28e17f72 a9993e364706816aba3e25717850c26c9cd0d89d\n\
                    a7ffc6f8bf1ed766 e4a6a0577479b2b4\n6e9ef29b75fffc5b 891568578\n\
                    e477384d7ca229dd True\n[]\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn keys_can_be_derived_from_passwords() {
    let source = "
import hashlib
result = hashlib.pbkdf2_hmac('sha256', b'password', b'salt', 1000).hex()
";
    let expected = "632c2812e46d4604102ba7618e9d6d7d2f8128f6266b4a03264d2a0460b7dcb3";
    assert_eq!(result_of(source).await, expected);
}

#[tokio::test]
async fn text_does_not_depend_on_a_locale() {
    let source = "
import locale, sys
print(sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.stdout.encoding)
with open('/tmp/text', 'w') as file: file.write('é\\n')
print(open('/tmp/text', 'rb').read(), open('/tmp/text').read().strip(), locale.getencoding())
print(f'{1234567.891:,.2f} {0.5:%}', sorted(['b', 'Z', 'ä', 'a']), 'straße'.upper(), 'İ'.lower())
";
    let expected = "utf-8 utf-8 utf-8\nb'\\xc3\\xa9\\n' é UTF-8\n\
                    1,234,567.89 50.000000% ['Z', 'a', 'b', 'ä'] STRASSE i̇\n";
    assert_eq!(stdout_of(source).await, expected);
}

// Files.

#[tokio::test]
async fn the_environment_has_a_home_and_a_place_for_temporary_files() {
    let source = "
import os, pathlib, tempfile
print(os.environ.get('HOME'), pathlib.Path.home(), os.path.expanduser('~/x'))
print(os.environ.get('LANG'), os.environ.get('TZ'), os.environ.get('TMPDIR'), tempfile.gettempdir())
";
    assert_eq!(stdout_of(source).await, "/tmp /tmp /tmp/x\nC.UTF-8 UTC /tmp /tmp\n");
    let directory = tempfile::tempdir().unwrap();
    let outcome = run_in(directory.path(), source).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "/workspace /workspace /workspace/x\nC.UTF-8 UTC /tmp /tmp\n");
}

#[tokio::test]
async fn temporary_files_work() {
    let source = "
import os, tempfile
with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, 'a.txt')
    with open(path, 'w') as file: file.write('text')
    print(directory.startswith('/tmp/'), open(path).read(), os.listdir(directory))
print(os.path.exists(directory))
with tempfile.NamedTemporaryFile('w+') as file:
    file.write('x'); file.seek(0)
    print(file.read(), file.name.startswith('/tmp/'))
with tempfile.TemporaryFile() as file:
    file.write(b'y'); file.seek(0)
    print(file.read())
with tempfile.SpooledTemporaryFile(max_size=10) as file:
    file.write(b'z' * 100); file.seek(0)
    print(len(file.read()))
print(os.listdir('/tmp'))
";
    let expected = "True text ['a.txt']\nFalse\nx True\nb'y'\n100\n[]\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn relative_paths_are_in_the_workspace() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("given.txt"), "given").unwrap();
    let source = "
import os, pathlib
pathlib.Path('sub').mkdir()
pathlib.Path('sub/made.txt').write_text('made')
print(os.getcwd(), os.path.abspath('x'), pathlib.Path('given.txt').read_text())
print(sorted(str(path) for path in pathlib.Path('.').rglob('*')))
print(open('/workspace/sub/made.txt').read())
os.chdir('sub')
print(os.getcwd(), open('made.txt').read())
";
    let outcome = run_in(directory.path(), source).await;
    value(&outcome);
    let expected = "/workspace /workspace/x given\n['given.txt', 'sub', 'sub/made.txt']\nmade\n\
                    /workspace/sub made\n";
    assert_eq!(outcome.stdout, expected);
    let made = std::fs::read_to_string(directory.path().join("sub/made.txt")).unwrap();
    assert_eq!(made, "made");
}

#[tokio::test]
async fn modules_in_the_workspace_can_be_imported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("helper.py"), "LIMIT = 5\ndef fail():\n    return 1 / 0\n").unwrap();
    std::fs::create_dir(path.join("package")).unwrap();
    std::fs::write(path.join("package/__init__.py"), "from .inner import value\n").unwrap();
    std::fs::write(path.join("package/inner.py"), "value = 7\n").unwrap();
    let source = "
import helper, package.inner
from package import value
print(helper.LIMIT, value, package.inner.value, helper.__file__)
helper.fail()
";
    let outcome = run_in(path, source).await;
    assert_eq!(outcome.stdout, "5 7 7 /workspace/helper.py\n");
    let expected = "Traceback (most recent call last):\n  File \"main.py\", line 5, in <module>\n    \
                    helper.fail()\n    ~~~~~~~~~~~^^\n  File \"/workspace/helper.py\", line 3, in fail\n    \
                    return 1 / 0\n           ~~^~~\nZeroDivisionError: division by zero\n";
    assert_eq!(failure(&outcome).traceback, expected);
    let mut left: Vec<_> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["helper.py", "package"], "nothing like __pycache__ is left");
}

#[tokio::test]
async fn a_module_that_the_program_writes_can_be_imported() {
    let directory = tempfile::tempdir().unwrap();
    let source = "
import importlib, pathlib
try:
    import written
except ModuleNotFoundError:
    print('not yet')
pathlib.Path('written.py').write_text('x = 1')
importlib.invalidate_caches()
import written
print(written.x)
pathlib.Path('written.py').write_text('x = 22')
print(importlib.reload(written).x)
";
    let outcome = run_in(directory.path(), source).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "not yet\n1\n22\n");
}

#[tokio::test]
async fn a_syntax_error_in_a_module_of_the_workspace_is_shown_there() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("broken.py"), "x = 1\ndef f(:\n").unwrap();
    let outcome = run_in(directory.path(), "import broken").await;
    let expected = "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n    \
                    import broken\n  File \"/workspace/broken.py\", line 2\n    def f(:\n          \
                    ^\nSyntaxError: invalid syntax\n";
    assert_eq!(failure(&outcome).traceback, expected);
}

#[tokio::test]
async fn sqlite_works_in_memory() {
    let source = "
import sqlite3
db = sqlite3.connect(':memory:')
db.row_factory = sqlite3.Row
db.executescript('create table t(name text, size int); create index i on t(size);')
with db:
    db.executemany('insert into t values (?, ?)', [('a', 1), ('b', 2), ('ü', None)])
print([dict(row) for row in db.execute('select * from t order by name')])
print(db.execute('select sum(size), json_group_array(name) from t').fetchone()[:])
print(db.execute(\"select json_extract(?, '$.a[1]')\", ('{\"a\": [1, 2]}',)).fetchone()[0])
db.create_function('double', 1, lambda n: n * 2)
print(db.execute('select double(21), row_number() over () from t').fetchone()[:])
try:
    db.execute('select nope from t')
except sqlite3.OperationalError as error:
    print(error)
";
    let expected = "[{'name': 'a', 'size': 1}, {'name': 'b', 'size': 2}, {'name': 'ü', 'size': None}]\n\
                    (3, '[\"a\",\"b\",\"ü\"]')\n2\n(42, 1)\nno such column: nope\n";
    assert_eq!(stdout_of(source).await, expected);
}

#[tokio::test]
async fn sqlite_works_in_the_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let write = "
import sqlite3
with sqlite3.connect('my.db') as db:
    db.execute('create table t(n)')
    db.executemany('insert into t values (?)', [(n,) for n in range(1000)])
db.close()
";
    value(&run_in(directory.path(), write).await);
    let read = "
import os, sqlite3
db = sqlite3.connect('/workspace/my.db')
db.execute('delete from t where n >= 500')
db.rollback()
result = [db.execute('select count(*), sum(n) from t').fetchone(), os.listdir()]
db.close()
";
    let outcome = run_in(directory.path(), read).await;
    assert_eq!(*value(&outcome), json!([[1000, 499_500], ["my.db"]]));
}
