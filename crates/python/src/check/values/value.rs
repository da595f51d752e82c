//! The value that an expression certainly has.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use ruff_python_ast::{BoolOp, Expr, ExprName, ExprSubscript, Number};
use ruff_text_size::{Ranged, TextRange};

use crate::{
    check::{
        facts::Facts,
        given::GivenVariables,
        values::{UsedTool, UsedTools, ValueShape},
    },
    scope::{BindingValue, NameMeaning, ScopeId, standard},
    syntax::string,
};

/// How far a value is followed from expression to expression: further than any program that was
/// written by hand passes one on. It bounds the stack.
const FURTHEST: usize = 40;
/// The longest list that is known element by element.
const MAX_PARTS: usize = 32;

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Unknown,
    /// A module, or something in one: `servers.github`, `asyncio.gather`.
    Path(Arc<str>),
    /// A call of a tool that is not awaited yet, and its future result.
    Coroutine(Rc<UsedTool>, Rc<Value>),
    /// Anything else that can be awaited, and its future value.
    Future(Rc<Value>),
    /// A result, or a part of one.
    Result(Rc<UsedTool>, Rc<ValueShape>),
    /// A known number of values.
    Parts(Rc<[Value]>),
    /// Any number of values of this kind.
    List(Rc<Value>),
}

impl Value {
    pub(crate) fn result(tool: &Rc<UsedTool>, shape: &Rc<ValueShape>) -> Self {
        match **shape {
            ValueShape::Anything => Self::Unknown,
            _ => Self::Result(Rc::clone(tool), Rc::clone(shape)),
        }
    }

    pub(crate) fn list(element: Self) -> Self {
        match element {
            Self::Unknown => Self::Unknown,
            element => Self::List(Rc::new(element)),
        }
    }

    /// Returns the value that `for` gives for each element.
    pub(crate) fn element(&self) -> Self {
        match self {
            Self::Result(tool, shape) => match &**shape {
                ValueShape::List(item) => Self::result(tool, item),
                _ => Self::Unknown,
            },
            Self::List(element) => (**element).clone(),
            Self::Parts(parts) => {
                let mut parts = parts.iter();
                let first = parts.next().cloned().unwrap_or(Self::Unknown);
                parts.fold(first, |all, part| all.or(part))
            }
            _ => Self::Unknown,
        }
    }

    /// Returns the value that `await` gives.
    pub(crate) fn awaited(&self) -> Self {
        match self {
            Self::Coroutine(_, value) | Self::Future(value) => (**value).clone(),
            _ => Self::Unknown,
        }
    }

    /// Returns the value at a position.
    fn part(&self, position: usize) -> Self {
        match self {
            Self::Parts(parts) => parts.get(position).cloned().unwrap_or(Self::Unknown),
            other => other.element(),
        }
    }

    /// Returns the value that is one of two; unknown unless they are the same.
    fn or(self, other: &Self) -> Self {
        match (&self, other) {
            (Self::Result(_, one), Self::Result(_, two)) if Rc::ptr_eq(one, two) => self,
            (Self::Coroutine(one, _), Self::Coroutine(two, _)) if Rc::ptr_eq(one, two) => self,
            _ => Self::Unknown,
        }
    }

