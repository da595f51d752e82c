//! Who asks for little while somebody else asks for too much.
//!
//! At any size the bystander is answered. At full size it is also measured: how long the slowest answer
//! took, how much memory the gateway had, and whether that went back. Times are judged of the release
//! build only.

use std::{
    panic::resume_unwind,
    thread,
    time::{Duration, Instant},
};

use narrows_testkit::{is_full_size, report_figures, size};
use serde_json::{Value, json};

use super::{
    dead::{memory, peak_memory},
    http::{Caller, health},
    real::HttpGateway,
};

const MAX_HEALTH_TIME: Duration = Duration::from_millis(100);
const MAX_SUM_TIME: Duration = Duration::from_millis(250);
const MAX_MEGABYTES: u64 = 1_000;
/// In which the memory that a flood took has gone back.
const AFTERWARDS: Duration = Duration::from_secs(60);
/// Between two rounds of questions.
const PAUSE: Duration = Duration::from_millis(20);

/// A principal who is no part of an attack.
pub(crate) struct Bystander<'a> {
    caller: Caller<'a>,
    session: String,
    megabytes_before: u64,
}

/// The longest that answers took.
#[derive(Clone, Copy, Debug, Default)]
struct Slowest {
    health: Duration,
    sum: Duration,
}

impl Slowest {
    fn ask(&mut self, bystander: &Bystander<'_>) {
        let start = Instant::now();
        assert_eq!(health(bystander.caller.gateway).status, 200);
        self.health = self.health.max(start.elapsed());
        let start = Instant::now();
        bystander.ask_sum(1);
        self.sum = self.sum.max(start.elapsed());
    }
}

impl<'a> Bystander<'a> {
    /// One whose programs have filled what the gateway keeps ready: attacks begin with the memory that it
    /// has then.
    pub(crate) fn new(gateway: &'a HttpGateway, key: &'static str) -> Self {
        let caller = Caller::new(gateway, key);
        let mut bystander = Self { caller, session: caller.session(), megabytes_before: 0 };
        for _ in 0..size(1, 10) {
            thread::scope(|scope| {
                for id in 0..size(1, 8) {
                    let bystander = &bystander;
                    scope.spawn(move || bystander.ask_sum(id));
                }
            });
        }
        bystander.megabytes_before = memory(gateway.process_id());
        bystander
    }

    fn ask_sum(&self, id: usize) {
        let answer = self.caller.post(&self.session, &program(id, &json!({"code": "1 + 1"})));
        let answer = answer.message();
        assert_eq!(answer["result"]["structuredContent"]["result"], 2, "{answer}");
    }

    /// Asks again and again until the attack is over, whose result is returned. It has to end by itself.
    pub(crate) fn during<T: Send>(&self, name: &str, attack: impl FnOnce() -> T + Send) -> T {
        let (result, slowest) = thread::scope(|scope| {
            let attack = scope.spawn(attack);
            let mut slowest = Slowest::default();
            loop {
                slowest.ask(self);
                if attack.is_finished() {
                    break;
                }
                thread::sleep(PAUSE);
            }
            (attack.join().unwrap_or_else(|panic| resume_unwind(panic)), slowest)
        });
        if is_full_size() {
            self.judge(name, slowest);
        }
        result
    }

    fn judge(&self, name: &str, slowest: Slowest) {
        let peak = peak_memory(self.caller.gateway.process_id());
        report_figures(&format!(
            "{name}: 1 + 1 within {} ms, /health within {} ms, peak memory {peak} MB ({} MB before)",
            slowest.sum.as_millis(),
            slowest.health.as_millis(),
            self.megabytes_before
        ));
        assert!(peak < MAX_MEGABYTES, "{name}: {peak} MB");
        if !cfg!(debug_assertions) {
            assert!(slowest.health < MAX_HEALTH_TIME, "{name}: {slowest:?}");
            assert!(slowest.sum < MAX_SUM_TIME, "{name}: {slowest:?}");
        }
    }

    /// Waits until the memory that attacks took has gone back, and fails when it does not within a minute.
    pub(crate) fn memory_goes_back(&self, name: &str) {
        if !is_full_size() {
            return;
        }
        let (start, process) = (Instant::now(), self.caller.gateway.process_id());
        let most = self.megabytes_before + self.megabytes_before / 5;
        while memory(process) > most && start.elapsed() < AFTERWARDS {
            thread::sleep(PAUSE);
        }
        let after = memory(process);
        let (before, seconds) = (self.megabytes_before, start.elapsed().as_secs());
        report_figures(&format!("{name}: {after} MB {seconds} s later ({before} MB before)"));
        assert!(after <= most, "{name}: {before} MB before, {after} MB after");
    }
}

/// A call of `execute_code`.
pub(crate) fn program(id: usize, arguments: &Value) -> Value {
    call(id, "execute_code", arguments)
}

/// A call of a tool.
pub(crate) fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}
