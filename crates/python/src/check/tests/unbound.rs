//! Names that nothing binds where a program handles errors, within functions, and in the library.

use super::*;

#[test]
fn whoever_handles_the_errors_of_tools_does_not_handle_names() {
    for program in [
        "try:\n    r = await servers.github.ping()\n    print(jsn)\nexcept Exception as error:\n    print(error)",
        "try:\n    jsn\nexcept:\n    pass",
        "try:\n    x = jsn\nexcept (ValueError, KeyError):\n    x = 1",
        "try:\n    jsn\nexcept ToolError:\n    pass",
        "class Mine(Exception): pass\ntry:\n    jsn\nexcept Mine:\n    pass",
        "from contextlib import suppress\nwith suppress(Exception):\n    jsn",
        "async def main():\n    jsn\ntry:\n    await main()\nexcept Exception:\n    pass",
        "async def main():\n    jsn\nawait asyncio.gather(main(), return_exceptions=True)",
        "def safe(f):\n    try:\n        return f()\n    except Exception:\n        pass\nsafe(lambda: jsn)",
        "@functools.cache\ndef f():\n    return jsn\nf()",
    ] {
        let found = names(program).0;
        assert_eq!(found.len(), 1, "{program}: {found:?}");
        assert!(found[0].starts_with("`jsn` is not defined"), "{program}: {found:?}");
    }
    // A missing argument is left to the handler, as is any mistake that a tool's error may be about.
    let program = "try:\n    await servers.github.search()\nexcept Exception:\n    pass";
    assert_eq!(names(program).0, Vec::<String>::new());
}

#[test]
fn whoever_handles_names_that_are_not_there_knows_of_them() {
    for program in [
        "try:\n    jsn\nexcept NameError:\n    pass",
        "try:\n    jsn\nexcept (KeyError, NameError):\n    pass",
        "try:\n    jsn\nexcept KeyError:\n    pass\nexcept NameError:\n    pass",
        "import builtins\ntry:\n    jsn\nexcept builtins.NameError:\n    pass",
        "EXPECTED = (KeyError, NameError)\ntry:\n    jsn\nexcept EXPECTED:\n    pass",
        "from contextlib import suppress\nwith suppress(NameError):\n    jsn",
        "def f():\n    return jsn\ntry:\n    f()\nexcept NameError:\n    pass",
        "def safe(f):\n    try:\n        return f()\n    except NameError:\n        pass\nsafe(lambda: jsn)",
        "try:\n    count += 1\nexcept Exception:\n    count = 0",
        "try:\n    print(cache)\nexcept:\n    cache = {}",
    ] {
        assert_eq!(names(program).0, Vec::<String>::new(), "{program}");
    }
}

#[test]
fn variables_of_functions_that_are_read_before_they_are_bound_are_told() {
    for (program, name, line) in [
        ("async def main():\n    print(total)\n    total = 1\nawait main()", "total", 3),
        ("def f(a):\n    if total > a:\n        pass\n    total = a\nf(1)", "total", 4),
        ("def f():\n    text = json.dumps(1)\n    import json\n    return text", "json", 3),
        ("def f():\n    len = len([])\n    return len", "len", 2),
        ("class A:\n    def f(self):\n        self.a = b\n        b = 1", "b", 4),
        ("def f():\n    def g():\n        print(x)\n        x = 1\n    g()", "x", 4),
        ("def f():\n    with open('a') as file:\n        print(x, file)\n        x = 1", "x", 4),
        (
            "def f():\n    try:\n        print(x)\n        x = 1\n    except Exception:\n        pass",
            "x",
            4,
        ),
        ("try:\n    print(x)\n    x = 1\nexcept Exception:\n    pass", "x", 3),
        ("def f():\n    return [y for y in x]\n    x = 1", "x", 3),
    ] {
        let message =
            format!("`{name}` is not defined here; it is bound in line {line}, bind it before");
        assert_eq!(names(program).0, [message], "{program}");
    }
    let program = "count = 0\ndef add():\n    count += 1\nadd()";
    let message = "`count` is not defined here; line 3 makes it a variable of add(); for the one \
                   outside, add `global count`";
    assert_eq!(names(program).0, [message]);
    let program = "def f():\n    count = 0\n    def add():\n        count += 1\n    add()";
    let message = "`count` is not defined here; line 4 makes it a variable of add(); for the one \
                   outside, add `nonlocal count`";
    assert_eq!(names(program).0, [message]);
}

