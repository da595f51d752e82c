//! Tells images and sound from text in some encoding by the bytes themselves. The declared type does
//! not count, because a server can declare any text to be an image.

/// The signatures of images, sound and films, each with its offset.
const BEGINNINGS: [(usize, &[u8]); 28] = [
    (0, b"\x89PNG"),
    (0, b"\xff\xd8\xff"),
    (0, b"GIF87a"),
    (0, b"GIF89a"),
    // WebP, WAV and AVI.
    (8, b"WEBP"),
    (8, b"WAVE"),
    (8, b"AVI "),
    // MP4, HEIC and AVIF.
    (4, b"ftyp"),
    (0, b"II*\0"),
    (0, b"MM\0*"),
    (0, b"\0\0\x01\0"),
    (0, b"\0\0\x02\0"),
    (0, b"8BPS"),
    (0, b"\0\0\0\x0cJXL "),
    (0, b"\xff\x0a"),
    (0, b"\0\0\0\x0cjP  "),
    (0, b"OggS"),
    (0, b"fLaC"),
    (0, b"ID3"),
    // MP3 and AAC without a tag.
    (0, b"\xff\xfb"),
    (0, b"\xff\xf3"),
    (0, b"\xff\xf2"),
    (0, b"\xff\xf1"),
    (0, b"\xff\xf9"),
    (0, b"MThd"),
    (0, b"FLV\x01"),
    (0, b"\x1aE\xdf\xa3"),
    (0, b"\0\0\x01\xba"),
];

/// Tells whether bytes that are not UTF-8 are an image, sound or a film: they have such a signature, or
/// are not text in any encoding.
pub(super) fn is_media(bytes: &[u8]) -> bool {
    let begins = BEGINNINGS
        .iter()
        .any(|(at, start)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(start)));
    begins || !may_be_text(bytes)
}

/// Tells whether bytes may be text, in UTF-16 or an encoding of one byte per letter, also with zeros in
/// it. Of random bytes one in ten is a control character, of texts hardly any.
fn may_be_text(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| matches!(byte, 1..=8 | 14..=26 | 28..=31 | 127);
    let controls = bytes.iter().filter(|byte| is_control(byte)).count();
    controls * 50 < bytes.len() || wide_text(bytes).is_some()
}

/// A text in UTF-16.
pub(super) struct WideText {
    pub(super) text: String,
    is_big_endian: bool,
}

impl WideText {
    /// Encodes a text in the same byte order.
    pub(super) fn encode(&self, text: &str) -> Vec<u8> {
        let bytes =
            |unit: u16| if self.is_big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }
}

/// Decodes bytes as UTF-16 of either byte order, if the result looks like text.
pub(super) fn wide_text(bytes: &[u8]) -> Option<WideText> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|b| **b == 0).count();
    // Most texts have letters below 256, of which the first or the second byte is zero.
    let likely =
        bytes.starts_with(b"\xfe\xff") || (!bytes.starts_with(b"\xff\xfe") && zeros(0) > zeros(1));
    [likely, !likely].into_iter().find_map(|is_big_endian| {
        let of = if is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        let unit = |pair: &[u8]| of([pair[0], pair[1]]);
        let units: Vec<u16> = bytes.chunks_exact(2).map(unit).collect();
        let text = String::from_utf16(&units).ok()?;
        let is_odd = |c: char| {
            c.is_control() || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{fff8}')
        };
        // It may end with a zero.
        let is_text = text.chars().all(|c| c == '\0' || c.is_whitespace() || !is_odd(c));
        is_text.then_some(WideText { text, is_big_endian })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_sound_are_media_and_text_is_not() {
        for media in [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            b"\xff\xd8\xff\xe0\0\x10JFIF",
            b"GIF89a\x01\0\x01\0",
            b"RIFF\x24\0\0\0WAVEfmt ",
            b"\0\0\0\x18ftypmp42",
            // No format that is known, and no text.
            &[0, 1, 2],
            &[0x93, 0x07, 0xd8, 0xdc, 0x11, 0x80, 0x02, 0x9f, 0x1c],
        ] {
            assert!(is_media(media), "{media:?}");
        }
        let text = "write to ada@example.com";
        let wide =
            |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let marked: Vec<u8> = [&b"\xff\xfe"[..], &*wide(u16::to_le_bytes)].concat();
        let wider = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        let zero = format!("{text}\0").into_bytes();
        let latin = b"caf\xe9: ada@example.com".to_vec();
        for text in [wide(u16::to_le_bytes), wide(u16::to_be_bytes), marked, wider, zero, latin] {
            assert!(!is_media(&text), "{text:?}");
        }
        let chinese: Vec<u8> =
            "\u{4e00}\u{4e8c}\u{4e09}".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert!(!is_media(&chinese));
    }

    #[test]
    fn utf_16_is_read_and_written_in_its_order() {
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes = |text: &str| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
            let wide = wide_text(&bytes("héllo 𝄞\n")).unwrap();
            assert_eq!(wide.text, "héllo 𝄞\n");
            assert_eq!(wide.encode("other"), bytes("other"));
        }
        for bytes in [&b""[..], b"odd", &[0xd8; 4], &[1, 0, 0, 2]] {
            assert!(wide_text(bytes).is_none(), "{bytes:?}");
        }
    }
}
