//! How far a detector looks.

/// Returns the text from `start` on, no more than `length` bytes of it and no further than its line. A
/// line break may be written out, as in JSON.
pub(super) fn window(text: &str, start: usize, length: usize) -> &str {
    let mut end = text.len().min(start + length);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let window = &text[start..end];
    window.split(['\n', '\r', '\\']).next().unwrap_or(window)
}
