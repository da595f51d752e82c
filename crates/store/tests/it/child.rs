//! This test binary, run again as another process.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use narrows_store::{LeaseResult, NewEntry, SessionSnapshot, SessionState, Store, StoreUrl};
use serde_json::{Value, json};

use crate::{home::open, shared::increment, skills::skill};

const JOB: &str = "NARROWS_STORE_TEST_JOB";
const URL: &str = "NARROWS_STORE_TEST_URL";
const RUN: &str = "NARROWS_STORE_TEST_RUN";

/// What a child tells. All else on its output is the test harness.
const TOLD: &str = "told ";

/// The arguments by which this binary does nothing but the child's job.
const ARGS: [&str; 4] = ["--exact", "child::the_job_of_a_child", "--ignored", "--nocapture"];

/// Starts this binary, or a program that is given it as its arguments, as a child.
pub(crate) fn start(job: &str, url: &str, run: usize, before: &[&str]) -> Child {
    let binary = std::env::current_exe().unwrap();
    let mut command = match before {
        [] => Command::new(&binary),
        [program, args @ ..] => {
            let mut command = Command::new(program);
            command.args(args).arg(&binary);
            command
        }
    };
    command
        .args(ARGS)
        .env(JOB, job)
        .env(URL, url)
        .env(RUN, run.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets the child end by itself, and returns what it told.
pub(crate) fn finish(child: Child) -> Vec<Value> {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    told(&said)
}

/// Reads its output up to the first thing that it tells.
pub(crate) fn first_told(output: &mut BufReader<impl Read>) -> String {
    let mut line = String::new();
    while !line.starts_with(TOLD) {
        line.clear();
        let read = output.read_line(&mut line).unwrap();
        assert!(read > 0, "the child ended before it told anything");
    }
    line
}

/// Returns all that was told, without a last line that was cut off.
pub(crate) fn told(output: &str) -> Vec<Value> {
    let whole = output.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole
        .filter_map(|line| line.strip_prefix(TOLD))
        .map(|it| serde_json::from_str(it).unwrap())
        .collect()
}

fn tell(what: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{TOLD}{what}").unwrap();
    out.flush().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it is what other tests start as a process of its own"]
async fn the_job_of_a_child() {
    let Ok(job) = std::env::var(JOB) else { return };
    let (url, run) = (std::env::var(URL).unwrap(), std::env::var(RUN).unwrap());
    match job.as_str() {
        "open" => {
            tell(&json!("ready"));
            std::io::stdin().read_line(&mut String::new()).unwrap();
            open(&url).await.check().await.unwrap();
        }
        "try to open" => {
            let place: StoreUrl = url.parse().unwrap();
            tell(&json!(Store::open(&place).await.map(drop).map_err(|error| format!("{error:?}"))));
        }
        "write for ever" => write(open(&url).await, &run, usize::MAX).await,
        "write" => write(open(&url).await, &run, 40).await,
        "fill" => fill(open(&url).await).await,
        other => panic!("{other} is no job"),
    }
}

/// Writes of every kind beside each other, and tells of each what was acknowledged.
async fn write(store: Store, run: &str, turns: usize) {
    tokio::join!(
        async {
            for turn in 1..=turns {
                let new = skill("team", &format!("f{}", turn % 3), &format!("{run} {turn}"));
                let saved = store.skills().save(&new).await.unwrap();
                tell(&json!(["skill", new.name, saved.version, new.code]));
            }
        },
        async {
            for turn in 1..=turns {
                let body = json!([run, turn]);
                let message = store.boards().post("team", run, "ada", &body).await.unwrap();
                tell(&json!(["message", run, message.seq, body]));
            }
        },
        async {
            for _ in 1..=turns {
                let key = format!("count {run}");
                tell(&json!(["shared", key, increment(&store, "team", &key).await]));
                increment(&store, "team", "everybody").await;
            }
        },
        async {
            for turn in 1..=turns {
                let target = format!("{run} {turn}");
                let entry = NewEntry { target: target.clone(), ..NewEntry::default() };
                tell(&json!(["audit", store.audit().append(&entry).await.unwrap(), target]));
            }
        },
        async {
            let (sessions, lease) = (store.sessions(), Duration::from_secs(60));
            let taken = sessions.take("team", run, run, lease, "ada").await.unwrap();
            let LeaseResult::Yours(SessionState { mut generation, .. }) = taken else { panic!() };
            for _ in 0..turns {
                let state = vec![7; 10_000];
                let left =
                    SessionSnapshot { state: Some(&state), lost: &Value::Null, flow: &Value::Null };
                let saved = sessions.save("team", run, run, generation, &left).await;
                generation = saved.unwrap();
                tell(&json!(["session", run, generation]));
            }
        },
    );
}

/// Takes back the limit that stands for a full disk.
fn make_room() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, rustix::process::Rlimit { current: limit.maximum, ..limit })
        .unwrap();
}

/// Writes until it cannot any more, and once more when there is room again.
async fn fill(store: Store) {
    for turn in 1.. {
        let new = skill("team", &format!("f{turn}"), &"x".repeat(20_000));
        match store.skills().save(&new).await {
            Ok(saved) => tell(&json!(["skill", new.name, saved.version, new.code])),
            Err(error) => {
                // What is there can still be read.
                assert_eq!(store.skills().revision().await.unwrap(), turn - 1);
                make_room();
                let saved = store.skills().save(&new).await.unwrap();
                tell(&json!(["skill", new.name, saved.version, new.code]));
                return tell(&json!(["error", format!("{error:?}"), error.to_string()]));
            }
        }
    }
}
