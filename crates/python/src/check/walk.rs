//! The walk over every statement and expression of a program, in its scope.

use std::collections::HashMap;

use ruff_python_ast::{
    BoolOp, Expr, ExprAwait, ExprCall, ExprContext, Stmt,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange};

use crate::{
    check::{
        facts::{Handled, handled},
        finding::{CheckFindings, Checked},
        given::GivenVariables,
        names::{Undefined, undefined},
        rules::{FieldChecker, calls, fields, names},
        values::{FullNameMeaning, ResolvedCallee, Value, Values},
    },
    scope::{
        MODULE, ScopeId,
        standard::{is_not_awaited, looks_at_arguments},
    },
    syntax::{Comprehended, last_name, string},
};

pub(super) struct CheckWalker<'v, 'a, 'k> {
    values: &'v Values<'a, 'k>,
    findings: CheckFindings<'a>,
    undefined: Undefined<'v>,
    handled_functions: HashMap<&'a str, Handled>,
    scope: ScopeId,
    /// The errors that are handled around this place.
    handled: Handled,
    /// How many of the parts around this place may be skipped.
    conditional: usize,
    /// How many expressions around this place have an alternative for a missing value.
    optional: usize,
    /// The name that the expression around it calls, or reads an attribute of.
    named: Option<(TextRange, undefined::NameUse<'a>)>,
}

impl<'v, 'a, 'k> CheckWalker<'v, 'a, 'k> {
    pub(super) fn new(
        values: &'v Values<'a, 'k>,
        code: &'a str,
        given: GivenVariables<'v>,
    ) -> Self {
        Self {
            values,
            findings: CheckFindings::new(code),
            undefined: Undefined::new(given),
            handled_functions: values.facts.handling.handled_functions(),
            scope: MODULE,
            handled: Handled::Nothing,
            conditional: 0,
            optional: 0,
            named: None,
        }
    }

    pub(super) fn walk(mut self, body: &'a [Stmt]) -> Checked {
        visitor::walk_body(&mut self, body);
        self.undefined.early(body, self.values, &mut self.findings);
        let Undefined { implied, library, tools, .. } = self.undefined;
        Checked { findings: self.findings.finish(), implied, library, tools }
    }

    fn reading(&mut self) -> FieldChecker<'_, 'a, 'k, '_> {
        FieldChecker { values: self.values, findings: &mut self.findings, scope: self.scope }
    }

    fn within(&mut self, node: TextRange, then: impl FnOnce(&mut Self)) {
        let Some(inner) = self.values.facts.scopes.of(node) else { return };
        let outer = std::mem::replace(&mut self.scope, inner);
        then(self);
        self.scope = outer;
    }

    fn handled(&mut self, handled: Handled, then: impl FnOnce(&mut Self)) {
        let outer = self.handled;
        self.handled = outer.max(handled);
        then(self);
        self.handled = outer;
    }

    /// Tells whether the program handles errors around this place.
    fn is_handled(&self) -> bool {
        self.handled > Handled::Nothing
    }

    fn speaks_of_names(&self) -> bool {
        self.values.facts.handling.speaks_of_names
    }

    fn comprehension(&mut self, comprehended: &Comprehended<'a>) {
        let Comprehended { range: node, generators, elements } = comprehended;
        let node = *node;
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
            self.iterated(&first.iter);
        }
        self.within(node, |inner| {
            for (position, generator) in generators.iter().enumerate() {
                if position > 0 {
                    inner.visit_expr(&generator.iter);
                    inner.iterated(&generator.iter);
                }
                generator.ifs.iter().for_each(|test| inner.visit_expr(test));
            }
            elements.iter().for_each(|element| inner.visit_expr(element));
        });
    }

    /// Reports a call without `await` whose value is iterated over, used, or thrown away.
    fn iterated(&mut self, expr: &Expr) {
        if !self.is_handled()
            && let Value::Coroutine(tool, _) = self.values.of(expr, self.scope)
        {
            self.findings.add(expr.start(), fields::not_awaited(&tool));
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        if self.is_handled() {
            return;
        }
        if self.values.facts.handling.is_here(call.range()) {
            match self.values.callee(call, self.scope) {
                ResolvedCallee::Tool(tool) => {
                    calls::of_function(call, &tool.known, &mut self.findings)
                }
                ResolvedCallee::ByName(FullNameMeaning::Tool(tool)) => {
                    calls::by_full_name(call, &tool.known, &mut self.findings);
                }
                ResolvedCallee::ByName(FullNameMeaning::Wrong) => {
                    let name = calls::full_name(call);
                    let at = name.map_or(call.start(), Ranged::start);
                    let name = name.and_then(string).unwrap_or_default();
                    self.findings.add(at, self.values.tools.why_wrong(name));
                }
                ResolvedCallee::ByName(FullNameMeaning::NotKnown) | ResolvedCallee::Other => {}
            }
        }
        if self.optional == 0 {
            self.reading().get(call);
        }
        let looks = self.values.builtin(&call.func, self.scope).is_some_and(looks_at_arguments)
            || matches!(self.values.of(&call.func, self.scope),
                Value::Path(path) if &*path == "json.dumps");
        if looks {
            call.arguments.args.iter().for_each(|argument| self.iterated(argument));
        }
    }

    /// Reports `await read_file(…)`, an `await` of a function that returns its value at once.
    fn awaited(&mut self, awaited: &'a ExprAwait) {
        if self.is_handled() {
            return;
        }
        let Expr::Call(call) = &*awaited.value else { return };
        let name = self.values.builtin(&call.func, self.scope);
        if let Some(name) = name.filter(|name| is_not_awaited(name)) {
            let message = format!("{name}() gives its value at once: remove the `await`");
            self.findings.add(awaited.start(), message);
        }
    }

    fn body_of_if(&mut self, test: Option<&'a Expr>, body: &'a [Stmt]) {
        if let Some(test) = test {
            self.visit_expr(test);
            // This branch is for type checkers, and is not executed.
            if last_name(test) == Some("TYPE_CHECKING") {
                return;
            }
        }
        self.conditional += 1;
        self.visit_body(body);
        self.conditional -= 1;
    }
}

