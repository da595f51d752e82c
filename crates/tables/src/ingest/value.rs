//! Reads JSON values in memory.

use std::slice;

use serde_json::{Value, map};

use crate::{
    flaw::{Flaw, Result},
    reader::{Form, Reader, Token},
};

pub(super) struct ValueReader<'a> {
    next: &'a Value,
    inside: Vec<ValueChildren<'a>>,
    digits: String,
}

enum ValueChildren<'a> {
    List(slice::Iter<'a, Value>),
    Object(map::Iter<'a>),
}

impl<'a> ValueReader<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self { next: value, inside: Vec::new(), digits: String::new() }
    }
}

impl Reader for ValueReader<'_> {
    fn form(&mut self) -> Result<Form> {
        Ok(match self.next {
            Value::Null => Form::Null,
            Value::Array(_) => Form::List,
            Value::Object(_) => Form::Object,
            _ => Form::Plain,
        })
    }

    fn value(&mut self) -> Result<Token<'_>> {
        Ok(match self.next {
            Value::Null => Token::Null,
            Value::Bool(value) => Token::Bool(*value),
            Value::String(text) => Token::Text(text),
            Value::Number(number) => {
                if let Some(value) = number.as_i64() {
                    Token::Int(value)
                } else if let (Some(value), false) = (number.as_f64(), number.is_u64()) {
                    Token::Float(value)
                } else {
                    self.digits = number.to_string();
                    Token::Big(&self.digits)
                }
            }
            Value::Array(items) => {
                self.inside.push(ValueChildren::List(items.iter()));
                Token::List
            }
            Value::Object(fields) => {
                self.inside.push(ValueChildren::Object(fields.iter()));
                Token::Object
            }
        })
    }

    fn element(&mut self) -> Result<bool> {
        let Some(ValueChildren::List(items)) = self.inside.last_mut() else {
            return Err(misread());
        };
        match items.next() {
            Some(value) => self.next = value,
            None => {
                self.inside.pop();
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn key(&mut self) -> Result<Option<&[u8]>> {
        let Some(ValueChildren::Object(fields)) = self.inside.last_mut() else {
            return Err(misread());
        };
        match fields.next() {
            Some((key, value)) => {
                self.next = value;
                Ok(Some(key.as_bytes()))
            }
            None => {
                self.inside.pop();
                Ok(None)
            }
        }
    }
}

fn misread() -> Flaw {
    Flaw::data("the value has another form than it seemed to have")
}
