//! Translates the variables of each client to `${NAME}`.

use std::path::Path;

use super::Home;
use crate::places::Os;

/// The syntax of a client's variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableSyntax {
    /// No variables: `${X}` is text, perhaps for a shell.
    None,
    /// `${X}` and `${X:-default}`, as in Narrows.
    Same,
    /// `$X` too.
    Shell,
    /// `${env:X}`, `${input:x}`, `${userHome}`, `${workspaceFolder}`, as editors have them.
    Editor,
    /// `{env:X}` and `{file:path}`.
    Braces,
}

/// A translator of one server's texts, which notes what the user has to know.
#[derive(Debug)]
pub(crate) struct Translator<'a> {
    pub syntax: VariableSyntax,
    pub home: &'a Home,
    pub project: Option<&'a Path>,
    pub notes: Vec<String>,
}

impl Translator<'_> {
    pub(crate) fn translate(&mut self, text: &str) -> String {
        match self.syntax {
            VariableSyntax::None => escape(text),
            VariableSyntax::Same => text.to_owned(),
            VariableSyntax::Shell => from_shell(text),
            VariableSyntax::Editor => self.replace(text, "${", Self::editor),
            VariableSyntax::Braces => self.replace(&escape(text), "{", Self::braces),
        }
    }

    /// Replaces each text between `open` and the next brace for which `meaning` has a translation.
    fn replace(
        &mut self,
        text: &str,
        open: &str,
        meaning: fn(&mut Self, &str) -> Option<String>,
    ) -> String {
        let mut translated = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(open) {
            let after = &rest[start + open.len()..];
            let Some(end) = after.find('}') else { break };
            translated.push_str(&rest[..start]);
            match meaning(self, &after[..end]) {
                Some(meaning) => {
                    translated.push_str(&meaning);
                    rest = &after[end + 1..];
                }
                None => {
                    translated.push_str(open);
                    rest = after;
                }
            }
        }
        translated.push_str(rest);
        translated
    }

    fn editor(&mut self, name: &str) -> Option<String> {
        let project = self.project.map(|project| project.to_string_lossy().into_owned());
        let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
        let meaning = match kind {
            "env" => format!("${{{rest}}}"),
            "userHome" => self.home.directory.to_string_lossy().into_owned(),
            "pathSeparator" | "/" => if self.home.os == Os::Windows { "\\" } else { "/" }.into(),
            "workspaceFolder" | "workspaceRoot" if project.is_some() => project?,
            "workspaceFolderBasename" if self.project.is_some() => {
                self.project?.file_name()?.to_string_lossy().into_owned()
            }
            "input" => self.variable(&format!("INPUT_{rest}"), "it was asked for by the client"),
            _ if rest.is_empty() && is_variable(kind) && !kind.starts_with("workspace") => {
                format!("${{{kind}}}")
            }
            _ => self.variable(name, &format!("it was {name} in the client")),
        };
        Some(meaning)
    }

    fn braces(&mut self, name: &str) -> Option<String> {
        if let Some(name) = name.strip_prefix("env:") {
            return Some(format!("${{{name}}}"));
        }
        let path = name.strip_prefix("file:")?;
        let file = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        Some(self.variable(&format!("FILE_{file}"), &format!("it was the content of {path}")))
    }

    /// Returns a reference to a variable, and notes that the user has to set it from now on.
    fn variable(&mut self, name: &str, reason: &str) -> String {
        let name = snake(name);
        self.note(format!("set the environment variable {name}: {reason}"));
        format!("${{{name}}}")
    }

    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Escapes `${` in a text without variables, so that it is not taken for one here.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        // Without a closing brace, it is not a variable here.
        if !after.contains('}') {
            break;
        }
        escaped.push_str(before);
        escaped.push_str("$${");
        rest = &after[2..];
    }
    escaped.push_str(rest);
    escaped
}

/// Writes `$NAME` as `${NAME}`.
pub(crate) fn from_shell(text: &str) -> String {
    let mut translated = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        let (before, after) = rest.split_at(start + 1);
        translated.push_str(before);
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
        let name = &after[..end];
        if is_variable(name) {
            translated.push_str(&format!("{{{name}}}"));
            rest = &after[end..];
        } else {
            rest = after;
        }
    }
    translated.push_str(rest);
    translated
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Writes `github-token` and `githubToken` as `GITHUB_TOKEN`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for letter in name.chars() {
        if lower && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        lower = letter.is_ascii_lowercase();
        let letter = if letter.is_ascii_alphanumeric() { letter } else { '_' };
        if letter != '_' || !snake.ends_with('_') {
            snake.push(letter.to_ascii_uppercase());
        }
    }
    snake.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use narrows_model::Template;

    use super::*;

    fn translate(syntax: VariableSyntax, text: &str) -> (String, Vec<String>) {
        let home = Home::at(Os::Linux, Path::new("/h"));
        let project = Some(Path::new("/p/q"));
        let mut translator = Translator { syntax, home: &home, project, notes: Vec::new() };
        (translator.translate(text), translator.notes)
    }

    #[test]
    fn text_without_variables_stays_text() {
        for text in ["${HOME}", "a $${X} b", "${ open", "$X", "a${b}c${d}"] {
            let (written, notes) = translate(VariableSyntax::None, text);
            let expanded = Template::new(written).expand(|_| panic!("no variable is meant"));
            assert_eq!((expanded.as_deref(), notes.len()), (Ok(text), 0));
        }
    }

    #[test]
    fn each_syntax_becomes_ours() {
        for (syntax, text, expected) in [
            (VariableSyntax::Same, "${A} ${B:-c}", "${A} ${B:-c}"),
            (VariableSyntax::Shell, "$A/${B}/$5/$", "${A}/${B}/$5/$"),
            (VariableSyntax::Editor, "${env:A} ${B} ${userHome}${/}x", "${A} ${B} /h/x"),
            (VariableSyntax::Editor, "${workspaceFolder}/a ${workspaceFolderBasename}", "/p/q/a q"),
            (VariableSyntax::Editor, "${workspaceFolder:root}", "/p/q"),
            (VariableSyntax::Braces, "{env:A} {\"json\": 1} ${C}", "${A} {\"json\": 1} $${C}"),
        ] {
            assert_eq!(translate(syntax, text), (expected.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn what_only_the_client_knows_becomes_a_variable_with_a_note() {
        let (text, notes) = translate(VariableSyntax::Editor, "Bearer ${input:github-token}");
        assert_eq!(text, "Bearer ${INPUT_GITHUB_TOKEN}");
        assert_eq!(
            notes,
            ["set the environment variable INPUT_GITHUB_TOKEN: it was asked for by the client"]
        );
        let (text, notes) = translate(VariableSyntax::Editor, "${config:my.apiKey}");
        assert_eq!((text.as_str(), notes.len()), ("${CONFIG_MY_API_KEY}", 1));
        let (text, notes) = translate(VariableSyntax::Braces, "{file:~/.secrets/key.txt}");
        assert_eq!((text.as_str(), notes.len()), ("${FILE_KEY_TXT}", 1));
    }
}
