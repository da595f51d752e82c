//! Kinds on and off, kinds of the user's own, exceptions.

use narrows_pii::{
    Custom, CustomPattern, KindSettings, Scanner, Settings, SettingsError, Urls, kinds,
};

fn with(custom: Custom) -> Result<Scanner, SettingsError> {
    Scanner::new(&Settings { custom: vec![custom], ..Settings::default() })
}

fn names(scanner: &Scanner, text: &str) -> Vec<String> {
    scanner.find(text, None).iter().map(|found| found.kind.to_string()).collect()
}

const TEXT: &str = "ada@example.com 212-555-0147";

#[test]
fn a_kind_that_is_off_is_not_found() {
    let mut settings = Settings::default();
    assert_eq!(names(&Scanner::new(&settings).unwrap(), TEXT), ["EMAIL", "PHONE"]);
    settings.kinds.insert("PHONE".to_owned(), KindSettings { on: false, keep_last: 0 });
    assert_eq!(names(&Scanner::new(&settings).unwrap(), TEXT), ["EMAIL"]);
}

#[test]
fn a_kind_can_be_left_out_for_one_call() {
    let scanner = Scanner::new(&Settings::default()).unwrap();
    let skip = |kind: &str| kind == "EMAIL";
    let found = scanner.with(&skip).find(TEXT, None);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind.as_str(), "PHONE");
    assert_eq!(names(&scanner, TEXT), ["EMAIL", "PHONE"]);
}

#[test]
fn all_addresses_of_pages_only_if_asked_for() {
    let text = "see https://example.com/a, www.example.org";
    assert_eq!(names(&Scanner::new(&Settings::default()).unwrap(), text), Vec::<String>::new());
    let all = Settings { urls: Urls::All, ..Settings::default() };
    assert_eq!(names(&Scanner::new(&all).unwrap(), text), ["URL", "URL"]);
}

#[test]
fn own_kinds_by_regex_and_by_words() {
    let scanner = Scanner::new(&Settings {
        custom: vec![
            Custom {
                kind: "EMPLOYEE".to_owned(),
                pattern: CustomPattern::Regex(r"\bE-(\d{5})\b".to_owned()),
            },
            Custom {
                kind: "PROJECT".to_owned(),
                pattern: CustomPattern::Words(vec!["Blue Falcon".to_owned(), "Ümlaut".to_owned()]),
            },
        ],
        ..Settings::default()
    })
    .unwrap();
    let text = "E-12345 works on BLUE FALCON, not on blue falcons; Ümlaut.";
    let found: Vec<_> = scanner
        .find(text, None)
        .iter()
        .map(|found| format!("{} {}", found.kind, &text[found.range.clone()]))
        .collect();
    assert_eq!(found, ["EMPLOYEE 12345", "PROJECT BLUE FALCON", "PROJECT Ümlaut"]);
}

#[test]
fn an_own_kind_does_not_reach_into_tokens() {
    let scanner = with(Custom {
        kind: "OWN".to_owned(),
        pattern: CustomPattern::Regex("[a-z].*[a-z]".to_owned()),
    })
    .unwrap();
    let text = "ab [EMAIL_abcdefghijkl], cd";
    let found = scanner.find(text, None);
    let found: Vec<_> = found.iter().map(|found| &text[found.range.clone()]).collect();
    assert_eq!(found, ["ab ", ", cd"]);
}

#[test]
fn an_own_kind_names_what_it_shares_with_a_built_in_one() {
    let scanner = with(Custom {
        kind: "STAFF".to_owned(),
        pattern: CustomPattern::Regex(r"\w+@example\.com".to_owned()),
    })
    .unwrap();
    assert_eq!(names(&scanner, "ada@example.com"), ["STAFF"]);
}

#[test]
fn settings_that_cannot_be_followed_say_why() {
    let regex = |kind: &str, pattern: &str| {
        with(Custom { kind: kind.to_owned(), pattern: CustomPattern::Regex(pattern.to_owned()) })
            .unwrap_err()
    };
    assert!(matches!(regex("lower", "a"), SettingsError::BadName { .. }));
    assert!(matches!(regex("A_", "a"), SettingsError::BadName { .. }));
    assert!(matches!(regex("OWN", "("), SettingsError::BadRegex { .. }));
    assert!(matches!(regex("OWN", "a*"), SettingsError::EmptyMatch { .. }));
    let words = with(Custom {
        kind: "OWN".to_owned(),
        pattern: CustomPattern::Words(vec![" ".to_owned()]),
    });
    assert!(matches!(words.unwrap_err(), SettingsError::NoWords { .. }));
    let mut settings = Settings { region: Some("XX".to_owned()), ..Settings::default() };
    assert!(matches!(Scanner::new(&settings).unwrap_err(), SettingsError::UnknownRegion { .. }));
    settings.region = Some("DE".to_owned());
    settings.kinds.insert("EMIAL".to_owned(), KindSettings::default());
    let error = Scanner::new(&settings).unwrap_err().to_string();
    assert!(error.contains("EMIAL") && error.contains("EMAIL"), "{error}");
    assert_eq!(kinds().len(), 15);
}

#[test]
fn the_region_decides_about_local_numbers() {
    let find = |region: &str, text: &str| {
        names(
            &Scanner::new(&Settings { region: Some(region.to_owned()), ..Settings::default() })
                .unwrap(),
            text,
        )
    };
    assert_eq!(find("DE", "030 9018 20"), ["PHONE"]);
    assert_eq!(find("US", "030 9018 20"), Vec::<String>::new());
}
