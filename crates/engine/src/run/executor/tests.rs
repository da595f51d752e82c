//! The limits that a caller may ask for.

use super::*;

fn checked(wall_time: Duration, memory_bytes: u64) -> Result<(), ExecuteError> {
    check(&Limits { wall_time, memory_bytes, ..Limits::default() })
}

#[test]
fn a_run_takes_from_one_second_to_two_minutes() {
    let memory = Limits::default().memory_bytes;
    for milliseconds in [1_000, 30_000, 120_000] {
        checked(Duration::from_millis(milliseconds), memory).unwrap();
    }
    for (milliseconds, told) in [
        (0, "a timeout of 0 s is not possible; ask for 1 to 120 s"),
        (999, "a timeout of 0.999 s is not possible; ask for 1 to 120 s"),
        (120_001, "a timeout of 120.001 s is not possible; ask for 1 to 120 s"),
    ] {
        let error = checked(Duration::from_millis(milliseconds), memory).unwrap_err();
        assert_eq!(error.to_string(), told);
        assert!(error.is_wrong_use());
    }
}

#[test]
fn a_run_has_memory_that_its_interpreter_can_start_in_and_address() {
    let second = Duration::from_secs(1);
    for megabytes in [64, 512, 4096] {
        checked(second, megabytes << 20).unwrap();
    }
    for (bytes, told) in [
        ((64 << 20) - 1, "a memory limit of 63 MB is not possible; ask for 64 to 4096 MB"),
        ((4096 << 20) + 1, "a memory limit of 4096 MB is not possible; ask for 64 to 4096 MB"),
        (u64::MAX, "a memory limit of 17592186044415 MB is not possible; ask for 64 to 4096 MB"),
    ] {
        let error = checked(second, bytes).unwrap_err();
        assert_eq!(error.to_string(), told);
        assert!(error.is_wrong_use());
    }
}

#[test]
fn a_program_is_short_enough_to_be_looked_at() {
    check_source(&" ".repeat(MAX_SOURCE_BYTES)).unwrap();
    let error = check_source(&" ".repeat(MAX_SOURCE_BYTES + 1)).unwrap_err();
    let told = "the program has 1048577 bytes, and may have 1048576; put data into a file of the \
                workspace, or into \"context\", and read it from there";
    assert_eq!(error.to_string(), told);
    assert!(error.is_wrong_use());
}

#[test]
fn the_defaults_are_possible() {
    check(&Limits::default()).unwrap();
}
