//! The memory that definitions of tools take: what one value takes, and a bound for those of all servers
//! together. Six servers, each with no more than one may have, took 750 MB for good.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

/// The most memory that the definitions of all servers may take together.
pub(crate) const MAX_DEFINITION_BYTES: usize = 256 << 20;

/// The least that the allocator gives, and the unit in which it gives more.
const MIN_ALLOCATION: usize = 32;
/// The bytes of an object's entry in its table of places, and of the table beside its places.
const PLACE_BYTES: usize = 9;
const TABLE_BYTES: usize = 16;

/// Estimates how much memory a value takes, and stops when it is more than `max`. Measured with objects
/// of one and of thousands of fields, the estimate is up to a third too high.
pub(crate) fn value_bytes(value: &Value, max: usize) -> usize {
    let mut total = size_of::<Value>();
    add_heap(value, max, &mut total);
    total
}

fn add_heap(value: &Value, max: usize, total: &mut usize) {
    match value {
        Value::String(text) => *total += allocation(text.len()),
        Value::Array(items) if !items.is_empty() => {
            *total += allocation(grown(items.len()).max(4) * size_of::<Value>());
            for item in items {
                if *total > max {
                    return;
                }
                add_heap(item, max, total);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let count = fields.len();
            let places = (count * 8 / 7 + 1).next_power_of_two().max(4);
            *total += allocation(grown(count).max(3) * size_of::<(u64, String, Value)>());
            *total += allocation(places * PLACE_BYTES + TABLE_BYTES);
            for (name, value) in fields {
                if *total > max {
                    return;
                }
                *total += allocation(name.len());
                add_heap(value, max, total);
            }
        }
        _ => {}
    }
}

/// Returns how much memory the allocator takes for so many bytes.
fn allocation(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { ((bytes + 23) & !15).max(MIN_ALLOCATION) }
}

/// Estimates the capacity of a list that grew to `count` items.
fn grown(count: usize) -> usize {
    count + count / 4
}

/// The memory for definitions that all servers share.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionMemory(Arc<SharedMemory>);

#[derive(Debug)]
struct SharedMemory {
    max_bytes: usize,
    uses: Mutex<HashMap<String, Use>>,
}

/// The part of the memory that one server has.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Bytes of the definitions that are known.
    known: usize,
    /// Bytes of those that are being read, and will take the place of the known ones.
    read: usize,
}

/// The memory of a list that is being read, until the list is known or dropped.
#[derive(Debug)]
pub(crate) struct DefinitionShare {
    memory: DefinitionMemory,
    server: String,
    bytes: usize,
}

impl Default for DefinitionMemory {
    fn default() -> Self {
        Self::new(MAX_DEFINITION_BYTES)
    }
}

impl DefinitionMemory {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self(Arc::new(SharedMemory { max_bytes, uses: Mutex::default() }))
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<String, Use>> {
        self.0.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an empty share, for a list that is to take the place of the known one.
    pub(super) fn share(&self, server: &str) -> DefinitionShare {
        DefinitionShare { memory: self.clone(), server: server.to_owned(), bytes: 0 }
    }
}

impl DefinitionShare {
    /// Takes `bytes` more, and tells whether there was so much. A list that is read again needs no
    /// second place.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let mut uses = self.memory.uses();
        let others = uses.iter().filter(|(server, _)| **server != self.server);
        let others: usize = others.map(|(_, its)| its.known.max(its.read)).sum();
        let own = uses.get(&self.server).copied().unwrap_or_default();
        let read = own.read + bytes;
        if others + own.known.max(read) > self.memory.0.max_bytes {
            return false;
        }
        uses.insert(self.server.clone(), Use { read, ..own });
        self.bytes += bytes;
        true
    }

    /// Makes what was read the known list, whose memory stays taken.
    pub(super) fn keep(mut self) {
        let mut uses = self.memory.uses();
        if let Some(own) = uses.get_mut(&self.server) {
            own.known = self.bytes;
            own.read -= self.bytes;
        }
        drop(uses);
        self.bytes = 0;
    }
}

impl Default for DefinitionShare {
    fn default() -> Self {
        DefinitionMemory::default().share("")
    }
}

impl Drop for DefinitionShare {
    fn drop(&mut self) {
        if self.bytes > 0
            && let Some(own) = self.memory.uses().get_mut(&self.server)
        {
            own.read -= self.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The figures are those of a process that has parsed as many of them.
    #[test]
    fn values_are_as_large_as_they_are_in_memory() {
        let fields: serde_json::Map<String, Value> =
            (0..5_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        for (value, measured) in [
            (json!({"properties": fields}), 2_830_000),
            (json!(vec![json!([]); 300_000]), 22_400_000),
            (json!(vec![1; 300_000]), 21_600_000),
            (json!("x".repeat(1 << 20)), 1 << 20),
        ] {
            let bytes = value_bytes(&value, usize::MAX);
            assert!((measured..measured * 4 / 3).contains(&bytes), "{bytes} and not {measured}");
            assert!(value_bytes(&value, 1_000) > 1_000);
        }
    }

    #[test]
    fn all_servers_together_have_so_much_and_a_list_that_is_read_again_no_more() {
        let memory = DefinitionMemory::new(100);
        let known = |server: &str, bytes| {
            let mut share = memory.share(server);
            let fits = share.grow(bytes);
            share.keep();
            fits
        };
        assert!(known("a", 60));
        assert!(!known("b", 50));
        assert!(known("b", 40));
        // Of what is known already there is no more when it is read again.
        let mut again = memory.share("a");
        assert!(again.grow(30) && again.grow(30) && !again.grow(1));
        // A list that is not kept gives back what it had.
        drop(again);
        assert!(known("a", 10));
        assert!(known("c", 50) && !known("d", 1));
    }
}
