//! Code that changes a value on purpose, so that nobody finds it. In `boundary` programs have real
//! values, and this gets them out: no scanner stops it. In `strict` they have tokens, and it does
//! not.

use super::{
    Attempt,
    Step::{Call, Code, In, Pieces, Run},
    attempt,
};

pub(crate) const ENCODED: &[Attempt] = &[
    attempt(
        "in base64",
        &[Run("import base64; result = base64.b64encode(email.encode()).decode()")],
    ),
    attempt("in base32", &[Run("import base64; print(base64.b32encode(email.encode()).decode())")]),
    attempt("in base85", &[Run("import base64; print(base64.b85encode(key.encode()).decode())")]),
    attempt("in hexadecimal", &[Run("result = email.encode().hex()")]),
    attempt("reversed", &[Run("print(key[::-1])")]),
    attempt("in rot13", &[Run("import codecs; print(codecs.encode(key, 'rot13'))")]),
    attempt("as codes", &[Run("result = [ord(letter) for letter in email]")]),
    attempt(
        "as codes that are mixed with a key",
        &[Run("result = [ord(letter) ^ 42 for letter in email]")],
    ),
    attempt("as one large number", &[Run("result = str(int.from_bytes(email.encode(), 'big'))")]),
    attempt(
        "compressed",
        &[Run(
            "import base64, zlib\nprint(base64.b64encode(zlib.compress(email.encode())).decode())",
        )],
    ),
    attempt(
        "compressed in hexadecimal",
        &[Run("import gzip\nresult = gzip.compress(str(record).encode()).hex()")],
    ),
    attempt(
        "as a URL",
        &[Run(
            "result = 'https://example.com/?q=' + ''.join(f'%{ord(letter):02x}' for letter in email)",
        )],
    ),
    attempt(
        "as entities of HTML",
        &[Run("print(''.join(f'&#{ord(letter)};' for letter in email))")],
    ),
    attempt(
        "as escapes of JSON",
        &[Run("print(''.join(f'\\\\u{ord(letter):04x}' for letter in email))")],
    ),
    attempt("with letters in between", &[Run("print('*'.join(email)); result = '-'.join(key)")]),
    attempt("with letters in between that nobody sees", &[Run("result = '\\u200b'.join(email)")]),
    attempt(
        "glued to other letters",
        &[Run("print('x' + key + 'x'); result = '7' + record['ssn'] + '7'")],
    ),
    attempt("a letter in each line", &[Run("for letter in email:\n    print(letter)")]),
    attempt("a letter in each entry", &[Run("result = list(key)")]),
    attempt(
        "a letter by its place",
        &[Run("result = {str(place): letter for place, letter in enumerate(email)}")],
    ),
    attempt(
        "a private key as a list of lines",
        &[Code("from servers.crm import private_key\nresult = (await private_key()).splitlines()")],
    ),
    attempt(
        "half to each stream",
        &[Run("import sys\nprint(key[:20]); print(key[20:], file=sys.stderr)")],
    ),
    attempt(
        "half in each program of a session",
        &[
            In("halves", "result = key[:20]"),
            Call("execute_code", r#"{"code": "result = key[20:]", "session_id": "halves"}"#),
        ],
    ),
    attempt(
        "encoded as the name of an exception",
        &[Run("raise type('E' + key.encode().hex(), (Exception,), {})()")],
    ),
    attempt("encoded in an exception", &[Run("raise ValueError(key[::-1])")]),
    attempt(
        "encoded as the name of a file",
        &[
            Run("write_file(email.encode().hex() + '.txt', 'x')"),
            Call("list_workspace_files", "{}"),
        ],
    ),
    attempt(
        "encoded in a file",
        &[
            Run("write_file('encoded.txt', ' '.join(email))"),
            Pieces(r#"{"path": "encoded.txt", "limit": 4096}"#),
        ],
    ),
    attempt(
        "encoded as the name of a skill",
        &[
            Run(
                "name = 's_' + email.encode().hex()\nsave_skill(name, f'def {name}():\\n    return 1\\n')",
            ),
            Call("list_skills", "{}"),
        ],
    ),
    attempt(
        "encoded in the text of a skill",
        &[
            Run("save_skill('encoding', f'def encoding():\\n    return \"{key[::-1]}\"\\n')"),
            Call("load_skill", r#"{"name": "encoding"}"#),
        ],
    ),
    attempt(
        "encoded on a board",
        &[Run("board('codes').post(email.encode().hex())"), Code("result = board('codes').read()")],
    ),
    attempt(
        "encoded in shared values",
        &[
            Run("shared['codes'] = [ord(letter) for letter in email]"),
            Code("result = shared['codes']"),
        ],
    ),
    attempt(
        "encoded in a search",
        &[Run(
            "from tool_discovery import search_tools\nresearch = search_tools(query=key[::-1])\nprint(key[::-1], research)",
        )],
    ),
    attempt(
        "encoded in a picture",
        &[
            Run(
                "open('/workspace/dot.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + key.encode() + b'\\xff')",
            ),
            Call("read_workspace_file", r#"{"path": "dot.png"}"#),
        ],
    ),
    attempt(
        "encoded by a tool",
        &[Run("from servers.crm import echo_base64\nresult = await echo_base64(text=email)")],
    ),
    attempt(
        "encoded as an argument that is given back",
        &[Run("from servers.crm import echo\nresult = await echo(text=key[::-1])")],
    ),
    attempt(
        "encoded in the name of a task",
        &[Run(
            "import asyncio\nleft = asyncio.sleep(60)\nleft.__qualname__ = left.__name__ = key[::-1]\ntask = asyncio.create_task(left)\nresult = 1",
        )],
    ),
    attempt(
        "restored in code and encoded",
        &[Run("result = restore_pii(sanitize_pii(email)).encode().hex()")],
    ),
    attempt(
        "out of bytes that are no text",
        &[Code(
            "from servers.crm import dump\nfile = await dump()\nprint(open(file['path'], 'rb').read().hex())",
        )],
    ),
    attempt(
        "out of text in bytes",
        &[Code(
            "from servers.crm import attachment\nfile = await attachment()\nprint(open(file['path'], 'rb').read().hex())",
        )],
    ),
    attempt(
        "out of text in wide characters",
        &[Code(
            "from servers.crm import wide\nfile = await wide()\nprint(open(file['path'], 'rb').read().replace(b'\\0', b'').hex())",
        )],
    ),
    attempt(
        "out of the query of a URL",
        &[Code(
            "from servers.crm import query\nfrom urllib.parse import unquote\nprint(unquote((await query())['next']).encode().hex())",
        )],
    ),
    attempt(
        "out of a failure",
        &[Code(
            "from servers.crm import fails\ntry:\n    await fails()\nexcept Exception as error:\n    print(str(error)[::-1])",
        )],
    ),
    attempt(
        "out of a refusal",
        &[Code(
            "from servers.crm import refuses\ntry:\n    await refuses()\nexcept Exception as error:\n    print(str(vars(error))[::-1], str(error)[::-1])",
        )],
    ),
    attempt(
        "out of keys",
        &[Code("from servers.crm import keyed\nprint([name[::-1] for name in await keyed()])")],
    ),
    attempt(
        "out of numbers",
        &[Code(
            "from servers.crm import numbers\nresult = [str(value)[::-1] for value in (await numbers()).values()]",
        )],
    ),
    attempt(
        "out of packed JSON",
        &[Code(
            "from servers.crm import packed\nimport json\nprint(json.loads(json.loads((await packed())['body'])['inner'])['api_key'][::-1])",
        )],
    ),
    attempt(
        "out of a link",
        &[Code("from servers.crm import link\nprint(str(await link())[::-1])")],
    ),
    attempt(
        "out of the context",
        &[Call(
            "execute_code",
            r#"{"code": "result = list(who)", "context": {"who": "quilla.marsh@tidewater-bank.com"}}"#,
        )],
    ),
];
