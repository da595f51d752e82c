//! What a program keeps where it has real values, for others to find where they have none.

use super::{
    Attempt,
    Step::{self, Call, Code, In, Run},
    attempt,
};

pub(crate) const KEEPS: &[Step] = &[
    Run("board('left').post(record)"),
    Run("shared['left'] = record"),
    Run("shared[email] = 1"),
    Run("save_skill('left', f'def left():\\n    return \"{email}\"\\n')"),
    Run("write_file('left.txt', email)"),
    In("left", "left = email"),
];

pub(crate) const READS: &[Attempt] = &[
    attempt("kept: on a board", &[Code("result = list(board('left').read()[0]['body']['email'])")]),
    attempt("kept: as a shared value", &[Code("result = list(shared['left']['email'])")]),
    attempt(
        "kept: as the name of a shared value",
        &[Code("result = [list(name) for name in shared]")],
    ),
    attempt("kept: by a skill", &[Code("from skills import left\nresult = list(left())")]),
    attempt("kept: in the text of a skill", &[Code("result = list(load_skill('left'))")]),
    attempt("kept: in a file", &[Code("result = list(open('/workspace/left.txt').read())")]),
    attempt(
        "kept: in a session",
        &[Call("execute_code", r#"{"code": "result = list(left)", "session_id": "left"}"#)],
    ),
];
