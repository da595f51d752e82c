//! Finds the guest, or has it built.
//!
//! The guest (`guest/` at the top of the repository) is an artifact of its own: named by the hash of its
//! sources, its tool chain and the target, and kept outside of `target/`, so that `cargo clean`, other
//! profiles and other checkouts find it again. Where it is not there yet, its builder is compiled and
//! run once, by the cargo that runs this script.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use sha2::{Digest as _, Sha256};

/// All that decides what the guest is, from the top of the repository. wasmtime's version and settings
/// are among it: the builder's lock file, and what it shares with the sandbox.
const SOURCES: [&str; 7] = [
    "guest/python",
    "guest/wit",
    "guest/builder",
    "guest/stand-ins",
    "guest/Cargo.toml",
    "guest/Cargo.lock",
    "crates/sandbox/src/runtime_config.rs",
];
/// A guest that no build asked for in this time is removed.
const KEPT: Duration = Duration::from_secs(60 * 24 * 60 * 60);
/// Written when a guest is asked for; its time says when that was.
const USED: &str = "used";
const GUEST: &str = "guest.cwasm";

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    for variable in ["NARROWS_GUEST", "NARROWS_GUEST_CACHE", "XDG_CACHE_HOME", "HOME"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let place = PathBuf::from(variable("OUT_DIR")?).join(GUEST);
    let guest = match env::var_os("NARROWS_GUEST") {
        Some(file) => PathBuf::from(file),
        None => find_or_build()?,
    };
    println!("cargo::rerun-if-changed={}", guest.display());
    let _ = fs::remove_file(&place);
    fs::hard_link(&guest, &place)
        .or_else(|_| fs::copy(&guest, &place).map(drop))
        .map_err(|error| format!("the guest {} cannot be read: {error}", guest.display()).into())
}

fn variable(name: &str) -> Result<OsString> {
    env::var_os(name).ok_or_else(|| format!("{name} is not set").into())
}

/// Returns where the guest of these sources is, after it was built if need be.
fn find_or_build() -> Result<PathBuf> {
    let repository = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let target = env::var("TARGET")?;
    let cache = cache()?;
    let directory = cache.join(hash(&repository, &target)?);
    let guest = directory.join(GUEST);
    if !guest.exists() {
        fs::create_dir_all(&directory)?;
        // Two builds that need the same guest: the second one waits, and finds it.
        let lock = File::create(directory.join("lock"))?;
        lock.lock()?;
        if !guest.exists() {
            build(&repository, &target, &cache, &guest)?;
        }
        remove_unused(&cache)?;
    }
    File::create(directory.join(USED))?;
    Ok(guest)
}

/// Returns `NARROWS_GUEST_CACHE`, or `narrows/guest` in the user's cache directory.
fn cache() -> Result<PathBuf> {
    if let Some(directory) = env::var_os("NARROWS_GUEST_CACHE") {
        return Ok(directory.into());
    }
    let user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = user.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")));
    let user =
        user.ok_or("there is no HOME: set NARROWS_GUEST_CACHE to a directory for the guest")?;
    Ok(user.join("narrows/guest"))
}

/// Hashes the sources with their paths, and the target.
fn hash(repository: &Path, target: &str) -> Result<String> {
    let mut files = Vec::new();
    for source in SOURCES {
        list(&repository.join(source), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    hash.update(target);
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(repository)?.to_string_lossy().replace('\\', "/");
        let content = fs::read(&file)?;
        hash.update(format!("\0{name}\0{}\0", content.len()));
        hash.update(content);
    }
    let hash = hash.finalize();
    Ok(hash[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))? {
        let entry = entry?.path();
        // What Python and cargo leave beside sources.
        if !entry.ends_with("__pycache__") && !entry.ends_with("target") {
            list(&entry, files)?;
        }
    }
    Ok(())
}

/// Compiles the builder and has it write the guest.
fn build(repository: &Path, target: &str, cache: &Path, guest: &Path) -> Result<()> {
    let unfinished = guest.with_extension("unfinished");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .current_dir(repository.join("guest"))
        .args(["run", "--release", "--locked", "--quiet", "--package", "narrows-guest-builder"])
        .arg("--target-dir")
        .arg(cache.join("builder"))
        .args(["--", "--target", target, "--sources", "."])
        .arg("--out")
        .arg(&unfinished);
    // What this build was told is not for that one, but for how to reach crates and how many jobs to run.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        let is_of_cargo = name.starts_with("CARGO_") || name.starts_with("RUST");
        let is_kept = ["CARGO_HOME", "CARGO_MAKEFLAGS", "RUSTC_WRAPPER", "RUSTUP_"]
            .iter()
            .chain(&["CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_"])
            .any(|kept| name.starts_with(kept));
        if is_of_cargo && !is_kept {
            cargo.env_remove(&*name);
        }
    }
    let output = cargo.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the guest could not be built ({}):\n{said}", output.status).into());
    }
    Ok(fs::rename(unfinished, guest)?)
}

/// Removes guests of sources that nobody builds any more.
fn remove_unused(cache: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    for entry in fs::read_dir(cache)? {
        let directory = entry?.path();
        let Ok(used) = fs::metadata(directory.join(USED)).and_then(|used| used.modified()) else {
            continue;
        };
        if now.duration_since(used).is_ok_and(|unused| unused > KEPT) {
            fs::remove_dir_all(directory)?;
        }
    }
    Ok(())
}
