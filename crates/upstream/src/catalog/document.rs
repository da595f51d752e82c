//! Tools as documents of the search index.

use std::sync::Arc;

use narrows_search::{Document, Segment};
use serde_json::Value;

use super::{ServerTools, Tool};

/// How much of a text is indexed. A server may write a megabyte, and the index is made while somebody
/// waits.
const MAX_TEXT_BYTES: usize = 8 << 10;
/// How many parameters of a tool are indexed, and how many of their values.
const MAX_PARAMETERS: usize = 500;
const MAX_VALUES: usize = 1_000;

impl ServerTools {
    /// Returns the index of these tools, which is made when it is first needed.
    pub fn segment(&self) -> &Arc<Segment> {
        self.segment.get_or_init(|| {
            let documents: Vec<Document> = self.tools.iter().map(|tool| document(tool)).collect();
            Arc::new(Segment::new(&documents))
        })
    }
}

fn document(tool: &Tool) -> Document {
    let properties = tool.input_schema().get("properties").and_then(Value::as_object);
    let mut document = Document {
        name: tool.id.tool.clone(),
        server: tool.id.server.clone(),
        description: start_of(tool.description()),
        ..Document::default()
    };
    for (name, schema) in properties.into_iter().flatten().take(MAX_PARAMETERS) {
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        document.parameters.push((start_of(name), start_of(text)));
        let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let room = MAX_VALUES - document.values.len();
        document.values.extend(values.filter_map(Value::as_str).take(room).map(start_of));
    }
    document
}

fn start_of(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned()
}
