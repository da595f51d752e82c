//! Parses the arguments of the tools that run programs, with the usual slips of models.

use std::{sync::Arc, time::Duration};

use narrows_engine::{RunRequest, aliases, check_source, token_stats::RequestStats};
use narrows_model::{Limits, Program};
use serde_json::{Map, Value};

/// The tool whose argument names are used; `execute_python` takes the same.
const EXECUTE_CODE: &str = "execute_code";
const TIMES: (f64, f64) = (Limits::MIN_SECONDS as f64, Limits::MAX_SECONDS as f64);

/// A program to run, and what was corrected in the arguments to understand them.
#[derive(Debug, PartialEq)]
pub(super) struct CodeRequest {
    code: String,
    context: Map<String, Value>,
    timeout: Option<Duration>,
    /// The session whose variables the program sees.
    session: Option<String>,
    /// A stricter isolation level than the caller's own.
    isolation: Option<String>,
    corrections: Vec<String>,
}

impl CodeRequest {
    pub(super) fn parse(mut arguments: Map<String, Value>) -> Result<Self, String> {
        let mut corrections = aliases::rename(EXECUTE_CODE, &mut arguments);
        let code = take_code(&mut arguments, &mut corrections)?;
        check_source(&code).map_err(|error| error.to_string())?;
        let code = without_fences(code, &mut corrections);
        if code.trim().is_empty() {
            return Err("\"code\" is empty; put the Python program there".into());
        }
        let context = match arguments.remove("context") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(context)) => context,
            Some(Value::String(text)) => match serde_json::from_str(&text) {
                Ok(Value::Object(context)) => {
                    corrections.push("\"context\" was JSON in a string, and was parsed".into());
                    context
                }
                _ => return Err("\"context\" is a string, expected an object of variables".into()),
            },
            Some(_) => return Err("\"context\" is not an object of variables".into()),
        };
        let timeout = match arguments.remove("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => Some(read_timeout(&value, &mut corrections)?),
        };
        let session = match arguments.remove("session_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id).filter(|id| !id.is_empty()),
            Some(Value::Number(id)) => Some(id.to_string()),
            Some(_) => return Err("\"session_id\" is not a string".into()),
        };
        let isolation = match arguments.remove("isolation") {
            None | Some(Value::Null) => None,
            Some(Value::String(level)) => Some(level).filter(|level| !level.is_empty()),
            Some(_) => return Err("\"isolation\" is not the name of a level".into()),
        };
        corrections.extend(aliases::take_unknown(EXECUTE_CODE, &mut arguments));
        Ok(Self { code, context, timeout, session, isolation, corrections })
    }

    /// Converts this into a request of the engine, which counts on `stats` what the program's calls
    /// would have cost a model.
    pub(super) fn into_run(self, stats: Arc<RequestStats>) -> RunRequest {
        let Self { code, context, timeout, session, isolation, corrections } = self;
        RunRequest {
            program: Program { context, ..Program::new(code) },
            timeout,
            session,
            isolation,
            notes: corrections,
            stats: Some(stats),
            ..RunRequest::default()
        }
    }
}

fn take_code(
    arguments: &mut Map<String, Value>,
    corrections: &mut Vec<String>,
) -> Result<String, String> {
    match arguments.remove("code") {
        Some(Value::String(code)) => Ok(code),
        Some(Value::Array(lines)) if lines.iter().all(Value::is_string) => {
            corrections.push("the code was a list of lines, and was joined".into());
            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
            Ok(lines.join("\n"))
        }
        Some(Value::Object(mut inner)) => {
            corrections.extend(aliases::rename(EXECUTE_CODE, &mut inner));
            take_code(&mut inner, corrections)
        }
        Some(_) => Err("\"code\" is not a string of Python".into()),
        None => Err("\"code\" is missing; put the Python program there".into()),
    }
}

fn read_timeout(value: &Value, corrections: &mut Vec<String>) -> Result<Duration, String> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('s').trim().parse().ok(),
        _ => None,
    };
    let (min, max) = TIMES;
    let seconds = seconds
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        .ok_or_else(|| format!("\"timeout\" is {value}, expected seconds, from {min} to {max}"))?;
    let within = seconds.clamp(min, max);
    if within != seconds {
        corrections.push(format!("a timeout of {seconds} s is not possible; it is {within} s"));
    }
    Ok(Duration::from_secs_f64(within))
}

