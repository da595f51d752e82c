//! Parses the text of a query.

use datafusion::sql::sqlparser::{
    ast::{Expr, Query, Statement},
    dialect::GenericDialect,
    parser::Parser,
    tokenizer::{Token, TokenWithSpan, Tokenizer},
};

use super::check::Refused;

/// The longest text of a query, in bytes and in words.
const MAX_BYTES: usize = 64 << 10;
const MAX_TOKENS: usize = 16 << 10;

/// The deepest nesting of brackets. Each level can double what the parser tries.
const MAX_NESTED: usize = 24;

/// The recursion limit of the parser.
const RECURSION: usize = 200;

const DIALECT: GenericDialect = GenericDialect {};

/// Words that a query can begin with.
const BEGINNINGS: [&str; 4] = ["SELECT", "WITH", "VALUES", "FROM"];

pub(super) fn query(text: &str) -> Result<Box<Query>, Refused> {
    let tokens = tokens(text)?;
    begins_well(&tokens)?;
    let mut parser = parser(tokens);
    let mut statements = parser.parse_statements().map_err(readable)?;
    let statement = statements.pop().ok_or_else(|| "there is no query".to_owned())?;
    if !statements.is_empty() {
        return Err("one query at a time; there are several statements".to_owned());
    }
    match statement {
        Statement::Query(query) => Ok(query),
        _ => Err("only queries that read are allowed: SELECT, WITH or VALUES".to_owned()),
    }
}

pub(super) fn expression(text: &str) -> Result<Expr, Refused> {
    let mut parser = parser(tokens(text)?);
    let expression = parser.parse_expr().map_err(readable)?;
    match parser.peek_token().token {
        Token::EOF => Ok(expression),
        Token::Word(word) if word.value.eq_ignore_ascii_case("if") => {
            Err("a choice is written as CASE WHEN a THEN b ELSE c END".to_owned())
        }
        rest => Err(format!("it is one expression, but after it there is {rest}")),
    }
}

fn parser(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&DIALECT).with_recursion_limit(RECURSION).with_tokens_with_locations(tokens)
}

fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, Refused> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is longer than {} KB", MAX_BYTES >> 10));
    }
    let tokens = Tokenizer::new(&DIALECT, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| error.to_string())?;
    let mut words = 0;
    let (mut nested, mut deepest) = (0_usize, 0);
    for token in &tokens {
        match token.token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket | Token::LBrace => nested += 1,
            Token::RParen | Token::RBracket | Token::RBrace => nested = nested.saturating_sub(1),
            _ => {}
        }
        words += 1;
        deepest = deepest.max(nested);
    }
    if words > MAX_TOKENS {
        return Err(format!("it has more than {MAX_TOKENS} words"));
    }
    if deepest > MAX_NESTED {
        return Err(format!("brackets are nested more than {MAX_NESTED} deep"));
    }
    Ok(tokens)
}

/// Refuses statements that are not queries, in plain words, before the parser tries them.
fn begins_well(tokens: &[TokenWithSpan]) -> Result<(), Refused> {
    let first = tokens
        .iter()
        .map(|token| &token.token)
        .find(|token| !matches!(token, Token::Whitespace(_) | Token::LParen | Token::SemiColon));
    match first {
        Some(Token::Word(word)) => {
            let begins = |known: &&str| known.eq_ignore_ascii_case(&word.value);
            match word.quote_style.is_none() && BEGINNINGS.iter().any(begins) {
                true => Ok(()),
                false => Err(format!(
                    "only queries that read are allowed: SELECT, WITH or VALUES, not {}",
                    word.value.chars().take(20).collect::<String>()
                )),
            }
        }
        Some(Token::EOF) | None => Err("there is no query".to_owned()),
        Some(_) => Err("only queries that read are allowed: SELECT, WITH or VALUES".to_owned()),
    }
}

fn readable(error: impl std::fmt::Display) -> Refused {
    let text = error.to_string();
    let text = text.strip_prefix("sql parser error: ").unwrap_or(&text);
    match text {
        "recursion limit exceeded" => "it is nested too deeply".to_owned(),
        text if text.starts_with("Expected: (, found: [") => {
            format!("{text}; lists stand in round brackets, as in x IN ('a', 'b')")
        }
        text => text.to_owned(),
    }
}
