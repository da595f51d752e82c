//! The allocator, and how the memory that it has cached goes back to the system.

use std::{hint::black_box, io, thread, time::Duration};

use mimalloc::MiMalloc;

/// The allocator of the process. Tables are made and dropped all the time, and mimalloc keeps their
/// memory for the next one. The system's allocator returns it and has it cleared again, which took a
/// fifth of an analysis.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How often memory is given back. The allocator itself keeps it for a second after it was freed.
const INTERVAL: Duration = Duration::from_secs(2);

// SAFETY: this is mimalloc's `void mi_collect(bool force)`, which is linked because it is the allocator.
// Any thread may call it at any time: it puts the calling thread's own heap in order and gives memory
// back that nobody has.
#[allow(unsafe_code)]
unsafe extern "C" {
    safe fn mi_collect(force: bool);
}

/// Starts a thread that gives freed memory back to the system. The allocator does so by itself only
/// while other allocations follow: what one flood of large requests or analyses took, an idle process
/// would keep for good.
pub(crate) fn give_back_freed_memory() -> io::Result<()> {
    let thread = thread::Builder::new().name("allocator".into());
    thread.spawn(|| {
        // `mi_collect` does nothing on a thread without a heap of its own.
        drop(black_box(Box::new(0_u8)));
        loop {
            thread::sleep(INTERVAL);
            // Not forced, so that only memory goes back that was freed a while ago: what is needed again
            // at once stays.
            mi_collect(false);
        }
    })?;
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn resident_bytes() -> usize {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    const BYTES: usize = 256 << 20;

    /// Takes memory and frees it, and returns whether it stayed.
    fn take_and_free(before: usize) -> bool {
        let pieces: Vec<Vec<u8>> = (0..256).map(|_| vec![1; BYTES / 256]).collect();
        black_box(&pieces);
        drop(pieces);
        resident_bytes() > before + BYTES / 2
    }

    /// For the test below, which runs it as a process of its own: others take memory that stays.
    #[test]
    #[ignore = "another test runs it"]
    fn freed_memory_goes_back() {
        let before = resident_bytes();
        // The control.
        assert!(take_and_free(before), "the allocator keeps nothing");
        give_back_freed_memory().unwrap();
        let start = Instant::now();
        while resident_bytes() > before + BYTES / 4 {
            assert!(start.elapsed() < Duration::from_secs(300), "the memory stays");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_was_freed_goes_back_to_the_system_though_nobody_allocates() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "allocator::tests::freed_memory_goes_back", "--ignored"]);
        let output = alone.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
