//! What can be imported: the standard library, what the host provides, and a clear word about
//! the rest.

use narrows_model::Outcome;
use narrows_sandbox::RunOptions;
use serde_json::json;

use crate::support::{TestHost, failure, run, run_with, value};

/// The standard library as far as it makes sense in a sandbox.
const STANDARD: &str = "\
    __future__ abc annotationlib argparse array ast asyncio asyncio.subprocess atexit base64 \
    binascii bisect builtins calendar cmath cmd code codecs codeop collections collections.abc \
    colorsys concurrent.futures concurrent.futures.thread configparser contextlib contextvars \
    copy copyreg cProfile csv dataclasses datetime dbm dbm.dumb dbm.sqlite3 decimal difflib \
    dis doctest email email.header email.headerregistry email.message email.mime.application \
    email.mime.base email.mime.multipart email.mime.text email.parser email.policy email.utils \
    encodings encodings.idna encodings.utf_8_sig enum errno filecmp fileinput fnmatch \
    fractions functools gc getopt getpass gettext glob graphlib gzip hashlib heapq hmac html \
    html.entities html.parser http http.client http.cookiejar http.cookies http.server \
    importlib importlib.abc importlib.machinery importlib.metadata importlib.resources \
    importlib.util inspect io ipaddress itertools json json.decoder json.encoder keyword \
    linecache locale logging logging.config logging.handlers mailbox marshal math mimetypes \
    netrc numbers operator optparse os os.path pathlib pickle pickletools pkgutil platform \
    plistlib posixpath pprint profile pstats pydoc queue quopri random re reprlib runpy sched \
    secrets select selectors shelve shlex shutil signal smtplib socket socketserver sqlite3 \
    stat statistics string string.templatelib stringprep struct subprocess symtable sys \
    sysconfig tabnanny tarfile tempfile textwrap threading time timeit token tokenize tomllib \
    trace traceback tracemalloc types typing unicodedata unittest unittest.mock urllib \
    urllib.error urllib.parse urllib.request urllib.robotparser uuid warnings wave weakref \
    wsgiref wsgiref.util xml xml.dom xml.dom.minidom xml.dom.pulldom xml.etree \
    xml.etree.ElementTree xml.parsers.expat xml.sax xml.sax.handler xml.sax.saxutils \
    xmlrpc.client zipfile zipimport zlib zoneinfo";

const CODECS: &str = "\
    ascii base64 big5 big5hkscs cp037 cp1250 cp1251 cp1252 cp437 cp850 cp932 cp949 euc_jp \
    euc_kr gb18030 gb2312 gbk hex hz idna iso2022_jp iso2022_kr iso8859-15 iso8859-2 johab \
    koi8-r latin-1 mac-roman punycode quopri raw_unicode_escape rot13 shift_jis shift_jisx0213 \
    unicode_escape utf-16 utf-16-be utf-16-le utf-32 utf-7 utf-8 utf-8-sig uu zlib";

/// Returns a host with two servers, one of which fails, and a skill with a module below it.
fn host() -> TestHost {
    TestHost::new()
        .with_module("servers", "\"\"\"The servers.\"\"\"\n__all__ = ['files', 'broken']\n")
        .with_module(
            "servers.files",
            "from client import call_mcp_tool\n\n\nasync def echo(**arguments):\n    \
             return await call_mcp_tool('echo', arguments)\n\n\ndef divide(a, b):\n    \
             return a / b\n",
        )
        .with_module("servers.broken", "x = 1\nraise RuntimeError('the module fails')\n")
        .with_module("servers.wrong", "x = 1\ndef f(:\n    pass\n")
        .with_module("skills", "")
        .with_module("skills.report", "from servers import files\nTITLE = 'Report'\n")
        .with_module("tool_discovery", "def search(text):\n    return [text]\n")
}

async fn run_hosted(source: &str) -> (Outcome, TestHost) {
    let host = host();
    let outcome = run_with(source, &host, RunOptions::default()).await;
    (outcome, host)
}

