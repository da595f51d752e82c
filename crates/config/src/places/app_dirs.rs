//! The directories that Narrows uses.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use narrows_system::private_file;

use super::{EnvVar, Environment};

/// The names of everything that Narrows puts into the data directory. Anything else there is the
/// user's.
const DATA_NAMES: &[&str] = &[
    "applied-imports.json",
    "holders",
    "http-key",
    "learnt",
    "logins",
    "logs",
    "narrows.db",
    "narrows.db-shm",
    "narrows.db-wal",
    "place",
    "skills-key",
    "skills-key.lock",
    "stats",
    "vault-key",
    "workspaces",
    "workspaces-strict",
];

/// Names that only a data directory of Narrows has, which identify it.
const DATA_MARKS: &[&str] = &["learnt", "narrows.db", "place", "vault-key"];

/// The names of everything that Narrows puts into the cache directory.
const CACHE_NAMES: &[&str] = &["catalog", "gateways"];

/// The directories whose subdirectories are workspaces.
const WORKSPACES: [&str; 2] = ["workspaces", "workspaces-strict"];

/// The platform, as far as directories differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    Linux,
    Mac,
    Windows,
}

impl Os {
    /// Returns the platform of this binary. All but macOS and Windows follow XDG.
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::Mac
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// The directories for the configuration, the data and the caches of Narrows. Nothing is written
/// elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppDirs {
    pub config: PathBuf,
    pub data: PathBuf,
    pub cache: PathBuf,
}

/// The error that no variable names the user's home directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the home directory is not known: set HOME, or NARROWS_CONFIG_DIR, NARROWS_DATA_DIR and \
     NARROWS_CACHE_DIR"
)]
pub struct NoHome;

impl AppDirs {
    pub const CONFIG_FILE: &'static str = "narrows.toml";

    /// Returns directories that are all below one.
    pub fn below(directory: &Path) -> Self {
        let below = |name: &str| directory.join(name);
        Self { config: below("config"), data: below("data"), cache: below("cache") }
    }

    /// Finds the directories. On macOS they are those of other Unix systems, as for most command line
    /// tools.
    pub fn find(os: Os, environment: &Environment) -> Result<Self, NoHome> {
        let (config, data, cache, home) = match os {
            Os::Windows => (
                environment.directory(EnvVar::APPDATA),
                environment.directory(EnvVar::LOCALAPPDATA).map(|local| local.join("narrows/data")),
                environment
                    .directory(EnvVar::LOCALAPPDATA)
                    .map(|local| local.join("narrows/cache")),
                environment.directory(EnvVar::USERPROFILE),
            ),
            Os::Linux | Os::Mac => (
                environment.directory(EnvVar::XDG_CONFIG_HOME),
                environment.directory(EnvVar::XDG_DATA_HOME).map(|data| data.join("narrows")),
                environment.directory(EnvVar::XDG_CACHE_HOME).map(|cache| cache.join("narrows")),
                environment.directory(EnvVar::HOME),
            ),
        };
        let own = |name| environment.directory(name);
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        Ok(Self {
            config: own(EnvVar::NARROWS_CONFIG_DIR)
                .or(config.map(|config| config.join("narrows")))
                .or(below_home(".config/narrows"))
                .ok_or(NoHome)?,
            data: own(EnvVar::NARROWS_DATA_DIR)
                .or(data)
                .or(below_home(".local/share/narrows"))
                .ok_or(NoHome)?,
            cache: own(EnvVar::NARROWS_CACHE_DIR)
                .or(cache)
                .or(below_home(".cache/narrows"))
                .ok_or(NoHome)?,
        })
    }

