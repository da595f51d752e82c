//! Checks the patterns of regular expressions: they must be constants, and not too large for the texts
//! that are searched.

use std::cell::RefCell;

use datafusion::{
    common::{ScalarValue, exec_err},
    error::Result,
    logical_expr::ColumnarValue,
};
use regex::RegexBuilder;

/// The longest pattern.
const MAX_BYTES: usize = 4096;

/// Sizes by which compiled patterns are measured. A pattern larger than the last is refused.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// How many bytes of a compiled pattern cost as much time for each byte searched, at worst, as making
/// one byte.
const SIZE_PER_BYTE: usize = 1 << 10;

/// Checks that a function's pattern, its second argument, can be used.
pub(super) fn check(name: &str, args: &[ColumnarValue]) -> Result<()> {
    let Some(pattern) = text(args, 1) else {
        return match args.get(1) {
            Some(ColumnarValue::Array(_)) => {
                exec_err!("the pattern of {name} has to be a constant, not a column")
            }
            _ => Ok(()),
        };
    };
    if pattern.len() > MAX_BYTES {
        return exec_err!("the pattern of {name} is longer than {MAX_BYTES} bytes");
    }
    match compiled_bytes(pattern) {
        Some(_) => Ok(()),
        None => exec_err!("the pattern of {name} is not valid or too large when compiled"),
    }
}

thread_local! {
    /// The size of the last pattern: a query has the same one for every batch.
    static LAST: RefCell<(String, Option<usize>)> = RefCell::default();
}

/// Returns the smallest size that is enough for a pattern.
fn compiled_bytes(pattern: &str) -> Option<usize> {
    LAST.with_borrow_mut(|(last, size)| {
        if last != pattern {
            let fits = |size: usize| RegexBuilder::new(pattern).size_limit(size).build().is_ok();
            *size = SIZES.into_iter().find(|size| fits(*size));
            pattern.clone_into(last);
        }
        *size
    })
}

/// Returns what searching for the pattern in this many bytes costs at worst, in bytes made.
pub(super) fn effort(args: &[ColumnarValue], bytes: usize) -> usize {
    let size = text(args, 1).and_then(compiled_bytes).unwrap_or_default();
    bytes.saturating_mul(size / SIZE_PER_BYTE)
}

/// Tells whether all matches are replaced.
pub(super) fn is_global(args: &[ColumnarValue]) -> bool {
    match args.get(3) {
        None => false,
        Some(_) => text(args, 3).is_none_or(|flags| flags.contains('g')),
    }
}

/// Returns an upper bound of the group references in a replacement.
pub(super) fn references(args: &[ColumnarValue]) -> usize {
    match args.get(2) {
        Some(ColumnarValue::Array(array)) => crate::guard::weigh(array),
        _ => text(args, 2).map_or(0, |text| text.matches(['\\', '$']).count()),
    }
}

pub(super) fn groups(args: &[ColumnarValue]) -> usize {
    text(args, 1).map_or(0, |pattern| pattern.matches('(').count())
}

/// Returns an argument that is a constant text.
fn text(args: &[ColumnarValue], index: usize) -> Option<&str> {
    match args.get(index)? {
        ColumnarValue::Scalar(
            ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text),
        ) => text.as_deref(),
        _ => None,
    }
}
