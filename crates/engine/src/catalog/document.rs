//! Tools as they are searched for.

use std::sync::Arc;

use narrows_search::{Document, Segment};
use serde_json::Value;

use super::{ServerTools, Tool};

impl ServerTools {
    /// Returns the index of these tools, which is made when it is first needed.
    pub(crate) fn segment(&self) -> &Arc<Segment> {
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
        description: tool.description().to_owned(),
        ..Document::default()
    };
    for (name, schema) in properties.into_iter().flatten() {
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        document.parameters.push((name.clone(), text.to_owned()));
        let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        document.values.extend(values.filter_map(Value::as_str).map(str::to_owned));
    }
    document
}