/// Returns the message of the import that must fail, which must be on one line.
async fn refusal(source: &str) -> String {
    let outcome = run(source).await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "ModuleNotFoundError", "{source}: {}", failure.traceback);
    assert_eq!(failure.message.lines().count(), 1, "{source}: {}", failure.message);
    assert_eq!(failure.line, Some(1), "{source}");
    failure.message.clone()
}

#[tokio::test]
async fn the_standard_library_can_be_imported() {
    assert!(STANDARD.split_whitespace().count() >= 118);
    let source = format!(
        "
import importlib
missing = {{}}
for name in {STANDARD:?}.split():
    try:
        importlib.import_module(name)
    except BaseException as error:
        missing[name] = repr(error)
result = missing
"
    );
    assert_eq!(*value(&run(&source).await), json!({}));
}

#[tokio::test]
async fn imports_are_statements_too() {
    let statements: String =
        STANDARD.split_whitespace().map(|name| format!("import {name}\n")).collect();
    let outcome = run(&format!("{statements}result = xml.etree.ElementTree.__name__")).await;
    assert_eq!(*value(&outcome), "xml.etree.ElementTree");
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("", ""));
}

#[tokio::test]
async fn codecs_are_found_by_name() {
    let source = format!(
        "
import codecs
missing = []
for name in {CODECS:?}.split():
    try:
        codecs.lookup(name)
    except LookupError:
        missing.append(name)
result = missing
"
    );
    assert_eq!(*value(&run(&source).await), json!([]));
}

#[tokio::test]
async fn codecs_work() {
    let source = "
print('bücher'.encode('idna'), 'bücher'.encode('punycode'), b'xn--bcher-kva'.decode('idna'))
for name in ('shift_jis', 'big5', 'gbk', 'euc_kr', 'utf-16-le', 'utf-7'):
    assert '日本'.encode(name).decode(name) == '日本', name
print('é'.encode('cp437'), 'é'.encode('latin-1'), 'я'.encode('koi8-r'), '€'.encode('cp1252'))
import codecs
print(codecs.encode('abc', 'rot13'), codecs.decode('616263', 'hex'), '\\ufeffx'.encode('utf-8-sig'))
with open('/tmp/text', 'w', encoding='utf-16') as file: file.write('ü')
print(open('/tmp/text', encoding='utf-16').read())
try:
    'é'.encode('ascii')
except UnicodeEncodeError as error:
    print(error)
";
    let outcome = run(source).await;
    value(&outcome);
    let expected = "b'xn--bcher-kva' b'bcher-kva' bücher\nb'\\x82' b'\\xe9' b'\\xd1' b'\\x80'\n\
                    nop b'abc' b'\\xef\\xbb\\xbf\\xef\\xbb\\xbfx'\nü\n'ascii' codec can't encode \
                    character '\\xe9' in position 0: ordinal not in range(128)\n";
    assert_eq!(outcome.stdout, expected);
}

#[tokio::test]
async fn data_formats_work() {
    let source = r#"
import csv, gzip, html, io, json, plistlib, tarfile, tomllib, xml.dom.minidom, zipfile, zlib
import configparser, email, struct, base64, unicodedata
from xml.etree import ElementTree
print(ElementTree.fromstring("<a><b n='1'>ü</b></a>").find("b").text)
print(xml.dom.minidom.parseString("<a><b/></a>").documentElement.toxml())
print(list(csv.DictReader(io.StringIO('a,b\n1,"x, y"\n'))))
print(tomllib.loads('[a]\nb = [1, 2.5, 2024-01-02]'))
memory = io.BytesIO()
with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive: archive.writestr("n.txt", "x" * 1000)
print(zipfile.ZipFile(memory).read("n.txt") == b"x" * 1000, len(memory.getvalue()) < 300)
memory = io.BytesIO()
with tarfile.open(fileobj=memory, mode="w:gz") as archive: archive.addfile(tarfile.TarInfo("empty"))
print(tarfile.open(fileobj=io.BytesIO(memory.getvalue())).getnames())
print(gzip.decompress(gzip.compress(b"a" * 99)) == b"a" * 99, html.unescape("&uuml;&lt;"))
print(plistlib.loads(plistlib.dumps({"a": [1, True]})), unicodedata.name("ü"))
print(email.message_from_string("Subject: =?utf-8?q?=C3=BC?=\n\nbody", policy=email.policy.default)["subject"])
"#;
    let outcome = run(source).await;
    value(&outcome);
    let expected = "ü\n<a><b/></a>\n[{'a': '1', 'b': 'x, y'}]\n\
                    {'a': {'b': [1, 2.5, datetime.date(2024, 1, 2)]}}\nTrue True\n['empty']\n\
                    True ü<\n{'a': [1, True]} LATIN SMALL LETTER U WITH DIAERESIS\nü\n";
    assert_eq!(outcome.stdout, expected);
}

