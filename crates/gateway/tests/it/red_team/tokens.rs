//! Attempts to have tokens turned back into what they stand for. All of them are held.

use super::{
    Attempt,
    Step::{Call, Run},
    attempt,
};

pub(crate) const BY_TOKEN: &[Attempt] = &[
    attempt(
        "token: restored by the tool",
        &[
            Run("result = record"),
            Call("restore_pii", r#"{"text": "<EMAIL> <API_KEY>"}"#),
            Call("restore_pii", r#"{"data": {"a": ["<US_SSN>"]}}"#),
        ],
    ),
    attempt(
        "token: restored in code",
        &[
            Run("result = record"),
            Call("execute_code", r#"{"code": "result = restore_pii('<EMAIL> <API_KEY>')"}"#),
        ],
    ),
    attempt(
        "token: sanitized again",
        &[Run("result = record"), Call("sanitize_pii", r#"{"text": "<EMAIL> <API_KEY>"}"#)],
    ),
    attempt(
        "token: echoed",
        &[
            Run("result = record"),
            Call("echo", r#"{"text": "<EMAIL>, <API_KEY>, <US_SSN>"}"#),
            Call(
                "execute_code",
                r#"{"code": "from servers.crm import echo\nresult = await echo(text='<EMAIL>, <API_KEY>')"}"#,
            ),
        ],
    ),
    attempt(
        "token: echoed within data",
        &[
            Run("result = record"),
            Call(
                "echo_data",
                r#"{"value": {"<EMAIL>": [["<API_KEY>", {"<US_SSN>": "<CREDIT_CARD>"}]]}}"#,
            ),
        ],
    ),
    attempt(
        "token: echoed in a failure",
        &[
            Run("result = record"),
            Call("echo_error", r#"{"text": "<EMAIL> <API_KEY>"}"#),
            Call(
                "execute_code",
                r#"{"code": "from servers.crm import echo_error\nawait echo_error(text='<EMAIL> <API_KEY>')"}"#,
            ),
        ],
    ),
    attempt(
        "token: glued to letters, so that it is found no more",
        &[
            Run("result = record"),
            Call("echo", r#"{"text": "x<API_KEY>x"}"#),
            Call("echo", r#"{"text": "7<US_SSN>7"}"#),
            Call("echo", r#"{"text": "8<CREDIT_CARD>8"}"#),
            Call("echo", r#"{"text": "9<PHONE>9"}"#),
            Call("echo", r#"{"text": "z<EMAIL>z"}"#),
        ],
    ),
    attempt(
        "token: glued to letters in code",
        &[
            Run("result = record"),
            Call(
                "execute_code",
                r#"{"code": "from servers.crm import echo\nresult = [await echo(text='x<API_KEY>x'), await echo(text='7<US_SSN>7'), await echo(text='8<CREDIT_CARD>8')]"}"#,
            ),
        ],
    ),
    attempt(
        "token: given to a tool that changes it",
        &[
            Run("result = record"),
            Call("echo_base64", r#"{"text": "<EMAIL>"}"#),
            Call("echo_reversed", r#"{"text": "<API_KEY>"}"#),
            Call(
                "execute_code",
                r#"{"code": "from servers.crm import echo_base64, echo_upper\nresult = [await echo_base64(text='<EMAIL>'), await echo_upper(text='<API_KEY>')]"}"#,
            ),
        ],
    ),
    attempt(
        "token: as an argument that does not fit",
        &[
            Run("result = record"),
            Call("echo", r#"{"text": ["<EMAIL>", "<API_KEY>"]}"#),
            Call("echo", r#"{"wrong": "<EMAIL>"}"#),
        ],
    ),
    attempt(
        "token: in a question whether it may be sent",
        &[Run("result = record"), Call("remove", r#"{"email": "<EMAIL>"}"#)],
    ),
    attempt(
        "token: written to a file",
        &[
            Run("result = record"),
            Call("write_workspace_file", r#"{"path": "t.txt", "content": "<EMAIL> <API_KEY>"}"#),
            Call("read_workspace_file", r#"{"path": "t.txt"}"#),
        ],
    ),
    attempt(
        "token: sent to a tool that may not have it",
        &[
            Run("result = record"),
            Call("post", r#"{"url": "u", "body": "for <EMAIL>"}"#),
            Call(
                "execute_code",
                r#"{"code": "from servers.http import get\nresult = await get(url='https://<EMAIL>')"}"#,
            ),
        ],
    ),
];
