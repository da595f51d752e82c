//! What is bounded of all together: large answers of many servers at once, and sessions that nobody uses.
//! All arrives, and nothing is lost.
#![cfg(target_os = "linux")] // Processes are observed in /proc.

use narrows_testkit::{report_figures, size};

use crate::support::dead::{Place, assert_good_works, peak_memory};

fn place(servers: usize, settings: &str) -> Place {
    let place = Place::with_good().toml(settings);
    (0..servers).fold(place, |place, number| place.server(&format!("s{number}"), "large", ""))
}

/// Calls a tool of all servers at once, and prints what becomes of each call, counted.
fn call_all(servers: usize, call: &str) -> String {
    let names = (0..servers).map(|number| format!("s{number}")).collect::<Vec<_>>().join(", ");
    format!(
        "import asyncio, collections\n\
         from servers import {names}\n\
         async def ask(server):\n    \
             try:\n        return len(await server.{call})\n    \
             except Exception as error:\n        return 'too many' in str(error)\n\
         asked = [ask(server) for server in ({names},)]\n\
         print(dict(collections.Counter(await asyncio.gather(*asked))))"
    )
}

#[test]
fn large_answers_of_many_servers_all_arrive_though_there_is_memory_for_few() {
    let place = place(6, "[limits]\nanswers_mb = 16\n");
    let mut gateway = place.legacy();
    // Each takes 12 MB while it is parsed.
    assert_eq!(gateway.run(&call_all(6, "text(count=6_000_000)")), "{6000000: 6}");
    assert_eq!(gateway.run(&call_all(6, "refused(count=100_000)")), "{True: 6}");
    assert_good_works(&mut gateway);
}

#[test]
fn sessions_beyond_their_memory_go_on_from_the_store_with_all_variables() {
    // A generator is there only as long as its interpreter is kept.
    let begin = "text = 'ab' * 15_000_000\nsteps = (letter for letter in 'ab')\nprint(next(steps))";
    let go_on = "print(len(text), 'steps' in globals())";
    for (settings, is_kept) in [("[sessions]\nmemory_mb = 60\n", "False"), ("", "True")] {
        let place = Place::new().toml(settings);
        let mut gateway = place.legacy();
        for (program, printed) in [(begin, "a"), (go_on, &*format!("30000000 {is_kept}"))] {
            for session in ["one", "two"] {
                let id = gateway.start_in(session, program);
                assert_eq!(gateway.output(id), printed, "{settings}");
            }
        }
    }
}

#[test]
fn a_flood_of_answers_with_most_values_takes_less_than_a_gigabyte() {
    let (servers, rounds) = size((2, 1), (20, 3));
    let place = place(servers, "");
    let mut gateway = place.legacy();
    let all = |arrived: &str| format!("{{{arrived}: {servers}}}");
    assert_eq!(gateway.run(&call_all(servers, "refused(count=1)")), all("True"));
    for _ in 0..rounds {
        assert_eq!(gateway.run(&call_all(servers, "refused(count=990_000)")), all("True"));
        assert_good_works(&mut gateway);
    }
    // What takes more than it may is told, and is not the same as what arrives.
    assert_eq!(gateway.run(&call_all(servers, "refused(count=1_010_000)")), all("False"));
    let peak = peak_memory(gateway.id());
    report_figures(&format!("answers of {servers} servers: {peak} MB at most"));
    assert!(peak < 1_000, "{peak} MB");
}
