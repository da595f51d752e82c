//! What is found, in text.

use crate::vault::{found, found_under};

/// Checks each text with what is found in it, and nothing else.
fn all(cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        assert_eq!(found(text), *expected, "in {text:?}");
    }
}

#[test]
fn email_addresses() {
    all(&[
        ("write to ada@example.com.", &["EMAIL ada@example.com"]),
        ("<jörg.müller@bücher.example>", &["EMAIL jörg.müller@bücher.example"]),
        ("?to=ada%40example.com&x=1", &["EMAIL ada%40example.com"]),
        ("ada@example.com,bob@example.org", &["EMAIL ada@example.com", "EMAIL bob@example.org"]),
        ("mailto:o'hara+list@mail.example.co.uk", &["EMAIL o'hara+list@mail.example.co.uk"]),
    ]);
}

#[test]
fn phone_numbers_with_a_country_code() {
    all(&[
        ("+1 (212) 555-0147", &["PHONE +1 (212) 555-0147"]),
        ("+12125550147", &["PHONE +12125550147"]),
        ("+44 20 7946 0958 is it", &["PHONE +44 20 7946 0958"]),
        ("(+49) 30 901820", &["PHONE (+49) 30 901820"]),
        ("+49 (0)30 901820", &["PHONE +49 (0)30 901820"]),
        ("ring 0049 30 901820", &["PHONE 0049 30 901820"]),
        ("+1-212-555-0147x89", &["PHONE +1-212-555-0147x89"]),
        ("0\u{a0}0 49 30 901820", &["PHONE 0\u{a0}0 49 30 901820"]),
    ]);
}