impl<'a> Visitor<'a> for CheckWalker<'_, 'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if self.findings.are_enough() {
            return;
        }
        let is_sure = !self.is_handled() && self.conditional == 0;
        match stmt {
            Stmt::Import(import) if is_sure => {
                names::of_import(import, &self.values.tools, &mut self.findings);
            }
            Stmt::ImportFrom(import) if is_sure => {
                names::of_import_from(import, &self.values.tools, &mut self.findings);
            }
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                self.visit_parameters(&function.parameters);
                let by_callers = self.handled_functions.get(function.name.as_str());
                self.handled(by_callers.copied().unwrap_or_default(), |inner| {
                    if inner.handled < Handled::Names {
                        undefined::early_in(function, inner.values, &mut inner.findings);
                    }
                    inner.within(function.range, |inner| inner.visit_body(&function.body));
                });
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                self.within(class.range, |inner| inner.visit_body(&class.body));
            }
            Stmt::If(choice) => {
                self.body_of_if(Some(&choice.test), &choice.body);
                for clause in &choice.elif_else_clauses {
                    self.body_of_if(clause.test.as_ref(), &clause.body);
                }
            }
            Stmt::While(_) | Stmt::Match(_) => {
                self.conditional += 1;
                visitor::walk_stmt(self, stmt);
                self.conditional -= 1;
            }
            Stmt::For(each) => {
                if !each.is_async {
                    self.iterated(&each.iter);
                }
                self.conditional += 1;
                visitor::walk_stmt(self, stmt);
                self.conditional -= 1;
            }
            Stmt::With(with) => {
                let suppressed = handled::suppresses(with, self.speaks_of_names());
                self.handled(suppressed, |inner| visitor::walk_stmt(inner, stmt));
            }
            Stmt::Try(attempt) => {
                let caught = handled::catches(attempt, self.speaks_of_names());
                self.handled(caught, |inner| inner.visit_body(&attempt.body));
                self.conditional += 1;
                attempt.handlers.iter().for_each(|handler| self.visit_except_handler(handler));
                self.visit_body(&attempt.orelse);
                self.conditional -= 1;
                self.visit_body(&attempt.finalbody);
            }
            Stmt::Expr(statement) => {
                self.iterated(&statement.value);
                visitor::walk_stmt(self, stmt);
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {
        // In an annotation, `Issue["titel"]` is a type.
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.findings.are_enough() {
            return;
        }
        if let Some(comprehended) = Comprehended::of(expr) {
            return self.comprehension(&comprehended);
        }
        match expr {
            Expr::Call(call) => {
                self.named = Some((call.func.range(), undefined::NameUse::Called));
            }
            Expr::Attribute(attribute) => {
                let reading = undefined::NameUse::Base(&attribute.attr);
                self.named = Some((attribute.value.range(), reading));
            }
            _ => {}
        }
        match expr {
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                // A lambda may be called where errors are handled.
                let facts = &self.values.facts;
                let handled = match facts.scopes.keys.contains(&lambda.range) {
                    true => Handled::Nothing,
                    false => facts.handling.anywhere(),
                };
                return self.handled(handled, |inner| {
                    inner.within(lambda.range, |inner| inner.visit_expr(&lambda.body));
                });
            }
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                let is_handled = self.handled == Handled::Names;
                let named = self.named.filter(|(at, _)| *at == name.range);
                let reading = named.map_or(undefined::NameUse::Other, |(_, reading)| reading);
                let (values, scope) = (self.values, self.scope);
                let findings = &mut self.findings;
                self.undefined.read(name, reading, values, scope, is_handled, findings);
            }
            Expr::If(_) => return self.with_alternative(expr),
            Expr::BoolOp(any) if any.op == BoolOp::Or => return self.with_alternative(expr),
            Expr::Call(call) => self.call(call),
            Expr::Await(awaited) => self.awaited(awaited),
            Expr::Subscript(subscript)
                if !self.is_handled() && subscript.ctx == ExprContext::Load =>
            {
                self.reading().subscript(subscript);
            }
            Expr::Attribute(attribute)
                if !self.is_handled() && attribute.ctx == ExprContext::Load =>
            {
                if let Value::Path(path) = self.values.of(&attribute.value, self.scope) {
                    let facts = &self.values.facts;
                    let name = attribute.attr.as_str();
                    let may_be_there = facts.scopes.stored_attributes.contains(name)
                        || facts.touched_fields.contains(name);
                    if !may_be_there {
                        let tools = &self.values.tools;
                        names::of_attribute(&path, attribute, tools, &mut self.findings);
                    }
                }
                self.reading().attribute(attribute);
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

impl<'a> CheckWalker<'_, 'a, '_> {
    fn with_alternative(&mut self, expr: &'a Expr) {
        self.optional += 1;
        visitor::walk_expr(self, expr);
        self.optional -= 1;
    }
}