#[tokio::test]
async fn xml_can_be_read_as_a_stream_of_events() {
    let source = "
import xml.sax, xml.dom.pulldom
class Names(xml.sax.ContentHandler):
    def startElement(self, name, attributes): print(name, dict(attributes))
xml.sax.parseString(b\"<a><b n='1'/></a>\", Names())
print([event for event, node in xml.dom.pulldom.parseString('<a/>')])
";
    let outcome = run(source).await;
    value(&outcome);
    let expected =
        "a {}\nb {'n': '1'}\n['START_DOCUMENT', 'START_ELEMENT', 'END_ELEMENT', 'END_DOCUMENT']\n";
    assert_eq!(
        outcome.stdout.replace(", 'END_DOCUMENT'", ""),
        expected.replace(", 'END_DOCUMENT'", "")
    );
}

#[tokio::test]
async fn a_missing_module_says_why_and_what_to_use_instead() {
    let network = "there is no network in the sandbox; call a tool of an MCP server instead";
    let processes = "use asyncio.gather or asyncio.TaskGroup";
    let native = "there is no native code in the sandbox";
    let library = "the sandbox has the standard library only";
    for (name, reason) in [
        ("ctypes", native),
        ("cffi", native),
        ("mmap", native),
        ("ssl", network),
        ("requests", network),
        ("httpx", network),
        ("aiohttp", network),
        ("multiprocessing", processes),
        ("joblib", processes),
        ("bz2", "use zlib or gzip"),
        ("lzma", "use zlib or gzip"),
        ("curses", "there is no terminal in the sandbox"),
        ("readline", "there is no terminal in the sandbox"),
        ("tkinter", "there is no screen in the sandbox"),
        ("turtle", "there is no screen in the sandbox"),
        ("matplotlib", "return the data"),
        ("numpy", "`await analyze("),
        ("scipy", "use math and statistics"),
        ("pandas", "`await sql("),
        ("polars", "`await analyze("),
        ("pydantic", "use dataclasses or typing.TypedDict"),
        ("yaml", "use json or tomllib"),
        ("dateutil", "use datetime and zoneinfo"),
        ("pytz", "use zoneinfo"),
        ("bs4", "use html.parser or xml.etree.ElementTree"),
        ("lxml", "use xml.etree.ElementTree"),
        ("torch", library),
        ("some_package_nobody_knows", "nothing can be installed"),
    ] {
        let message = refusal(&format!("import {name}")).await;
        assert!(message.starts_with(&format!("No module named '{name}': ")), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

#[tokio::test]
async fn a_missing_module_is_explained_however_it_is_imported() {
    for (source, name) in [
        ("import numpy as np", "numpy"),
        ("import numpy.linalg", "numpy"),
        ("from multiprocessing import Pool", "multiprocessing"),
        ("from concurrent.futures import ProcessPoolExecutor", "concurrent.futures.process"),
        ("__import__('yaml')", "yaml"),
        ("import importlib; importlib.import_module('pandas')", "pandas"),
        ("import compression.zstd", "compression.zstd"),
    ] {
        let message = refusal(source).await;
        assert!(message.starts_with(&format!("No module named '{name}': ")), "{message}");
    }
}

#[tokio::test]
async fn a_missing_module_can_be_caught() {
    let source = "
try:
    import numpy
except ImportError as error:
    print(type(error).__name__, error.name)
";
    let outcome = run(source).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "ModuleNotFoundError numpy\n");
}

#[tokio::test]
async fn whether_a_module_exists_can_be_asked() {
    let source = "
import importlib.util
result = [importlib.util.find_spec('json') is not None, importlib.util.find_spec('numpy')]
";
    assert_eq!(*value(&run(source).await), json!([true, null]));
}

#[tokio::test]
async fn a_misspelt_module_gets_a_suggestion() {
    for (wrong, right) in [
        ("jsn", "json"),
        ("datetim", "datetime"),
        ("pathib", "pathlib"),
        ("colections", "collections"),
        ("itertool", "itertools"),
        ("xml.etre", "xml.etree"),
        ("xml.etree.ElementTreee", "xml.etree.ElementTree"),
    ] {
        let message = refusal(&format!("import {wrong}")).await;
        assert_eq!(message, format!("No module named '{wrong}': did you mean '{right}'?"));
    }
}

#[tokio::test]
async fn a_misspelt_name_in_a_module_gets_a_suggestion() {
    let outcome = run("from collections import Countr").await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "ImportError");
    assert!(failure.traceback.ends_with("Did you mean: 'Counter'?\n"), "{}", failure.traceback);
}

#[tokio::test]
async fn a_package_without_the_wanted_module_says_so() {
    let message = refusal("import json.nope_at_all").await;
    assert_eq!(
        message,
        "No module named 'json.nope_at_all': the package 'json' has no such module"
    );
}

#[tokio::test]
async fn modules_come_from_the_host() {
    let source = "
import servers, servers.files, tool_discovery, client
from servers import files
from servers.files import echo, divide
import servers.files as same
from skills.report import TITLE
import skills.report
print(files is servers.files is same, TITLE, skills.report.files is files)
print(await echo(a=1), await files.echo(b=[2]), divide(6, 3))
print(tool_discovery.search('x'), servers.__doc__, files.__name__)
print(client.query('double', {'n': 21}))
";
    let (outcome, _) = run_hosted(source).await;
    value(&outcome);
    let expected =
        "True Report True\n{'a': 1} {'b': [2]} 2.0\n['x'] The servers. servers.files\n42\n";
    assert_eq!(outcome.stdout, expected);
}

#[tokio::test]
async fn the_host_is_asked_once_for_each_module() {
    let source = "
import servers.files
def again():
    import servers.files, client
    from servers import files
    from servers.files import echo
for _ in range(100): again()
import servers
";
    let (outcome, host) = run_hosted(source).await;
    value(&outcome);
    assert_eq!(*host.asked.lock().unwrap(), ["servers", "servers.files", "client"]);
}

#[tokio::test]
async fn of_what_is_not_there_the_host_is_asked_only_whether_a_server_is_meant() {
    let source = "
import json
for name in ('numpy', 'os', 'jsn', 'server', 'clients', 'xservers.files'):
    try: __import__(name)
    except ImportError: pass
";
    let (outcome, host) = run_hosted(source).await;
    value(&outcome);
    let servers = ["servers.jsn", "servers.server", "servers.clients", "servers.xservers"];
    assert_eq!(*host.asked.lock().unwrap(), servers);
}

#[tokio::test]
async fn a_traceback_shows_the_lines_of_a_module_of_the_host() {
    let (outcome, _) = run_hosted("from servers import files\nfiles.divide(1, 0)").await;
    let expected = "Traceback (most recent call last):\n  File \"main.py\", line 2, in <module>\n    \
                    files.divide(1, 0)\n    ~~~~~~~~~~~~^^^^^^\n  File \"<servers.files>\", line 9, in divide\n    \
                    return a / b\n           ~~^~~\nZeroDivisionError: division by zero\n";
    let failure = failure(&outcome);
    assert_eq!(failure.traceback, expected);
    assert_eq!(failure.line, Some(2));
}

#[tokio::test]
async fn a_module_of_the_host_that_fails_shows_where() {
    let (outcome, _) = run_hosted("x = 1\nimport servers.broken").await;
    let expected = "Traceback (most recent call last):\n  File \"main.py\", line 2, in <module>\n    \
                    import servers.broken\n  File \"<servers.broken>\", line 2, in <module>\n    \
                    raise RuntimeError('the module fails')\nRuntimeError: the module fails\n";
    assert_eq!(failure(&outcome).traceback, expected);

    let (outcome, _) = run_hosted("import servers.wrong").await;
    let failure = failure(&outcome);
    assert_eq!(failure.kind, "SyntaxError");
    let expected = "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n    \
                    import servers.wrong\n  File \"<servers.wrong>\", line 2\n    \
                    def f(:\n          ^\nSyntaxError: invalid syntax\n";
    assert_eq!(failure.traceback, expected);
}

#[tokio::test]
async fn a_module_of_the_host_can_be_inspected() {
    let source = "
import inspect
from servers import files
print(inspect.getsource(files.divide), end='')
";
    let (outcome, _) = run_hosted(source).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "def divide(a, b):\n    return a / b\n");
}

#[tokio::test]
async fn a_module_that_the_host_does_not_have_says_so() {
    let advice = "there is no such server; there are files, broken";
    let (outcome, _) = run_hosted("import servers.nope").await;
    assert_eq!(failure(&outcome).kind, "ModuleNotFoundError");
    assert_eq!(failure(&outcome).message, format!("No module named 'servers.nope': {advice}"));

    let (outcome, _) = run_hosted("from servers.nope import f").await;
    assert_eq!(failure(&outcome).message, format!("No module named 'servers.nope': {advice}"));

    let message = refusal("import skills.report").await;
    assert_eq!(message, "No module named 'skills': nothing of this kind is configured here");
}

#[tokio::test]
async fn a_file_in_the_workspace_does_not_stand_in_for_the_hosts_modules() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("client.py"), "x = 'from the workspace'").unwrap();
    std::fs::write(directory.path().join("json.py"), "x = 'from the workspace'").unwrap();
    let outcome = crate::support::run_in(
        directory.path(),
        "import client, json\nresult = [hasattr(client, 'x'), hasattr(json, 'x')]",
    )
    .await;
    assert_eq!(*value(&outcome), json!([false, false]));
}

