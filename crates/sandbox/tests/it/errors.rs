//! Failures as CPython itself shows them.

use narrows_model::{Ending, Failure};
use narrows_sandbox::RunOptions;

use crate::support::{TestHost, failure, run, run_with, value};

/// Returns the failure of a program, which must show nothing of the sandbox.
async fn failed(source: &str) -> Failure {
    let outcome = run(source).await;
    let failure = failure(&outcome).clone();
    for text in [&failure.traceback, &failure.message, &outcome.stderr] {
        for inner in ["_narrows", "/0/", "app.py", "File \"ast.py\""] {
            assert!(!text.contains(inner), "{inner} in:\n{text}");
        }
    }
    failure
}

/// Checks that a program fails at this line with exactly this traceback.
async fn shows(source: &str, line: impl Into<Option<u32>>, traceback: &str) {
    let failure = failed(source).await;
    assert_eq!(failure.traceback, traceback.trim_start_matches('\n'), "\n{}", failure.traceback);
    assert_eq!(failure.line, line.into(), "{source}");
}

// Exceptions.

#[tokio::test]
async fn a_division_by_zero_has_its_caret() {
    shows(
        "x = 1\nx / 0",
        2,
        r#"
Traceback (most recent call last):
  File "main.py", line 2, in <module>
    x / 0
    ~~^~~
ZeroDivisionError: division by zero
"#,
    )
    .await;
}

#[tokio::test]
async fn nested_functions_are_all_shown() {
    shows(
        r#"def inner(a):
    return a["missing"]

def outer():
    d = {}
    return inner(
        d,
    )

outer()"#,
        2,
        r#"
Traceback (most recent call last):
  File "main.py", line 10, in <module>
    outer()
    ~~~~~^^
  File "main.py", line 6, in outer
    return inner(
        d,
    )
  File "main.py", line 2, in inner
    return a["missing"]
           ~^^^^^^^^^^^
KeyError: 'missing'
"#,
    )
    .await;
}

#[tokio::test]
async fn a_cause_is_shown() {
    shows(
        r#"def f():
    try:
        int("x")
    except ValueError as error:
        raise RuntimeError("wrapped") from error
f()"#,
        5,
        r#"
Traceback (most recent call last):
  File "main.py", line 3, in f
    int("x")
    ~~~^^^^^
ValueError: invalid literal for int() with base 10: 'x'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "main.py", line 6, in <module>
    f()
    ~^^
  File "main.py", line 5, in f
    raise RuntimeError("wrapped") from error
RuntimeError: wrapped
"#,
    )
    .await;
}

#[tokio::test]
async fn an_error_while_handling_another_is_shown() {
    shows(
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['k']",
        4,
        r#"
Traceback (most recent call last):
  File "main.py", line 2, in <module>
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "main.py", line 4, in <module>
    {}['k']
    ~~^^^^^
KeyError: 'k'
"#,
    )
    .await;
    shows(
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('clean') from None",
        4,
        r#"
Traceback (most recent call last):
  File "main.py", line 4, in <module>
    raise ValueError('clean') from None
ValueError: clean
"#,
    )
    .await;
}

