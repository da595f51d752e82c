//! The reasons why data does not become a table.

use datafusion::error::DataFusionError;

#[derive(Debug)]
pub(crate) enum Flaw {
    /// A mistake in the data.
    Data(String),
    /// A mistake at a byte of the text.
    At(usize, String),
    /// Objects that cannot be split into columns because other values are among them, by their dotted
    /// names. Loading is tried again with them kept as JSON text.
    Mixed(Vec<String>),
    /// The same for objects that have too many different keys.
    Wide(Vec<String>),
    /// The memory pool has no more, or the query engine failed.
    Engine(Box<DataFusionError>),
    /// Nobody waits for the table any more.
    GivenUp,
}

pub(crate) type Result<T, E = Flaw> = std::result::Result<T, E>;

impl Flaw {
    pub(crate) fn data(reason: impl Into<String>) -> Self {
        Self::Data(reason.into())
    }

    /// Replaces the byte offset of a flaw in `text` by a line of the whole file.
    pub(crate) fn located(self, text: &str, lines_before: usize) -> Self {
        let Self::At(offset, reason) = self else { return self };
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count();
        Self::Data(format!("line {}, column {}: {reason}", lines_before + line + 1, column + 1))
    }

    /// Makes the flaw of data that has changed between two passes.
    pub(crate) fn changed() -> Self {
        Self::data("the data has changed while it was read")
    }

    /// Converts a flaw of the data that is found only in the second pass: the data has changed.
    pub(crate) fn on_second_look(self) -> Self {
        match self {
            Self::Engine(_) | Self::GivenUp => self,
            _ => Self::changed(),
        }
    }
}

impl From<DataFusionError> for Flaw {
    fn from(error: DataFusionError) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<datafusion::arrow::error::ArrowError> for Flaw {
    fn from(error: datafusion::arrow::error::ArrowError) -> Self {
        DataFusionError::from(error).into()
    }
}

impl From<std::io::Error> for Flaw {
    fn from(error: std::io::Error) -> Self {
        Self::Data(format!("the file cannot be read: {error}"))
    }
}
