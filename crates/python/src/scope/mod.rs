//! The scopes of a program: where its names are bound, and to what. The check and the review share
//! this model.
//!
//! A binding says where it stands, what is bound, and from which place on the name is surely bound.
//! The caller decides how much doubt is acceptable: the check follows a name only if exactly one
//! binding can be meant (`meaning`), the review follows everything that the name may be (`bound`).
//!
//! | file | subject |
//! |---|---|
//! | `scopes` | all scopes of a program, and what a name means at a place |
//! | `binding` | one binding: what is bound, where, and how |
//! | `collect` | the one walk that finds them |
//! | `targets` | names that are assigned to, in all the ways there are |
//! | `lambdas` | lambdas whose parameter is known: the key of `sorted`, the function of `map` |
//! | `imports` | what `import` and `from … import …` bind, and to what |
//! | `standard` | the names that every program has without binding them |

mod binding;
mod collect;
mod imports;
mod lambdas;
mod scopes;
pub(crate) mod standard;
mod targets;

#[cfg(test)]
mod tests;

pub(crate) use binding::{Binding, BindingKind, BindingRange, BindingValue, BoundName};
pub(crate) use collect::collect;
pub(crate) use imports::{is_provided, module_of};
pub(crate) use scopes::{MODULE, NameMeaning, ScopeId, ScopeKind, Scopes};
