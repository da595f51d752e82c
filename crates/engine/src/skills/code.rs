//! Analyses the code of a skill before it is saved.

use narrows_model::{Nearest, nearest};
use narrows_python::{
    ParsedProgram, SourceTree, SyntaxFault,
    syntax::{Declaration, Lines, Misplaced, declarations, docstring, misplaced},
    uses::{ToolReference, uses},
};
use narrows_skills::{NameError, check_name};
use ruff_python_ast::Stmt;
use thiserror::Error;

/// The largest code of a skill. Stops a program that fills the store.
const MAX_BYTES: usize = 1 << 20;
/// The most names that an error lists of a module which does not define the right one.
const MAX_NAMES: usize = 10;

/// The reason why code cannot be a skill.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SkillError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(
        "the code of {name} has {bytes} bytes: a skill has at most {MAX_BYTES}; keep data in the workspace"
    )]
    TooLarge { name: String, bytes: usize },
    #[error("the code of {name} is nested too deeply: split long expressions into statements")]
    TooDeep { name: String },
    #[error("the code of {name} does not parse: line {line}: {message}")]
    Syntax { name: String, line: u32, message: String },
    #[error(
        "line {line} of {name}: await outside of a function: a skill is imported, and an import cannot wait; move it into async def {name}(...)"
    )]
    TopLevelAwait { name: String, line: u32 },
    #[error("the code must define {name} at its top level (def, async def, class or assignment); {}{hint}", it_defines(.defined))]
    NotDefined { name: String, defined: Vec<String>, hint: Nearest },
    #[error(
        "line {line} of {name}: from skills import * imports whatever there is: name the skills that it needs"
    )]
    StarOfSkills { name: String, line: u32 },
}

fn it_defines(names: &[String]) -> String {
    match names {
        [] => "it defines nothing".to_owned(),
        _ if names.len() > MAX_NAMES => {
            let shown = names[..MAX_NAMES].join(", ");
            format!("it defines {shown} and {} more", names.len() - MAX_NAMES)
        }
        _ => format!("it defines {}", names.join(", ")),
    }
}

/// The result of analysing the code of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysed {
    pub name: String,
    /// `async filter_high_risk(leads: list[dict], limit: int = 10) -> list[dict]`
    pub signature: String,
    /// The first paragraph of the docstring.
    pub doc: Option<String>,
    /// The tools that it names, each once, in the order of the code.
    pub tools: Vec<ToolReference>,
    /// The skills that it imports, by name.
    pub skills: Vec<String>,
    /// Its functions `test_…`, in the order of the code.
    pub tests: Vec<String>,
}

impl Analysed {
    /// Analyses the code of the skill `name` without running it.
    pub fn of(name: &str, code: &str) -> Result<Self, SkillError> {
        check_name(name)?;
        let owned = || name.to_owned();
        if code.len() > MAX_BYTES {
            return Err(SkillError::TooLarge { name: owned(), bytes: code.len() });
        }
        let tree = SourceTree::new(code);
        let program = ParsedProgram::new(&tree);
        let lines = Lines::of(program.text());
        let body = parse(name, &program, &lines)?;
        if let Some((at, what)) = misplaced(body) {
            let line = lines.line(at);
            return Err(match what {
                Misplaced::TopLevelAwait => SkillError::TopLevelAwait { name: owned(), line },
                Misplaced::Other(said) => {
                    SkillError::Syntax { name: owned(), line, message: said.to_owned() }
                }
            });
        }
        let declared = declarations(body);
        let declaration = find(name, &declared)?;
        let used = uses(&program, &lines);
        if let Some(line) = used.star_of_skills {
            return Err(SkillError::StarOfSkills { name: owned(), line });
        }
        Ok(Self {
            name: owned(),
            signature: declaration.signature(name, program.text()),
            doc: declaration.docstring().or_else(|| docstring(body)),
            tools: used.tools,
            skills: used.skills.into_iter().collect(),
            tests: tests(body),
        })
    }

    /// Returns the tools that the code names directly, without those whose names are computed when it
    /// runs.
    pub fn named_tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter(|used| !used.dynamic).map(|used| used.tool.as_str())
    }

    /// Returns the default description: the docstring, or the words of the name.
    pub fn description(&self) -> String {
        self.doc.clone().unwrap_or_else(|| self.name.replace('_', " "))
    }
}

fn parse<'t>(
    name: &str,
    program: &ParsedProgram<'t>,
    lines: &Lines,
) -> Result<&'t [Stmt], SkillError> {
    let syntax = |line, message| SkillError::Syntax { name: name.to_owned(), line, message };
    if let Some(at) = program.text().find('\0') {
        let line = lines.line(u32::try_from(at).unwrap_or_default().into());
        return Err(syntax(line, "source code cannot contain null bytes".to_owned()));
    }
    program.body().map_err(|fault| match fault {
        SyntaxFault::TooDeep => SkillError::TooDeep { name: name.to_owned() },
        SyntaxFault::Invalid { at, message } => syntax(lines.line(*at), message.clone()),
    })
}

fn find<'a>(
    name: &str,
    declared: &[(&'a str, Declaration<'a>)],
) -> Result<Declaration<'a>, SkillError> {
    if let Some((_, found)) = declared.iter().rev().find(|(known, _)| *known == name) {
        return Ok(*found);
    }
    let mut defined: Vec<&str> = Vec::new();
    for (known, _) in declared {
        if !known.starts_with('_') && !defined.contains(known) && defined.len() < 1_000 {
            defined.push(known);
        }
    }
    Err(SkillError::NotDefined {
        name: name.to_owned(),
        hint: nearest(name, defined.iter().copied()),
        defined: defined.into_iter().map(str::to_owned).collect(),
    })
}

fn tests(body: &[Stmt]) -> Vec<String> {
    let functions = body.iter().filter_map(Stmt::as_function_def_stmt);
    let names = functions.map(|function| function.name.as_str());
    let mut tests: Vec<String> = Vec::new();
    for name in names.filter(|name| name.starts_with("test_")) {
        if !tests.iter().any(|known| known == name) {
            tests.push(name.to_owned());
        }
    }
    tests
}
