//! A skill of instructions as code: a module that holds the texts, and a function of the skill's name
//! that returns them. So an agent reads the instructions with one call, and a file that they mention
//! with another one, only when it is needed.

use std::fmt::Write as _;

/// The size of instructions and text files in a skill; files that do not fit are left out.
const MAX_BYTES: usize = 768 << 10;
/// The mark in the docstring of a module that was generated here.
pub const PROSE_MARK: &str = "An Agent Skill of instructions";

/// The texts of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    pub instructions: String,
    /// The text files, by path.
    pub files: Vec<(String, String)>,
}

impl Texts {
    /// Generates the module. Files that do not fit are only named in it.
    pub fn to_code(&self, name: &str, description: &str) -> String {
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
        let about = format!("{description}\n\n{PROSE_MARK}: call {name}() to read them.\n");
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
}

/// Writes a text as a Python literal that people can read.
fn text(text: &str) -> String {
    format!("\"\"\"\\\n{}\"\"\"", escaped(text, '\n'))
}

fn line(text: &str) -> String {
    format!("\"{}\"", escaped(text, ' '))
}

/// Escapes a text for a literal; of the white space, only `kept` stays as it is.
fn escaped(text: &str, kept: char) -> String {
    let mut inside = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => inside.push_str("\\\\"),
            '"' => inside.push_str("\\\""),
            c if c == kept => inside.push(c),
            '\t' => inside.push_str("\\t"),
            // Python reads each of these as the end of a line.
            '\n' => inside.push_str("\\n"),
            '\r' => inside.push_str("\\r"),
            c if c.is_control() => _ = write!(inside, "\\U{:08x}", u32::from(c)),
            c => inside.push(c),
        }
    }
    inside
}
