//! The data of the demo's server: the same on every machine.

use serde_json::{Value, json};

const DEPARTMENTS: [&str; 6] = ["Engineering", "Sales", "Marketing", "Support", "Finance", "Legal"];
const CATEGORIES: [&str; 5] = ["travel", "meals", "software", "equipment", "training"];
const CITIES: [&str; 8] = ["Berlin", "Paris", "Tokyo", "Austin", "Lagos", "Lima", "Oslo", "Mumbai"];
const STATES: [&str; 6] = ["CA", "UT", "WY", "AZ", "CO", "WA"];
const LABELS: [&str; 4] = ["bug", "feature", "docs", "question"];

const EXPENSES: u64 = 10_000;
const TRIPS: u64 = 2_000;
const PARKS: u64 = 300;
const ISSUES: u64 = 3_000;
/// The number of issues on one page.
const PAGE: u64 = 100;

/// Returns a number that looks random but is the same each time.
fn mixed(of: u64, salt: u64) -> u64 {
    let mut mixed =
        of.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^= mixed >> 31;
    mixed = mixed.wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 29)
}

fn one_of<const N: usize>(all: [&'static str; N], of: u64, salt: u64) -> &'static str {
    all[(mixed(of, salt) % N as u64) as usize]
}

fn date(of: u64, salt: u64) -> String {
    let number = mixed(of, salt);
    format!("2026-{:02}-{:02}", number % 12 + 1, number / 12 % 28 + 1)
}

pub(super) fn expenses(department: Option<&str>) -> Vec<Value> {
    let rows = (1..=EXPENSES).map(|id| {
        let cents = mixed(id, 1) % 60_000 + mixed(id, 2) % 100 / 97 * 900_000 + 500;
        json!({
            "id": id,
            "employee": format!("employee-{}", mixed(id, 3) % 400),
            "department": one_of(DEPARTMENTS, id, 4),
            "category": one_of(CATEGORIES, id, 5),
            "amount": cents as f64 / 100.0,
            "date": date(id, 6),
            "approved": !mixed(id, 7).is_multiple_of(10),
        })
    });
    rows.filter(|row| department.is_none_or(|name| row["department"] == name)).collect()
}

pub(super) fn trips(employee: Option<&str>) -> Vec<Value> {
    let rows = (1..=TRIPS).map(|id| {
        json!({
            "id": id,
            "employee": format!("employee-{}", mixed(id, 11) % 400),
            "city": one_of(CITIES, id, 12),
            "start": date(id, 13),
            "nights": mixed(id, 14) % 6 + 1,
        })
    });
    rows.filter(|row| employee.is_none_or(|name| row["employee"] == name)).collect()
}

pub(super) fn parks(state: Option<&str>) -> Vec<Value> {
    let rows = (1..=PARKS).map(|id| {
        json!({
            "id": id,
            "name": format!("Park {id}"),
            "state": one_of(STATES, id, 21),
            "visitors": mixed(id, 22) % 4_000_000,
            "has_camping": !mixed(id, 23).is_multiple_of(3),
        })
    });
    rows.filter(|row| state.is_none_or(|name| row["state"] == name)).collect()
}

pub(super) fn issues(page: u64) -> Vec<Value> {
    let first = page.saturating_sub(1).saturating_mul(PAGE);
    let rows = (first + 1..=first.saturating_add(PAGE)).take_while(|id| *id <= ISSUES);
    rows.map(|id| {
        json!({
            "number": id,
            "title": format!("Issue {id} about {}", one_of(CATEGORIES, id, 31)),
            "state": if mixed(id, 32).is_multiple_of(4) { "open" } else { "closed" },
            "label": one_of(LABELS, id, 33),
            "author": format!("employee-{}", mixed(id, 34) % 400),
            "comments": mixed(id, 35) % 40,
        })
    })
    .collect()
}