    /// Returns the value of a dict's field.
    pub(crate) fn field(&self, name: &str) -> Self {
        match self {
            Self::Result(tool, shape) => match &**shape {
                ValueShape::Object(object) => {
                    object.fields.get(name).map_or(Self::Unknown, |field| Self::result(tool, field))
                }
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }

    /// Visits the tools that the value came from. None if it has more than `parts_left` parts.
    pub(crate) fn tools(
        &self,
        parts_left: &mut usize,
        visit: &mut impl FnMut(&UsedTool),
    ) -> Option<()> {
        *parts_left = parts_left.checked_sub(1)?;
        match self {
            Self::Unknown | Self::Path(_) => Some(()),
            Self::Coroutine(tool, _) | Self::Result(tool, _) => {
                visit(tool);
                Some(())
            }
            Self::Future(value) | Self::List(value) => value.tools(parts_left, visit),
            Self::Parts(parts) => parts.iter().try_for_each(|part| part.tools(parts_left, visit)),
        }
    }
}

/// The resolver of expressions to values.
pub(crate) struct Values<'a, 'k> {
    pub(crate) facts: Facts<'a>,
    pub(crate) tools: UsedTools<'k>,
    given: GivenVariables<'k>,
    bound: RefCell<HashMap<(ScopeId, &'a str), Value>>,
    /// The values of calls, fields and so on, by their range. Without this cache each part of
    /// `a().b().c()` would be resolved more often than the one around it.
    parts: RefCell<HashMap<TextRange, Value>>,
    depth: Cell<usize>,
}

impl<'a, 'k> Values<'a, 'k> {
    pub(crate) fn new(facts: Facts<'a>, tools: UsedTools<'k>, given: GivenVariables<'k>) -> Self {
        Self {
            facts,
            tools,
            given,
            bound: RefCell::default(),
            parts: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// Returns the name of the builtin function that an expression certainly is, if it is one.
    pub(crate) fn builtin<'e>(&self, expr: &'e Expr, scope: ScopeId) -> Option<&'e str> {
        let name = expr.as_name_expr()?;
        let meaning = self.facts.scopes.meaning(&name.id, scope, name.start());
        let is_free = matches!(meaning, NameMeaning::Free) && !self.given.may_have(&name.id);
        is_free.then_some(name.id.as_str())
    }

    /// Resolves an expression in a scope to its value.
    pub(crate) fn of(&self, expr: &Expr, scope: ScopeId) -> Value {
        if expr.is_literal_expr() {
            return Value::Unknown;
        }
        if let Some(known) = self.parts.borrow().get(&expr.range()) {
            return known.clone();
        }
        let depth = self.depth.get();
        if depth >= FURTHEST {
            return Value::Unknown;
        }
        self.depth.set(depth + 1);
        let value = self.of_expr(expr, scope);
        self.depth.set(depth);
        self.parts.borrow_mut().insert(expr.range(), value.clone());
        value
    }

    fn of_expr(&self, expr: &Expr, scope: ScopeId) -> Value {
        match expr {
            Expr::Name(name) => self.of_name(name, scope),
            Expr::Attribute(attribute) => match self.of(&attribute.value, scope) {
                Value::Path(path) if !self.is_stored(&attribute.attr) => {
                    Value::Path(format!("{path}.{}", &attribute.attr).into())
                }
                _ => Value::Unknown,
            },
            Expr::Await(awaited) => self.of(&awaited.value, scope).awaited(),
            Expr::Call(call) => self.of_call(call, scope),
            Expr::Subscript(subscript) => self.of_subscript(subscript, scope),
            Expr::ListComp(comp) => self.of_comprehension(expr, &comp.elt),
            Expr::Generator(comp) => self.of_comprehension(expr, &comp.elt),
            Expr::List(list) => self.of_parts(&list.elts, scope),
            Expr::Tuple(tuple) => self.of_parts(&tuple.elts, scope),
            Expr::Named(named) => self.of(&named.value, scope),
            Expr::If(either) if is_empty(&either.orelse) => self.of(&either.body, scope),
            Expr::If(either) => {
                let body = self.of(&either.body, scope);
                body.or(&self.of(&either.orelse, scope))
            }
            Expr::BoolOp(any) if any.op == BoolOp::Or => match any.values.as_slice() {
                [first, rest @ ..] if rest.iter().all(is_empty) => self.of(first, scope),
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    fn is_stored(&self, attribute: &str) -> bool {
        self.facts.scopes.stored_attributes.contains(attribute)
    }

    fn of_name(&self, name: &ExprName, scope: ScopeId) -> Value {
        if self.facts.doubted.contains(name.id.as_str()) {
            return Value::Unknown;
        }
        let (binding, key) = match self.facts.scopes.meaning(&name.id, scope, name.start()) {
            NameMeaning::One(binding, key) => (binding, key),
            NameMeaning::Free if !self.given.may_have(&name.id) => {
                return self.of_free(&name.id);
            }
            NameMeaning::Free | NameMeaning::Unclear => return Value::Unknown,
        };
        if let Some(known) = self.bound.borrow().get(&key) {
            return known.clone();
        }
        // A placeholder while it is resolved, because it may be made from itself.
        self.bound.borrow_mut().insert(key, Value::Unknown);
        let value = self.of_source(&binding.source, binding.place.evaluated);
        self.bound.borrow_mut().insert(key, value.clone());
        value
    }

    /// Resolves a name that the program does not bind: a name of Narrows, or a tool without an import.
    fn of_free(&self, name: &str) -> Value {
        if let Some(path) = standard::path(name) {
            return Value::Path(path.into());
        }
        match (standard::is_known(name), self.tools.owners(name)) {
            (false, [module]) => Value::Path(format!("servers.{module}.{name}").into()),
            _ => Value::Unknown,
        }
    }

    fn of_source(&self, source: &BindingValue<'a>, scope: ScopeId) -> Value {
        match source {
            BindingValue::Path(path) => Value::Path(Arc::clone(path)),
            BindingValue::Value(expr) => self.of(expr, scope),
            BindingValue::Element(expr) => self.of(expr, scope).element(),
            BindingValue::ElementFor(builtin, expr) => {
                let at = expr.start();
                match self.facts.scopes.meaning(builtin, scope, at) {
                    NameMeaning::Free => self.of(expr, scope).element(),
                    _ => Value::Unknown,
                }
            }
            BindingValue::Part(whole, position) => self.of_source(whole, scope).part(*position),
            BindingValue::Definition | BindingValue::Unknown => Value::Unknown,
        }
    }

    fn of_subscript(&self, subscript: &ExprSubscript, scope: ScopeId) -> Value {
        let value = self.of(&subscript.value, scope);
        match &*subscript.slice {
            Expr::Slice(_) => match value {
                Value::Parts(_) => Value::list(value.element()),
                value => value,
            },
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(position) => value.part(position.as_usize().unwrap_or(usize::MAX)),
                _ => Value::Unknown,
            },
            key => match string(key) {
                Some(name) => value.field(name),
                None => value.element(),
            },
        }
    }

    fn of_comprehension(&self, comprehension: &Expr, element: &Expr) -> Value {
        match self.facts.scopes.of(comprehension.range()) {
            Some(scope) => Value::list(self.of(element, scope)),
            None => Value::Unknown,
        }
    }

    fn of_parts(&self, parts: &[Expr], scope: ScopeId) -> Value {
        if parts.is_empty() || parts.len() > MAX_PARTS || parts.iter().any(Expr::is_starred_expr) {
            return Value::Unknown;
        }
        Value::Parts(parts.iter().map(|part| self.of(part, scope)).collect())
    }
}

/// Tells whether an expression is an empty default: `[]`, `{}`, `None`.
pub(crate) fn is_empty(expr: &Expr) -> bool {
    match expr {
        Expr::NoneLiteral(_) => true,
        Expr::List(list) => list.elts.is_empty(),
        Expr::Tuple(tuple) => tuple.elts.is_empty(),
        Expr::Dict(dict) => dict.items.is_empty(),
        _ => false,
    }
}
