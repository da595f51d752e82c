//! A program that searches all memory it can read, for what other runs had in theirs.
//!
//! The search never holds the marker itself: it looks for the second half and compares what stands before
//! it with the first. An attack that looked for the whole marker once found it twice and took one for the
//! residue of another run. It was its own: the text that it had encoded, freed and not yet overwritten; see
//! [`a_search_for_a_whole_text_finds_its_own_copies`].

use std::time::Duration;

use narrows_model::{Ending, Limits, Outcome, Program};
use narrows_sandbox::{RunOptions, Sandbox, SandboxConfig, Session};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    security_isolation::WHOLE_MEMORY,
    support::{TestHost, failure, limit, patient, value},
};

/// Fills memory, far more than what is put back by hand when an isolate ends, with markers.
const SECRETS: &str = r#"
secrets = ["RESIDUE" + "-MARKER-%06d" % n + "." * 400 for n in range(100_000)]
"#;

/// Grows the memory beyond what any of the runs had, without writing to it, and counts the markers in all
/// of it. `end` is where it ends.
const SEARCH: &str = r#"
import io
room = io.BufferedWriter(io.BytesIO(), 120 << 20)
def markers(memory, head, tail):
    count, place = 0, memory.find(tail)
    while place >= 0:
        count += memory[max(place - len(head), 0):place] == head
        place = memory.find(tail, place + 1)
    return count
result = markers(whole_memory(end), b"RESIDUE", b"-MARKER-")
"#;

/// One isolate at a time, so that each program gets the memory that the one before gave back.
struct OneIsolate {
    sandbox: Sandbox,
    host: TestHost,
}

impl OneIsolate {
    /// With this many places whose memory is put back by hand; that of all others is returned to the
    /// system, as that of sessions always is.
    fn new(kept_isolates: usize) -> Self {
        Self::with_warm(kept_isolates, 0)
    }

    /// Keeps so many isolates ready beside the one that runs.
    fn with_warm(kept_isolates: usize, warm_isolates: usize) -> Self {
        let config = SandboxConfig {
            live_sessions: 0,
            kept_isolates,
            warm_isolates,
            ..SandboxConfig::single()
        };
        Self { sandbox: Sandbox::new(config).unwrap(), host: TestHost::new() }
    }

    async fn run_in(&self, session: Option<&mut Session>, source: &str, limits: Limits) -> Outcome {
        let options = RunOptions { limits, ..RunOptions::default() };
        let (program, cancel) = (Program::new(source), CancellationToken::new());
        self.sandbox.run_in(session, program, &self.host, options, cancel).await.unwrap()
    }

    async fn run(&self, source: &str) -> Outcome {
        self.run_in(None, source, patient()).await
    }

    /// Returns how much memory the search can read: all that it has when it ends.
    async fn memory_size(&self) -> u64 {
        self.run(&search(1 << 20)).await.peak_memory_bytes
    }

    async fn assert_no_markers(&self, size: u64, after: &str) {
        // More often than there are places for isolates.
        for _ in 0..3 {
            let outcome = self.run(&search(size)).await;
            assert_eq!(*value(&outcome), json!(0), "markers after {after}");
            assert_eq!(outcome.peak_memory_bytes, size, "this is all memory");
        }
    }
}

fn search(end: u64) -> String {
    format!("{WHOLE_MEMORY}\nend = {end}\n{SEARCH}")
}

#[tokio::test]
async fn all_memory_that_a_program_can_read_has_nothing_of_other_runs() {
    let one = OneIsolate::new(2);
    let size = one.memory_size().await;
    // The controls: the search finds what its own run wrote, and nothing can be read beyond its end.
    let own = one.run(&format!("{SECRETS}\n{}", search(size))).await;
    assert!(value(&own).as_u64().unwrap() >= 100_000, "{own:?}");
    let read = |place: u64| format!("{}\nresult = whole_memory(end)[{place}]", search(size + 1));
    assert!(value(&one.run(&read(size - 1)).await).is_number());
    assert_eq!(failure(&one.run(&read(size)).await).kind, "Crashed");
    one.assert_no_markers(size, "the control").await;

    let call = "from client import call_mcp_tool\n";
    let answer =
        format!("{call}{SECRETS}\nkept = await call_mcp_tool('echo', {{'some': secrets[:9_000]}})");
    for (ending, source) in [
        ("a result", format!("{SECRETS}\nresult = secrets[:100]")),
        ("output", format!("{SECRETS}\nprint(secrets[:100])")),
        ("an answer of a tool", answer),
        ("an error", format!("{SECRETS}\nraise ValueError(secrets[7])")),
        ("an exit", format!("{SECRETS}\nimport os\nos._exit(1)")),
        ("an abort", format!("{SECRETS}\nimport os\nos.abort()")),
        ("a file", format!("{SECRETS}\nopen('/tmp/secret', 'w').write(''.join(secrets))")),
    ] {
        one.run(&source).await;
        one.assert_no_markers(size, ending).await;
    }

    let busy = format!("{SECRETS}\nwhile True: pass");
    let limits = Limits { cpu_time: Duration::from_secs(2), ..patient() };
    assert!(limit(&one.run_in(None, &busy, limits).await) == narrows_model::LimitKind::CpuTime);
    one.assert_no_markers(size, "a time limit").await;
}

