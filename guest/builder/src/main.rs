//! `narrows-guest-builder`: writes the compiled guest to a file. `crates/sandbox/build.rs` calls it.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::Parser;

/// Builds the guest: CPython with Narrows' Python inside, pre-initialised, as machine code.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The directory with `python/` and `wit/`
    #[arg(long, value_name = "DIR")]
    sources: PathBuf,
    /// The target triple to compile for
    #[arg(long, value_name = "TRIPLE")]
    target: String,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let guest = narrows_guest_builder::build(&args.sources, &args.target)?;
    fs::write(&args.out, guest).with_context(|| format!("cannot write {}", args.out.display()))
}
