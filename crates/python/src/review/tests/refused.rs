//! Programs that a level or its policy refuses: modules, code from text, tricks, tools.

use super::{Severity::*, *};

#[test]
fn code_from_text_is_found_however_it_is_named() {
    for code in [
        "eval('1')",
        "exec('x = 1')",
        "compile('1', 'f', 'eval')",
        "e = eval\ne('1')",
        "e = f = eval\nf('1')",
        "list(map(eval, ['1']))",
        "[eval][0]('1')",
        "(lambda f: f('1'))(eval)",
        "from builtins import eval as f\nf('1')",
        "import builtins\nbuiltins.eval('1')",
        "import builtins as b\nb.exec('1')",
        "import builtins\ngetattr(builtins, 'ev' + 'al')('1')",
        "__builtins__.eval('1')",
        "__builtins__['eval']('1')",
        "import builtins\nvars(builtins)['eval']('1')",
        "import builtins\nbuiltins.__dict__['eval']('1')",
        "globals()['__builtins__'].eval('1')",
        "import sys\nsys.modules['builtins'].eval('1')",
        "__import__('builtins').eval('1')",
        "import importlib\nimportlib.import_module('builtins').exec('1')",
        "if (f := eval): f('1')",
        "import types\ntypes.FunctionType(x, {})",
        "def f():\n    return eval('1')",
        "class A:\n    x = eval('1')",
        "x = f'{eval(\"1\")}'",
        "@eval\ndef f(): pass",
        "def f(x=eval('1')): pass",
        // The name may still mean the builtin.
        "if False:\n    eval = None\neval('1')",
        "eval('1')\neval = None",
        "eval = eval\neval('1')",
        "eval = 1\ndel eval\neval('1')",
        "def f():\n    eval = 1\neval('1')",
        "[0 for eval in []]\neval('1')",
        "class A:\n    eval = 1\n    def f(self):\n        return eval('1')",
    ] {
        assert_found(code, "dynamic-code", Danger);
    }
    assert_eq!(brief("x = 1\nr = eval('1')"), [("dynamic-code", 2, Danger)]);
}

#[test]
fn what_only_looks_like_code_from_text_is_left_alone() {
    for code in [
        "import re\nre.compile('x').match('y')",
        "model.eval()",
        "cursor.exec('select 1')",
        "db.execute('select 1')",
        "import ast\nast.literal_eval('1')",
        "import pandas as pd\npd.eval('1')",
        "f(eval=True)",
        "d = {'eval': 1}\nd['eval']",
        "def compile(x):\n    return x\ncompile(1)",
        "from mine import exec\nexec(1)",
        "def f(eval):\n    return eval(1)",
        "def f():\n    compile = make()\n    return compile(1)",
        "compile = make()\ncompile(1)",
        "class A:\n    def eval(self): pass\nA().eval()",
        "print('eval(x)')",
        "# eval(x)",
        "f = lambda eval: eval(1)",
        "[compile(1) for compile in makers]",
    ] {
        assert_clean(code);
    }
    // A function that uses what the program defines later on is doubtful.
    assert_found("def f():\n    return compile(1)\ndef compile(x): pass", "dynamic-code", Warning);
}

#[test]
fn modules_by_name_are_found() {
    for code in [
        "__import__('json')",
        "i = __import__\ni('json')",
        "import importlib\nimportlib.import_module(name)",
        "import importlib as i\ni.import_module(name)",
        "from importlib import import_module as load\nload(name)",
        "import importlib\nimportlib.__import__('json')",
        "import importlib\ngetattr(importlib, 'import_module')(name)",
    ] {
        assert_found(code, "dynamic-import", Danger);
    }
    assert_found("import importlib\nimportlib.import_module('json')", "dynamic-import", Warning);
    for code in ["import sys\nsys.modules['json']", "import importlib.util as u\nu.find_spec('x')"]
    {
        assert_found(code, "dynamic-import", Note);
    }
    for code in [
        "import importlib",
        "import importlib.metadata as m\nm.version('x')",
        "import sys\nsys.path",
    ] {
        assert_clean(code);
    }
}

