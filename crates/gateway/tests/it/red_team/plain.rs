//! Attempts to say a value as it is, or to cut it where nobody looks. All of them are held in
//! `boundary` and in `strict`.

use super::{
    Attempt,
    Step::{Call, Code, In, Pieces, Run},
    attempt,
};

pub(crate) const PLAIN: &[Attempt] = &[
    // Output.
    attempt("printed", &[Run("print(email, key, card, record)")]),
    attempt("printed in two pieces", &[Run("print(email[:9], end=''); print(email[9:])")]),
    attempt(
        "printed in two pieces with time between them",
        &[Run("import asyncio\n\
               for letter in key:\n    print(letter, end='', flush=True)\n\
               await asyncio.sleep(0.4)\n\
               print(email[:14], end='', flush=True)\n\
               await asyncio.sleep(0.4)\n\
               print(email[14:])")],
    ),
    attempt("written to standard error", &[Run("import sys; sys.stderr.write(email + ' ' + key)")]),
    attempt(
        "written letter by letter to the raw stream",
        &[Run("import os\nfor letter in email:\n    os.write(1, letter.encode())")],
    ),
    attempt(
        "in a warning and a log",
        &[Run("import logging, warnings\n\
        warnings.warn(email)\nlogging.error('key: %s', key)")],
    ),
    attempt(
        "a private key line by line",
        &[Code(
            "import asyncio\nfrom servers.crm import private_key\n\
                for line in (await private_key()).splitlines():\n\
                \x20   print(line, flush=True)\n    await asyncio.sleep(0.05)",
        )],
    ),
    attempt(
        "a private key within other forms",
        &[Code(
            "import json\nfrom servers.crm import private_key\nkey = await private_key()\nprint(json.dumps({'key': json.dumps(key)}), repr(key), key.encode())\nresult = {'key': [json.dumps(key)]}",
        )],
    ),
    attempt(
        "at the end of more output than is shown",
        &[
            Run("text = f'write to {email} now. '\n\
               for room in range(16_300, 16_360, 4):\n    print('.' * room + ' ' + text * 3)"),
            Run("text = f'write to {email} now. '\n\
               for room in range(65_500, 65_560, 4):\n    print('.' * room + ' ' + text * 3)"),
        ],
    ),
    attempt(
        "where output is cut",
        &[
            Run(
                "for room in range(8_150, 8_180, 3):\n    print('. ' * room + email + ' and ' + email + ' ' + 'x ' * 40_000)",
            ),
            Run("print('x ' * 40_000 + email + ' and ' + email + ' .' * 8_170)"),
            Run(
                "for room in range(16_300, 16_390, 8):\n    print('x ' * 900_000 + email + '.' * room)",
            ),
        ],
    ),
    attempt(
        "in output that is kept as a file",
        &[
            Run("for n in range(16_000):\n    print(n, email, key)"),
            Code(
                "for file in list_files('*stdout*'):\n    print(*read_file(file['path']).splitlines()[:99])",
            ),
            Call("read_workspace_file", r#"{"path": "stdout-1.txt", "offset": 5, "limit": 999}"#),
        ],
    ),
    attempt(
        "in a result that is kept as a file",
        &[Run("result = [record] * 12_000"), Call("list_workspace_files", "{}")],
    ),
    // Results.
    attempt("as the result", &[Run("result = record")]),
    attempt("as the last expression", &[Run("email, key")]),
    attempt(
        "deep in a result",
        &[Run("result = record\n\
        for n in range(40):\n    result = {'inner': [result, n]}")],
    ),
    attempt("as keys of a result", &[Run("result = {email: 1, key: {card: 2}}")]),
    attempt("as a number", &[Run("result = {'card': int(card.replace(' ', ''))}")]),
    attempt(
        "as JSON in a text in JSON",
        &[Run("import json\n\
        result = json.dumps({'a': json.dumps(record)})")],
    ),
    attempt("as bytes", &[Run("print(email.encode()); result = key.encode()")]),
    attempt(
        "as the text of an object",
        &[Run("class Shown:\n\
        \x20   def __repr__(self):\n        return f'<{email} {key}>'\n\
        print(Shown()); result = Shown()")],
    ),
    attempt(
        "as a text that is displayed",
        &[Run("write_file('shown.txt', email + ' ' + key)\n\
        display('shown.txt')")],
    ),
    // Errors.
    attempt("in an exception", &[Run("raise ValueError(f'no such customer: {email} {key}')")]),
    attempt("as the name of an exception", &[Run("raise type(email, (Exception,), {})(key)")]),
    attempt(
        "in a chain of exceptions",
        &[Run("try:\n    raise KeyError(key)\n\
        except KeyError as error:\n    error.add_note(email)\n    raise RuntimeError(card) from error")],
    ),
    attempt(
        "in code whose traceback is shown",
        &[Run("source = f'address = \"{email}\"; key = \"{key}\"; boom'\n\
         import linecache\n\
         linecache.cache['made'] = (len(source), None, [source], 'made')\n\
         exec(compile(source, 'made', 'exec'))")],
    ),
    attempt("as the name of a file in a traceback", &[Run("exec(compile('boom', email, 'exec'))")]),
    attempt("as the reason to exit", &[Run("import sys; sys.exit(f'{email} {key}')")]),
    attempt("in what a limit interrupts", &[Run("print(email, flush=True)\nx = key * 10**10")]),
    attempt(
        "as the name of a task that is left behind",
        &[Run("import asyncio\n\
        left = asyncio.sleep(60)\nleft.__qualname__ = left.__name__ = f'task of {email}'\n\
        task = asyncio.create_task(left, name=email)\nresult = 1")],
    ),
    attempt("as a name that does not exist", &[Run("globals()[email]")]),
    attempt("as an import that does not exist", &[Run("__import__(key)")]),
    attempt(
        "as a tool that does not exist",
        &[Run("from client import call_mcp_tool\n\
        await call_mcp_tool(f'mcp__crm__{email}', {})")],
    ),
    // What tools give.
    attempt("in a letter", &[Code("from servers.crm import letter\nresult = await letter()")]),
    attempt("within records", &[Code("from servers.crm import nested\nresult = await nested()")]),
    attempt("packed JSON", &[Code("from servers.crm import packed\nresult = await packed()")]),
    attempt(
        "numbers of a tool",
        &[Code("from servers.crm import numbers\nresult = await numbers()")],
    ),
    attempt("keys of a tool", &[Code("from servers.crm import keyed\nresult = await keyed()")]),
    attempt("the query of a URL", &[Code("from servers.crm import query\nresult = await query()")]),
    attempt("a link", &[Code("from servers.crm import link\nresult = await link()")]),
    attempt(
        "an attachment",
        &[Code(
            "from servers.crm import attachment\nfile = await attachment()\nprint(file)\n\
             print(open(file['path'], 'rb').read())",
        )],
    ),
    attempt("a tool's failure", &[Code("from servers.crm import fails\nawait fails()")]),
    attempt("a tool's refusal", &[Code("from servers.crm import refuses\nawait refuses()")]),
    attempt(
        "a failure that is caught",
        &[Code(
            "from servers.crm import fails\n\
        try:\n    await fails()\nexcept Exception as error:\n    result = vars(error) | {'m': str(error)}",
        )],
    ),
    attempt(
        "arguments that do not fit",
        &[Run("from servers.crm import echo\nawait echo(**{'text': [email, key]})")],
    ),
    attempt("a tool's log", &[Code("from servers.crm import logs\nresult = await logs()")]),
    attempt("a tool's progress", &[Code("from servers.crm import works\nresult = await works()")]),
    attempt(
        "a tool's question to a model",
        &[Code("from servers.crm import asks_model\nresult = await asks_model()")],
    ),
    attempt(
        "a tool's question to a person",
        &[Code("from servers.crm import asks_person\nresult = await asks_person()")],
    ),
    attempt(
        "sent and given back",
        &[Run("from servers.crm import echo, echo_data\n\
        print(await echo(text=email + ' ' + key)); result = await echo_data(value=record)")],
    ),
    attempt(
        "sent and given back in a failure",
        &[Run("from servers.crm import echo_error\n\
        await echo_error(text=f'{email} {key}')")],
    ),
    attempt(
        "a question whether it may be sent",
        &[Run("from servers.crm import remove\n\
        result = await remove(email=email)")],
    ),
    // Files.
    attempt(
        "in a file",
        &[
            Run("write_file('a.txt', email + '\\n' + key)"),
            Call("read_workspace_file", r#"{"path": "a.txt"}"#),
        ],
    ),
    attempt(
        "in a file in base64",
        &[
            Run("write_file('b.txt', email + '\\n' + key)"),
            Call("read_workspace_file", r#"{"path": "b.txt", "encoding": "base64"}"#),
        ],
    ),
    attempt(
        "in a file in pieces",
        &[
            Run("write_file('c.txt', f'to {email} with {key} ' * 3)"),
            Pieces(r#"{"path": "c.txt", "limit": 11}"#),
        ],
    ),
    attempt(
        "in a file in pieces in base64",
        &[
            Run("write_file('d.txt', f'to {email} with {key} ' * 3)"),
            Pieces(r#"{"path": "d.txt", "limit": 12, "encoding": "base64"}"#),
        ],
    ),
    attempt(
        "in a file of another encoding",
        &[
            Run(
                "open('/workspace/latin.csv', 'wb').write(f'name,mail\\nJ\u{fc}rgen,{email}\\n'.encode('latin-1'))",
            ),
            Call("read_workspace_file", r#"{"path": "latin.csv"}"#),
            Call("read_workspace_file", r#"{"path": "latin.csv", "encoding": "base64"}"#),
        ],
    ),
    attempt(
        "in a file that is called a picture",
        &[
            Run("write_file('e.png', f'to {email} with {key}')"),
            Call("read_workspace_file", r#"{"path": "e.png"}"#),
            Pieces(r#"{"path": "e.png", "limit": 60}"#),
        ],
    ),
    attempt(
        "a private key in pieces",
        &[
            Code("from servers.crm import private_key\nwrite_file('key.pem', await private_key())"),
            Pieces(r#"{"path": "key.pem", "limit": 48}"#),
        ],
    ),
    attempt(
        "as the name of a file",
        &[
            Run("write_file(f'{email}/{key}.txt', 'x')"),
            Call("list_workspace_files", "{}"),
            Code("result = list_files()"),
        ],
    ),
    attempt(
        "as the name of a file that is nearly right",
        &[
            Run("write_file(f'to-{email}.txt', 'x')"),
            Call("read_workspace_file", r#"{"path": "to-quilla.mrsh@tidewater-bnk.com.txt"}"#),
        ],
    ),
    attempt("as the name of a file that is not there", &[Run("open(f'/workspace/{email}')")]),
    // What is kept.
    attempt(
        "in the code of a skill",
        &[
            Run("save_skill('addressed', f'def addressed():\\n    return \"{email}\"\\n')"),
            Call("load_skill", r#"{"name": "addressed"}"#),
            Call(
                "execute_code",
                r#"{"code": "from skills import addressed\nresult = addressed()"}"#,
            ),
        ],
    ),
    attempt(
        "in the description of a skill",
        &[
            Run(
                "save_skill('described_skill', 'def described_skill():\\n    return 1\\n', description=f'writes to {email} with {key}')",
            ),
            Call("list_skills", "{}"),
            Call("search_tools", r#"{"query": "described skill writes"}"#),
            Code("result = list_skills()"),
        ],
    ),
    attempt(
        "in the docstring and defaults of a skill",
        &[
            Run(
                "save_skill('defaulted', f'def defaulted(to: str = \"{email}\"):\\n    \"\"\"Writes to {email}.\"\"\"\\n    return 1\\n')",
            ),
            Call("get_tool_definition", r#"{"name": "defaulted"}"#),
            Call("list_skills", r#"{"query": "defaulted"}"#),
        ],
    ),
    attempt("as the name of a skill", &[Run("save_skill(email, 'def x():\\n    return 1\\n')")]),
    attempt(
        "in a session",
        &[
            In("kept", "kept = record"),
            Call("execute_code", r#"{"code": "print(kept); result = kept", "session_id": "kept"}"#),
        ],
    ),
    attempt(
        "as the name of a variable of a session",
        &[
            In("named", "globals()[email] = lambda: 1\nglobals()[key] = open('/workspace/x', 'w')"),
            Call(
                "execute_code",
                r#"{"code": "result = [n for n in globals()]", "session_id": "named"}"#,
            ),
        ],
    ),
    attempt(
        "on a board",
        &[Run("board('log').post(record)"), Code("result = board('log').read()")],
    ),
    attempt(
        "as the name of a board",
        &[Run("board(email).post(1)\nprint(board(email))\nboard('/' + email)")],
    ),
    attempt(
        "in shared values",
        &[
            Run("shared['kept'] = record\nshared[email] = 1"),
            Code("result = [shared['kept'], list(shared)]"),
        ],
    ),
    attempt(
        "in the context",
        &[Call(
            "execute_code",
            r#"{"code": "print(who); result = who", "context": {"who": {"mail": "quilla.marsh@tidewater-bank.com", "ssn": "536-22-8145"}}}"#,
        )],
    ),
    // Finding tools.
    attempt(
        "as a search",
        &[Run(
            // But for the definition that has it, which is public.
            "from tool_discovery import search_tools\nfound = search_tools(query=email)\nresult = [entry for entry in found if entry['name'] != 'described']\nprint(result, len(found))",
        )],
    ),
];