#[tokio::test]
async fn a_group_is_shown_with_all_its_errors() {
    shows(
        "raise ExceptionGroup('several', [ValueError('a'), ExceptionGroup('in', [TypeError('b')])])",
        1,
        r#"
  + Exception Group Traceback (most recent call last):
  |   File "main.py", line 1, in <module>
  |     raise ExceptionGroup('several', [ValueError('a'), ExceptionGroup('in', [TypeError('b')])])
  | ExceptionGroup: several (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | ExceptionGroup: in (1 sub-exception)
    +-+---------------- 1 ----------------
      | TypeError: b
      +------------------------------------
"#,
    )
    .await;
}

#[tokio::test]
async fn a_task_group_shows_the_errors_of_its_tasks() {
    let failure = failed(
        "import asyncio
async def bad(n):
    await asyncio.sleep(0)
    raise ValueError(n)
async with asyncio.TaskGroup() as group:
    group.create_task(bad(1))
    group.create_task(bad(2))",
    )
    .await;
    assert_eq!(failure.kind, "ExceptionGroup");
    assert_eq!(failure.message, "unhandled errors in a TaskGroup (2 sub-exceptions)");
    let end = r#"
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "main.py", line 4, in bad
    |     raise ValueError(n)
    | ValueError: 1
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "main.py", line 4, in bad
    |     raise ValueError(n)
    | ValueError: 2
    +------------------------------------
"#;
    assert!(failure.traceback.ends_with(end), "{}", failure.traceback);
}

#[tokio::test]
async fn comprehensions_lambdas_and_class_bodies_are_shown() {
    shows(
        "print([1 / n for n in (1, 0)])",
        1,
        r#"
Traceback (most recent call last):
  File "main.py", line 1, in <module>
    print([1 / n for n in (1, 0)])
           ~~^~~
ZeroDivisionError: division by zero
"#,
    )
    .await;
    shows(
        "f = lambda x: x.nope\nf(1)",
        1,
        r#"
Traceback (most recent call last):
  File "main.py", line 2, in <module>
    f(1)
    ~^^^
  File "main.py", line 1, in <lambda>
    f = lambda x: x.nope
                  ^^^^^^
AttributeError: 'int' object has no attribute 'nope'
"#,
    )
    .await;
    shows(
        "class A:\n    x = 1\n    y = x.z",
        3,
        r#"
Traceback (most recent call last):
  File "main.py", line 1, in <module>
    class A:
        x = 1
        y = x.z
  File "main.py", line 3, in A
    y = x.z
        ^^^
AttributeError: 'int' object has no attribute 'z'
"#,
    )
    .await;
}

const DEEP: &str = "import asyncio
async def deep():
    raise LookupError('gone')
async def main():
    await deep()
";

#[tokio::test]
async fn an_async_function_is_shown() {
    shows(
        &format!("{DEEP}await main()"),
        3,
        r#"
Traceback (most recent call last):
  File "main.py", line 6, in <module>
    await main()
  File "main.py", line 5, in main
    await deep()
  File "main.py", line 3, in deep
    raise LookupError('gone')
LookupError: gone
"#,
    )
    .await;
}

#[tokio::test]
async fn asyncio_run_is_shown_without_its_machinery() {
    shows(
        &format!("{DEEP}asyncio.run(main())"),
        3,
        r#"
Traceback (most recent call last):
  File "main.py", line 6, in <module>
    asyncio.run(main())
    ~~~~~~~~~~~^^^^^^^^
  File "main.py", line 5, in main
    await deep()
  File "main.py", line 3, in deep
    raise LookupError('gone')
LookupError: gone
"#,
    )
    .await;
}

#[tokio::test]
async fn a_task_and_gather_are_shown() {
    shows(
        &format!("{DEEP}task = asyncio.create_task(main())\nawait task"),
        3,
        r#"
Traceback (most recent call last):
  File "main.py", line 7, in <module>
    await task
  File "main.py", line 5, in main
    await deep()
  File "main.py", line 3, in deep
    raise LookupError('gone')
LookupError: gone
"#,
    )
    .await;
    shows(
        &format!("{DEEP}await asyncio.gather(main(), asyncio.sleep(0))"),
        3,
        r#"
Traceback (most recent call last):
  File "main.py", line 6, in <module>
    await asyncio.gather(main(), asyncio.sleep(0))
  File "main.py", line 5, in main
    await deep()
  File "main.py", line 3, in deep
    raise LookupError('gone')
LookupError: gone
"#,
    )
    .await;
}

#[tokio::test]
async fn an_error_in_the_standard_library_leads_back_to_the_program() {
    let failure = failed("import json\njson.loads('{bad')").await;
    assert_eq!(failure.kind, "json.decoder.JSONDecodeError");
    assert_eq!(failure.line, Some(2));
    let start = r#"Traceback (most recent call last):
  File "main.py", line 2, in <module>
    json.loads('{bad')
    ~~~~~~~~~~^^^^^^^^
  File "json/__init__.py", line "#;
    assert!(failure.traceback.starts_with(start), "{}", failure.traceback);
    let end = "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: \
               line 1 column 2 (char 1)\n";
    assert!(failure.traceback.ends_with(end), "{}", failure.traceback);
}

#[tokio::test]
async fn an_exception_of_ones_own_is_shown_by_its_name() {
    let source = "class Mine(Exception):
    def __init__(self, code):
        super().__init__(f'code {code}')
raise Mine(5)";
    shows(
        source,
        4,
        r#"
Traceback (most recent call last):
  File "main.py", line 4, in <module>
    raise Mine(5)
Mine: code 5
"#,
    )
    .await;
    let failure = failed(source).await;
    assert_eq!((&*failure.kind, &*failure.message), ("Mine", "code 5"));
}

#[tokio::test]
async fn kind_and_message_are_those_of_the_exception() {
    for (source, kind, message) in [
        ("{}['k']", "KeyError", "'k'"),
        ("[][1]", "IndexError", "list index out of range"),
        ("nope", "NameError", "name 'nope' is not defined"),
        ("'a' + 1", "TypeError", "can only concatenate str (not \"int\") to str"),
        ("raise ValueError", "ValueError", ""),
        ("raise ValueError('multi\\nline')", "ValueError", "multi\nline"),
        ("raise ValueError('ü 日本')", "ValueError", "ü 日本"),
        ("raise 'text'", "TypeError", "exceptions must derive from BaseException"),
        ("assert 1 == 2, 'numbers differ'", "AssertionError", "numbers differ"),
        ("assert False", "AssertionError", ""),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("raise StopIteration", "StopIteration", ""),
        ("raise NotImplementedError('later')", "NotImplementedError", "later"),
        (
            "await 5",
            "TypeError",
            "'int' object can't be awaited; remove the `await`: what stands behind it is no coroutine",
        ),
        (
            "import re\nre.compile('(')",
            "re.PatternError",
            "missing ), unterminated subpattern at position 0",
        ),
        (
            "import decimal\ndecimal.Decimal('x')",
            "decimal.InvalidOperation",
            "[<class 'decimal.ConversionSyntax'>]",
        ),
    ] {
        let failure = failed(source).await;
        assert_eq!((&*failure.kind, &*failure.message), (kind, message), "{source}");
        assert_eq!(failure.line, Some(source.lines().count() as u32), "{source}");
    }
}

#[tokio::test]
async fn suggestions_and_notes_are_shown() {
    let failure = failed("import math\nmath.sqroot(4)").await;
    assert!(failure.traceback.ends_with("Did you mean: 'sqrt'?\n"), "{}", failure.traceback);
    let failure = failed("error = ValueError('a')\nerror.add_note('a note')\nraise error").await;
    assert!(failure.traceback.ends_with("ValueError: a\na note\n"), "{}", failure.traceback);
    let failure = failed("import nope_not_there").await;
    assert_eq!(failure.kind, "ModuleNotFoundError");
    let failure = failed("sched.scheduler()").await;
    assert!(
        failure.traceback.ends_with("Did you forget to import 'sched'?\n"),
        "{}",
        failure.traceback
    );
}

#[tokio::test]
async fn carets_are_under_wide_characters_too() {
    shows(
        "x = '日本語' + 1 + 'é'",
        1,
        r#"
Traceback (most recent call last):
  File "main.py", line 1, in <module>
    x = '日本語' + 1 + 'é'
        ~~~~~~~~~^~~
TypeError: can only concatenate str (not "int") to str
"#,
    )
    .await;
}

#[tokio::test]
async fn an_exception_that_cannot_be_shown_is_still_reported() {
    let failure =
        failed("class E(Exception):\n    def __str__(self): raise ValueError('x')\nraise E").await;
    assert_eq!(failure.kind, "E");
    assert_eq!(failure.line, Some(3));
    assert!(failure.traceback.ends_with("E: <exception str() failed>\n"), "{}", failure.traceback);
    let failure = failed("raise ValueError('\\ud800')").await;
    assert_eq!(failure.kind, "ValueError");
}

#[tokio::test]
async fn a_very_long_message_is_shortened_in_the_middle() {
    let failure = failed("raise ValueError('a' * 1_000_000 + 'the end')").await;
    assert!(failure.message.len() < 70_000, "{}", failure.message.len());
    assert!(failure.message.starts_with("aaa") && failure.message.ends_with("the end"));
    assert!(failure.message.contains("bytes left out]"));
    assert!(failure.traceback.len() < 70_000, "{}", failure.traceback.len());
}

#[tokio::test]
async fn code_that_the_program_compiles_is_shown_below_its_line() {
    shows(
        "x = 1\nexec('\\n\\n\\n1 / 0')",
        2,
        r#"
Traceback (most recent call last):
  File "main.py", line 2, in <module>
    exec('\n\n\n1 / 0')
    ~~~~^^^^^^^^^^^^^^^
  File "<string>", line 4, in <module>
ZeroDivisionError: division by zero
"#,
    )
    .await;
}

#[tokio::test]
async fn endless_recursion_is_an_error_and_not_the_end_of_the_sandbox() {
    let failure = failed("def f():\n    return f()\nf()").await;
    assert_eq!(
        (&*failure.kind, &*failure.message),
        ("RecursionError", "maximum recursion depth exceeded")
    );
    assert_eq!(failure.line, Some(2));
    assert!(failure.traceback.contains("  [Previous line repeated 99"), "{}", failure.traceback);
    let outcome =
        run("def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print(e)").await;
    value(&outcome);
    assert_eq!(outcome.stdout, "maximum recursion depth exceeded\n");
}

#[tokio::test]
async fn recursion_inside_the_interpreter_can_be_caught() {
    let source = "
import json
class A:
    def __getattr__(self, name): return self.other
    def __repr__(self): return repr([self])
deep = []
for _ in range(100_000): deep = [deep]
for f in (lambda: A().x, lambda: repr(A()), lambda: repr(deep), lambda: json.dumps(deep)):
    try: f()
    except RecursionError: print('caught')
";
    let outcome = run(source).await;
    assert_eq!(outcome.stdout, "caught\n".repeat(4), "{:?}", outcome.ending);
}

// Syntax errors. CPython shows no traceback for them, only the place.

#[tokio::test]
async fn a_syntax_error_is_shown_with_its_place() {
    for (source, line, shown) in [
        (
            "x = 1\nx = = 2",
            2,
            "  File \"main.py\", line 2\n    x = = 2\n        ^\nSyntaxError: invalid syntax\n",
        ),
        (
            "x = (1,\nprint('x')",
            1,
            "  File \"main.py\", line 1\n    x = (1,\n        ^\nSyntaxError: '(' was never closed\n",
        ),
        (
            "for i in range(3)\n    print(i)",
            1,
            "  File \"main.py\", line 1\n    for i in range(3)\n                     ^\nSyntaxError: expected ':'\n",
        ),
        (
            "print 'hello'",
            1,
            "  File \"main.py\", line 1\n    print 'hello'\n    ^^^^^^^^^^^^^\nSyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?\n",
        ),
        (
            "x = 'unclosed",
            1,
            "  File \"main.py\", line 1\n    x = 'unclosed\n        ^\nSyntaxError: unterminated string literal (detected at line 1)\n",
        ),
        (
            "1 = x",
            1,
            "  File \"main.py\", line 1\n    1 = x\n    ^\nSyntaxError: cannot assign to literal here. Maybe you meant '==' instead of '='?\n",
        ),
        (
            "def f():\nreturn 1",
            2,
            "  File \"main.py\", line 2\n    return 1\n    ^^^^^^\nIndentationError: expected an indented block after function definition on line 1\n",
        ),
        (
            "  x = 1",
            1,
            "  File \"main.py\", line 1\n    x = 1\nIndentationError: unexpected indent\n",
        ),
        (
            "if True:\n    x = 1\n  y = 2",
            3,
            "  File \"main.py\", line 3\n    y = 2\n         ^\nIndentationError: unindent does not match any outer indentation level\n",
        ),
    ] {
        shows(source, line, shown).await;
    }
}

#[tokio::test]
async fn a_syntax_error_is_the_same_whether_or_not_there_is_a_result() {
    shows(
        "result = 1\nx = = 2",
        2,
        "  File \"main.py\", line 2\n    x = = 2\n        ^\nSyntaxError: invalid syntax\n",
    )
    .await;
}

#[tokio::test]
async fn syntax_errors_have_kind_message_and_line() {
    for (source, kind, message, line) in [
        ("x = = 2", "SyntaxError", "invalid syntax", 1),
        ("print('a'", "SyntaxError", "'(' was never closed", 1),
        (
            "if 1:\n\tx = 1\n        y = 2",
            "TabError",
            "inconsistent use of tabs and spaces in indentation",
            3,
        ),
        (
            "return 5",
            "SyntaxError",
            "'return' outside function; put the value into `result`, or write it as the last line",
            1,
        ),
        (
            "yield 5",
            "SyntaxError",
            "'yield' outside function; put the value into `result`, or write it as the last line",
            1,
        ),
        (
            "x = 1\ndef f():\n    await g()",
            "SyntaxError",
            "'await' outside async function; write `async def`, and await the function where it is \
             called",
            3,
        ),
        ("break", "SyntaxError", "'break' outside loop", 1),
        (
            "x = 5\nx = '''\nunclosed",
            "SyntaxError",
            "unterminated triple-quoted string literal (detected at line 3)",
            2,
        ),
    ] {
        let outcome = run(source).await;
        let failure = failure(&outcome);
        assert_eq!((&*failure.kind, &*failure.message), (kind, message), "{source}");
        assert_eq!(failure.line, Some(line), "{source}");
    }
}

#[tokio::test]
async fn what_only_the_compiler_finds_is_shown_with_its_place() {
    shows(
        "x = 1\nreturn 5",
        2,
        "  File \"main.py\", line 2\n    return 5\n    ^^^^^^^^\nSyntaxError: 'return' outside function\n\
         put the value into `result`, or write it as the last line\n",
    )
    .await;
    shows(
        "def f():\n    await g()",
        2,
        "  File \"main.py\", line 2\n    await g()\n    ^^^^^^^^^\nSyntaxError: 'await' outside async function\n\
         write `async def`, and await the function where it is called\n",
    )
    .await;
}

#[tokio::test]
async fn a_null_byte_in_the_source_is_an_error() {
    let failure = failed("x = 1\n\0\nx = 2").await;
    assert_eq!(failure.kind, "SyntaxError");
    assert!(failure.message.contains("null bytes"), "{}", failure.message);
}

#[tokio::test]
async fn an_empty_program_does_nothing() {
    for source in ["", "\n\n", "# only a comment", "   \n\t\n", "\u{c}\n", "pass"] {
        let outcome = run(source).await;
        assert!(value(&outcome).is_null(), "{source:?}");
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("", ""), "{source:?}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_no_error() {
    let outcome = run("\u{feff}x = 20\nx + 1").await;
    assert_eq!(*value(&outcome), 21);
}

#[tokio::test]
async fn lines_may_end_as_on_other_systems() {
    assert_eq!(*value(&run("x = 1\r\nif x:\r\n    x += 1\r\nx\r\n").await), 2);
    let failure = failed("x = 1\r\n1 / 0\r\n").await;
    assert_eq!(failure.line, Some(2));
    assert!(failure.traceback.contains("    1 / 0\n    ~~^~~\n"), "{}", failure.traceback);
    assert_eq!(
        *value(&run("#!/usr/bin/env python3\n# -*- coding: latin-1 -*-\nlen('é')").await),
        1
    );
}

// Ending early.

#[tokio::test]
async fn leaving_without_a_status_or_with_zero_is_success() {
    for source in [
        "import sys; sys.exit()",
        "import sys; sys.exit(None)",
        "import sys; sys.exit(0)",
        "import sys; sys.exit(False)",
        "raise SystemExit",
        "exit()",
        "quit()",
        "import sys\ndef f():\n    def g(): sys.exit()\n    g()\nf()",
        "import asyncio, sys\nasync def f(): sys.exit(0)\nasyncio.run(f())",
    ] {
        let outcome = run(&format!("result = 5\nprint('before')\n{source}\nprint('after')")).await;
        assert_eq!(*value(&outcome), 5, "{source}");
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("before\n", ""), "{source}");
        assert_eq!(outcome.notes, Vec::<String>::new(), "{source}");
    }
}

#[tokio::test]
async fn leaving_a_task_ends_the_program() {
    let source = "import asyncio, sys\nasync def f(): sys.exit(0)\nresult = 5\n\
                  await asyncio.create_task(f())\nprint('after')";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), 5);
    assert_eq!(outcome.stdout, "");
    assert_eq!(outcome.notes, Vec::<String>::new());
}

