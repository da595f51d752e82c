//! The limit on the nesting of a program. Its syntax tree is walked and freed by recursion, so that a
//! hostile program could exhaust the stack of the gateway.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// CPython itself refuses 200 nested brackets or 100 nested blocks. The rest is for operators:
/// `a + b + c` is a tree as deep as it has operators.
const MAX_DEPTH: usize = 400;

/// Tells whether a program is nested too deeply to be parsed. Only its tokens are counted, and the
/// count is never less than the depth of the tree.
pub fn is_too_deep(code: &str) -> bool {
    let mut lexer = lexer::lex(code, Mode::Module);
    let mut blocks = 0_usize;
    let mut depth = 0_usize;
    // A comma does not end a lambda, but stands between its parameters.
    let mut lambdas = 0;
    // The depth at each open bracket, to return to when it closes.
    let mut outside: Vec<usize> = Vec::new();
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return false,
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Newline => {
                (depth, lambdas) = (0, 0);
                outside.clear();
            }
            TokenKind::Lambda => lambdas += 1,
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                depth += 1;
                outside.push(depth);
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => {
                depth = outside.pop().unwrap_or(depth);
            }
            TokenKind::Comma => depth = outside.last().copied().unwrap_or_default(),
            kind if nests(kind) => depth += 1,
            _ => {}
        }
        if depth + lambdas + 4 * blocks > MAX_DEPTH {
            return true;
        }
    }
}

fn nests(kind: TokenKind) -> bool {
    !matches!(
        kind,
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle
            | TokenKind::Comment
            | TokenKind::NonLogicalNewline
            | TokenKind::True
            | TokenKind::False
            | TokenKind::None
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_deep_is_refused() {
        let many = 10_000;
        for deep in [
            "(".repeat(many),
            format!("{}1{}", "(".repeat(many), ")".repeat(many)),
            format!("{}1", "-".repeat(many)),
            format!("{}x", "not ".repeat(many)),
            format!("x{}", ".x".repeat(many)),
            format!("x{}", "()".repeat(many)),
            format!("1{}", " + 1".repeat(many)),
            format!("1{}", " if 1 else 1".repeat(many)),
            format!("{}1", "lambda: ".repeat(many)),
            format!("{}1", "lambda a, b: ".repeat(many)),
            format!("x = {}1", "f'{".repeat(many)),
            (0..many).map(|n| format!("{}if x:\n", " ".repeat(n))).collect(),
        ] {
            assert!(is_too_deep(&deep), "{}", &deep[..40]);
        }
        let numbers = "1, -1, x.y, f(2), ".repeat(many);
        for shallow in [
            format!("x = [{numbers}]"),
            "x = a + b\n".repeat(many),
            format!("x = {{{}}}", "'a': -1, ".repeat(many)),
            "if x:\n  y\nelif z:\n  w\n".repeat(many),
            format!("'''{}'''", "(".repeat(many)),
            String::new(),
        ] {
            assert!(!is_too_deep(&shallow), "{:?}", shallow.get(..40));
        }
    }
}
