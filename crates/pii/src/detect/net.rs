//! Addresses of machines: IPv4, IPv6 and MAC.

use std::net::{Ipv4Addr, Ipv6Addr};

use memchr::memchr_iter;

use super::Sink;
use crate::{
    context::{Text, starts_word},
    kind::Builtin,
    lexicon::Cues,
};

/// The longest IPv6 address, with an IPv4 address at its end.
const MAX_LEN: usize = 45;

/// Finds the address that the word from `start` to `end` is a part of. Returns where to go on if there
/// is one.
pub(super) fn find(
    bytes: &[u8],
    start: usize,
    end: usize,
    floor: usize,
    text: &Text<'_>,
    found: &mut Sink<'_>,
) -> Option<usize> {
    let after = bytes.get(end).copied();
    let before = start.checked_sub(1).map(|place| bytes[place]);
    if (after == Some(b':') || before == Some(b':'))
        && let Some(end) = colons(bytes, start, end, floor, found)
    {
        return Some(end);
    }
    if after == Some(b'-') && end - start == 2 && is_mac(bytes, start, b'-') {
        found(Builtin::Mac, start..start + 17);
        return Some(start + 17);
    }
    if after == Some(b'.') && before != Some(b'.') {
        if let Some(end) = dotted_mac(bytes, start, end) {
            found(Builtin::Mac, start..end);
            return Some(end);
        }
        return v4(text, start, found);
    }
    None
}

/// Finds a MAC or an IPv6 address: hexadecimal digits with colons.
fn colons(
    bytes: &[u8],
    start: usize,
    end: usize,
    floor: usize,
    found: &mut Sink<'_>,
) -> Option<usize> {
    let belongs = |b: &u8| b.is_ascii_hexdigit() || b":.".contains(b);
    if !bytes[start..end].iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let back = bytes[floor..start].iter().rev().take(MAX_LEN).take_while(|b| belongs(b)).count();
    let mut first = start - back;
    let mut last = end + bytes[end..].iter().take(MAX_LEN).take_while(|b| belongs(b)).count();
    while last > end
        && (bytes[last - 1] == b'.' || (bytes[last - 1] == b':' && bytes[last - 2] != b':'))
    {
        last -= 1;
    }
    let signs = bytes[first..last].iter().filter(|b| **b == b':').count();
    if signs < 5 && !bytes[first..last].windows(2).any(|pair| pair == b"::") {
        return None;
    }
    // `host:::1` and `key:2001:db8::1` begin after the first colon.
    while first < start
        && (bytes[first] == b'.' || (bytes[first] == b':' && bytes[first + 1] != b':'))
    {
        first += 1;
    }
    let goes_on = bytes.get(last).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if last - first > MAX_LEN || !starts_word(bytes, first) || goes_on {
        return None;
    }
    if last - first == 17 && is_mac(bytes, first, b':') {
        if !bytes[first..last].iter().all(|b| b"0:".contains(b)) {
            found(Builtin::Mac, first..last);
        }
        return Some(last);
    }
    let address: Ipv6Addr = std::str::from_utf8(&bytes[first..last]).ok()?.parse().ok()?;
    let groups = address.segments().iter().filter(|group| **group != 0).count();
    let is_network = bytes.get(last) == Some(&b'/') && bytes[last - 1] == b':';
    // Short ones may as well be the path of something in a program: `a1::b2`.
    let telling = groups >= 3 || bytes[first..last].iter().take_while(|b| **b != b':').count() >= 3;
    if telling && !is_network && !is_nobodys_v6(address) {
        found(Builtin::Ip, first..last);
    }
    Some(last)
}

