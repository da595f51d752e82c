//! `narrows man`: manual pages, made of what the command line says of itself.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

use crate::{app::Exit, cli::Cli, output_file::OutputFile, printer::Printer};

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this directory, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A manual page as `man` reads it, with the name of its file.
#[derive(Debug)]
struct ManPage {
    file_name: String,
    roff: Vec<u8>,
}

pub(crate) fn run(args: ManArgs, printer: Printer) -> anyhow::Result<Exit> {
    let pages = pages()?;
    let Some(directory) = args.out else {
        // The first is that of `narrows` itself, which names the others.
        if let Some(page) = pages.first() {
            printer.bytes(&page.roff)?;
        }
        return Ok(Exit::Success);
    };
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    for page in pages {
        let path = directory.join(&page.file_name);
        let write = || {
            let mut file = OutputFile::create(&path)?;
            file.write_all(&page.roff)?;
            file.persist()
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Exit::Success)
}

/// Returns the pages of `narrows` and of every command that is not hidden.
fn pages() -> io::Result<Vec<ManPage>> {
    // `narrows help` prints what the pages say.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, pages: &mut Vec<ManPage>) -> io::Result<()> {
    pages.push(page(command)?);
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        collect(subcommand, pages)?;
    }
    Ok(())
}

fn page(command: &Command) -> io::Result<ManPage> {
    let notes = command.get_after_long_help().or_else(|| command.get_after_help());
    let man = Man::new(command.clone().after_help(None).after_long_help(None))
        // Not the empty text, which would not be quoted, and so the version would become the date.
        .date(" ")
        .source(concat!("narrows ", env!("CARGO_PKG_VERSION")))
        .manual("Narrows");
    let mut roff = Vec::new();
    man.render(&mut roff)?;
    if let Some(notes) = notes {
        // These are mostly examples: their lines stay as they are.
        let mut section = Roff::new();
        section.control("SH", ["NOTES"]).control("nf", []);
        for line in notes.to_string().lines() {
            section.text([roman(line)]);
        }
        section.control("fi", []);
        section.to_writer(&mut roff)?;
    }
    Ok(ManPage { file_name: man.get_filename(), roff })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(pages: &[ManPage], file_name: &str) -> String {
        let page = pages.iter().find(|page| page.file_name == file_name);
        let page = page.unwrap_or_else(|| panic!("there is no page {file_name}"));
        String::from_utf8(page.roff.clone()).unwrap()
    }

    #[test]
    fn every_command_has_a_page_and_hidden_ones_have_none() {
        let pages = pages().unwrap();
        assert_eq!(pages[0].file_name, "narrows.1");
        let main = text_of(&pages, "narrows.1");
        for name in ["serve", "servers", "man", "completions"] {
            assert!(main.contains(&format!("narrows\\-{name}(1)")), "{main}");
        }
        for name in ["narrows-serve.1", "narrows-servers-add.1", "narrows-bench-sandbox.1"] {
            let page = text_of(&pages, name);
            assert!(page.contains("\\-\\-config"), "global options are on {name}: {page}");
        }
        for hidden in ["narrows-guard.1", "narrows-demo-server.1", "narrows-help.1"] {
            assert!(pages.iter().all(|page| page.file_name != hidden), "{hidden}");
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let page = text_of(&pages().unwrap(), "narrows-serve.1");
        let (_, notes) = page.split_once(".SH NOTES\n.nf\n").unwrap();
        assert!(notes.contains("\n  claude mcp add narrows \\-\\- narrows serve\n"), "{notes}");
        assert!(notes.ends_with(".fi\n"), "{notes}");
    }

    #[test]
    fn titles_name_the_version_and_no_date() {
        let page = text_of(&pages().unwrap(), "narrows-servers-add.1");
        let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!(".TH narrows-servers-add 1 \" \" \"narrows {version}\" Narrows");
        assert_eq!(title, expected);
    }
}
