//! Sessions: programs that see the variables of those before them.

use std::{collections::HashSet, time::Duration};

use narrows_model::{Ending, Limits, Outcome, Program};
use narrows_sandbox::{RunOptions, Sandbox, Session, Workspace, WorkspaceMount};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{SANDBOX, TestHost};

struct Notebook {
    session: Session,
    host: TestHost,
    options: RunOptions,
}

impl Notebook {
    fn new() -> Self {
        Self { session: Session::default(), host: TestHost::new(), options: RunOptions::default() }
    }

    async fn run(&mut self, source: &str) -> Outcome {
        run(&SANDBOX, &mut self.session, source, &self.host, self.options.clone()).await
    }

    /// The isolate is gone, and what was written down is all there is.
    fn put_to_rest(&mut self) {
        let state = self.session.state().map(|state| state.to_vec());
        self.session = Session::from_state(state);
    }
}

async fn run(
    sandbox: &Sandbox,
    session: &mut Session,
    source: &str,
    host: &TestHost,
    options: RunOptions,
) -> Outcome {
    let program = Program::new(source);
    let cancel = CancellationToken::new();
    sandbox.run_in(Some(session), program, host, options, cancel).await.unwrap()
}

#[tokio::test]
async fn a_session_tells_the_names_of_its_variables() {
    let mut notebook = Notebook::new();
    assert_eq!(notebook.session.variables(), Some(HashSet::new()));
    notebook.run(FIRST).await;
    let names = "Lead add collections count dataclass factor j leads result same total";
    let names: HashSet<String> = names.split(' ').map(str::to_owned).collect();
    assert_eq!(notebook.session.variables().as_ref(), Some(&names));
    notebook.put_to_rest();
    assert_eq!(notebook.session.variables(), Some(names));
    notebook.run("del leads\nimport builtins\nbuiltins.helper = 1").await;
    let names = notebook.session.variables().unwrap();
    assert!(names.contains("helper") && !names.contains("leads"), "{names:?}");
}

const FIRST: &str = "
import collections, json as j
from dataclasses import dataclass

@dataclass
class Lead:
    name: str
    score: int = 0

    def double(self):
        return factor * self.score

factor = 2
leads = [Lead('a', 1), Lead('b', 2)]
same = leads
count = collections.Counter('abca')

async def total():
    return sum(lead.double() for lead in leads)

add = (lambda base: lambda n: base + n)(10)
result = len(leads)
";

const SECOND: &str = "
leads.append(Lead('c', 3))
factor = 3
result = [await total(), same is leads, count['a'], add(1), j.dumps([1]), type(leads[0]) is Lead]
";

#[tokio::test]
async fn variables_functions_classes_and_imports_stay() {
    let mut live = Notebook::new();
    assert_eq!(live.run(FIRST).await.result, json!(2));
    let stays = live.run(SECOND).await;
    assert_eq!(stays.result, json!([18, true, 2, 11, "[1]", true]), "{stays:?}");
}

#[tokio::test]
async fn what_was_written_down_is_brought_back_in_another_isolate() {
    let mut rested = Notebook::new();
    rested.run(FIRST).await;
    rested.put_to_rest();
    let back = rested.run(SECOND).await;
    assert_eq!(back.result, json!([18, true, 2, 11, "[1]", true]), "{back:?}");
    assert!(back.notes.is_empty(), "{:?}", back.notes);
    // And once more, from what a restored isolate wrote down.
    rested.put_to_rest();
    let again = rested.run("result = [len(leads), await total(), factor]").await;
    assert_eq!(again.result, json!([3, 18, 3]), "{again:?}");
}

