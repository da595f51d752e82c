//! The blocks of README.md, run as they are written.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::{
    dead::Place,
    real::{document, text},
};

/// What is tried, and the servers that it names.
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/readme.py");

/// Commands that cannot be run here, by their beginning, and why.
const NOT_RUN: [(&str, &str); 8] = [
    ("pip install ", "needs the packages that `make package` writes"),
    ("npm install ", "needs the packages that `make package` writes"),
    ("sudo apt install ", "needs the packages that `make package` writes, and root"),
    ("cargo install ", "builds all of Narrows"),
    ("docker build ", "needs Docker and the network"),
    ("cargo run ", "builds all of Narrows"),
    ("make test", "runs this test"),
    (
        "narrows bench ",
        "measures for minutes; whether there is such a part and option is looked at",
    ),
];

/// A command that adds a server on the network, which the next command would start: another reader runs
/// it.
const RUN_APART: &str = "narrows servers add linear ";

/// What the reader of a Python block has, by something that the block says.
fn context_of(block: &str) -> Value {
    if block.contains("write_file(") {
        let code =
            "def high_risk(leads):\n    return [lead for lead in leads if lead[\"risk\"] > 7]\n";
        json!({"text": "sector,roi\ntech,2\n", "code": code})
    } else if block.contains("await sql(") {
        let stock = |sector: &str, roi: f64| json!({"sector": sector, "roi": roi});
        json!({"stocks": [stock("tech", 2.0), stock("tech", 4.0), stock("food", 1.0)]})
    } else {
        json!({})
    }
}

/// A fenced block.
struct Block {
    language: String,
    /// Where it begins, as editors count.
    line: usize,
    text: String,
}

fn blocks() -> Vec<Block> {
    let readme = fs::read_to_string(README).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (number, line) in readme.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                let language = language.to_owned();
                blocks.push(Block { language, line: number + 1, text: String::new() });
            }
            None if is_open => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

fn blocks_of(language: &str) -> Vec<Block> {
    let found: Vec<Block> =
        blocks().into_iter().filter(|block| block.language == language).collect();
    assert!(!found.is_empty(), "README.md has no block of {language}");
    found
}

/// A user with a home and the commands of README.md.
struct Reader {
    place: Place,
}

impl Reader {
    fn new() -> Self {
        let place = Place::new();
        let bin = place.file("bin");
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_narrows"), bin.join("narrows")).unwrap();
        // In the place of a server that would be downloaded.
        let npx = bin.join("npx");
        fs::write(&npx, format!("#!/bin/sh\nexec python3 '{SERVERS}' files\n")).unwrap();
        fs::set_permissions(&npx, fs::Permissions::from_mode(0o755)).unwrap();
        Self { place }
    }

    /// One whose servers are configured.
    fn with_servers() -> Self {
        let mut reader = Self::new();
        for name in ["github", "crm", "files"] {
            reader.place = reader.place.command(name, "python3", &[SERVERS, name], "");
        }
        reader
    }

    /// Gives a command the surroundings of this reader.
    fn surround<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let paths = std::env::var("PATH").unwrap();
        command
            .current_dir(self.place.file(""))
            .env("PATH", format!("{}:{paths}", self.place.file("bin").display()))
            .env("HOME", self.place.file(""))
            .env("XDG_CONFIG_HOME", self.place.file(".config"))
            .env("NARROWS_CONFIG_DIR", self.place.file("config"))
            .env("NARROWS_DATA_DIR", self.place.file("data"))
            .env("NARROWS_CACHE_DIR", self.place.file("cache"))
            .env_remove("NARROWS_LOG")
            .stdin(Stdio::null())
    }

    fn sh(&self, command: &str) -> Output {
        self.surround(Command::new("sh").args(["-c", command])).output().unwrap()
    }

    #[track_caller]
    fn done(&self, command: &str) -> String {
        let output = self.sh(command);
        let (said, wrong) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{command}: {}\n{said}{wrong}", output.status);
        said
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.place.file(name), content).unwrap();
    }

    /// The names of the servers that are configured.
    #[track_caller]
    fn servers(&self) -> Vec<String> {
        let listed: Value =
            serde_json::from_str(&self.done("narrows servers list --json")).unwrap();
        let servers = listed["servers"].as_array().unwrap().iter();
        servers.map(|server| server["name"].as_str().unwrap().to_owned()).collect()
    }

    /// A call that waits for a person.
    fn approval(&self) -> String {
        let delete = "from servers.crm import delete_customer; await delete_customer(id=7)";
        let output = self.sh(&format!("narrows run --timeout 120 -c '{delete}'"));
        assert!(!output.status.success(), "{output:?}");
        let waiting = document(&self.sh("narrows approvals list --json"));
        waiting["approvals"][0]["id"].as_str().unwrap().to_owned()
    }
}

/// Why a command is not run.
fn reason(command: &str) -> Option<&'static str> {
    NOT_RUN.iter().find(|(beginning, _)| command.starts_with(beginning)).map(|(_, why)| *why)
}

