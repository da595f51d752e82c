//! Programs that nobody would write.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// Generates pieces of programs, which are combined at random.
fn pieces() -> impl Strategy<Value = String> {
    let statements = prop::sample::select(vec![
        "x = eval",
        "x",
        "import os",
        "from builtins import exec as x",
        "global x",
        "nonlocal x",
        "del x",
        "x = x + x",
        "x = x * 10**10",
        "return x",
        "break",
        "yield x",
        "await x",
        "x = getattr(x, 'a' + 'b')",
        "x = [x for x in range(10**9) if x]",
        "x: int = 1",
        "from servers.a import *",
        "from . import x",
        "import a.b.c as x",
        "x = lambda x: x(x)",
        "(x := x)",
        "x = f'{x!r:>{x}}'",
        "x = '{0.__globals__}'.format(x)",
        "x[::-1][::x]",
        "x = {**x, 'a': x}",
        "assert x",
        "raise x from x",
        "type x = int",
        "x @= x",
        "print(*x, **x)",
        "x = x if x else x",
        "x = t'{x}'",
        "__builtins__['x']",
        "x = 2 ** x << -1",
        "x = -1 // 0",
        "x = '' * -10**400",
        "pass",
    ]);
    let blocks = prop::sample::select(vec![
        "if x",
        "while True",
        "while x < 10",
        "for x in range(10**9)",
        "async for x in x",
        "with x as x",
        "async with x",
        "def x(x=x, *, y: x = 1)",
        "async def x()",
        "class x(x)",
        "try",
        "for x in itertools.count()",
        "match x",
    ]);
    let line = (
        0..4_usize,
        prop_oneof![3 => statements.prop_map(|s| (s, false)), 1 => blocks.prop_map(|b| (b, true))],
    );
    prop::collection::vec(line, 0..40).prop_map(|lines| {
        let mut code = String::new();
        let mut depth = 0;
        for (wanted, (text, is_block)) in lines {
            depth = wanted.min(depth);
            code += &format!("{}{text}", "    ".repeat(depth));
            if is_block {
                code += ":\n";
                depth += 1;
                let inner = if text.starts_with("match") { "case {'a': x, **y}: x" } else { "x" };
                code += &format!("{}{inner}\n", "    ".repeat(depth));
                if text == "try" {
                    code += &format!("{}finally: x\n", "    ".repeat(depth - 1));
                    depth -= 1;
                }
            } else {
                code.push('\n');
            }
        }
        code
    })
}

fn review_at_all_levels(code: &str) {
    let lines = code.lines().count().max(1);
    for name in ["development", "production", "hardened"] {
        for found in review(code, &level(name), &ReviewSettings::default(), &nothing_denied) {
            assert!(found.line as usize <= lines + 1 && found.column > 0, "{found:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_reviewed_without_a_crash(code in any::<String>()) {
        review_at_all_levels(&code);
    }

    #[test]
    fn any_program_is_reviewed_without_a_crash(code in pieces()) {
        review_at_all_levels(&code);
    }

    #[test]
    fn what_is_around_it_does_not_hide_a_danger(before in pieces(), after in pieces()) {
        let code = format!("{before}\nclass Other:\n    def method(self):\n        return __import__('os')\n{after}");
        if ruff_python_parser::parse_module(&code).is_ok() {
            let found = findings(&code);
            // There may be so many findings that this one is left out.
            prop_assert!(
                found.len() >= 50 || found.iter().any(|one| one.rule == "dynamic-import"),
                "{code}"
            );
        }
    }
}

#[test]
fn deep_programs_neither_crash_nor_slip_through() {
    let many = 20_000;
    for code in [
        format!("x = {}eval('1'){}", "(".repeat(many), ")".repeat(many)),
        format!("x = 1{}", " + 1".repeat(many)),
        format!("x = {}1", "-".repeat(many)),
        format!("x{}", ".x".repeat(many)),
    ] {
        assert_eq!(brief(&code), [("too-deep", 1, Severity::Danger)]);
    }
}

#[test]
fn programs_that_take_too_long_to_look_at_do_not_slip_through() {
    let sum = format!("x = 'a'{}\n", " + y".repeat(300));
    let complex = format!("{}print(1)\n", sum.repeat(300));
    assert_eq!(brief(&complex), [("too-complex", 1, Severity::Danger)]);
    // A few such sums are still reviewed.
    assert_clean(&sum.repeat(3));
}

#[test]
fn a_program_that_is_made_of_dangers_is_told_in_part() {
    let code = format!("import os\nx = __import__('os')\n{}", "eval('1')\n".repeat(20_000));
    let found = findings(&code);
    assert_eq!(found.len(), 50);
    assert!(found.iter().any(|one| one.rule == "dynamic-import"), "the first are told");
}

#[test]
fn programs_that_do_not_parse_have_no_findings() {
    for code in ["eval(", "def", "x = = 1\neval('1')", "import"] {
        assert_clean(code);
    }
}

/// Returns the CPU time of this thread, which does not depend on the load of the machine.
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Tests programs that repeat one name or one line many times.
#[test]
fn megabytes_take_seconds() {
    let chain: String = (0..200_000).map(|n| format!("a{n} = a{} + a{}\n", n + 1, n + 2)).collect();
    let many = "x = getattr(y, 'a' + 'b')\ny = x + x\n".repeat(40_000);
    let doubled: String = (0..60_000).map(|n| format!("b{n} = b{0} * b{0}\n", n + 1)).collect();
    let calls: String = (0..60_000).map(|n| format!("def f{n}(): f{}()\n", n + 1)).collect();
    let wide = format!("x = [{}]\n", "'__a' + 'b', ".repeat(100_000));
    let loops = "for i in range(3):\n  for j in range(3):\n    while True:\n      print(i)\n"
        .repeat(20_000);
    for code in [chain, many, doubled, calls, wide, loops] {
        let start = thread_cpu_time();
        let found = findings(&code);
        let took = thread_cpu_time() - start;
        assert!(found.len() <= 50);
        assert!(took.as_secs() < 20, "{} bytes took {took:?}: {}", code.len(), &code[..60]);
    }
}