/// Takes code out of the Markdown fence in which models quote it, perhaps with prose before and after.
fn without_fences(code: String, corrections: &mut Vec<String>) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let Some(first) = lines.iter().position(|line| is_fence(line)) else { return code };
    // A fence inside of a program is part of a string.
    if !lines[..first].iter().all(|line| is_prose(line)) {
        return code;
    }
    let rest = &lines[first + 1..];
    let last = rest.iter().position(|line| is_fence(line)).unwrap_or(rest.len());
    let prose = lines[..first].iter().chain(rest.iter().skip(last + 1));
    let has_prose = prose.clone().any(|line| !line.trim().is_empty());
    let more = rest.iter().skip(last + 1).any(|line| is_fence(line));
    corrections.push(
        match (has_prose, more) {
            (_, true) => "only the first fenced block was run; send one program",
            (true, false) => "the code was taken out of its fence, and the text around it dropped",
            (false, false) => "the code was taken out of its fence",
        }
        .to_owned(),
    );
    rest[..last].join("\n")
}

/// Tells whether a line before a fence is prose and not Python.
fn is_prose(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || !(line.starts_with(['#', '@', '"', '\''])
            || line.contains(['=', '(', '{', '['])
            || line.starts_with("import ")
            || line.starts_with("from "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<CodeRequest, String> {
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        CodeRequest::parse(arguments)
    }

    fn code(arguments: Value) -> (String, usize) {
        let request = read(arguments).expect("it should be understood");
        (request.code, request.corrections.len())
    }

    #[test]
    fn right_code_is_not_touched() {
        let program = "text = '''\n```\nnot a fence\n```\n'''\nprint(text)";
        assert_eq!(code(json!({ "code": program })), (program.to_owned(), 0));
    }

    #[test]
    fn what_models_do_wrong_is_mended_and_told() {
        for (given, mended) in [
            (json!({"code": "```python\nprint(1)\n```"}), "print(1)"),
            (json!({"code": "Here is the code:\n```py\nprint(1)\n```\nIt prints 1."}), "print(1)"),
            (json!({"code": "```\nprint(1)"}), "print(1)"),
            (json!({"script": "print(1)"}), "print(1)"),
            (json!({"code": ["a = 1", "print(a)"]}), "a = 1\nprint(a)"),
            (json!({"code": "print(1)", "language": "python"}), "print(1)"),
        ] {
            assert_eq!(code(given.clone()), (mended.to_owned(), 1), "{given}");
        }
    }

    #[test]
    fn a_program_that_is_too_long_is_refused_with_the_bound_and_a_place_for_its_data() {
        let long = "x = 1\n".repeat(200_000);
        for code in [json!(long), json!({ "code": long }), json!(vec![long.as_str()])] {
            let told = read(json!({ "code": code })).unwrap_err();
            assert!(
                told.starts_with("the program has 1200000 bytes, and may have 1048576;"),
                "{told}"
            );
            assert!(told.contains("a file of the workspace"), "{told}");
        }
        assert_eq!(code(json!({"code": "x = 1\n".repeat(100_000)})).1, 0);
    }

    #[test]
    fn times_are_kept_within_what_is_possible() {
        let time = |value: Value| {
            let request = read(json!({"code": "1", "timeout": value}));
            request.map(|request| (request.timeout, request.corrections.len()))
        };
        assert_eq!(time(json!(5)), Ok((Some(Duration::from_secs(5)), 0)));
        assert_eq!(time(json!("5s")), Ok((Some(Duration::from_secs(5)), 0)));
        assert_eq!(time(json!(1e9)), Ok((Some(Duration::from_secs(120)), 1)));
        assert!(time(json!("soon")).is_err() && time(json!(-1)).is_err());
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_the_name() {
        for wrong in [
            json!({}),
            json!({"code": 7}),
            json!({"code": " "}),
            json!({"code": "1", "context": 5}),
        ] {
            let message = read(wrong.clone()).expect_err("it should be refused");
            assert!(message.contains("code") || message.contains("context"), "{message}");
        }
    }
}
