//! Converts names that callers write with capitals, spaces or dashes into our spelling.

/// Converts a name into snake case: `groupBy`, `Group By` and `group-by` become `group_by`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut is_after_lower = false;
    for sign in name.trim().chars() {
        match sign {
            '-' | ' ' => snake.push('_'),
            upper if upper.is_uppercase() => {
                snake.extend(is_after_lower.then_some('_').into_iter().chain(upper.to_lowercase()));
            }
            other => snake.push(other),
        }
        is_after_lower = sign.is_lowercase();
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case() {
        for (name, snake) in
            [("groupBy", "group_by"), ("Group By", "group_by"), ("GROUP_BY", "group_by")]
        {
            assert_eq!(snake_case(name), snake);
        }
    }
}
