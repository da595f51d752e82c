//! Files that a command writes at a path of its user's choice.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::config::follow;

/// A file that replaces an earlier one only when it is complete: until then, readers find what was there
/// before.
#[derive(Debug)]
pub(crate) enum OutputFile {
    Whole {
        file: NamedTempFile,
        target: PathBuf,
    },
    /// A pipe or a device, which is written to directly.
    InPlace(File),
}

impl OutputFile {
    /// Opens a file for writing. Of a symbolic link the target is replaced. A file that was there keeps
    /// its mode; a new one gets the mode of the user's other new files.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let replaced = match fs::metadata(path) {
            Ok(found) if !found.is_file() => {
                return OpenOptions::new().write(true).open(path).map(Self::InPlace);
            }
            Ok(found) => Some(found.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = follow(path)?;
        // On the same file system as the target, as a rename needs it.
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = new_file(folder.unwrap_or(Path::new(".")))?;
        if let Some(permissions) = replaced {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Self::Whole { file, target })
    }

    /// Moves the complete file to its path.
    pub(crate) fn persist(self) -> io::Result<()> {
        match self {
            Self::Whole { file, target } => {
                file.persist(target)?;
                Ok(())
            }
            Self::InPlace(mut file) => file.flush(),
        }
    }
}

fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask applies to this.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.prefix(".narrows-").tempfile_in(folder)
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Whole { file, .. } => file.write(bytes),
            Self::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Whole { file, .. } => file.flush(),
            Self::InPlace(file) => file.flush(),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        os::unix::fs::{FileTypeExt, PermissionsExt, symlink},
        process::Command,
    };

    use super::*;

    fn write(path: &Path, text: &str) {
        let mut file = OutputFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.persist().unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_has_the_mode_of_others_and_an_old_one_keeps_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let [path, other] = ["a", "b"].map(|name| directory.path().join(name));
        fs::write(&other, "").unwrap();
        write(&path, "one");
        assert_eq!(mode(&path), mode(&other));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
        write(&path, "two");
        assert_eq!((mode(&path), fs::read_to_string(&path).unwrap()), (0o604, "two".into()));
    }

    #[test]
    fn what_is_not_finished_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        write(&path, "one");
        OutputFile::create(&path).unwrap().write_all(b"two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (link, target) = (directory.path().join("link"), directory.path().join("dir/target"));
        fs::create_dir(directory.path().join("dir")).unwrap();
        symlink("dir/target", &link).unwrap();
        for text in ["through a dangling link", "through a link"] {
            write(&link, text);
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }

    #[test]
    fn a_pipe_is_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, "through the pipe");
        // Or nobody would ever come to the reader.
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), "through the pipe");
    }

    #[test]
    fn a_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(OutputFile::create(directory.path()).is_err());
    }
}
