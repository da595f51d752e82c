//! The locations of each client's files.

use std::path::{Path, PathBuf};

use super::{ClientApp, Home};
use crate::places::Os;

/// The scope of a file's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    /// Only for work in this directory.
    Project(PathBuf),
}

impl Scope {
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::User => None,
            Self::Project(directory) => Some(directory),
        }
    }
}

/// A file that a client would read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub client: ClientApp,
    pub path: PathBuf,
    pub scope: Scope,
}

impl ClientApp {
    /// Returns the files of this client, whether or not they exist.
    pub fn locations(self, home: &Home, project: Option<&Path>) -> Vec<Location> {
        let own = self.user_files(home).into_iter().map(|path| (path, Scope::User));
        let shared = project.into_iter().flat_map(|directory| {
            let scope = Scope::Project(directory.to_owned());
            self.project_files().iter().map(move |file| (directory.join(file), scope.clone()))
        });
        own.chain(shared).map(|(path, scope)| Location { client: self, path, scope }).collect()
    }

    fn user_files(self, home: &Home) -> Vec<PathBuf> {
        let windows = home.os == Os::Windows;
        match self {
            Self::ClaudeDesktop => {
                vec![home.applications.join("Claude/claude_desktop_config.json")]
            }
            Self::ClaudeCode => vec![home.claude.join(".claude.json")],
            Self::Cursor => vec![home.directory.join(".cursor/mcp.json")],
            Self::VsCode => ["Code", "Code - Insiders"]
                .iter()
                .flat_map(|edition| {
                    let user = home.applications.join(edition).join("User");
                    // Since 1.102, servers have a file of their own; before, they were in the settings.
                    [user.join("mcp.json"), user.join("settings.json")]
                })
                .collect(),
            Self::Windsurf => vec![home.directory.join(".codeium/windsurf/mcp_config.json")],
            Self::Zed if windows => vec![home.applications.join("Zed/settings.json")],
            Self::Zed => vec![home.dot_config.join("zed/settings.json")],
            Self::Codex => vec![home.codex.join("config.toml")],
            Self::Gemini => vec![home.directory.join(".gemini/settings.json")],
            Self::Opencode => ["opencode.json", "opencode.jsonc"]
                .iter()
                .map(|name| home.dot_config.join("opencode").join(name))
                .collect(),
            Self::Goose if windows => {
                vec![home.applications.join("Block/goose/config/config.yaml")]
            }
            Self::Goose => vec![home.dot_config.join("goose/config.yaml")],
        }
    }

    fn project_files(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeDesktop | Self::Windsurf | Self::Goose => &[],
            Self::ClaudeCode => &[".mcp.json"],
            Self::Cursor => &[".cursor/mcp.json"],
            Self::VsCode => &[".vscode/mcp.json"],
            Self::Zed => &[".zed/settings.json"],
            Self::Codex => &[".codex/config.toml"],
            Self::Gemini => &[".gemini/settings.json"],
            Self::Opencode => &[
                "opencode.json",
                "opencode.jsonc",
                ".opencode/opencode.json",
                ".opencode/opencode.jsonc",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(client: ClientApp, os: Os) -> Vec<String> {
        let home = Home::at(os, Path::new("/h"));
        let locations = client.locations(&home, None);
        locations.iter().map(|found| found.path.to_str().unwrap().replace('\\', "/")).collect()
    }

    #[test]
    fn files_are_where_each_platform_has_them() {
        let support = "/h/Library/Application Support";
        assert_eq!(
            paths(ClientApp::ClaudeDesktop, Os::Mac),
            [format!("{support}/Claude/claude_desktop_config.json")]
        );
        assert_eq!(
            paths(ClientApp::ClaudeDesktop, Os::Windows),
            ["/h/AppData/Roaming/Claude/claude_desktop_config.json"]
        );
        assert_eq!(
            paths(ClientApp::ClaudeDesktop, Os::Linux),
            ["/h/.config/Claude/claude_desktop_config.json"]
        );
        assert_eq!(paths(ClientApp::VsCode, Os::Linux)[0], "/h/.config/Code/User/mcp.json");
        assert_eq!(
            paths(ClientApp::VsCode, Os::Mac)[1],
            format!("{support}/Code/User/settings.json")
        );
        for os in [Os::Linux, Os::Mac] {
            assert_eq!(paths(ClientApp::Zed, os), ["/h/.config/zed/settings.json"]);
            assert_eq!(paths(ClientApp::Goose, os), ["/h/.config/goose/config.yaml"]);
        }
        assert_eq!(paths(ClientApp::Zed, Os::Windows), ["/h/AppData/Roaming/Zed/settings.json"]);
        assert_eq!(
            paths(ClientApp::Goose, Os::Windows),
            ["/h/AppData/Roaming/Block/goose/config/config.yaml"]
        );
    }

    #[test]
    fn files_of_a_project_are_looked_for_only_when_one_is_named() {
        let home = Home::at(Os::Linux, Path::new("/h"));
        let with = ClientApp::Cursor.locations(&home, Some(Path::new("/p")));
        assert_eq!(with.len(), 2);
        assert_eq!(with[1].path, Path::new("/p/.cursor/mcp.json"));
        assert_eq!(with[1].scope, Scope::Project("/p".into()));
        assert_eq!(ClientApp::Cursor.locations(&home, None).len(), 1);
    }
}