#[test]
fn variables_of_functions_that_may_be_bound_are_left_alone() {
    for program in [
        "def f(total):\n    print(total)\n    total = 1\nf(1)",
        "def f(*total, a, **more):\n    print(total, a, more)\n    total = a = more = 1\nf(a=1)",
        "total = 0\ndef f():\n    global total\n    print(total)\n    total += 1\nf()",
        "def f():\n    total = 0\n    def g():\n        nonlocal total\n        print(total)\n        total = 1\n    g()",
        "def f():\n    def g():\n        nonlocal total\n        total = 1\n    g()\n    print(total)\n    total = 2\nf()",
        "x = [1]\ndef f():\n    print(x)\n    return [x for x in x]\nf()",
        "def f():\n    for i in range(2):\n        if i:\n            print(last)\n        last = i\nf()",
        "def f():\n    try:\n        print(x)\n    except NameError:\n        x = 1\nf()",
        "def f():\n    try:\n        print(x)\n    except Exception:\n        x = 1\nf()",
        "def f():\n    print(x)\n    x = 1\ntry:\n    f()\nexcept UnboundLocalError:\n    pass",
        "def f():\n    g = lambda: x\n    x = 1\n    return g()\nf()",
        "def f():\n    def g():\n        return x\n    x = 1\n    return g()\nf()",
        "def f():\n    if (n := 1) and n:\n        n = 2\nf()",
        "def f():\n    if user_id:\n        import json\n    json.dumps(1)\n    json = 1\nf()",
        "def f():\n    class A:\n        user_id = user_id\n    return A\nf()",
        "def f():\n    exec('x = 1')\n    print(x)\n    x = 2\nf()",
    ] {
        assert_eq!(names(program).0, Vec::<String>::new(), "{program}");
    }
    // It is the function's own variable, whatever programs before have bound.
    let found =
        check("def f():\n    print(a)\n    a = 1\nservers", GivenVariables::Unknown, &Example)
            .findings;
    assert_eq!(found.len(), 1);
}

#[test]
fn modules_of_the_library_are_given_where_they_are_surely_meant() {
    let library = |program: &str| {
        let checked = check(program, GivenVariables::Names(&HashSet::from(["user_id"])), &Example);
        let found: Vec<String> = checked.findings.into_iter().map(|it| it.message).collect();
        (checked.library.into_iter().collect::<Vec<_>>(), found)
    };
    let none = Vec::<String>::new;
    for (program, modules) in [
        ("print(string.digits, string.ascii_letters)", vec!["string"]),
        ("secrets.token_hex(8); calendar.monthrange(2026, 2)", vec!["calendar", "secrets"]),
        ("html.escape('<')\nlock = threading.Lock()", vec!["html", "threading"]),
        ("xml.etree.ElementTree.fromstring('<a/>')", vec!["xml"]),
        ("def f():\n    return types.SimpleNamespace()", vec!["types"]),
        ("import string\nstring.digits", vec![]),
        ("string = 'a'\nstring.digits", vec![]),
    ] {
        assert_eq!(library(program), (modules, none()), "{program}");
    }
    // A missing variable is a mistake, and so is a module that reaches all others.
    for (program, name) in [
        ("print(string.split(','))", "string"),
        ("print(email.subject)", "email"),
        ("print(queue.append(1))", "queue"),
        ("importlib.import_module('os')", "importlib"),
        ("builtins.open('a')", "builtins"),
    ] {
        let message = format!("`{name}` is not defined; add `import {name}`");
        assert_eq!(library(program), (vec![], vec![message]), "{program}");
    }
    assert_eq!(library("print(string)"), (vec![], vec!["`string` is not defined".to_owned()]));
    let given = check("string.digits", GivenVariables::Names(&HashSet::from(["string"])), &Example);
    assert!(given.library.is_empty(), "it is a variable");
}

#[test]
fn packages_that_are_not_here_are_told_by_all_their_names() {
    for (program, package) in [
        ("pandas.read_csv('x')", "pandas"),
        ("numpy.mean([1])", "NumPy"),
        ("np.mean([1])", "NumPy"),
        ("polars.DataFrame()", "Polars"),
        ("matplotlib.pyplot.plot([])", "Matplotlib"),
        ("sklearn.cluster", "scikit-learn"),
    ] {
        let name = program.split('.').next().unwrap();
        let message = format!(
            "`{name}` is not defined; there is no {package} here; use `await sql(...)`, `await \
             analyze(...)` or plain Python"
        );
        assert_eq!(names(program).0, [message]);
    }
    assert_eq!(
        names("requests.get('https://example.com')").0,
        ["`requests` is not defined; there is no network here; call a tool of a server"]
    );
}