#[test]
fn attributes_that_lead_inside_are_found_however_they_are_written() {
    for code in [
        "().__class__.__base__.__subclasses__()",
        "f.__globals__['x']",
        "x.__builtins__",
        "print(__builtins__)",
        "getattr(f, '__globals__')",
        "getattr(f, '__glo' + 'bals__')",
        "getattr(f, '__glo' 'bals__')",
        "n = '__globals__'\ngetattr(f, n)",
        "a = '__sub'\nb = a + 'classes__'\ngetattr(object, b)()",
        "getattr(f, ''.join(['__glo', 'bals__']))",
        "getattr(f, '__slabolg__'[::-1])",
        "g = getattr\ng(f, '__globals__')",
        "x = '__glo' + 'bals__'",
        "p = 'glob'\ngetattr(f, f'__{p}als__')",
        "import operator\noperator.attrgetter('a.__globals__')(f)",
        "from operator import attrgetter as g\ng('__globals__')(f)",
        "object.__getattribute__(f, '__globals__')",
        "'{0.__globals__}'.format(f)",
        "t = '{f.__init__.__globals__[x]}'\nt.format_map(d)",
        "match f:\n    case object(__globals__=g): pass",
        "globals()['__builtins__']",
        "import sys\nsys._getframe()",
        "e.__traceback__.tb_frame.f_back",
    ] {
        assert_found(code, "attribute-trick", Danger);
    }
    for code in
        ["type(x).__mro__", "f.__code__", "e.__traceback__.tb_frame", "names = ['__globals__']"]
    {
        assert_found(code, "attribute-trick", Note);
    }
    for code in ["x = '__m' + 'ro__'", "import builtins\ndir(builtins)"] {
        assert_found(code, "attribute-trick", Warning);
    }
    for code in [
        "type(x).__name__",
        "x.__class__.__name__",
        "x.__dict__",
        "getattr(x, 'name', None)",
        "getattr(x, name)",
        "class A:\n    def __getattribute__(self, n): return 1",
        "print('__globals__ is a name')",
        "'{0.name}'.format(x)",
        "f'{x.name}'",
        "text[::-1]",
    ] {
        assert_clean(code);
    }
}

#[test]
fn modules_are_held_against_the_list_of_the_level() {
    let hardened = level("hardened");
    let rules = |code: &str| {
        let found = review(code, &hardened, &ReviewSettings::default(), &nothing_denied);
        found.into_iter().map(|one| (one.rule, one.line, one.severity)).collect::<Vec<_>>()
    };
    let refused = [("import-not-allowed", 1, Danger)];
    for code in [
        "import os",
        "import os.path as p",
        "from os import path, sep",
        "import json, os",
        "from sys import *",
        "import urllib.request",
        "from urllib import request",
        "import urllib",
        "try: import numpy\nexcept ImportError: numpy = None",
        // Some modules need no import.
        "result = os.listdir('/')",
        "def f(): return os",
    ] {
        assert_eq!(rules(code), refused, "{code}");
    }
    let builtins = "import builtins\nbuiltins.os.listdir('/')";
    assert!(rules(builtins).iter().any(|found| found.2 == Danger), "{:?}", rules(builtins));
    assert_eq!(rules("def f():\n    import os"), [("import-not-allowed", 2, Danger)]);
    let by_name = "from importlib import import_module";
    assert!(rules(by_name).contains(&refused[0]));
    let code = "import importlib\nimportlib.import_module('o' + 's')";
    assert!(rules(code).contains(&("import-not-allowed", 2, Danger)), "{:?}", rules(code));
    for code in [
        "import json, re, math, statistics, datetime, collections, itertools, functools",
        "from collections.abc import Mapping\nimport asyncio, csv, io",
        "import urllib.parse\nfrom urllib.parse import quote\nfrom urllib import parse",
        "from servers.github import list_issues\nimport skills, client, tool_discovery",
        "from __future__ import annotations",
        "result = json.dumps(math.pi)",
        "os = 'linux'\nprint(os)",
    ] {
        assert_eq!(rules(code), [], "{code}");
    }
    // The same program is fine at other levels.
    assert_clean("import os, subprocess, socket");
    let message =
        &review("import requests", &hardened, &ReviewSettings::default(), &nothing_denied)[0];
    assert_eq!(
        message.to_string(),
        "line 1: requests cannot be imported at the isolation level hardened: there is no network; call a tool [import-not-allowed]"
    );
    for package in ["pandas", "numpy", "polars", "scipy"] {
        let code = format!("import {package}");
        let found = review(&code, &hardened, &ReviewSettings::default(), &nothing_denied);
        assert!(found[0].message.ends_with("`await sql(...)` and `await analyze(...)`"));
    }
}

