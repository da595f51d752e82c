//! Which parts of a program handle their own errors. Of those nothing is said: the program may
//! well know what it does.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{Expr, ExprCall, StmtTry, StmtWith};
use ruff_text_size::{Ranged, TextRange};

/// Whether a `try` catches anything.
pub(super) fn catches(attempt: &StmtTry) -> bool {
    !attempt.handlers.is_empty()
}

/// Whether errors end at a `with`.
pub(super) fn suppresses(with: &StmtWith) -> bool {
    with.items.iter().any(|item| {
        let name = item.context_expr.as_call_expr().and_then(|call| last_name(&call.func));
        matches!(name, Some("suppress" | "raises" | "assertRaises" | "assertRaisesRegex"))
    })
}

/// `gather` of `asyncio.gather`.
pub(super) fn last_name(func: &Expr) -> Option<&str> {
    match func {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// How a function is used.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    Called(TextRange),
    /// Defined, perhaps in another one.
    Defined,
    /// Handed on, to be called by whoever.
    Mentioned,
}

#[derive(Debug, Default)]
pub(super) struct Handling<'a> {
    /// Whether the program handles errors anywhere.
    pub(super) any: bool,
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
    how: Use,
    is_handled: bool,
}

impl<'a> Handling<'a> {
    pub(super) fn define(&mut self, name: &'a str, is_async: bool, is_decorated: bool) {
        let known = self.functions.entry(name).or_insert(Function { is_async, is_decorated });
        known.is_async |= is_async;
        known.is_decorated |= is_decorated;
    }

    pub(super) fn refer(
        &mut self,
        within: Option<&'a str>,
        to: &'a str,
        how: Use,
        is_handled: bool,
    ) {
        self.references.push(Reference { within, to, how, is_handled });
    }

    /// `await f(…)`, also in `await gather(f(…), g(…))`.
    pub(super) fn note_await(&mut self, awaited: &Expr) {
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

    pub(super) fn note_call(&mut self, call: &ExprCall) {
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
    pub(super) fn is_here(&self, call: TextRange) -> bool {
        !self.any || self.awaited.contains(&call)
    }

    /// The functions whose errors may be handled by their callers.
    pub(super) fn handled_functions(&self) -> HashSet<&'a str> {
        let mut handled: HashSet<&'a str> = HashSet::new();
        let decorated = self.functions.iter().filter(|(_, function)| function.is_decorated);
        handled.extend(decorated.map(|(name, _)| *name));
        let own = |reference: &&Reference<'a>| self.functions.contains_key(reference.to);
        let mut called_by: HashMap<&'a str, Vec<&'a str>> = HashMap::new();
        let mut to_follow: Vec<&'a str> = handled.iter().copied().collect();
        for reference in self.references.iter().filter(own) {
            if self.may_be_handled(reference) {
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

    fn may_be_handled(&self, reference: &Reference<'a>) -> bool {
        let is_async = self.functions.get(reference.to).is_some_and(|function| function.is_async);
        reference.is_handled
            || match reference.how {
                Use::Called(call) => is_async && !self.is_here(call),
                Use::Mentioned => self.any,
                Use::Defined => false,
            }
    }
}
