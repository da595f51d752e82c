//! What the check of programs asks about tools.

use narrows_python::check::{ByFullName, KnownTool, KnownTools};

use super::Discovery;
use crate::catalog::{known_by_full_name, known_tool};

/// As the catalog, with what was learnt of results.
impl KnownTools for Discovery {
    fn servers(&self) -> Vec<String> {
        self.broker().catalog().servers()
    }

    fn disabled(&self, module: &str) -> Option<String> {
        KnownTools::disabled(&**self.broker().catalog(), module)
    }

    fn tools(&self, module: &str) -> Option<Vec<String>> {
        self.broker().catalog().tools(module)
    }

    fn tool(&self, module: &str, name: &str) -> Option<KnownTool> {
        let catalog = self.broker().catalog();
        let listing = catalog.listing(catalog.server_of(module)?)?;
        listing.tool(name).map(|tool| known_tool(tool, self.observed(tool)))
    }

    fn suggest(&self, module: &str, name: &str) -> String {
        self.broker().catalog().suggest(module, name)
    }

    fn by_full_name(&self, name: &str) -> ByFullName {
        let catalog = self.broker().catalog();
        known_by_full_name(catalog, name, |tool| known_tool(tool, self.observed(tool)))
    }

    fn why_wrong(&self, name: &str) -> String {
        self.broker().catalog().why_wrong(name)
    }
}
