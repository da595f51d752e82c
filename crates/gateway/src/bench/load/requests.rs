//! The requests that users send.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestKind {
    /// A small program
    Code,
    /// A program that calls tools of a server
    Calls,
    /// A program of a session, with variables of those before
    Session,
    /// A program that fails
    Failure,
    /// A program that prints and allocates much
    Large,
    /// A search for tools, or the definition of one
    Search,
    /// An analysis of rows, of a file or of a tool's answer
    Analysis,
    /// Files of the workspace
    Files,
    /// Skills
    Skills,
    /// Personal data
    Privacy,
    /// A server that never answers or crashes
    Fault,
}

/// How often each kind comes, out of all of these.
const MIX: [RequestKind; 21] = [
    RequestKind::Code,
    RequestKind::Calls,
    RequestKind::Session,
    RequestKind::Search,
    RequestKind::Files,
    RequestKind::Code,
    RequestKind::Analysis,
    RequestKind::Privacy,
    RequestKind::Calls,
    RequestKind::Session,
    RequestKind::Code,
    RequestKind::Skills,
    RequestKind::Files,
    RequestKind::Search,
    RequestKind::Calls,
    RequestKind::Failure,
    RequestKind::Session,
    RequestKind::Analysis,
    RequestKind::Code,
    RequestKind::Large,
    RequestKind::Fault,
];

/// How many sessions, files and skills a user has: few, so that the store does not grow.
const NAMES: u64 = 3;
/// The file that analyses read.
pub(super) const TABLE: &str = "load-sales.csv";

const QUERIES: [&str; 8] = [
    "expenses of a department",
    "national parks with camping",
    "issues of the tracker",
    "state of a build",
    "business trips of an employee",
    "create a customer",
    "send mail to a person",
    "what did we pay in march",
];

/// One request.
#[derive(Clone, Debug)]
pub(super) struct BenchRequest {
    pub(super) kind: RequestKind,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// Whether the expected answer is an error.
    pub(super) fails: bool,
}

impl BenchRequest {
    fn new(kind: RequestKind, tool: &'static str, arguments: Value) -> Self {
        Self { kind, tool, arguments, fails: false }
    }

    fn failing(self) -> Self {
        Self { fails: true, ..self }
    }
}

/// The kinds of requests that users send, in the proportions of their number.
#[derive(Clone, Debug)]
pub(super) struct Mix(Vec<RequestKind>);

impl Mix {
    /// Returns the whole mix, or the chosen kinds in equal parts.
    pub(super) fn new(only: &[RequestKind]) -> Self {
        Self(if only.is_empty() { MIX.to_vec() } else { only.to_vec() })
    }

    /// Returns the next request of a user: the same for the same numbers, in an order of its own for
    /// each user.
    pub(super) fn request(&self, user: u64, turn: u64) -> BenchRequest {
        let kinds = self.0.len() as u64;
        let place = (user * 7 + turn) % kinds;
        // The next round has the next form of each kind.
        request(self.0[place as usize], user, turn / kinds + place)
    }
}

