//! Finds skills that import one another in a circle. Python would give the last of them a module that
//! is only partly initialised.

use std::{
    collections::HashSet,
    fmt::{self, Display},
};

/// A chain of imports from a skill back to itself: `a -> b -> a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(Vec<String>);

impl Cycle {
    /// Returns the names in the order of the imports; the first and the last are the same.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" -> "))
    }
}

/// Finds a cycle among a skill and all skills that it imports. A skill that does not exist imports
/// nothing. `imports_of` is called once for each skill, and a chain may have any length.
pub fn find_cycle(name: &str, mut imports_of: impl FnMut(&str) -> Vec<String>) -> Option<Cycle> {
    // The chain from the first skill, each with those of its imports that are not yet visited.
    let mut way: Vec<(String, Vec<String>)> = vec![(name.to_owned(), imports_of(name))];
    let mut on_way: HashSet<String> = HashSet::from([name.to_owned()]);
    let mut done: HashSet<String> = HashSet::new();
    while let Some((_, left)) = way.last_mut() {
        let Some(next) = left.pop() else {
            let (finished, _) = way.pop()?;
            on_way.remove(&finished);
            done.insert(finished);
            continue;
        };
        if on_way.contains(&next) {
            let from_there = way.iter().map(|(name, _)| name).skip_while(|name| **name != next);
            let mut names: Vec<String> = from_there.cloned().collect();
            names.push(next);
            return Some(Cycle(names));
        }
        if !done.contains(&next) {
            let imports = imports_of(&next);
            on_way.insert(next.clone());
            way.push((next, imports));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn cycle(skills: &[(&str, &[&str])]) -> Option<String> {
        let skills: HashMap<&str, &[&str]> = skills.iter().copied().collect();
        let imports = |name: &str| {
            let imports = skills.get(name).copied().unwrap_or_default();
            imports.iter().map(|one| (*one).to_owned()).collect()
        };
        find_cycle("a", imports).map(|cycle| cycle.to_string())
    }

    #[test]
    fn a_circle_is_shown_from_where_it_starts() {
        assert_eq!(cycle(&[("a", &["a"])]).as_deref(), Some("a -> a"));
        assert_eq!(cycle(&[("a", &["b"]), ("b", &["a"])]).as_deref(), Some("a -> b -> a"));
        let behind: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["c"]), ("c", &["d", "b"])];
        assert_eq!(cycle(behind).as_deref(), Some("b -> c -> b"));
    }

    #[test]
    fn a_skill_that_is_needed_twice_is_no_circle() {
        assert_eq!(cycle(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]), None);
        assert_eq!(cycle(&[("a", &["not_there"])]), None);
    }

    #[test]
    fn long_chains_and_many_ways_take_little_time() {
        let chain = |name: &str| match name.parse::<u32>() {
            Ok(100_000) | Err(_) => Vec::new(),
            Ok(n) => vec![(n + 1).to_string()],
        };
        assert_eq!(find_cycle("0", chain), None);
        // Each skill of 40 layers imports both skills of the next one, which makes 2^40 chains.
        let mut asked = 0;
        let layers = |name: &str| {
            asked += 1;
            let layer: u32 = name[1..].parse().unwrap_or_default();
            if layer == 40 {
                return Vec::new();
            }
            vec![format!("a{}", layer + 1), format!("b{}", layer + 1)]
        };
        assert_eq!(find_cycle("a0", layers), None);
        assert_eq!(asked, 81);
    }
}