#[test]
fn tools_that_would_be_refused_are_told_where_they_are_named() {
    let deny = |tool: &str| {
        (tool == "github.delete_repo").then(|| Denial { why: "no deletes".to_owned() })
    };
    let rules = |code: &str, level: &Level| {
        let found = review(code, level, &ReviewSettings::default(), &deny);
        found.iter().map(|one| (one.rule, one.line, one.column)).collect::<Vec<_>>()
    };
    let production = level("production");
    for (code, line, column) in [
        ("from servers.github import delete_repo\nawait delete_repo()", 1, 28),
        ("from servers.github import delete_repo as d, list_issues", 1, 28),
        ("import servers.github as g\nawait g.delete_repo()", 2, 7),
        (
            "from client import call_mcp_tool\nawait call_mcp_tool('mcp__github__delete_repo', {})",
            2,
            7,
        ),
    ] {
        assert_eq!(rules(code, &production), [("denied-tool", line, column)], "{code}");
    }
    assert_eq!(
        rules("from servers.github import list_issues\nawait list_issues()", &production),
        []
    );
    let none = Level { tools: narrows_policy::ToolAccess::None, ..production };
    assert_eq!(rules("from servers.github import list_issues", &none), [("denied-tool", 1, 28)]);
}

#[test]
fn lists_of_the_configuration_go_first() {
    let with = |allow: &[&str], deny: &[&str], code: &str| {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings = ReviewSettings { allow: set(allow), deny: set(deny) };
        let found = review(code, &level("hardened"), &settings, &nothing_denied);
        found.iter().map(|one| (one.rule, one.line)).collect::<Vec<_>>()
    };
    for (allow, code) in [
        ("dynamic-code", "eval('1')"),
        ("eval", "eval('1')"),
        ("os", "import os"),
        ("os", "from os.path import join"),
        ("__mro__", "x.__mro__"),
        ("endless-loop", "while True: pass"),
    ] {
        assert_eq!(with(&[allow], &[], code), [], "{allow}");
        assert_ne!(with(&[], &[], code), [], "{code}");
    }
    for (deny, code) in [
        ("json", "import json"),
        ("json", "from json import loads"),
        ("json.loads", "import json\njson.loads('1')"),
        ("json.loads", "import json as j\njson = 1\nj.loads('1')"),
        ("json.loads", "from json import loads"),
        ("open", "open('x')"),
        ("open", "import json\no = open\no('x')"),
        ("__reduce__", "x.__reduce__()"),
        ("loads", "import json\ngetattr(json, 'lo' + 'ads')"),
        ("client", "await call_mcp_tool('github.ping')"),
        ("call_mcp_tool", "await call_mcp_tool('github.ping')"),
        ("tool_discovery", "search_tools('issues')"),
        ("servers", "await servers.github.ping()"),
    ] {
        let found = with(&[deny], &[deny], code);
        assert!(found.iter().any(|(rule, _)| *rule == "denied-name"), "{deny}: {code}: {found:?}");
    }
    assert_eq!(with(&[], &["pickle", "open"], "import json\njson.loads(x.opened)"), []);
}

#[test]
fn the_source_of_a_skill_may_be_executed_where_dangers_are_told() {
    assert_clean("exec(load_skill('x'))\nresult = x(1)");
    assert_clean("exec(await load_skill('x'))\nresult = x(1)");
    assert_clean("skill = await load_skill('x')\nexec(skill)\nresult = x(1)");
    assert_clean("skill = load_skill('x')\nexec(skill)\nresult = x(1)");
    for code in [
        "exec(text)",
        "skill = load_skill('x')\nskill = skill + more\nexec(skill)",
        "def load_skill(name): return name\nexec(load_skill('x'))",
        "skill = load_skill('x')\nif more: skill = more\nexec(skill)",
        "eval(load_skill('x'))",
    ] {
        assert_found(code, "dynamic-code", Danger);
    }
    let hardened = review(
        "exec(load_skill('x'))",
        &level("hardened"),
        &ReviewSettings::default(),
        &nothing_denied,
    );
    assert_eq!(hardened[0].rule, "dynamic-code");
}
