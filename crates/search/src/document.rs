//! The texts of a tool that are searched, by field.

/// The texts of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub server: String,
    pub description: String,
    /// Each with its name and description.
    pub parameters: Vec<(String, String)>,
    /// Values that parameters may have.
    pub values: Vec<String>,
}

/// Where a word stands. The order is that of the weights in `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Name,
    Server,
    Description,
    ParameterName,
    /// Also the values that it may have.
    ParameterDescription,
}

pub(crate) const FIELDS: usize = 5;

impl Document {
    /// Returns the texts by field.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (Field, &str)> {
        let fixed = [
            (Field::Name, self.name.as_str()),
            (Field::Server, &self.server),
            (Field::Description, &self.description),
        ];
        let names = self.parameters.iter().map(|(name, _)| (Field::ParameterName, name.as_str()));
        let descriptions =
            self.parameters.iter().map(|(_, text)| (Field::ParameterDescription, text.as_str()));
        let values = self.values.iter().map(|value| (Field::ParameterDescription, value.as_str()));
        fixed.into_iter().chain(names).chain(descriptions).chain(values)
    }
}