#[tokio::test]
async fn what_the_sandbox_lacks_is_refused_in_one_line() {
    for (source, reason) in [
        ("import subprocess; subprocess.run(['ls'])", "there are no processes in the sandbox"),
        ("import os; os.system('ls')", "there are no processes in the sandbox"),
        ("import threading; threading.Thread(target=print).start()", "there are no threads"),
        (
            "from concurrent.futures import ThreadPoolExecutor; ThreadPoolExecutor().submit(print)",
            "there are no threads",
        ),
        ("import socket; socket.socket()", "there is no network in the sandbox"),
        (
            "import urllib.request; urllib.request.urlopen('http://example.com')",
            "there is no network in the sandbox",
        ),
        (
            "import urllib.request; urllib.request.urlopen('https://example.com')",
            "there is no network in the sandbox",
        ),
        (
            "import http.client; http.client.HTTPSConnection('example.com')",
            "there is no network in the sandbox",
        ),
        (
            "import asyncio; await asyncio.open_connection('example.com', 80)",
            "there is no network in the sandbox",
        ),
        (
            "import asyncio; await asyncio.create_subprocess_exec('ls')",
            "there are no processes in the sandbox",
        ),
    ] {
        let outcome = run(source).await;
        let message = &failure(&outcome).message;
        assert!(message.contains(reason), "{source}: {message}");
        assert_eq!(message.lines().count(), 1, "{source}: {message}");
    }
}
