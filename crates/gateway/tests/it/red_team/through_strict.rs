//! What gets values out of `strict` where a tool helps: it gives a text letter by letter, encoded by
//! itself, or it confirms a guess. No gateway sees this; it is documented,
//! and rules for tools stop it. The last is allowed by the configuration: the control of those in
//! `tokens`.

use super::{
    Attempt,
    Step::{Call, Code, Run},
    attempt,
};

/// A value that comes back in a common form is recognised.
pub(crate) const CHANGED: &[Attempt] = &[
    attempt(
        "strict: changed by a tool",
        &[
            Run("result = record"),
            Call(
                "execute_code",
                r#"{"code": "from servers.crm import echo_base64\nresult = await echo_base64(text='<EMAIL>')"}"#,
            ),
        ],
    ),
    attempt(
        "strict: changed by a direct tool",
        &[Run("result = record"), Call("echo_reversed", r#"{"text": "<API_KEY>"}"#)],
    ),
];

pub(crate) const THROUGH_STRICT: &[Attempt] = &[
    attempt(
        "strict: given letter by letter",
        &[Code(
            "from servers.crm import piece\nimport asyncio\nletters = await asyncio.gather(*[piece(at=at) for at in range(27, 58)])\nresult = [str(letter)[1:2] for letter in letters]",
        )],
    ),
    attempt(
        "strict: encoded by the server",
        &[Code("from servers.crm import encoded\nresult = await encoded()")],
    ),
    attempt(
        "strict: in a picture",
        &[Code(
            "from servers.crm import picture\nshown = await picture()\nresult = open(shown['path'], 'rb').read().hex()",
        )],
    ),
    attempt(
        "strict: guessed, with tokens to compare",
        &[Run(
            "known = record['phone']\nguesses = [f'+1 415 555 {n:04}' for n in range(2600, 2700)]\nfor guess, token in zip(guesses, sanitize_pii(guesses)):\n    if token == known:\n        result = list(guess)",
        )],
    ),
    attempt(
        "strict: restored by one who may",
        &[Run("result = record"), Call("restore_pii", r#"{"text": "<EMAIL> <API_KEY>"}"#)],
    ),
];
