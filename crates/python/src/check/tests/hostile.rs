//! Programs that are made to keep the check busy.

use std::cell::Cell;

use super::*;

/// A catalog that counts the expensive questions, which search all tools.
#[derive(Default)]
struct Counting {
    advice: Cell<usize>,
    full_names: Cell<usize>,
    listings: Cell<usize>,
}

fn add_one(count: &Cell<usize>) {
    count.set(count.get() + 1);
}

impl KnownTools for Counting {
    fn servers(&self) -> Vec<String> {
        Example.servers()
    }

    fn tools(&self, module: &str) -> Option<Vec<String>> {
        add_one(&self.listings);
        Example.tools(module)
    }

    fn tool(&self, module: &str, name: &str) -> Option<KnownTool> {
        Example.tool(module, name)
    }

    fn suggest(&self, module: &str, name: &str) -> String {
        add_one(&self.advice);
        Example.suggest(module, name)
    }

    fn by_full_name(&self, name: &str) -> ByFullName {
        add_one(&self.full_names);
        Example.by_full_name(name)
    }

    fn why_wrong(&self, name: &str) -> String {
        add_one(&self.advice);
        Example.why_wrong(name)
    }
}

/// Repeats a line, each time with its number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

#[test]
fn only_the_first_wrong_names_are_compared_with_all_tools() {
    let many = 1_000;
    let texts = lines(many, |n| format!("x = 'a{n}'\nservers.github.a{n}"));
    let caught = lines(many, |n| format!("    await call_mcp_tool('mcp__github__a{n}')"));
    for program in [
        lines(many, |n| format!("await servers.github.a{n}()")),
        lines(many, |n| format!("from servers.github import a{n}")),
        format!("from servers.github import {}", "zz, ".repeat(many) + "zz"),
        lines(many, |n| format!("await call_mcp_tool('mcp__github__a{n}')")),
        // Names in texts, and those whose errors are handled, are not findings.
        texts,
        format!("try:\n{caught}except ToolError:\n    pass"),
        lines(many, |n| format!("servers.github.Type{n}")),
    ] {
        let known = Counting::default();
        let checked = check(&format!("import servers\n{program}"), GivenVariables::Unknown, &known);
        assert!(checked.findings.len() <= 20, "{}", &program[..40]);
        assert!(known.advice.get() <= 5, "{} for {}", known.advice.get(), &program[..40]);
        assert!(known.full_names.get() <= 200, "{}", &program[..40]);
        assert!(known.listings.get() <= 200, "{}", &program[..40]);
    }
    // The first ones are reported as usual.
    let found = found("servers.github.serch\nawait call_mcp_tool('mcp__github__serch')");
    assert!(found[0].message.contains("did you mean search"), "{found:?}");
}

/// `b = [a, a]`, then `c = [b, b]`, and so on: each is twice as large, and few lines are enough.
#[test]
fn lists_of_lists_of_a_result_are_not_gone_through() {
    let doubled = lines(60, |n| format!("a{} = [a{n}, a{n}]", n + 1));
    // The changes are close enough to each other to be followed.
    let changed = "a15.append(1)\na30.append(1)\na45.append(1)\na60.append(1)\n";
    let program = format!("a0 = await list_issues()\n{doubled}{changed}");
    // A changed value may be anything.
    assert_eq!(found(&format!("{program}a0[0]['titel']")), []);
    let few = "a0 = await list_issues()\na1 = [a0, a0]\na0[0]['titel']";
    assert_eq!(found(few).len(), 1);
}

#[test]
fn a_name_is_compared_with_some_of_many_variables() {
    let given: Vec<String> = (0..50_000).map(|n| format!("{}{n}", "variable".repeat(2))).collect();
    let given: HashSet<&str> = given.iter().map(String::as_str).collect();
    let program = lines(1_000, |n| format!("print({}{n})", "variable".repeat(2)));
    assert_eq!(check(&program, GivenVariables::Names(&given), &Example), Checked::default());
    let unknown = lines(100, |n| format!("print({}x{n})", "variable".repeat(2)));
    assert_eq!(check(&unknown, GivenVariables::Names(&given), &Example).findings.len(), 20);
}
