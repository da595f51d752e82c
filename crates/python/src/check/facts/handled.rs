//! The parts of a program that handle their own errors. Nothing is reported about those, because the
//! program may well know what it does. Undefined names are an exception: a handler of `Exception` is
//! meant for the errors of tools, and only one that names `NameError` is meant for names.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{ExceptHandler, Expr, ExprCall, StmtTry, StmtWith};
use ruff_text_size::{Ranged, TextRange};

use crate::{
    scope::standard,
    syntax::{last_name, suppressing_call},
};

/// The errors that a part of a program handles. One that handles name errors handles the others too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Handled {
    #[default]
    Nothing,
    /// All errors that a program may expect, but not undefined names.
    Expected,
    /// Name errors too.
    Names,
}

/// Returns the errors that a `try` catches. `speaks_of_names` tells whether the program mentions
/// `NameError` anywhere.
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

/// Returns the errors that a `with` suppresses.
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

/// Tells whether the class in an `except` may be that of name errors: it is, or it is a name of the
/// program's own, which may stand for any class.
fn may_be_of_names(kind: &Expr) -> bool {
    match kind {
        Expr::Tuple(kinds) => kinds.elts.iter().any(may_be_of_names),
        Expr::Name(name) => is_of_names(&name.id) || !standard::is_builtin(&name.id),
        Expr::Attribute(attribute) => is_of_names(&attribute.attr),
        _ => true,
    }
}

/// Tells whether this is the name of a class of name errors.
pub(crate) fn is_of_names(name: &str) -> bool {
    matches!(name, "NameError" | "UnboundLocalError")
}

/// The way in which a function is used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FunctionUse {
    Called(TextRange),
    /// Defined, perhaps in another function.
    Defined,
    /// Passed on as a value, to be called from anywhere.
    Mentioned,
}

#[derive(Debug, Default)]
pub(crate) struct Handling<'a> {
    /// Whether the program handles errors anywhere.
    pub(crate) any: bool,
    /// Whether the program mentions name errors anywhere.
    pub(crate) speaks_of_names: bool,
    /// Calls whose errors are raised at the call, because it is awaited there.
    awaited: HashSet<TextRange>,
    functions: HashMap<&'a str, Function>,
    references: Vec<Reference<'a>>,
}

#[derive(Debug)]
struct Function {
    is_async: bool,
    /// Whether it has a decorator, which may do anything with it.
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

    /// Records the calls that `await f(…)` awaits, also within `await gather(f(…), g(…))`.
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
            // These give the errors of tasks as values, so the program may handle them.
            Some("wait" | "exception" | "add_done_callback") => self.any = true,
            _ => self.any |= call.arguments.find_keyword("return_exceptions").is_some(),
        }
    }

    /// Tells whether the errors of an asynchronous call are surely raised at the call, or no part of the
    /// program handles errors anyway.
    pub(crate) fn is_here(&self, call: TextRange) -> bool {
        !self.any || self.awaited.contains(&call)
    }

    /// Returns the errors that the callers of a function may handle if it is passed on as a value.
    pub(crate) fn anywhere(&self) -> Handled {
        match (self.any, self.speaks_of_names) {
            (_, true) => Handled::Names,
            (true, false) => Handled::Expected,
            (false, false) => Handled::Nothing,
        }
    }

    /// Returns the functions whose callers may handle their errors, with the errors.
    pub(crate) fn handled_functions(&self) -> HashMap<&'a str, Handled> {
        let mut handled = HashMap::new();
        for kind in [Handled::Expected, Handled::Names] {
            handled.extend(self.functions_of(kind).into_iter().map(|name| (name, kind)));
        }
        handled
    }

    /// Returns the functions whose callers may handle errors of this kind.
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