fn request(kind: RequestKind, user: u64, turn: u64) -> BenchRequest {
    let code = |code: String| BenchRequest::new(kind, "execute_code", json!({ "code": code }));
    let name = format!("load_{user}_{}", turn % NAMES);
    match kind {
        RequestKind::Code => code(format!("result = {turn} + 1")),
        RequestKind::Calls => code(
            "import asyncio\nfrom servers.company import list_parks, list_issues\n\
             parks = await list_parks(state='CA')\n\
             pages = await asyncio.gather(*[list_issues(page=n) for n in range(1, 4)])\n\
             result = [len(parks['rows']), sum(len(page['rows']) for page in pages)]"
                .to_owned(),
        ),
        RequestKind::Session => {
            let code = "count = globals().get('count', 0) + 1\n\
                        rows = [{'n': n, 'text': 'row %d' % n} for n in range(500)]\nresult = count";
            let arguments = json!({"code": code, "session_id": name});
            BenchRequest::new(kind, "execute_code", arguments)
        }
        RequestKind::Failure => {
            let program = match turn % 3 {
                0 => "result = {'a': 1}['b']",
                1 => "from servers.company import list_park",
                _ => "def f(:\n",
            };
            code(program.to_owned()).failing()
        }
        RequestKind::Large => code(
            "rows = ['%06d' % n * 10 for n in range(200_000)]\n\
             print('\\n'.join(rows[:2_000]))\nresult = len(rows)"
                .to_owned(),
        ),
        RequestKind::Search => match turn % 4 {
            0 => {
                let arguments = json!({"name": "company.list_parks"});
                BenchRequest::new(kind, "get_tool_definition", arguments)
            }
            _ => {
                // A query that nobody asked before, as most are.
                let query = QUERIES[turn as usize % QUERIES.len()];
                let arguments = json!({"query": format!("{query} {user} {turn}")});
                BenchRequest::new(kind, "search_tools", arguments)
            }
        },
        RequestKind::Analysis => BenchRequest::new(kind, "execute_analysis", analysis(turn)),
        RequestKind::Files => {
            let path = format!("{name}.txt");
            let (tool, arguments) = match turn % 3 {
                0 => ("read_workspace_file", json!({"path": TABLE})),
                1 => ("list_workspace_files", json!({"pattern": "*.csv"})),
                _ => {
                    let content = format!("note {turn}\n").repeat(300);
                    ("write_workspace_file", json!({"path": path, "content": content}))
                }
            };
            BenchRequest::new(kind, tool, arguments)
        }
        RequestKind::Skills => {
            let (tool, arguments) = match turn % 4 {
                0 => {
                    let code = format!("def {name}(n: int) -> int:\n    return n * {}", turn % 5);
                    ("save_skill", json!({"name": name, "code": code}))
                }
                _ => ("list_skills", json!({"query": QUERIES[turn as usize % QUERIES.len()]})),
            };
            BenchRequest::new(kind, tool, arguments)
        }
        RequestKind::Privacy => {
            // Most values are met again.
            let person = turn % 50;
            let text = format!("Write to person{person}.of{user}@example.com or call 030 1234567.");
            BenchRequest::new(kind, "sanitize_pii", json!({ "text": text.repeat(20) }))
        }
        RequestKind::Fault => {
            let server = if turn.is_multiple_of(2) { "hanging" } else { "crashing" };
            let code = format!("from servers.{server} import list_parks\nawait list_parks()");
            let arguments = json!({"code": code, "timeout": 2});
            BenchRequest::new(kind, "execute_code", arguments).failing()
        }
    }
}

fn analysis(turn: u64) -> Value {
    let parameters = json!({"group_by": "region", "aggregations": {"amount": "sum"}});
    match turn % 3 {
        0 => {
            let rows: Vec<Value> = (0..100)
                .map(|n| json!({"region": if n % 2 == 0 { "north" } else { "south" }, "amount": n}))
                .collect();
            json!({"analysis_type": "aggregate", "data": rows, "parameters": parameters})
        }
        1 => json!({"analysis_type": "aggregate", "source": TABLE, "parameters": parameters}),
        _ => json!({
            "analysis_type": "aggregate",
            "source": {"tool": "company.get_trips", "path": "rows"},
            "parameters": {"group_by": "city", "aggregations": {"nights": "sum"}},
        }),
    }
}

/// Returns the first request of each user, which writes the file that analyses read.
pub(super) fn first_request() -> BenchRequest {
    let rows = (0..2_000).map(|n| format!("{},{n}\n", ["north", "south", "east"][n % 3]));
    let content = format!("region,amount\n{}", rows.collect::<String>());
    let arguments = json!({"path": TABLE, "content": content});
    BenchRequest::new(RequestKind::Files, "write_workspace_file", arguments)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn kinds(mix: &Mix) -> BTreeSet<RequestKind> {
        (0..200).map(|turn| mix.request(3, turn).kind).collect()
    }

    #[test]
    fn every_user_asks_for_every_kind_or_for_those_that_are_wanted() {
        let all: BTreeSet<_> = RequestKind::value_variants().iter().copied().collect();
        assert_eq!(kinds(&Mix::new(&[])), all);
        assert_eq!(kinds(&Mix::new(&[RequestKind::Files])), [RequestKind::Files].into());
    }

    #[test]
    fn a_kind_has_all_its_forms() {
        let mix = Mix::new(&[RequestKind::Skills, RequestKind::Files]);
        let tools: BTreeSet<_> = (0..100).map(|turn| mix.request(1, turn).tool).collect();
        assert!(tools.contains("save_skill") && tools.contains("list_skills"));
        assert!(tools.contains("write_workspace_file") && tools.contains("read_workspace_file"));
    }
}
