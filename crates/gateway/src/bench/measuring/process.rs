//! The resources that a process uses, as Linux reports them in `/proc`.

use std::path::PathBuf;

use serde::Serialize;

/// The resources of a process at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(in crate::bench) struct Usage {
    pub(in crate::bench) resident_bytes: u64,
    pub(in crate::bench) descriptors: u64,
    pub(in crate::bench) threads: u64,
}

impl Usage {
    /// Reads the resources of a process. Returns none if the system does not report them, or if the
    /// process has ended.
    pub(in crate::bench) fn of(process: u32) -> Option<Self> {
        let directory = PathBuf::from(format!("/proc/{process}"));
        let status = std::fs::read_to_string(directory.join("status")).ok()?;
        let descriptors = std::fs::read_dir(directory.join("fd")).ok()?.count() as u64;
        let (kilobytes, threads) = parse_status(&status)?;
        Some(Self { resident_bytes: kilobytes * 1024, descriptors, threads })
    }
}

/// Returns the resident kilobytes and the threads of a status file.
fn parse_status(status: &str) -> Option<(u64, u64)> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some((field("VmRSS:")?, field("Threads:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_file_is_read() {
        let status = "Name:\tnarrows\nVmHWM:\t    9999 kB\nVmRSS:\t    1234 kB\nThreads:\t17\n";
        assert_eq!(parse_status(status), Some((1234, 17)));
        assert_eq!(parse_status("Name:\tnarrows\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_takes_something() {
        let usage = Usage::of(std::process::id()).unwrap();
        assert!(usage.resident_bytes > 1 << 20 && usage.descriptors > 2 && usage.threads > 0);
    }
}
