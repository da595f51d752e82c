//! Reads the Python of skills for `narrows_skills`.

use narrows_python::syntax::{Declaration, declarations};
use narrows_skills::{CodeError, CodeReader, PROSE_MARK, SkillCode, Texts};
use ruff_python_ast::{Expr, Stmt};
use ruff_python_parser::parse_module;

use super::code::Analysed;

/// A reader that analyses code in the same way as before it is saved.
#[derive(Clone, Copy, Debug)]
pub struct PythonReader;

impl CodeReader for PythonReader {
    fn read(&self, name: &str, code: &str) -> Result<SkillCode, CodeError> {
        let found = Analysed::of(name, code).map_err(CodeError::new)?;
        Ok(SkillCode {
            description: found.description(),
            signature: found.signature,
            tools: found.tools.into_iter().map(|used| used.tool).collect(),
            skills: found.skills,
            tests: found.tests,
        })
    }

    fn texts(&self, code: &str) -> Option<Texts> {
        let module = parse_module(code).ok()?.into_syntax();
        let Stmt::Expr(first) = module.body.first()? else { return None };
        if !string(&first.value)?.contains(PROSE_MARK) {
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
        Some(Texts {
            instructions: string(value("INSTRUCTIONS")?)?.to_owned(),
            files: files.collect::<Option<_>>()?,
        })
    }
}

fn string(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn any_text_comes_back() {
        let strange = "\u{feff}a \\ \\n \" \"\"\" '''\n\t\r\n\0\u{7f}\u{85}\u{2028}é😀 {x}\"";
        let texts = Texts {
            instructions: strange.to_owned(),
            files: vec![(format!("references/{strange}"), strange.to_owned())],
        };
        let code = texts.to_code("read_pdf", strange);
        assert_eq!(PythonReader.texts(&code).as_ref(), Some(&texts), "{code}");
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
        assert_eq!(PythonReader.texts(&code).unwrap().files, [("a.md".to_owned(), "a".to_owned())]);
    }

    #[test]
    fn other_code_has_no_texts() {
        for code in ["", "def f(", "INSTRUCTIONS = 'x'\nFILES = {}", "'''doc'''"] {
            assert_eq!(PythonReader.texts(code), None, "{code}");
        }
    }
}
