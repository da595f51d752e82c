//! `await`, `return`, `yield`, `break` and `continue` at places where Python does not allow them. The
//! parser accepts them anywhere; CPython refuses them when it compiles.

use ruff_python_ast::{
    Comprehension, Expr, Stmt,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextSize};

/// A statement or expression at a place where Python does not allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// `await` outside of all functions: a module is imported, and an import cannot wait.
    TopLevelAwait,
    /// Anything else, with the message of CPython.
    Other(&'static str),
}

/// Returns the first misplaced statement or expression of the code.
pub fn misplaced(body: &[Stmt]) -> Option<(TextSize, Misplaced)> {
    let mut flow = ControlFlowCheck { place: EnclosingScope::Module, in_loop: false, found: None };
    flow.visit_body(body);
    flow.found
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EnclosingScope {
    Module,
    Class,
    Function,
    /// Also a generator expression, which becomes asynchronous if there is an `await` in it.
    AsyncFunction,
}

struct ControlFlowCheck {
    place: EnclosingScope,
    in_loop: bool,
    found: Option<(TextSize, Misplaced)>,
}

impl ControlFlowCheck {
    fn report(&mut self, at: TextSize, what: Misplaced) {
        if self.found.is_none_or(|(first, _)| at < first) {
            self.found = Some((at, what));
        }
    }

    fn report_waiting(&mut self, at: TextSize, said: &'static str) {
        match self.place {
            EnclosingScope::Module => self.report(at, Misplaced::TopLevelAwait),
            EnclosingScope::Class | EnclosingScope::Function => {
                self.report(at, Misplaced::Other(said))
            }
            EnclosingScope::AsyncFunction => {}
        }
    }

    fn report_outside_function(&mut self, at: TextSize, said: &'static str) {
        if matches!(self.place, EnclosingScope::Module | EnclosingScope::Class) {
            self.report(at, Misplaced::Other(said));
        }
    }

    fn within(&mut self, place: EnclosingScope, then: impl FnOnce(&mut Self)) {
        let outer = (self.place, self.in_loop);
        (self.place, self.in_loop) = (place, false);
        then(self);
        (self.place, self.in_loop) = outer;
    }

    fn looped<'a>(&mut self, body: &'a [Stmt], orelse: &'a [Stmt]) {
        let outer = std::mem::replace(&mut self.in_loop, true);
        self.visit_body(body);
        self.in_loop = outer;
        self.visit_body(orelse);
    }

    fn comprehension(&mut self, at: TextSize, generators: &[Comprehension]) {
        if generators.iter().any(|generator| generator.is_async) {
            let said = "asynchronous comprehension outside of an asynchronous function";
            self.report_waiting(at, said);
        }
    }
}

impl<'a> Visitor<'a> for ControlFlowCheck {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                self.visit_parameters(&function.parameters);
                let place = if function.is_async {
                    EnclosingScope::AsyncFunction
                } else {
                    EnclosingScope::Function
                };
                self.within(place, |inner| inner.visit_body(&function.body));
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                self.within(EnclosingScope::Class, |inner| inner.visit_body(&class.body));
            }
            Stmt::For(each) => {
                if each.is_async {
                    self.report_waiting(each.start(), "'async for' outside async function");
                }
                self.visit_expr(&each.iter);
                self.visit_expr(&each.target);
                self.looped(&each.body, &each.orelse);
            }
            Stmt::While(each) => {
                self.visit_expr(&each.test);
                self.looped(&each.body, &each.orelse);
            }
            _ => {
                match stmt {
                    Stmt::With(with) if with.is_async => {
                        self.report_waiting(with.start(), "'async with' outside async function");
                    }
                    Stmt::Return(_) => {
                        self.report_outside_function(stmt.start(), "'return' outside function");
                    }
                    Stmt::Break(_) if !self.in_loop => {
                        self.report(stmt.start(), Misplaced::Other("'break' outside loop"));
                    }
                    Stmt::Continue(_) if !self.in_loop => {
                        let said = Misplaced::Other("'continue' not properly in loop");
                        self.report(stmt.start(), said);
                    }
                    _ => {}
                }
                visitor::walk_stmt(self, stmt);
            }
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let at = expr.start();
        match expr {
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                return self
                    .within(EnclosingScope::Function, |inner| inner.visit_expr(&lambda.body));
            }
            Expr::Generator(_) => {
                return self.within(EnclosingScope::AsyncFunction, |inner| {
                    visitor::walk_expr(inner, expr)
                });
            }
            Expr::ListComp(list) => self.comprehension(at, &list.generators),
            Expr::SetComp(set) => self.comprehension(at, &set.generators),
            Expr::DictComp(dict) => self.comprehension(at, &dict.generators),
            Expr::Await(_) => self.report_waiting(at, "'await' outside async function"),
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.report_outside_function(at, "'yield' outside function");
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
