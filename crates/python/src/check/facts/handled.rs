//! Which parts of a program handle their own errors. Of those nothing is said: the program may
//! well know what it does. A name that nothing binds is another matter: whoever handles any `Exception`
//! means the errors of tools, and only who names `NameError` means names.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{ExceptHandler, Expr, ExprCall, StmtTry, StmtWith};
use ruff_text_size::{Ranged, TextRange};

use crate::{
    scope::standard,
    syntax::{last_name, suppressing_call},
};

/// Which errors are handled. Whoever handles those of names handles the others too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Handled {
    #[default]
    Nothing,
    /// Whatever a program may expect to go wrong, but for names that are not there.
    Expected,
    /// Those of names too.
    Names,
}

/// Which errors a `try` catches, in a program that speaks of errors of names anywhere or does not.
pub(crate) fn catches(attempt: &StmtTry, speaks_of_names: bool) -> Handled {
    let of_handler = |handler: &ExceptHandler| {
        let ExceptHandler::ExceptHandler(handler) = handler;
        let kind = handler.type_.as_deref();
        match kind.is_some_and(|kind| speaks_of_names && may_be_of_names(kind)) {
            true => Handled::Names,
            false => Handled::Expected,
        }
    };
    attempt.handlers.iter().map(of_handler).max().unwrap_or_default()
}

/// Which errors end at a `with`.
pub(crate) fn suppresses(with: &StmtWith, speaks_of_names: bool) -> Handled {
    let of_call = |call: &ExprCall| {
        if speaks_of_names && call.arguments.args.iter().any(may_be_of_names) {
            Handled::Names
        } else {
            Handled::Expected
        }
    };
    with.items.iter().filter_map(suppressing_call).map(of_call).max().unwrap_or_default()
}

/// Whether what is caught may be an error of names: it is, or the program has a name of its own for what
/// it catches.
fn may_be_of_names(kind: &Expr) -> bool {
    match kind {
        Expr::Tuple(kinds) => kinds.elts.iter().any(may_be_of_names),
        Expr::Name(name) => is_of_names(&name.id) || !standard::is_builtin(&name.id),
        Expr::Attribute(attribute) => is_of_names(&attribute.attr),
        _ => true,
    }
}

/// Whether this is the name of an error of names.
pub(crate) fn is_of_names(name: &str) -> bool {
    matches!(name, "NameError" | "UnboundLocalError")
}

/// How a function is used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FunctionUse {
    Called(TextRange),
    /// Defined, perhaps in another one.
    Defined,
    /// Handed on, to be called by whoever.
    Mentioned,
}

#[derive(Debug, Default)]
pub(crate) struct Handling<'a> {
    /// Whether the program handles errors anywhere.
    pub(crate) any: bool,
    /// Whether it speaks of errors of names anywhere.
    pub(crate) speaks_of_names: bool,
    /// Calls whose errors arise where they stand.
    awaited: HashSet<TextRange>,
    functions: HashMap<&'a str, Function>,
    references: Vec<Reference<'a>>,
}

#[derive(Debug)]
struct Function {
    is_async: bool,
    /// A decorator may do anything with it.
    is_decorated: bool,
}

#[derive(Debug)]
struct Reference<'a> {
    within: Option<&'a str>,
    to: &'a str,
    how: FunctionUse,
    handled: Handled,
}

impl<'a> Handling<'a> {
    pub(crate) fn define(&mut self, name: &'a str, is_async: bool, is_decorated: bool) {
        let known = self.functions.entry(name).or_insert(Function { is_async, is_decorated });
        known.is_async |= is_async;
        known.is_decorated |= is_decorated;
    }

    pub(crate) fn refer(
        &mut self,
        within: Option<&'a str>,
        to: &'a str,
        how: FunctionUse,
        handled: Handled,
    ) {
        self.references.push(Reference { within, to, how, handled });
    }

    /// `await f(…)`, also in `await gather(f(…), g(…))`.
    pub(crate) fn note_await(&mut self, awaited: &Expr) {
        match awaited {
            Expr::Call(call) => {
                self.awaited.insert(call.range());
                let passes_on =
                    matches!(last_name(&call.func), Some("gather" | "wait_for" | "shield"));
                if passes_on && call.arguments.find_keyword("return_exceptions").is_none() {
                    call.arguments.args.iter().for_each(|argument| self.note_await(argument));
                }
            }
            Expr::Starred(starred) => self.note_await(&starred.value),
            Expr::ListComp(comp) => self.note_await(&comp.elt),
            Expr::Generator(comp) => self.note_await(&comp.elt),
            Expr::List(list) => list.elts.iter().for_each(|element| self.note_await(element)),
            _ => {}
        }
    }

    pub(crate) fn note_call(&mut self, call: &ExprCall) {
        match last_name(&call.func) {
            Some("run" | "run_until_complete") => {
                call.arguments.args.iter().for_each(|argument| self.note_await(argument));
            }
            // The errors of tasks are kept for whoever asks.
            Some("wait" | "exception" | "add_done_callback") => self.any = true,
            _ => self.any |= call.arguments.find_keyword("return_exceptions").is_some(),
        }
    }

    /// Whether the errors of an asynchronous call surely arise where it stands, or nobody
    /// handles them anyway.
    pub(crate) fn is_here(&self, call: TextRange) -> bool {
        !self.any || self.awaited.contains(&call)
    }

    /// Which errors may be handled by whoever calls a function that is handed on.
    pub(crate) fn anywhere(&self) -> Handled {
        match (self.any, self.speaks_of_names) {
            (_, true) => Handled::Names,
            (true, false) => Handled::Expected,
            (false, false) => Handled::Nothing,
        }
    }

    /// The functions whose errors may be handled by their callers, and which.
    pub(crate) fn handled_functions(&self) -> HashMap<&'a str, Handled> {
        let mut handled = HashMap::new();
        for kind in [Handled::Expected, Handled::Names] {
            handled.extend(self.functions_of(kind).into_iter().map(|name| (name, kind)));
        }
        handled
    }

    /// The functions whose callers may handle these errors.
    fn functions_of(&self, kind: Handled) -> HashSet<&'a str> {
        let mut handled: HashSet<&'a str> = HashSet::new();
        let is_any = kind == Handled::Expected || self.speaks_of_names;
        let decorated = self.functions.iter().filter(|(_, of)| of.is_decorated && is_any);
        handled.extend(decorated.map(|(name, _)| *name));
        let own = |reference: &&Reference<'a>| self.functions.contains_key(reference.to);
        let mut called_by: HashMap<&'a str, Vec<&'a str>> = HashMap::new();
        let mut to_follow: Vec<&'a str> = handled.iter().copied().collect();
        for reference in self.references.iter().filter(own) {
            if self.may_be_handled(reference, kind) {
                to_follow.push(reference.to);
            } else if let Some(within) = reference.within {
                called_by.entry(within).or_default().push(reference.to);
            }
        }
        while let Some(name) = to_follow.pop() {
            handled.insert(name);
            to_follow.extend(called_by.remove(name).unwrap_or_default());
        }
        handled
    }

    fn may_be_handled(&self, reference: &Reference<'a>, kind: Handled) -> bool {
        let is_async = self.functions.get(reference.to).is_some_and(|function| function.is_async);
        let is_anywhere = self.anywhere() >= kind;
        reference.handled >= kind
            || match reference.how {
                FunctionUse::Called(call) => {
                    is_async && is_anywhere && !self.awaited.contains(&call)
                }
                FunctionUse::Mentioned => is_anywhere,
                FunctionUse::Defined => false,
            }
    }
}