#[tokio::test]
async fn leaving_with_a_status_is_a_failure_that_keeps_the_result() {
    for (source, status, stderr) in [
        ("import sys; sys.exit(1)", 1, ""),
        ("import sys; sys.exit(42)", 42, ""),
        ("import sys; sys.exit('text')", 1, "text\n"),
        ("import sys; sys.exit([1, 2])", 1, "[1, 2]\n"),
        ("quit(2)", 2, ""),
        ("import asyncio, sys\nasync def f(): sys.exit(3)\nasyncio.run(f())", 3, ""),
        ("import asyncio, sys\nasync def f(): sys.exit(3)\nawait asyncio.create_task(f())", 3, ""),
    ] {
        let outcome = run(&format!("result = 5\n{source}")).await;
        let failure = failure(&outcome);
        assert_eq!(failure.kind, "SystemExit", "{source}");
        let message = format!("the program ended itself with exit status {status}");
        assert_eq!(failure.message, message, "{source}");
        assert_eq!(outcome.stderr, stderr, "{source}");
        assert_eq!(outcome.result, 5, "{source}");
        assert!(failure.line.is_some(), "{source}");
        assert!(matches!(outcome.ending, Ending::Failed(_)));
    }
}

#[tokio::test]
async fn leaving_with_true_is_status_one() {
    let failure = failed("import sys; sys.exit(True)").await;
    assert_eq!(failure.message, "the program ended itself with exit status 1");
}

