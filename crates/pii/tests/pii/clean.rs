//! What is not found: ids, times, versions, code.

use crate::vault::{found, scanner};

#[test]
fn what_tools_return_without_personal_data() {
    for text in [
        "550e8400-e29b-41d4-a716-446655440000",
        "abcdefab-1234-5678-9012-345678901234",
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "d41d8cd98f00b204e9800998ecf8427e",
        "2024-01-15T10:30:00.123456+00:00",
        "1731000000 1731000000123 1731000000123456789",
        "order 1234567890, invoice #4500012345, ticket 20240115001",
        "INV-2024-001234 and SO-555-123-4567",
        "Order 112-1234567-1234567",
        "1.2.3.4-beta, v10.0.19045.3693, version 1.2.3.4, Chrome/120.0.0.0",
        "numpy==1.26.4.1 lodash@4.17.21 actions/checkout@v4",
        "$1,234,567.89 EUR 1234567.89 1e100",
        "37.774929, -122.419416",
        "3.14159265358979323846",
        "127.0.0.1:8080 0.0.0.0 ::1 255.255.255.0 10.0.0.0/8 2001:db8::/32",
        "10.1.2.3 172.16.0.9 192.168.1.20 169.254.1.1 100.64.0.7 192.0.2.17 198.51.100.2 203.0.113.9",
        "fe80::1 fd12:3456:789a::1 2001:db8::8a2e:370:7334",
        "order_id: 4111111111111111, trace 5186001700009908",
        "part 412-55-9087 rev B, SKU 412-55-9087",
        "12:30:45 10:15:30.123",
        "std::fmt::Display a::b dead::beef",
        "isbn 978-3-16-148410-0",
        "M10.5 10.5 L 20.25 30.75 rgba(255,255,255,0.5) 1920x1080",
        "git@example.com:owner/repo.git",
        r#"{"name": "list_issues", "version": "1.0.0", "count": 1234567}"#,
        r#"{"name": "Super Widget Pro", "sku": "4512-8834-11"}"#,
        r#"{"name": "claude-sonnet-4-5-20250929", "max_tokens": 12345678}"#,
        r#"{"next_page_token": "CAUQAA1234567abcdEFGH", "total_tokens": 123456}"#,
        r#"{"token_type": "Bearer", "password": {"type": "string"}}"#,
        "password: str, token = get_token(), api_key=os.environ['API_KEY']",
        "secret_name: my-secret-1 token_url=https://example.com/oauth2/token",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----",
        "The marker -----BEGIN PRIVATE KEY----- starts a key.",
        "Call the API 3 times and retry after 30 seconds",
        "call 911 or 112",
        "for i in range(1000000): x[i] = y[1234567]",
        "Linux 6.1.0-13-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29) x86_64",
        "arn:aws:iam::123456789012:role/Admin i-0abcd1234efgh5678",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx YOUR_API_KEY_HERE",
        "order_id,total\n4539 5787 6362 1486,1",
        "| order_id | total |\n|---|---|\n| 4539 5787 6362 1486 | 1 |",
        "invoice no: 4539 5787 6362 1486",
        "part_no,supplier_email\n219-09-9999,x",
        "Parts:\npart_no;supplier_phone\n219-09-9999;",
        "ISBN 0-306-40615-2",
        "isbn: 0-306-40615-2",
        "Tel Aviv 32.0853 34.7818",
        "office 32.0853 34.7818, mobile 30.6954, -88.0399",
        "size: 120-80-1200",
        "invoice 241107-1234",
        "invoice,customer_phone\n241107-1234,",
        "ref 2345 6789 0124",
        "reference: 2345-6789-0124",
        "rows 100 200 3000 4000 5000 6000",
        "Top 10 Best Places, Section 5 Court rulings",
    ] {
        assert_eq!(found(text), Vec::<String>::new(), "in {text:?}");
    }
}

#[test]
fn a_program_is_not_personal() {
    let source = include_str!("../../src/detect/national.rs");
    let found = scanner().find(source, None);
    assert!(
        found.is_empty(),
        "{:?}",
        found.iter().map(|found| &source[found.range.clone()]).collect::<Vec<_>>()
    );
}
