//! Media types of files, by their names and first bytes, and which of them clients display.

/// The known media types with their extensions; any other is `bin`.
const KINDS: [(&str, &str); 18] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("audio/wav", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("text/csv", "csv"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/html", "html"),
    ("text/x-python", "py"),
    ("application/x-ndjson", "jsonl"),
    ("application/vnd.apache.parquet", "parquet"),
    ("application/yaml", "yaml"),
];

pub(crate) fn extension(mime_type: &str) -> &'static str {
    KINDS.iter().find(|(kind, _)| *kind == mime_type).map_or("bin", |(_, extension)| extension)
}

/// Returns the media type of a file, by its name or else by its first bytes.
pub(crate) fn type_of(path: &str, begins: &[u8]) -> &'static str {
    const MAGIC: [(&[u8], &str); 6] = [
        (b"\x89PNG\r\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
        (b"PK\x03\x04", "application/zip"),
    ];
    let by_content = || MAGIC.iter().find(|(magic, _)| begins.starts_with(magic));
    let by_text = || match std::str::from_utf8(begins) {
        Ok(_) => "text/plain",
        // The last character is cut off by the end of the part.
        Err(error) if error.error_len().is_none() => "text/plain",
        Err(_) => "application/octet-stream",
    };
    let named = mime_type_of(path);
    named.or_else(|| by_content().map(|(_, kind)| *kind)).unwrap_or_else(by_text)
}

/// Tells whether clients display this media type directly.
pub(crate) fn is_shown(media_type: &str) -> bool {
    media_type != "image/svg+xml"
        && (media_type.starts_with("image/") || media_type.starts_with("audio/"))
}

pub(crate) fn mime_type_of(path: &str) -> Option<&'static str> {
    let extension = path.rsplit_once('.')?.1.to_lowercase();
    let extension = if extension == "jpeg" { "jpg" } else { &extension };
    KINDS.iter().find(|(_, known)| *known == extension).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_says_or_else_what_it_begins_with() {
        const FILES: [(&str, &[u8], &str); 11] = [
            ("a.csv", b"\x89PNG\r\n", "text/csv"),
            ("a.PNG", b"", "image/png"),
            ("a.jpeg", b"", "image/jpeg"),
            ("archive.v2", b"PK\x03\x04", "application/zip"),
            ("picture", b"\xff\xd8\xff\xe0", "image/jpeg"),
            ("data", b"SQLite format 3\0", "application/vnd.sqlite3"),
            ("notes", "größer".as_bytes(), "text/plain"),
            // The piece ends within a character.
            ("notes", b"gr\xc3", "text/plain"),
            ("notes", b"gr\xf6\xdfer", "application/octet-stream"),
            ("empty", b"", "text/plain"),
            ("dir.d/file", b"x", "text/plain"),
        ];
        for (path, begins, kind) in FILES {
            assert_eq!(type_of(path, begins), kind, "{path} {begins:?}");
        }
    }

    #[test]
    fn pictures_and_sound_are_shown_and_pictures_that_are_programs_are_not() {
        for (kind, expected) in [
            ("image/png", true),
            ("audio/wav", true),
            ("image/svg+xml", false),
            ("application/pdf", false),
            ("text/html", false),
        ] {
            assert_eq!(is_shown(kind), expected, "{kind}");
        }
    }
}
