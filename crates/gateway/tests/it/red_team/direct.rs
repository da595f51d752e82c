//! What a client is given by a server that is passed through. All of it is held in `boundary` and
//! in `strict`, in both eras of the protocol.

use super::{
    Attempt,
    Step::{Call, Complete, Lists, Prompt, Resource},
    attempt,
};

pub(crate) const DIRECT: &[Attempt] = &[
    attempt("direct: a record", &[Call("customer", "{}")]),
    attempt("direct: a letter", &[Call("letter", "{}")]),
    attempt("direct: within records", &[Call("nested", "{}")]),
    attempt("direct: packed JSON", &[Call("packed", "{}")]),
    attempt("direct: numbers", &[Call("numbers", "{}")]),
    attempt("direct: keys", &[Call("keyed", "{}")]),
    attempt("direct: a link", &[Call("link", "{}")]),
    attempt("direct: the query of a URL", &[Call("query", "{}")]),
    attempt("direct: an attachment", &[Call("attachment", "{}")]),
    attempt("direct: a private key", &[Call("private_key", "{}")]),
    attempt("direct: beside the result", &[Call("beside", "{}")]),
    attempt("direct: a failure", &[Call("fails", "{}")]),
    attempt("direct: a refusal", &[Call("refuses", "{}")]),
    attempt("direct: a log", &[Call("logs", "{}")]),
    attempt("direct: progress", &[Call("works", "{}")]),
    attempt("direct: a question to a model", &[Call("asks_model", "{}")]),
    attempt("direct: a question to a person", &[Call("asks_person", "{}")]),
    attempt("direct: a prompt", &[Prompt("answer")]),
    attempt("direct: a resource", &[Resource("planted://letter")]),
    attempt("direct: a resource of bytes", &[Resource("planted://attachment")]),
    attempt("direct: lists", &[Lists]),
    // Whose it is, is known from the lists.
    attempt("direct: a resource that is gone", &[Resource("planted://gone")]),
    attempt("direct: a completion", &[Complete("answer")]),
];
