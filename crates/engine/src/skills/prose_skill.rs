//! A skill of instructions as code: a module that holds the texts, and a function of the skill's
//! name that gives them. So an agent reads it with one call, and a file that the instructions
//! speak of with another one, only when it is needed.

use std::fmt::Write as _;

use narrows_python::syntax::{Declaration, declarations};
use ruff_python_ast::{Expr, Stmt};
use ruff_python_parser::parse_module;

/// Files that are texts are taken as far as they fit into a skill.
const MAX_BYTES: usize = 768 << 10;
/// Says that a module was made here.
const MARK: &str = "An Agent Skill of instructions";

/// The texts of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) instructions: String,
    /// By path.
    pub(super) files: Vec<(String, String)>,
}

impl Texts {
    /// The module. Files that do not fit are named in it.
    pub(super) fn to_code(&self, name: &str, description: &str) -> String {
        let mut left = MAX_BYTES.saturating_sub(self.instructions.len());
        let (mut fit, mut left_out) = (Vec::new(), Vec::new());
        for (path, text) in &self.files {
            match left.checked_sub(text.len() + path.len()) {
                Some(rest) => {
                    left = rest;
                    fit.push((path, text));
                }
                None => left_out.push(path),
            }
        }
        let about = format!("{description}\n\n{MARK}: call {name}() to read them.\n");
        let mut code = format!("{}\n\nINSTRUCTIONS = {}\n", text(&about), text(&self.instructions));
        code.push_str("\nFILES = {\n");
        for (path, content) in fit {
            let _ = writeln!(code, "    {}: {},", line(path), text(content));
        }
        code.push_str("}\n");
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.into_iter().map(|path| line(path)).collect();
            let _ = writeln!(code, "\nLEFT_OUT = [{}]", names.join(", "));
        }
        let _ = write!(
            code,
            "\n\ndef {name}(file: str | None = None) -> str:\n    \
             {}\n    \
             if file is None:\n        \
             return INSTRUCTIONS\n    \
             if file not in FILES:\n        \
             raise FileNotFoundError(f\"this skill has no file {{file!r}}; it has: {{', '.join(FILES) or 'none'}}\")\n    \
             return FILES[file]\n",
            text(description)
        );
        code
    }

    /// The texts of a module that was made here.
    pub(super) fn of_code(code: &str) -> Option<Self> {
        let module = parse_module(code).ok()?.into_syntax();
        let Stmt::Expr(first) = module.body.first()? else { return None };
        if !string(&first.value)?.contains(MARK) {
            return None;
        }
        let declared = declarations(&module.body);
        let value = |wanted: &str| {
            declared.iter().find_map(|(name, declaration)| match declaration {
                Declaration::Value { value, .. } if *name == wanted => *value,
                _ => None,
            })
        };
        let files = value("FILES")?.as_dict_expr()?;
        let files = files.items.iter().map(|item| {
            Some((string(item.key.as_ref()?)?.to_owned(), string(&item.value)?.to_owned()))
        });
        Some(Self {
            instructions: string(value("INSTRUCTIONS")?)?.to_owned(),
            files: files.collect::<Option<_>>()?,
        })
    }
}

fn string(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

/// A text as a Python literal that people can read.
fn text(text: &str) -> String {
    format!("\"\"\"\\\n{}\"\"\"", escaped(text, '\n'))
}

fn line(text: &str) -> String {
    format!("\"{}\"", escaped(text, ' '))
}

/// The inside of a literal, in which only `kept` of all spaces stands as it is.
fn escaped(text: &str, kept: char) -> String {
    let mut inside = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => inside.push_str("\\\\"),
            '"' => inside.push_str("\\\""),
            c if c == kept => inside.push(c),
            '\t' => inside.push_str("\\t"),
            // Python reads each of these as one line end.
            '\n' => inside.push_str("\\n"),
            '\r' => inside.push_str("\\r"),
            c if c.is_control() => _ = write!(inside, "\\U{:08x}", u32::from(c)),
            c => inside.push(c),
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{super::code::Analysed, *};

    #[test]
    fn any_text_comes_back() {
        let strange = "\u{feff}a \\ \\n \" \"\"\" '''\n\t\r\n\0\u{7f}\u{85}\u{2028}é😀 {x}\"";
        let texts = Texts {
            instructions: strange.to_owned(),
            files: vec![(format!("references/{strange}"), strange.to_owned())],
        };
        let code = texts.to_code("read_pdf", strange);
        assert_eq!(Texts::of_code(&code).as_ref(), Some(&texts), "{code}");
        let skill = Analysed::of("read_pdf", &code).unwrap();
        assert_eq!(skill.signature, "read_pdf(file: str | None = None) -> str");
        assert_eq!(skill.tools, []);
    }

    #[test]
    fn files_that_do_not_fit_are_named() {
        let files =
            vec![("large.md".to_owned(), "x".repeat(1 << 20)), ("a.md".to_owned(), "a".to_owned())];
        let texts = Texts { instructions: "Do it.".to_owned(), files };
        let code = texts.to_code("a", "A skill.");
        Analysed::of("a", &code).unwrap();
        assert!(code.contains("LEFT_OUT = [\"large.md\"]"));
        assert_eq!(Texts::of_code(&code).unwrap().files, [("a.md".to_owned(), "a".to_owned())]);
    }

    #[test]
    fn other_code_has_no_texts() {
        for code in ["", "def f(", "INSTRUCTIONS = 'x'\nFILES = {}", "'''doc'''"] {
            assert_eq!(Texts::of_code(code), None, "{code}");
        }
    }
}
