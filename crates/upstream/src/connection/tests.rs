//! How long the newer protocol is tried.

use super::*;

#[test]
fn a_server_of_the_newer_protocol_gets_most_of_its_start_for_the_probe() {
    let patience = |era, seconds| probe_patience(era, Duration::from_secs(seconds)).as_secs();
    assert_eq!(patience(ProtocolGeneration::Unknown, 30), 5);
    assert_eq!(patience(ProtocolGeneration::Initialize, 300), 5);
    assert_eq!(patience(ProtocolGeneration::Discover, 30), 20);
    assert_eq!(patience(ProtocolGeneration::Discover, 3), 5);
}