#[test]
fn phone_numbers_of_a_place() {
    all(&[
        ("(212) 555-0147", &["PHONE (212) 555-0147"]),
        ("212-555-0147 ext. 22", &["PHONE 212-555-0147 ext. 22"]),
        ("212.555.0147", &["PHONE 212.555.0147"]),
        ("020 7946 0958", &["PHONE 020 7946 0958"]),
        ("01 23 45 67 89", &["PHONE 01 23 45 67 89"]),
        ("tel. 030 901820", &["PHONE 030 901820"]),
        ("You can call 555 0100 now", &["PHONE 555 0100"]),
        ("555 0100 (mobile)", &["PHONE 555 0100"]),
        ("phone=2125550147", &["PHONE 2125550147"]),
        (r#"{"phone": "2125550147"}"#, &["PHONE 2125550147"]),
        (r#"{\"phone\": \"2125550147\"}"#, &["PHONE 2125550147"]),
        ("{'mobile': 2125550147}", &["PHONE 2125550147"]),
        ("<phone>2125550147</phone>", &["PHONE 2125550147"]),
    ]);
    assert_eq!(found_under("2125550147", Some("homePhone")), ["PHONE 2125550147"]);
    assert_eq!(found_under("2125550147", Some("order_id")), Vec::<String>::new());
}

/// In lines of CSV and in lists a comma is between numbers, otherwise it is within one.
#[test]
fn numbers_beside_others() {
    all(&[
        ("1,4111-1111-1111-1111,3", &["CREDIT_CARD 4111-1111-1111-1111"]),
        ("paid by card 4111111111111111,300", &["CREDIT_CARD 4111111111111111"]),
        ("1,078-05-1120,345", &["US_SSN 078-05-1120"]),
        ("4,+49 151 23456789,12", &["PHONE +49 151 23456789"]),
        ("3,212-555-0147,9", &["PHONE 212-555-0147"]),
        ("4,111,111,111,111,111", &[]),
        ("about 1,234,567,890 rows", &[]),
        ("0,078,051,120", &[]),
    ]);
}

#[test]
fn social_security_numbers() {
    all(&[
        ("078-05-1120", &["US_SSN 078-05-1120"]),
        ("SSN: 078051120", &["US_SSN 078051120"]),
        ("social security number is 078 05 1120", &["US_SSN 078 05 1120"]),
        ("SSN 987-65-4321", &["US_SSN 987-65-4321"]),
        ("078051120", &[]),
        ("987-65-4321", &[]),
        ("ssn 000-12-3456", &[]),
        ("666-12-3456", &[]),
        ("078-00-1120", &[]),
        ("078-05-0000", &[]),
    ]);
}

#[test]
fn credit_cards_in_any_grouping() {
    for card in [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "41111111 11111111",
        "411111 1111111111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "4222222222222",
        "378282246310005",
        "3782 822463 10005",
        "6011111111111117",
        "3530111333300000",
        "30569309025904",
        "5555555555554444",
        "2223003122003222",
        "6200000000000005",
        "6759649826438453",
        "501800000009",
    ] {
        assert_eq!(found(&format!("paid with {card}, thanks")), [format!("CREDIT_CARD {card}")]);
    }
    all(&[
        ("4111111111111112", &[]),
        // A check digit that is right by chance needs a word beside it.
        ("9999999999999995", &[]),
        ("card 9999999999999995", &["CREDIT_CARD 9999999999999995"]),
        ("card 0000000000000000", &[]),
    ]);
}

#[test]
fn bank_accounts() {
    all(&[
        ("GB29NWBK60161331926819", &["IBAN GB29NWBK60161331926819"]),
        ("GB29 NWBK 6016 1331 9268 19.", &["IBAN GB29 NWBK 6016 1331 9268 19"]),
        ("de89-3704-0044-0532-0130-00", &["IBAN de89-3704-0044-0532-0130-00"]),
        ("NO9386011117947", &["IBAN NO9386011117947"]),
        ("GB28NWBK60161331926819", &[]),
        ("GB29NWBK601613319268190", &[]),
    ]);
}

#[test]
fn addresses_of_machines() {
    all(&[
        ("from 151.101.7.17:8080", &["IP 151.101.7.17"]),
        ("ssh root@151.101.7.3", &["IP 151.101.7.3"]),
        ("http://151.101.9.9/x", &["IP 151.101.9.9"]),
        ("[2a00:1450::8a2e:370:7334]:443", &["IP 2a00:1450::8a2e:370:7334"]),
        ("\"ip\":\"2a00:1450:1:2:3:4:5:6\"", &["IP 2a00:1450:1:2:3:4:5:6"]),
        ("00:1B:44:11:3A:B7", &["MAC 00:1B:44:11:3A:B7"]),
        ("00-1b-44-11-3a-b7", &["MAC 00-1b-44-11-3a-b7"]),
        ("001b.4411.3ab7", &["MAC 001b.4411.3ab7"]),
        ("mac aa:bb:cc:dd:ee:ff", &["MAC aa:bb:cc:dd:ee:ff"]),
    ]);
}

#[test]
fn addresses_with_credentials() {
    all(&[
        (
            "postgres://admin:s3cr3tpw@db.example.com/x",
            &["URL postgres://admin:s3cr3tpw@db.example.com/x"],
        ),
        ("see https://example.com/a?b=c.", &[]),
        ("postgres://user:password@localhost/db", &[]),
    ]);
}

#[test]
fn national_ids_by_shape_or_by_word() {
    all(&[
        ("529.982.247-25", &["NATIONAL_ID 529.982.247-25"]),
        ("11.222.333/0001-81", &["NATIONAL_ID 11.222.333/0001-81"]),
        ("NHS number 943 476 5919", &["NATIONAL_ID 943 476 5919"]),
        ("bsn: 111222333", &["NATIONAL_ID 111222333"]),
        ("PESEL 44051401359", &["NATIONAL_ID 44051401359"]),
        ("DNI 12345678Z", &["NATIONAL_ID 12345678Z"]),
        ("X1234567L", &["NATIONAL_ID X1234567L"]),
        ("RSSMRA85T10A562S", &["NATIONAL_ID RSSMRA85T10A562S"]),
        ("131052-308T", &["NATIONAL_ID 131052-308T"]),
        ("811228-9874", &["NATIONAL_ID 811228-9874"]),
        ("SIN 046 454 286", &["NATIONAL_ID 046 454 286"]),
        ("aadhaar 2341 2341 2346", &["NATIONAL_ID 2341 2341 2346"]),
        ("steuer-id: 86095742719", &["NATIONAL_ID 86095742719"]),
        ("TFN 123 456 782", &["NATIONAL_ID 123 456 782"]),
        ("2 55 08 14 168 025 38", &["NATIONAL_ID 2 55 08 14 168 025 38"]),
        ("756.9217.0769.85", &["NATIONAL_ID 756.9217.0769.85"]),
        ("11010519491231002X", &["NATIONAL_ID 11010519491231002X"]),
        ("HEGG560427MVZRRL04", &["NATIONAL_ID HEGG560427MVZRRL04"]),
        ("national insurance number AB123456C", &["NATIONAL_ID AB123456C"]),
        ("My passport number is C01234567", &["NATIONAL_ID C01234567"]),
        ("529.982.247-26", &[]),
        ("44051401359", &[]),
        ("PESEL 44051401358", &[]),
        ("RSSMRA85T10A562T", &[]),
    ]);
}

#[test]
fn dates_of_birth_and_no_others() {
    all(&[
        ("DOB: 03/05/1980", &["DATE_OF_BIRTH 03/05/1980"]),
        ("born on March 5th, 1980", &["DATE_OF_BIRTH March 5th, 1980"]),
        ("date of birth is 5 March 1980", &["DATE_OF_BIRTH 5 March 1980"]),
        ("dob=1980-03-05", &["DATE_OF_BIRTH 1980-03-05"]),
        (r#""birth_date": "19800305""#, &["DATE_OF_BIRTH 19800305"]),
        ("due 1980-03-05, on March 5, 1980", &[]),
    ]);
    assert_eq!(
        found_under("1980-03-05T00:00:00Z", Some("birthDate")),
        ["DATE_OF_BIRTH 1980-03-05"]
    );
}

#[test]
fn persons_by_what_announces_them() {
    all(&[
        ("Dear Grace Hopper,", &["PERSON Grace Hopper"]),
        ("Mr. John von Neumann said", &["PERSON John von Neumann"]),
        ("my name is Ada Lovelace.", &["PERSON Ada Lovelace"]),
        (r#"{"name": "Ada Lovelace", "x": 1}"#, &["PERSON Ada Lovelace"]),
        (
            r#"{"name": "Zorblax Quux", "email": "z@example.com"}"#,
            &["PERSON Zorblax Quux", "EMAIL z@example.com"],
        ),
        ("first_name: Ada", &["PERSON Ada"]),
        (r#"'lastName': 'lovelace'"#, &["PERSON lovelace"]),
        ("Dear Customer,", &[]),
        ("name: Build Docker Image", &[]),
    ]);
    assert_eq!(found_under("ada", Some("first_name")), ["PERSON ada"]);
    assert_eq!(found_under("Ada Lovelace", Some("file_name")), Vec::<String>::new());
}

#[test]
fn street_addresses() {
    all(&[
        (
            "lives at 221 Baker Street, Springfield, IL 62701.",
            &["ADDRESS 221 Baker Street, Springfield, IL 62701"],
        ),
        (r#""address": "12 Main St, Springfield""#, &["ADDRESS 12 Main St, Springfield"]),
        ("shipping_address: 7 Rue de la Paix, Paris", &["ADDRESS 7 Rue de la Paix, Paris"]),
        (r#""address": "0x52908400098527886E0F7030069857D2E4169EE7""#, &[]),
        (r#""ip_address": "unknown 12 hosts""#, &[]),
    ]);
    assert_eq!(
        found_under("Musterstraße 12, Berlin", Some("street")),
        ["ADDRESS Musterstraße 12, Berlin"]
    );
}

#[test]
fn values_after_a_line_break_that_is_written_out() {
    let lines = [
        "ada@example.com",
        "212-555-0147",
        "phone: 2125550147",
        "4111 1111 1111 1111",
        "151.101.7.17",
        "00:1B:44:11:3A:B7",
        "GB29NWBK60161331926819",
        "ftp://ada:pw12@example.com/x",
        "Mr. John Smith",
        "221 Baker Street",
        "password: hunter2",
    ];
    let text = lines.join("\n");
    let escaped = serde_json::to_string(&text).unwrap();
    assert_eq!(found(&text).len(), lines.len());
    assert_eq!(found(&escaped), found(&text));
}

#[test]
fn what_overlaps_becomes_one_and_nothing_of_it_stays() {
    all(&[
        (r#""password": "ada@example.com1""#, &["API_KEY ada@example.com1"]),
        ("ftp://ada:pw12@example.com:21/x", &["URL ftp://ada:pw12@example.com:21/x"]),
    ]);
}

#[test]
fn tokens_in_a_text_are_left_alone() {
    let text = "card [CREDIT_CARD_abcdefghij22:1111], phone: [PHONE_234567234567]";
    assert_eq!(found(text), Vec::<String>::new());
    assert_eq!(found_under("[PERSON_abcdefghijkl]", Some("first_name")), Vec::<String>::new());
    assert_eq!(found("[EMAIL_abcdefghijkl] and ada@example.com"), ["EMAIL ada@example.com"],);
}

/// The positive control of what numbers of things are left alone: a word for the number itself, in
/// its label, before it or over its column, goes before words for things elsewhere.
#[test]
fn numbers_of_people_are_found_among_numbers_of_things() {
    all(&[
        ("card_no,order_id\n4539 5787 6362 1486,1", &["CREDIT_CARD 4539 5787 6362 1486"]),
        ("order_id,card\n7,4539 5787 6362 1486", &["CREDIT_CARD 4539 5787 6362 1486"]),
        ("order_id,note\n7,card 4539 5787 6362 1486", &["CREDIT_CARD 4539 5787 6362 1486"]),
        ("4539 5787 6362 1486 for two orders", &["CREDIT_CARD 4539 5787 6362 1486"]),
        ("part_no,supplier_ssn\n7,219-09-9999", &["US_SSN 219-09-9999"]),
        ("part_no,contact,email\n7,219-09-9999,x", &["US_SSN 219-09-9999"]),
        ("id: 219-09-9999", &["US_SSN 219-09-9999"]),
        ("user_id,size\n219-09-9999,7", &["US_SSN 219-09-9999"]),
        ("isbn,n,phone\n0-306-40615-2,a,020 7946 0958", &["PHONE 020 7946 0958"]),
        ("tel 030.901820", &["PHONE 030.901820"]),
        ("Tel. 212.555.0147 in Tel Aviv", &["PHONE 212.555.0147"]),
        ("invoice for personnummer 811228-9874", &["NATIONAL_ID 811228-9874"]),
        ("2345 6789 0124", &["NATIONAL_ID 2345 6789 0124"]),
        ("ref aadhaar 2345 6789 0124", &["NATIONAL_ID 2345 6789 0124"]),
        ("invoice,hetu\n7,131052-308T", &["NATIONAL_ID 131052-308T"]),
    ]);
}