/// Not among the tests of the guest's Python alone, since few machines have a Python that knows them.
#[tokio::test]
async fn type_parameters_lazy_annotations_and_templates_are_brought_back() {
    let mut notebook = Notebook::new();
    let made = notebook
        .run(
            "import functools
class Box[T: int]:
    item: T
    other: 'Box'
    inner: Inner
    class Inner: pass
    def get(self, x: Inner, y: Missing) -> T: return x
    @functools.cached_property
    def slow(self): return 5
type Pair[A] = tuple[A, A]
def first[A](x: A) -> A: return x
b = Box(); t = t'a{1}'",
        )
        .await;
    assert!(made.is_success(), "{made:?}");
    notebook.put_to_rest();
    let back = notebook
        .run(
            "Missing = 5
of_get, of_box = Box.get.__annotations__, Box.__annotations__
result = [Box.__type_params__[0].__name__, b.slow, first(2), Pair.__name__,
    first.__type_params__[0].__name__, list(t.strings), Pair[int].__args__ == (int,),
    of_get['x'] is Box.Inner, of_get['y'], of_box['inner'] is Box.Inner]",
        )
        .await;
    let expected = json!(["T", 5, 2, "Pair", "A", ["a", ""], true, true, 5, true]);
    assert_eq!(back.result, expected, "{back:?}");
}

#[tokio::test]
async fn what_cannot_be_kept_is_named_when_it_is_missing() {
    let mut notebook = Notebook::new();
    let begun = notebook.run("numbers = (n for n in range(9)); next(numbers); kept = 7").await;
    assert!(begun.is_success() && begun.notes.is_empty(), "{begun:?}");
    assert!(notebook.session.fleeting().contains_key("numbers"));
    // The isolate has it still.
    assert_eq!(notebook.run("next(numbers)").await.result, json!(1));
    notebook.put_to_rest();
    let back = notebook.run("result = kept").await;
    assert_eq!(back.result, json!(7));
    let said = back.notes.join("\n");
    assert!(said.contains("numbers") && said.contains("generator"), "{said}");
    let missing = notebook.run("numbers").await;
    assert_eq!(missing.failure().unwrap().kind, "NameError");
}

#[tokio::test]
async fn a_result_is_that_of_its_own_program() {
    let mut notebook = Notebook::new();
    assert_eq!(notebook.run("result = [1]").await.result, json!([1]));
    assert_eq!(notebook.run("x = 5").await.result, json!(null));
    assert_eq!(notebook.run("len(result)").await.result, json!(1));
    // The last expression does not take the place of the variable.
    assert_eq!(notebook.run("result").await.result, json!([1]));
}

#[tokio::test]
async fn a_failing_program_keeps_what_it_did_and_says_where_it_failed() {
    let mut notebook = Notebook::new();
    notebook.run("def broken(n):\n    return 1 / n").await;
    notebook.put_to_rest();
    let failed = notebook.run("x = 1\ny = broken(0)").await;
    let failure = failed.failure().unwrap();
    assert_eq!((failure.kind.as_str(), failure.line), ("ZeroDivisionError", Some(2)));
    assert!(failure.traceback.contains("return 1 / n"), "{}", failure.traceback);
    assert_eq!(notebook.run("x").await.result, json!(1));
}

#[tokio::test]
async fn a_program_that_is_stopped_leaves_the_session_as_it_was() {
    let mut notebook = Notebook::new();
    notebook.run("x = 1").await;
    notebook.options.limits = Limits { wall_time: Duration::from_secs(1), ..Limits::default() };
    let stopped = notebook.run("x = 2\nwhile True: pass").await;
    assert!(matches!(stopped.ending, Ending::Limit(..)), "{stopped:?}");
    assert!(stopped.notes.join("\n").contains("as they were before"), "{:?}", stopped.notes);
    notebook.options.limits = Limits::default();
    assert_eq!(notebook.run("x").await.result, json!(1));
    let exited = notebook.run("x = 3\nimport os; os._exit(1)").await;
    assert!(!exited.is_success());
    assert_eq!(notebook.run("x").await.result, json!(1));
}

