//! A small shop with customers and invoices, offered to programs as the server `shop`.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use narrows_sandbox::{ModuleSource, ToolCall, ToolFailure, ToolHost};
use serde_json::{Value, json, value::RawValue};

const CUSTOMERS: u64 = 200;
const INVOICES_EACH: u64 = 12;
const REGIONS: [&str; 4] = ["north", "south", "east", "west"];

const MODULE: &str = r#"
"""A shop with customers and their invoices."""
from _narrows.calls import call


async def list_customers() -> list[dict]:
    """All customers, with id, name and region."""
    return await call("list_customers", {})


async def get_invoices(customer_id: int) -> list[dict]:
    """The invoices of one customer, with number, amount, due date and status."""
    return await call("get_invoices", {"customer_id": customer_id})
"#;

/// Answers the shop's tools from data that it computes.
#[derive(Debug, Default)]
pub(super) struct SampleHost {
    /// How much JSON the tools gave to programs.
    pub(super) answered_bytes: AtomicUsize,
}

impl SampleHost {
    fn answer(&self, call: &ToolCall) -> Result<Box<RawValue>, ToolFailure> {
        let value = match call.tool.as_str() {
            "list_customers" => (1..=CUSTOMERS).map(customer).collect(),
            "get_invoices" => {
                let arguments: Value = serde_json::from_str(call.arguments.get())
                    .map_err(|error| ToolFailure::new(error.to_string()))?;
                let id =
                    arguments["customer_id"].as_u64().filter(|id| (1..=CUSTOMERS).contains(id));
                let id = id.ok_or_else(|| ToolFailure::new("there is no such customer"))?;
                (1..=INVOICES_EACH).map(|number| invoice(id, number)).collect()
            }
            other => return Err(ToolFailure::new(format!("there is no tool {other:?}"))),
        };
        let text = Value::Array(value).to_string();
        self.answered_bytes.fetch_add(text.len(), Ordering::Relaxed);
        RawValue::from_string(text).map_err(|error| ToolFailure::new(error.to_string()))
    }
}

fn customer(id: u64) -> Value {
    json!({
        "id": id,
        "name": format!("Customer {id:03}"),
        "region": REGIONS[(id % 4) as usize],
        "address": format!("{} Example Street, 1{id:04} Sampletown", id * 3 % 90 + 1),
    })
}

fn invoice(customer: u64, number: u64) -> Value {
    // Spread evenly and the same on every machine.
    let mix = (customer * 7919 + number * 104_729) % 1_000;
    json!({
        "number": format!("{customer:03}-{number:02}"),
        "amount": mix as f64 * 1.37 + 20.0,
        "due": format!("2026-{number:02}-{:02}", mix % 28 + 1),
        "status": if mix.is_multiple_of(9) { "open" } else { "paid" },
        "text": "Thank you for your order. Please pay within thirty days.",
    })
}

impl ToolHost for SampleHost {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        Box::pin(std::future::ready(self.answer(&call)))
    }

    fn module(&self, name: &str) -> Option<ModuleSource> {
        let source = match name {
            "servers" => "",
            "servers.shop" => MODULE,
            _ => return None,
        };
        Some(ModuleSource { source: source.into(), is_package: name == "servers" })
    }
}
