use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn policy(quotas: Vec<Quota>) -> Policy {
    Policy::new(PolicySettings { quotas, ..PolicySettings::default() }).unwrap()
}

fn quota(name: &str) -> Quota {
    Quota { name: name.to_owned(), ..Quota::default() }
}

fn after(start: Instant, seconds: f64) -> Instant {
    start + Duration::from_secs_f64(seconds)
}

#[test]
fn runs_are_counted_for_each_principal_and_come_back() {
    let policy = policy(vec![Quota { runs_per_minute: Some(2), ..quota("few") }]);
    let meter = Meter::default();
    let start = Instant::now();
    meter.run(&policy, "a", start).unwrap();
    meter.run(&policy, "a", after(start, 30.0)).unwrap();
    let error = meter.run(&policy, "a", after(start, 31.0)).unwrap_err();
    assert_eq!((error.quota.as_str(), error.what.as_str()), ("few", "2 runs per minute"));
    assert_eq!(
        error.to_string(),
        "the quota \"few\" is used up (2 runs per minute): try again in 30 s"
    );
    meter.run(&policy, "b", after(start, 31.0)).unwrap();
    let again = after(start, 31.0) + error.retry_after;
    assert!(meter.run(&policy, "a", again - Duration::from_millis(1100)).is_err());
    meter.run(&policy, "a", again).unwrap();
}

#[test]
fn a_refused_call_uses_nothing_up() {
    let calls = [("mail.*".to_owned(), 1), ("*".to_owned(), 3)].into();
    let policy = policy(vec![Quota { calls_per_minute: calls, ..quota("q") }]);
    let meter = Meter::default();
    let now = Instant::now();
    let call = |server: &str| meter.call(&policy, "a", server, "t", now);
    call("mail").unwrap();
    for _ in 0..10 {
        assert_eq!(call("mail").unwrap_err().what, "1 calls of mail.* per minute");
    }
    call("web").unwrap();
    call("web").unwrap();
    assert_eq!(call("web").unwrap_err().what, "3 calls of * per minute");
}

#[test]
fn calls_are_refused_while_too_much_was_read() {
    let policy = policy(vec![Quota { bytes_per_minute: Some(100), ..quota("q") }]);
    let meter = Meter::default();
    let start = Instant::now();
    let call = |seconds| meter.call(&policy, "a", "s", "t", after(start, seconds));
    call(0.0).unwrap();
    meter.bytes(&policy, "a", 99, start);
    call(1.0).unwrap();
    meter.bytes(&policy, "a", 1_000_000, after(start, 10.0));
    let error = call(11.0).unwrap_err();
    assert!(error.what.contains("bytes"), "{error}");
    assert_eq!(error.retry_after, Duration::from_secs(60));
    call(71.0).unwrap();
    meter.call(&policy, "b", "s", "t", after(start, 11.0)).unwrap();
}

#[test]
fn all_quotas_that_fit_hold() {
    let one = Quota {
        principals: texts(&["team-*"]),
        runs_per_minute: Some(1),
        calls_per_run: Some(7),
        ..quota("team")
    };
    let all = Quota { runs_per_minute: Some(5), calls_per_run: Some(9), ..quota("all") };
    let policy = policy(vec![all, one]);
    let meter = Meter::default();
    let now = Instant::now();
    meter.run(&policy, "team-x", now).unwrap();
    assert_eq!(meter.run(&policy, "team-x", now).unwrap_err().quota, "team");
    (0..5).for_each(|_| meter.run(&policy, "x", now).unwrap());
    assert_eq!(meter.run(&policy, "x", now).unwrap_err().quota, "all");
    assert_eq!(policy.calls_per_run("team-x"), Some(7));
    assert_eq!(policy.calls_per_run("x"), Some(9));
    assert_eq!(super::policy(Vec::new()).calls_per_run("x"), None);
}

#[test]
fn nothing_at_all_is_a_quota_too() {
    let policy = policy(vec![Quota {
        runs_per_minute: Some(0),
        bytes_per_minute: Some(0),
        ..quota("none")
    }]);
    let meter = Meter::default();
    assert!(meter.run(&policy, "a", Instant::now()).is_err());
    assert!(meter.call(&policy, "a", "s", "t", Instant::now()).is_err());
    assert_eq!(meter.kept(), 0);
}

#[test]
fn principals_without_end_do_not_fill_the_memory() {
    let policy = policy(vec![Quota { runs_per_minute: Some(1), ..quota("q") }]);
    let meter = Meter::default();
    let now = Instant::now();
    for n in 0..10_300 {
        meter.run(&policy, &format!("p{n}"), now).unwrap();
    }
    assert_eq!(meter.kept(), 10_000);
    meter.run(&policy, "later", after(now, 120.0)).unwrap();
    assert_eq!(meter.kept(), 1);
}

#[test]
fn threads_share_a_meter() {
    let policy = policy(vec![Quota { runs_per_minute: Some(50), ..quota("q") }]);
    let meter = Meter::default();
    let now = Instant::now();
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| (0..50).filter(|_| meter.run(&policy, "a", now).is_ok()).count())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, 50);
}

proptest! {
    /// Holds for any minute, whenever it starts; and `retry_after` is neither too short nor far too long.
    #[test]
    fn no_minute_has_more_than_the_limit(limit in 1..6_u32, pauses in prop::collection::vec(0..20_000_u64, 1..80)) {
        let policy = policy(vec![Quota { runs_per_minute: Some(limit), ..quota("q") }]);
        let meter = Meter::default();
        let start = Instant::now();
        let mut now = start;
        let mut granted: Vec<Instant> = Vec::new();
        for pause in pauses {
            now += Duration::from_millis(pause);
            match meter.run(&policy, "a", now) {
                Ok(()) => granted.push(now),
                Err(error) => {
                    prop_assert!(error.retry_after <= Duration::from_secs(61));
                    // The next run is really granted then, and this one was refused with reason.
                    let minute = granted.iter().filter(|at| now - **at <= Duration::from_secs(61)).count();
                    prop_assert!(minute >= limit as usize);
                    now += error.retry_after;
                    prop_assert!(meter.run(&policy, "a", now).is_ok());
                    granted.push(now);
                }
            }
        }
        for (n, at) in granted.iter().enumerate() {
            let within = granted[n..].iter().take_while(|other| **other - *at < Duration::from_secs(60)).count();
            prop_assert!(within <= limit as usize, "{within} of {limit}");
        }
    }
}