#[tokio::test]
async fn isolates_that_were_made_beforehand_have_nothing_of_other_runs() {
    let one = OneIsolate::with_warm(2, 1);
    one.sandbox.warmed().await;
    let size = one.memory_size().await;
    one.sandbox.warmed().await;
    let own = one.run(&format!("{SECRETS}\n{}", search(size))).await;
    assert!(value(&own).as_u64().unwrap() >= 100_000, "{own:?}");
    // More often than there are places for isolates, so that each is used again.
    for _ in 0..4 {
        one.sandbox.warmed().await;
        let outcome = one.run(&search(size)).await;
        assert_eq!(*value(&outcome), json!(0), "markers in a warm isolate");
        assert_eq!(outcome.peak_memory_bytes, size, "this is all memory");
        one.run(SECRETS).await;
    }
}

#[tokio::test]
async fn memory_that_was_returned_to_the_system_has_nothing_of_other_runs() {
    let one = OneIsolate::new(0);
    let size = one.memory_size().await;
    // The control.
    let own = one.run(&format!("{SECRETS}\n{}", search(size))).await;
    assert!(value(&own).as_u64().unwrap() >= 100_000, "{own:?}");
    one.assert_no_markers(size, "a run").await;
}

#[tokio::test]
async fn memory_of_cancelled_runs_is_gone() {
    let one = OneIsolate::new(2);
    let size = one.memory_size().await;
    let waiting = format!(
        "from client import call_mcp_tool\n{SECRETS}\nawait call_mcp_tool('never', {{'x': 1}})"
    );
    for is_dropped in [false, true] {
        let cancel = CancellationToken::new();
        let calls = one.host.calls.lock().unwrap().len();
        let options = RunOptions { limits: patient(), ..RunOptions::default() };
        let running = one.sandbox.run(Program::new(&waiting), &one.host, options, cancel.clone());
        // The secrets are there when the call is.
        let called = async {
            while one.host.calls.lock().unwrap().len() == calls {
                tokio::task::yield_now().await;
            }
            if !is_dropped {
                cancel.cancel();
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            outcome = running => assert!(matches!(outcome.unwrap().ending, Ending::Cancelled(_))),
            () = called => {}
        }
        one.assert_no_markers(size, "a cancelled run").await;
    }
}

#[tokio::test]
async fn memory_of_a_session_is_seen_by_its_own_programs_only() {
    let one = OneIsolate::new(0);
    let size = one.memory_size().await;
    let mut session = Session::default();
    let limits = Limits { memory_bytes: 1 << 30, ..patient() };
    one.run_in(
        Some(&mut session),
        &format!("{SECRETS}\nfew = secrets[:9]\ndel secrets"),
        limits.clone(),
    )
    .await;
    assert!(session.state().is_some());
    one.assert_no_markers(size, "a program of a session").await;
    // The control: the next program of the session has them, in its variables.
    let found = one.run_in(Some(&mut session), &search(size), limits.clone()).await;
    assert!(value(&found).as_u64().unwrap() >= 9, "{found:?}");

    // What was written down comes into the memory of whoever brings it back, and of nobody else.
    let state = session.state().map(|state| state.to_vec());
    drop(session);
    one.assert_no_markers(size, "a session that ended").await;
    let mut restored = Session::from_state(state);
    let found = one.run_in(Some(&mut restored), &search(size), limits.clone()).await;
    assert!(value(&found).as_u64().unwrap() >= 9, "{found:?}");
    let found = one.run_in(Some(&mut Session::default()), &search(size), limits).await;
    assert_eq!(*value(&found), json!(0), "markers in another session");
    drop(restored);
    one.assert_no_markers(size, "a session that was brought back").await;
}

/// Nobody has ever written the marker, and it is found once or twice, by how it is looked for.
#[tokio::test]
async fn a_search_for_a_whole_text_finds_its_own_copies() {
    let one = OneIsolate::new(2);
    let size = one.memory_size().await;
    let text = "'-'.join(['RESIDUE', 'MARKER', ''])";
    let count = |needle: String| {
        let search = SEARCH.rsplit_once("result = ").map_or(SEARCH, |(start, _)| start);
        format!(
            "{WHOLE_MEMORY}\n{search}\nmemory = whole_memory({size})\n{needle}\n\
             result = occurrences(memory, needle)"
        )
    };
    let kept = one.run(&count(format!("text = {text}\nneedle = text.encode()"))).await;
    assert_eq!(*value(&kept), json!(2), "the text and its bytes");
    let freed = one.run(&count(format!("needle = {text}.encode()"))).await;
    let found = value(&freed).as_u64().unwrap();
    assert!((1..=2).contains(&found), "the bytes, and what is left of the text: {found}");
    one.assert_no_markers(size, "a search").await;
}