#[tokio::test]
async fn leaving_shows_no_traceback() {
    assert_eq!(failed("import sys\nsys.exit(1)").await.traceback, "");
    assert_eq!(failed("import sys\nsys.exit('text')").await.traceback, "");
}

#[tokio::test]
async fn leaving_can_be_prevented() {
    let source = "
import sys
try:
    sys.exit(3)
except SystemExit as error:
    print('caught', error.code)
finally:
    print('finally')
";
    let outcome = run(source).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "caught 3\nfinally\n");
}

#[tokio::test]
async fn leaving_at_once_is_a_failure_whatever_the_status() {
    for status in [0, 3] {
        let source = format!("import os\nprint('before')\nos._exit({status})\nprint('after')");
        let outcome = run(&source).await;
        let failure = failure(&outcome);
        assert_eq!(failure.kind, "SystemExit");
        assert_eq!(failure.message, "the program ended itself at once (os._exit)");
        assert_eq!(outcome.stdout, "before\n");
    }
}

#[tokio::test]
async fn aborting_is_a_failure_that_keeps_the_output() {
    let outcome = run("import os\nprint('before')\nos.abort()").await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "Aborted");
    assert!(failure.message.contains("os.abort"), "{}", failure.message);
    assert_eq!(outcome.stdout, "before\n");
}

