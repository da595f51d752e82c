//! The key of the vault: from the environment, from a program such as that of the system's
//! keyring, or from a file that only the user can read.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use narrows_engine::safety::KeySource;
use narrows_model::{MissingVariable, Template};

use crate::{
    config::KeyPlace,
    secret::{kept_text, random_hex},
};

/// The environment variable that overrides all other sources of the key.
pub(crate) const VARIABLE: &str = "NARROWS_VAULT_KEY";
const COMMAND: &str = "pii.key_command";

/// Returns the source of the key, which is read when it is first needed.
pub(crate) fn source(place: &KeyPlace, data: &Path) -> KeySource {
    let (file, command) = (file_of(place, data), place.command.clone());
    std::sync::Arc::new(move || match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => read(&text).map_err(|why| format!("{VARIABLE} {why}")),
        _ if !command.is_empty() => of_command(&command),
        _ => of_file(&file),
    })
}

/// Tells whether there is a key already, without making one. Fails if there is one that cannot be read.
pub(crate) fn is_there(place: &KeyPlace, data: &Path) -> anyhow::Result<bool> {
    let given = std::env::var(VARIABLE).is_ok_and(|text| !text.is_empty());
    if !given && place.command.is_empty() && !file_of(place, data).exists() {
        return Ok(false);
    }
    if !given {
        words(&place.command).context(COMMAND)?;
    }
    source(place, data)().map(|_| true).map_err(anyhow::Error::msg)
}

fn file_of(place: &KeyPlace, data: &Path) -> PathBuf {
    place.file.clone().unwrap_or_else(|| data.join("vault-key"))
}

/// Parses a key of 32 bytes, written as 64 hexadecimal digits.
fn read(text: &str) -> Result<[u8; 32], String> {
    let text = text.trim();
    let wrong = || "is not a key: it must be 64 hexadecimal digits (openssl rand -hex 32)";
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong().to_owned());
    }
    let mut key = [0; 32];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
    }
    Ok(key)
}

fn words(command: &[Template]) -> Result<Vec<String>, MissingVariable> {
    command.iter().map(|word| word.expand(|name| std::env::var(name).ok())).collect()
}

/// Reads the key from the standard output of the configured command.
fn of_command(command: &[Template]) -> Result<[u8; 32], String> {
    let words = words(command).map_err(|error| format!("{COMMAND}: {error}"))?;
    let (program, arguments) = words.split_first().ok_or("pii.key_command is empty")?;
    let said = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("pii.key_command: {program} does not start: {error}"))?;
    if !said.status.success() {
        return Err(format!("pii.key_command: {program} failed ({})", said.status));
    }
    let text = String::from_utf8_lossy(&said.stdout);
    read(&text).map_err(|why| format!("what pii.key_command prints {why}"))
}

/// Reads the key from its file, which is made the first time.
fn of_file(path: &PathBuf) -> Result<[u8; 32], String> {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(format!("{0} can be read by others; chmod 600 {0}", path.display()));
        }
    }
    let is_key = |text: &str| read(text).is_ok();
    let random = || Ok(format!("{}{}", random_hex()?, random_hex()?));
    let text = kept_text(path, is_key, random).map_err(|error| format!("{error:#}"))?;
    read(&text).map_err(|why| format!("{} {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &Path) -> Result<[u8; 32], String> {
        of_file(&file.to_owned())
    }

    #[test]
    fn a_key_is_made_once_and_only_the_user_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("vault-key");
        let key = of(&file).unwrap();
        assert_eq!(of(&file).unwrap(), key);
        assert_ne!(key, of(&dir.path().join("other")).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(of(&file).unwrap_err().contains("chmod 600"));
        }
    }

    #[test]
    fn a_damaged_key_is_told_and_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("vault-key");
        crate::config::create_private(&file, "not a key", None).unwrap();
        assert!(of(&file).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a key");
    }

    #[test]
    fn a_program_can_have_the_key() {
        let words =
            |words: &[&str]| words.iter().map(|word| Template::new(*word)).collect::<Vec<_>>();
        let key = "ab".repeat(32);
        assert_eq!(of_command(&words(&["echo", &key])).unwrap(), [0xab; 32]);
        assert!(of_command(&words(&["echo", "short"])).unwrap_err().contains("64 hexadecimal"));
        assert!(of_command(&words(&["false"])).unwrap_err().contains("failed"));
        assert!(of_command(&words(&["no-such-program-here"])).unwrap_err().contains("start"));
    }
}
