//! The tools of one server while they are listed: a missing schema is filled in, and what exceeds a
//! limit is left out.

use serde_json::{Value, json};

use crate::catalog::{DefinitionShare, MAX_DEFINITION_BYTES, value_bytes};

/// The most tools that are read: a server that lists more lists without end.
const MAX_TOOLS: usize = 20_000;
/// The most pages that are read: a server could send empty ones without end.
const MAX_PAGES: usize = 2_000;
/// The most memory that all definitions of a server may take. Pages of descriptions of 16 MB each
/// filled gigabytes, on disk too.
const MAX_LIST_BYTES: usize = 64 << 20;
/// The most memory that one definition may take: models read them.
const MAX_TOOL_BYTES: usize = 1 << 20;
/// The longest name of a tool: suggestions, modules and rules go by names. The specification allows 128
/// characters.
const MAX_NAME_BYTES: usize = 512;

/// A list that is being read.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    tools: Vec<Value>,
    bytes: usize,
    /// The list's share of the memory for the definitions of all servers.
    share: DefinitionShare,
    pages: usize,
    /// Tools that were left out, and why the first was.
    left_out: usize,
    reason: Option<String>,
}

/// Whether the next page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextPage {
    More,
    Full,
}

impl ToolList {
    pub(crate) fn new(share: DefinitionShare) -> Self {
        Self { share, ..Self::default() }
    }

    /// Adds the tools of a page.
    pub(crate) fn add(&mut self, page: Vec<Value>) -> NextPage {
        self.pages += 1;
        for tool in page {
            if let Err(reason) = self.add_tool(tool) {
                self.left_out += 1;
                self.reason.get_or_insert(reason);
            }
        }
        if self.pages >= MAX_PAGES {
            self.reason.get_or_insert(format!("it lists more than {MAX_PAGES} pages"));
        }
        let is_full = self.tools.len() >= MAX_TOOLS
            || self.bytes >= MAX_LIST_BYTES
            || self.pages >= MAX_PAGES;
        if is_full { NextPage::Full } else { NextPage::More }
    }

    fn add_tool(&mut self, mut tool: Value) -> Result<(), String> {
        let name = match tool.get("name").and_then(Value::as_str) {
            None => return Err("a tool has no name".to_owned()),
            Some(name) if name.len() > MAX_NAME_BYTES => {
                return Err(format!("a tool's name is longer than {MAX_NAME_BYTES} bytes"));
            }
            Some(name) => name.to_owned(),
        };
        let bytes = value_bytes(&tool, MAX_TOOL_BYTES);
        if bytes > MAX_TOOL_BYTES {
            // It counts although it is left out, because reading it cost as much.
            self.bytes += MAX_TOOL_BYTES;
            let most = MAX_TOOL_BYTES >> 20;
            return Err(format!("the definition of {name:?} is larger than {most} MB"));
        }
        if self.tools.len() >= MAX_TOOLS {
            return Err(format!("it lists more than {MAX_TOOLS} tools"));
        }
        if self.bytes + bytes > MAX_LIST_BYTES {
            self.bytes = MAX_LIST_BYTES;
            let most = MAX_LIST_BYTES >> 20;
            return Err(format!("its tools are larger than {most} MB together"));
        }
        if !self.share.grow(bytes) {
            self.bytes = MAX_LIST_BYTES;
            let most = MAX_DEFINITION_BYTES >> 20;
            return Err(format!("the tools of all servers are larger than {most} MB together"));
        }
        self.bytes += bytes;
        mend_schema(&mut tool);
        self.tools.push(tool);
        Ok(())
    }

    /// Takes the share of the memory that the tools use.
    pub(crate) fn take_share(&mut self) -> DefinitionShare {
        std::mem::take(&mut self.share)
    }

    /// Returns the tools that were kept, and a problem to report if some were left out.
    pub(crate) fn finish(self) -> (Vec<Value>, Option<String>) {
        let problem = self.reason.map(|reason| match self.left_out {
            0 => format!("not all of its tools are known: {reason}"),
            1 => format!("1 tool was left out: {reason}"),
            number => format!("{number} tools or more were left out: {reason}"),
        });
        (self.tools, problem)
    }
}

