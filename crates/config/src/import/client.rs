//! The clients whose servers can be imported.

/// A program that has MCP servers in a configuration of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientApp {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Windsurf,
    Zed,
    Codex,
    Gemini,
    Opencode,
    Goose,
}

impl ClientApp {
    pub const ALL: [Self; 10] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Goose,
    ];

    /// Returns the id for the command line, and for names that would otherwise be taken.
    pub fn id(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
        }
    }

    /// Returns the name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
        }
    }

    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.id() == id)
    }
}