#[tokio::test]
async fn the_sandbox_goes_on_after_a_program_that_aborted() {
    for _ in 0..5 {
        run("import os; os.abort()").await;
    }
    assert_eq!(*value(&run("1 + 1").await), 2);
}

// Warnings.

#[tokio::test]
async fn warnings_go_to_stderr_with_their_line() {
    let source = "import warnings
def old():
    warnings.warn('use new', DeprecationWarning, stacklevel=2)
warnings.warn('careful')
old()
warnings.simplefilter('ignore')
warnings.warn('not shown')
";
    let outcome = run(source).await;
    value(&outcome);
    let expected = "main.py:4: UserWarning: careful\n  warnings.warn('careful')\n\
                    main.py:5: DeprecationWarning: use new\n  old()\n";
    assert_eq!(outcome.stderr, expected);
}

#[tokio::test]
async fn a_warning_about_the_syntax_is_given_once() {
    for source in ["x = '\\d'\nx", "x = '\\d'\nresult = x"] {
        let outcome = run(source).await;
        assert_eq!(*value(&outcome), "\\d");
        let stderr = &outcome.stderr;
        assert!(
            stderr.starts_with("main.py:1: SyntaxWarning: \"\\d\" is an invalid escape"),
            "{stderr}"
        );
        assert_eq!(stderr.matches("SyntaxWarning").count(), 1, "{stderr}");
        assert!(stderr.ends_with("\n  x = '\\d'\n"), "{stderr}");
    }
}