/// Gives a tool without an input schema one that accepts any object, which means the same.
fn mend_schema(tool: &mut Value) {
    if let Value::Object(fields) = tool
        && !fields.get("inputSchema").is_some_and(Value::is_object)
    {
        fields.insert("inputSchema".to_owned(), json!({"type": "object"}));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::{
        catalog::Catalog,
        fakes::{PlainNaming, spec},
    };

    fn names(tools: &[Value]) -> Vec<&str> {
        tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn a_tool_without_a_schema_does_not_cost_the_others() {
        let mut list = ToolList::default();
        let schema = json!({"type": "object", "required": ["a"]});
        let room = list.add(vec![
            json!({"name": "bare"}),
            json!({"name": "null", "inputSchema": null}),
            json!({"name": "whole", "inputSchema": schema}),
            json!({"description": "no name"}),
            json!("no tool"),
        ]);
        assert_eq!(room, NextPage::More);
        let (tools, problem) = list.finish();
        assert_eq!(names(&tools), ["bare", "null", "whole"]);
        assert_eq!(tools[0]["inputSchema"], json!({"type": "object"}));
        assert_eq!(tools[1]["inputSchema"], json!({"type": "object"}));
        assert_eq!(tools[2]["inputSchema"], schema);
        assert_eq!(problem.unwrap(), "2 tools or more were left out: a tool has no name");
    }

    #[test]
    fn definitions_that_are_too_large_are_left_out_and_told() {
        let tool =
            |name: &str, bytes: usize| json!({"name": name, "description": "x".repeat(bytes)});
        let mut list = ToolList::default();
        list.add(vec![tool("huge", MAX_TOOL_BYTES), tool("small", 10)]);
        list.add(vec![tool(&"n".repeat(MAX_NAME_BYTES + 1), 10)]);
        let (tools, problem) = list.finish();
        assert_eq!(names(&tools), ["small"]);
        let problem = problem.unwrap();
        assert!(problem.contains(r#"the definition of "huge" is larger than 1 MB"#), "{problem}");

        let deep = json!({"name": "deep", "x": vec![vec![json!({"k": "v"}); 1000]; 100]});
        let mut list = ToolList::default();
        list.add(vec![deep]);
        assert!(list.finish().0.is_empty());
    }

    #[test]
    fn what_does_not_fit_beside_the_tools_of_other_servers_is_left_out_and_told() {
        let specs = [spec("first"), spec("second")];
        let catalog = Catalog::new(&specs, None, &PlainNaming);
        let mut first = catalog.definition_share("first");
        assert!(first.grow(MAX_DEFINITION_BYTES - (1 << 20)));
        let tool = |name: &str| json!({"name": name, "description": "x".repeat(600 << 10)});
        let mut second = ToolList::new(catalog.definition_share("second"));
        assert_eq!(second.add(vec![tool("fits"), tool("does_not")]), NextPage::Full);
        let _share = second.take_share();
        let (tools, problem) = second.finish();
        assert_eq!(names(&tools), ["fits"]);
        let told = "1 tool was left out: the tools of all servers are larger than 256 MB together";
        assert_eq!(problem.unwrap(), told);
    }

    #[test]
    fn a_list_without_end_is_not_read_to_its_end() {
        let half = json!({"name": "t", "description": "x".repeat(MAX_TOOL_BYTES / 2)});
        let mut list = ToolList::default();
        let pages = (1..).find(|_| list.add(vec![half.clone()]) == NextPage::Full).unwrap();
        let expected = MAX_LIST_BYTES * 2 / MAX_TOOL_BYTES;
        assert!((expected - 1..expected * 5 / 4).contains(&pages), "{pages}");
        let (_, problem) = list.finish();
        assert!(problem.unwrap().contains("larger than 64 MB together"));

        // What is many fields takes as much as it takes in memory, not as text.
        let fields: Map<String, Value> =
            (0..1_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let wide = json!({"name": "t", "inputSchema": {"type": "object", "properties": fields}});
        let mut list = ToolList::default();
        let pages = (1..).find(|_| list.add(vec![wide.clone()]) == NextPage::Full).unwrap();
        assert!((90..130).contains(&pages), "{pages}");

        let huge = json!({"name": "t", "description": "x".repeat(MAX_TOOL_BYTES)});
        let mut list = ToolList::default();
        let pages = (1..).find(|_| list.add(vec![huge.clone()]) == NextPage::Full);
        assert_eq!(pages, Some(MAX_LIST_BYTES / MAX_TOOL_BYTES));

        let mut list = ToolList::default();
        let pages = (1..).find(|_| list.add(Vec::new()) == NextPage::Full);
        assert_eq!(pages, Some(MAX_PAGES));
        // Control: a list that ends is told as it is.
        let mut list = ToolList::default();
        list.add(vec![json!({"name": "t", "inputSchema": {}})]);
        assert_eq!(list.finish(), (vec![json!({"name": "t", "inputSchema": {}})], None));
    }
}