#[tokio::test]
async fn a_damaged_state_is_refused_and_nothing_runs() {
    let mut notebook = Notebook::new();
    notebook.run("x = 1").await;
    let mut state = notebook.session.state().unwrap().to_vec();
    let last = state.len() - 1;
    state[last] ^= 1;
    notebook.session = Session::from_state(Some(state));
    let refused = notebook.run("print('ran')").await;
    assert_eq!(refused.failure().unwrap().kind, "SessionError", "{refused:?}");
    assert!(refused.failure().unwrap().message.contains("damaged"), "{refused:?}");
    assert_eq!(refused.stdout, "");
}

#[tokio::test]
async fn tools_and_output_belong_to_the_program_that_runs() {
    let mut notebook = Notebook::new();
    let first = notebook.run("from _narrows.calls import call\nprint('one')").await;
    let second = notebook.run("print('two', await call('echo', {'n': 1}))").await;
    assert_eq!(first.stdout, "one\n");
    assert!(second.stdout.starts_with("two"), "{second:?}");
    assert_eq!((first.tool_calls, second.tool_calls), (0, 1));
}

#[tokio::test]
async fn files_of_tmp_stay_while_the_isolate_does_and_the_workspace_always() {
    let directory = tempfile::tempdir().unwrap();
    let mut notebook = Notebook::new();
    let limits = Limits::default();
    let workspace = Workspace::open(directory.path(), &limits).unwrap();
    notebook.options.workspace = Some(WorkspaceMount::writable(workspace));
    notebook.run("open('/tmp/a', 'w').write('x'); write_file('b.txt', 'y')").await;
    let live = notebook.run("result = [open('/tmp/a').read(), read_file('b.txt')]").await;
    assert_eq!(live.result, json!(["x", "y"]), "{live:?}");
    notebook.put_to_rest();
    let rested = notebook.run("import os; result = [os.path.exists('/tmp/a'), read_file('b.txt')]");
    assert_eq!(rested.await.result, json!([false, "y"]));
}

#[tokio::test]
async fn sessions_do_not_see_one_another() {
    let (mut one, mut other) = (Notebook::new(), Notebook::new());
    one.run("secret = 'mine'\nimport builtins, json\nbuiltins.leak = secret\njson.leak = secret")
        .await;
    // The positive control: it is there for its own session.
    assert_eq!(
        one.run("import json\nresult = [secret, leak, json.leak]").await.result,
        json!(["mine", "mine", "mine"])
    );
    let seen = other
        .run("import json\nresult = ['secret' in globals(), hasattr(__builtins__, 'leak'), hasattr(json, 'leak')]")
        .await;
    assert_eq!(seen.result, json!([false, false, false]), "{seen:?}");
    let plain = crate::support::run("import json\nresult = hasattr(json, 'leak')").await;
    assert_eq!(plain.result, json!(false));
}

/// A variable whose class decides what happens when it is written down.
const SPINS: &str = "
class Spins:
    def __reduce__(self):
        print('saving')
        while True: pass
x = Spins()
result = 1
";

#[tokio::test]
async fn writing_variables_down_belongs_to_the_time_of_the_program() {
    let mut notebook = Notebook::new();
    notebook.options.limits = Limits { wall_time: Duration::from_secs(1), ..Limits::default() };
    let outcome = notebook.run(SPINS).await;
    assert_eq!(outcome.result, json!(1));
    let note = "session: writing them down took longer than the program's time limit";
    assert!(outcome.notes.iter().any(|said| said.starts_with(note)), "{outcome:?}");
}

#[tokio::test]
async fn writing_variables_down_can_be_cancelled() {
    let mut notebook = Notebook::new();
    let cancel = CancellationToken::new();
    let Notebook { session, host, options } = &mut notebook;
    // Longer than anybody waits for a test.
    options.limits = Limits {
        wall_time: Duration::from_secs(3_600),
        cpu_time: Duration::from_secs(3_600),
        ..Limits::default()
    };
    let program = Program::new(SPINS);
    let running = SANDBOX.run_in(Some(session), program, &*host, options.clone(), cancel.clone());
    let watching = async {
        while !host.stdout().contains("saving") {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, watching);
    let note = "session: it was cancelled while they were written down";
    assert!(outcome.unwrap().notes.iter().any(|said| said.starts_with(note)));
}