#[tokio::test]
async fn a_warning_can_be_made_an_error() {
    let failure =
        failed("import warnings\nwarnings.simplefilter('error')\nwarnings.warn('careful')").await;
    assert_eq!((&*failure.kind, &*failure.message), ("UserWarning", "careful"));
    assert_eq!(failure.line, Some(3));
}

// Tools.

#[tokio::test]
async fn a_tool_that_fails_raises_an_error_with_its_details() {
    let source = "
from client import call_mcp_tool
try:
    await call_mcp_tool('fail', {})
except ToolError as error:
    print(error, error.message, error.code, error.args, type(error).__name__)
";
    let outcome = run(source).await;
    value(&outcome);
    let message = "the tool failed as it was told";
    let expected = format!("{message} {message} 7 ('{message}',) ToolError\n");
    assert_eq!(outcome.stdout, expected);
}

#[tokio::test]
async fn the_error_of_a_tool_is_shown_at_the_call() {
    shows(
        "from client import call_mcp_tool\nawait call_mcp_tool('fail', {})",
        2,
        r#"
Traceback (most recent call last):
  File "main.py", line 2, in <module>
    await call_mcp_tool('fail', {})
ToolError: the tool failed as it was told
"#,
    )
    .await;
    let failure = failed("from client import call_mcp_tool\nawait call_mcp_tool('fail', {})").await;
    assert_eq!(failure.kind, "ToolError");
}

