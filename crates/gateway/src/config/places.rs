//! The directories that Narrows uses.

use std::path::{Path, PathBuf};

use super::{EnvVar, Environment};

/// The families of platforms, as far as their directories differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Os {
    Linux,
    Mac,
    Windows,
}

impl Os {
    /// The platform that this binary was built for. What is neither macOS nor Windows follows XDG.
    pub(crate) const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::Mac
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// Where the configuration, the data and the caches of Narrows are. Nothing is written elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) config: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) cache: PathBuf,
}

/// Nothing says where the user's files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the home directory is not known: set HOME, or NARROWS_CONFIG_DIR, NARROWS_DATA_DIR and \
     NARROWS_CACHE_DIR"
)]
pub(crate) struct NoHome;

impl Places {
    pub(crate) const CONFIG_FILE: &'static str = "narrows.toml";

    /// All in one directory.
    pub(crate) fn below(directory: &Path) -> Self {
        let below = |name: &str| directory.join(name);
        Self { config: below("config"), data: below("data"), cache: below("cache") }
    }

    /// macOS has the directories of other Unix systems here, as command line tools do.
    pub(crate) fn find(os: Os, environment: &Environment) -> Result<Self, NoHome> {
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

    /// Closes the directories of data and caches to other users, whatever the umask was when they were
    /// made: they hold what agents wrote, and keys. Directories that are not there yet are left alone.
    pub(crate) fn make_private(&self) -> std::io::Result<()> {
        #[cfg(unix)]
        for (path, marks) in
            [(&self.data, &["place", "narrows.db"]), (&self.cache, &["catalog", "gateways"])]
        {
            close_to_others(path, marks)?;
        }
        Ok(())
    }

    /// Makes the directory of data, for its owner only.
    pub(crate) fn create_data(&self) -> std::io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&self.data)
    }

    /// The user's `narrows.toml`.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join(Self::CONFIG_FILE)
    }
}

/// Takes away the rights of others to a directory that has one of these files of ours. Any other
/// directory may be one that the user shares, such as `/tmp`.
#[cfg(unix)]
fn close_to_others(path: &Path, marks: &[&str]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let Ok(data) = std::fs::metadata(path) else { return Ok(()) };
    let mode = data.permissions().mode();
    let is_ours = marks.iter().any(|mark| path.join(mark).exists());
    if mode & 0o077 == 0 || !is_ours {
        return Ok(());
    }
    match std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700)) {
        // It is another user's, who decides.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        done => done,
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
        let places = Places::below(home.path());
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
        places.make_private().unwrap();
        assert_eq!(mode(&places.data), 0o700);
    }

    fn find(os: Os, environment: Environment) -> Result<(String, String, String), NoHome> {
        let places = Places::find(os, &environment)?;
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