    /// Closes the files in the data and cache directories to other users, whatever the umask was when they
    /// were created: they hold keys, and texts of agents. Removes unfinished files of killed processes.
    /// Workspaces do this themselves when they are opened, since they may be large.
    pub fn make_private(&self) -> io::Result<()> {
        let is_workspace = |path: &Path| {
            path.parent().is_some_and(|above| WORKSPACES.iter().any(|name| above.ends_with(name)))
        };
        for (directory, marks, names) in
            [(&self.data, DATA_MARKS, DATA_NAMES), (&self.cache, CACHE_NAMES, CACHE_NAMES)]
        {
            let Ok(directory) = fs::canonicalize(directory) else { continue };
            // Any other directory may be one that the user shares, such as `/tmp`.
            if !marks.iter().any(|mark| directory.join(mark).exists()) {
                continue;
            }
            private_file::close_to_others(&directory)?;
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = entry.file_name();
                if names.iter().any(|known| name == **known) {
                    private_file::put_in_order(&path, |path| !is_workspace(path))?;
                } else {
                    private_file::remove_abandoned(&path);
                }
            }
        }
        Ok(())
    }

    /// Creates the data directory, for its owner only.
    pub fn create_data(&self) -> io::Result<()> {
        private_file::make_dir(&self.data)
    }

    /// Returns the path of the user's `narrows.toml`.
    pub fn config_file(&self) -> PathBuf {
        self.config.join(Self::CONFIG_FILE)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_ours_are_closed_to_others_and_no_other_is() {
        use std::os::unix::fs::PermissionsExt;

        let home = tempfile::tempdir().unwrap();
        let places = AppDirs::below(home.path());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        places.make_private().unwrap();
        places.create_data().unwrap();
        assert_eq!(mode(&places.data), 0o700);
        let open = || {
            std::fs::set_permissions(&places.data, std::fs::Permissions::from_mode(0o777)).unwrap();
        };
        open();
        places.make_private().unwrap();
        assert_eq!(mode(&places.data), 0o777, "nothing of ours is in it");
        std::fs::write(places.data.join("place"), "here").unwrap();
        for name in ["logs", "workspaces", "mine"] {
            let below = places.data.join(name).join("a");
            std::fs::create_dir_all(&below).unwrap();
            std::fs::write(below.join("b"), "").unwrap();
            for path in [places.data.join(name), below.clone(), below.join("b")] {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        places.make_private().unwrap();
        assert_eq!(mode(&places.data), 0o700);
        let open = |path: &str| mode(&places.data.join(path)) & 0o077 != 0;
        for path in ["place", "logs", "logs/a", "logs/a/b", "workspaces", "workspaces/a"] {
            assert!(!open(path), "{path}");
        }
        // A workspace is closed as a whole, and put in order when it is opened.
        for path in ["workspaces/a/b", "mine", "mine/a/b"] {
            assert!(open(path), "{path}");
        }
    }

    fn find(os: Os, environment: Environment) -> Result<(String, String, String), NoHome> {
        let places = AppDirs::find(os, &environment)?;
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        Ok((text(places.config), text(places.data), text(places.cache)))
    }

    fn three(config: &str, data: &str, cache: &str) -> Result<(String, String, String), NoHome> {
        Ok((config.into(), data.into(), cache.into()))
    }

    #[test]
    fn the_home_directory_is_enough() {
        let home = || Environment::fixed([("HOME", "/h")]);
        let expected = three("/h/.config/narrows", "/h/.local/share/narrows", "/h/.cache/narrows");
        assert_eq!(find(Os::Linux, home()), expected);
        assert_eq!(find(Os::Mac, home()), expected);
        assert_eq!(find(Os::Windows, home()), Err(NoHome));
    }

    #[test]
    fn xdg_comes_before_home_and_our_own_variables_before_all() {
        let environment = Environment::fixed([
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/x"),
            ("XDG_DATA_HOME", "relative, and so ignored"),
            ("NARROWS_CACHE_DIR", "/own"),
        ]);
        let expected = three("/x/narrows", "/h/.local/share/narrows", "/own");
        assert_eq!(find(Os::Linux, environment), expected);
    }

    #[test]
    fn windows_has_its_own_directories() {
        let environment = Environment::fixed([("APPDATA", "/r"), ("LOCALAPPDATA", "/l")]);
        let expected = three("/r/narrows", "/l/narrows/data", "/l/narrows/cache");
        assert_eq!(find(Os::Windows, environment), expected);
    }

    #[test]
    fn without_any_home_our_own_variables_are_enough() {
        assert_eq!(find(Os::Linux, Environment::fixed([])), Err(NoHome));
        let environment = Environment::fixed([
            ("NARROWS_CONFIG_DIR", "/a"),
            ("NARROWS_DATA_DIR", "/b"),
            ("NARROWS_CACHE_DIR", "/c"),
        ]);
        assert_eq!(find(Os::Linux, environment), three("/a", "/b", "/c"));
    }
}