#[tokio::test]
async fn the_error_of_a_tool_in_gather_is_shown_at_the_call() {
    let host = TestHost::new();
    let source = "import asyncio
from client import call_mcp_tool
async def fetch(name):
    return await call_mcp_tool(name, {})
await asyncio.gather(fetch('echo'), fetch('never'), fetch('fail'))";
    let outcome = run_with(source, &host, RunOptions::default()).await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "ToolError");
    assert_eq!(failure.line, Some(4));
    let expected = r#"Traceback (most recent call last):
  File "main.py", line 5, in <module>
    await asyncio.gather(fetch('echo'), fetch('never'), fetch('fail'))
  File "main.py", line 4, in fetch
    return await call_mcp_tool(name, {})
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ToolError: the tool failed as it was told
"#;
    assert_eq!(failure.traceback, expected);
    assert_eq!(*host.dropped.lock().unwrap(), 1);
}

#[tokio::test]
async fn gather_can_collect_the_errors_of_tools() {
    let source = "
import asyncio
from client import call_mcp_tool
done = await asyncio.gather(
    *[call_mcp_tool(name, {'a': 1}) for name in ('echo', 'fail', 'nope')], return_exceptions=True
)
result = [item if isinstance(item, dict) else str(item) for item in done]
";
    let outcome = run(source).await;
    let expected =
        serde_json::json!([{"a": 1}, "the tool failed as it was told", "no tool \"nope\""]);
    assert_eq!(*value(&outcome), expected);
}