fn v4(text: &Text<'_>, start: usize, found: &mut Sink<'_>) -> Option<usize> {
    let bytes = text.bytes;
    if !bytes[start].is_ascii_digit() {
        return None;
    }
    let length =
        bytes[start..].iter().take(16).take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let mut end = start + length;
    if bytes[end - 1] == b'.' {
        end -= 1;
    }
    let address: Ipv4Addr = text.str[start..end].parse().ok()?;
    let goes_on = bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || b"_-+".contains(b));
    if goes_on || is_version(text, start) || is_nobodys(address) || is_network(bytes, end, address)
    {
        return Some(end);
    }
    found(Builtin::Ip, start..end);
    Some(end)
}

/// Tells whether four numbers are a version: after a name and a slash, a sign of comparison, or the
/// word `version`.
fn is_version(text: &Text<'_>, start: usize) -> bool {
    let bytes = text.bytes;
    let previous = |back: usize| start.checked_sub(back).map(|place| bytes[place]);
    match (previous(1), previous(2)) {
        (Some(b'/'), Some(b)) if b.is_ascii_alphanumeric() => return true,
        (Some(b'='), Some(b'=' | b'>' | b'<' | b'~')) => return true,
        (Some(b'^' | b'~' | b'_'), _) => return true,
        (Some(b'-'), Some(b)) if b.is_ascii_alphabetic() => return true,
        _ => {}
    }
    text.before(start).nearest.any(Cues::VERSION)
}

/// Tells whether an address is nobody's: those that every machine or every network has, masks, and
/// those of documentation.
fn is_nobodys(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || matches!((first, second), (0 | 255, _) | (100, 64..=127) | (198, 18..=19))
}

/// Tells whether an IPv6 address is nobody's.
fn is_nobodys_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_documentation = (first, second) == (0x2001, 0xdb8) || first == 0x3fff;
    address.is_loopback()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || is_documentation
}

/// Tells whether an address names a network, not a machine: `10.0.0.0/8`.
fn is_network(bytes: &[u8], end: usize, address: Ipv4Addr) -> bool {
    let Some(b'/') = bytes.get(end) else { return false };
    let digits = bytes[end + 1..].iter().take(2).take_while(|b| b.is_ascii_digit());
    let bits = digits.fold(0_u32, |sum, b| sum * 10 + u32::from(b - b'0'));
    (1..32).contains(&bits) && address.to_bits() << bits == 0
}

/// Tells whether six pairs of hexadecimal digits begin here.
fn is_mac(bytes: &[u8], start: usize, sign: u8) -> bool {
    let Some(mac) = bytes.get(start..start + 17) else { return false };
    let right = mac.iter().enumerate().all(|(place, b)| match place % 3 {
        2 => *b == sign,
        _ => b.is_ascii_hexdigit(),
    });
    let goes_on = bytes.get(start + 17).is_some_and(|b| b.is_ascii_alphanumeric() || *b == sign);
    let comes_from = !starts_word(bytes, start) || (start > 0 && bytes[start - 1] == sign);
    right && !goes_on && !comes_from
}

/// Returns the end of an address like `001b.4411.3ab7`, as on network switches.
fn dotted_mac(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let mac = bytes.get(start..start + 14)?;
    let right = end - start == 4
        && mac.iter().enumerate().all(|(place, b)| match place {
            4 | 9 => *b == b'.',
            _ => b.is_ascii_hexdigit(),
        });
    let goes_on = bytes.get(start + 14).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.');
    let has_letter = mac.iter().any(u8::is_ascii_alphabetic);
    (right && has_letter && !goes_on).then_some(start + 14)
}

/// Finds MAC addresses without a single digit, which the search for digits passes over.
pub(super) fn letter_macs(bytes: &[u8], found: &mut Sink<'_>) {
    for colon in memchr_iter(b':', bytes) {
        if bytes.get(colon + 3) == Some(&b':') && colon >= 2 {
            let start = colon - 2;
            let is_new = is_mac(bytes, start, b':');
            if is_new && !bytes[start..start + 17].iter().any(u8::is_ascii_digit) {
                found(Builtin::Mac, start..start + 17);
            }
        }
    }
}