#[test]
fn no_block_is_of_a_language_that_is_not_tried() {
    for block in blocks() {
        let tried = ["python", "console", "sh", "toml"].contains(&block.language.as_str());
        assert!(tried, "README.md:{}: a block of {:?}", block.line, block.language);
    }
}

#[test]
fn python_blocks_run_as_they_are_written() {
    let reader = Reader::with_servers();
    reader.write("heads.csv", "sector,head\ntech,Ada\nfood,Grace\n");
    reader.done("narrows workspace put heads.csv");
    for block in blocks_of("python") {
        reader.write("program.py", &block.text);
        let context = context_of(&block.text).to_string();
        let run = format!("narrows run --json --timeout 120 program.py --context '{context}'");
        let output = reader.sh(&run);
        let outcome = document(&output);
        assert_eq!(outcome["success"], true, "README.md:{}: {outcome:#}", block.line);
        if block.text.contains("list_issues") {
            assert_eq!(outcome["result"], json!(["a bug"]));
        }
    }
    // What lasts is there for the next program, and for the command line.
    let next = "from skills import high_risk; high_risk([{\"risk\": 9}, {\"risk\": 1}])";
    let found: Value =
        serde_json::from_str(&reader.done(&format!("narrows run -c '{next}'"))).unwrap();
    assert_eq!(found, json!([{"risk": 9}]));
    assert_eq!(reader.done("narrows workspace show report.csv"), "sector,roi\ntech,2\n");
    let board: Value =
        serde_json::from_str(&reader.done("narrows boards show plan --json")).unwrap();
    assert_eq!(board["messages"][0]["body"], json!({"task": 7}));
}

/// The tokens of a text depend on the vault's key.
fn without_tokens(text: &str) -> String {
    let mut parts = text.split("[EMAIL_");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once(']').unwrap();
        plain += "[EMAIL]";
        plain += rest;
    }
    plain
}

#[test]
fn console_blocks_print_what_they_show() {
    for block in blocks_of("console") {
        let reader = Reader::with_servers();
        reader.write("report.py", "import os\nprint(os.listdir('/workspace'))");
        let approval = reader.approval();
        for part in format!("\n{}", block.text).split("\n$ ").skip(1) {
            let (command, shown) = part.split_once('\n').unwrap_or((part, ""));
            // The name of an approval is another each time.
            let command = match command.strip_prefix("narrows approvals allow ") {
                Some(_) => format!("narrows approvals allow {approval}"),
                None => command.to_owned(),
            };
            let said = reader.done(&command);
            if !shown.trim().is_empty() {
                let said = without_tokens(said.trim_end());
                assert_eq!(
                    said,
                    without_tokens(shown.trim_end()),
                    "README.md:{}: {command}",
                    block.line
                );
            }
        }
    }
}

#[test]
fn shell_blocks_run_or_say_why_not() {
    let mut unused: Vec<&str> = NOT_RUN.iter().map(|(beginning, _)| *beginning).collect();
    let (reader, apart) = (Reader::new(), Reader::new());
    fs::create_dir(reader.place.file(".cursor")).unwrap();
    let server = json!({"command": "python3", "args": [SERVERS, "github"]});
    reader.write(".cursor/mcp.json", &json!({"mcpServers": {"github": server}}).to_string());
    for block in blocks_of("sh") {
        for command in block.text.lines().filter(|line| !line.trim().is_empty()) {
            if command.starts_with(RUN_APART) {
                apart.done(command);
                continue;
            }
            if reason(command).is_none() {
                reader.done(command);
                continue;
            }
            unused.retain(|beginning| !command.starts_with(beginning));
            if let Some(arguments) = command.strip_prefix("narrows ") {
                command_exists(&reader, arguments);
            }
        }
    }
    assert_eq!(unused, Vec::<&str>::new(), "README.md has no such command any more");
    assert_eq!(reader.servers(), ["github", "files"]);
    assert_eq!(apart.servers(), ["linear"]);
}

/// The command is there, with the options that it is given.
#[track_caller]
fn command_exists(reader: &Reader, arguments: &str) {
    let arguments = arguments.split('#').next().unwrap_or_default();
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let command: Vec<&str> =
        words.iter().copied().take_while(|word| !word.starts_with('-')).collect();
    let help = reader.done(&format!("narrows {} --help", command.join(" ")));
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "narrows {arguments} has no {option}");
    }
}

#[test]
fn toml_blocks_are_configurations() {
    for block in blocks_of("toml") {
        let reader = Reader::new();
        reader.write("narrows.toml", &block.text);
        let variables = "GITHUB_TOKEN=a NARROWS_KEY=a-key-of-clients-0 PLANNER_KEY=a-key-of-planner-0 \
                         PASSWORD=a NARROWS_STORE=sqlite:store.db";
        let listed = reader.done(&format!("{variables} narrows servers list --json"));
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let names: Vec<&Value> =
            listed["servers"].as_array().unwrap().iter().map(|server| &server["name"]).collect();
        assert_eq!(names, ["github", "linear"], "README.md:{}", block.line);
        // What agents, limits and safety are made of is read too.
        reader.done(&format!("{variables} narrows boards list --agent planner"));
    }
}
