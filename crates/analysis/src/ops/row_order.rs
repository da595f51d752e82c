//! Keeps the order of rows through the operations of an analysis.

use datafusion::{
    common::{NullHandling, UnnestOptions},
    functions_window::row_number::row_number,
    logical_expr::{Expr, ExprFunctionExt, SortExpr},
    prelude::{DataFrame, ident},
};

use super::columns;
use crate::{
    counting::{self, Counter},
    error::Result,
};

/// A table whose rows have an order.
///
/// The query engine keeps an order only where it is asked for one. As long as rows just pass
/// through, they are kept in order by running the frame as one stream. Where they are gathered
/// (sorts, joins), hidden columns say what the order is by, and the end is sorted by them.
#[derive(Clone)]
pub(crate) struct OrderedRows {
    frame: DataFrame,
    /// The hidden columns; empty while the order is that of the stream.
    by: Vec<Key>,
    /// Whether `by` is one column with the number of the row.
    is_numbered: bool,
}

/// A hidden column that rows are sorted by.
#[derive(Clone)]
struct Key {
    column: String,
    ascending: bool,
    nulls_first: bool,
}

impl Key {
    fn sort(&self) -> SortExpr {
        ident(&self.column).sort(self.ascending, self.nulls_first)
    }
}

impl OrderedRows {
    /// Takes rows in the order in which they come.
    pub(crate) fn of(frame: DataFrame) -> Self {
        let (mut state, plan) = frame.into_parts();
        state.config_mut().options_mut().execution.target_partitions = 1;
        Self { frame: DataFrame::new(state, plan), by: Vec::new(), is_numbered: false }
    }

    /// Takes rows in the order in which they come, though partitions are read at the same time. The rows
    /// are counted if all of them are read.
    pub(crate) fn placed(frame: DataFrame, counter: &Counter) -> Result<Self> {
        let place = columns::unused(&frame, "place");
        Ok(Self::by(counting::placed(frame, counter, &place)?, [place]))
    }

    /// Takes rows in the order of these columns of the frame, which become hidden.
    pub(crate) fn by(frame: DataFrame, columns: impl IntoIterator<Item = String>) -> Self {
        let key = |column| Key { column, ascending: true, nulls_first: false };
        Self { frame, by: columns.into_iter().map(key).collect(), is_numbered: false }
    }

    /// Takes rows in the order of these values, of which no two are the same.
    pub(crate) fn sorted(frame: DataFrame, keys: Vec<SortExpr>) -> Result<Self> {
        Self::by(frame, []).first_by(keys)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let is_hidden = |name: &String| self.by.iter().any(|key| key.column == *name);
        columns::names(&self.frame).into_iter().filter(|name| !is_hidden(name)).collect()
    }

    /// Returns the table without hidden columns, in any order.
    pub(crate) fn table(&self) -> Result<DataFrame> {
        columns::only(self.frame.clone(), &self.names())
    }

    /// Returns the table without hidden columns, in its order.
    pub(crate) fn finish(self) -> Result<DataFrame> {
        let names = self.names();
        columns::only(self.in_order()?, &names)
    }

    fn in_order(self) -> Result<DataFrame> {
        if self.by.is_empty() {
            return Ok(self.frame);
        }
        let keys = self.by.iter().map(Key::sort).collect();
        Ok(self.frame.sort(keys)?)
    }

    pub(crate) fn filter(self, holds: Expr) -> Result<Self> {
        Ok(Self { frame: self.frame.filter(holds)?, ..self })
    }

    /// Replaces the columns of each row.
    pub(crate) fn select(self, mut values: Vec<Expr>) -> Result<Self> {
        values.extend(self.by.iter().map(|key| ident(&key.column)));
        Ok(Self { frame: self.frame.select(values)?, ..self })
    }

    /// Keeps only these columns.
    pub(crate) fn only(self, names: &[String]) -> Result<Self> {
        self.select(names.iter().map(ident).collect())
    }

    /// Replaces the values of columns, or adds columns at the end.
    pub(crate) fn with(self, values: Vec<(String, Expr)>) -> Result<Self> {
        let names = self.names();
        let mut results: Vec<Expr> = names.iter().map(ident).collect();
        for (name, value) in values {
            let value = value.alias(&name);
            match names.iter().position(|known| *known == name) {
                Some(place) => results[place] = value,
                None => results.push(value),
            }
        }
        self.select(results)
    }

    /// Sorts the rows stably: equal ones stay in their order.
    pub(crate) fn sort(self, keys: Vec<SortExpr>) -> Result<Self> {
        let rows = if self.by.is_empty() { self.numbered()?.0 } else { self };
        rows.first_by(keys)
    }

    /// Sorts the rows by these values, and then by the order that they have.
    pub(crate) fn first_by(self, keys: Vec<SortExpr>) -> Result<Self> {
        let mut values: Vec<Expr> = self.names().into_iter().map(ident).collect();
        let mut by = Vec::new();
        for (index, key) in keys.into_iter().enumerate() {
            let column = columns::unused(&self.frame, &format!("key_{index}"));
            values.push(key.expr.alias(&column));
            by.push(Key { column, ascending: key.asc, nulls_first: key.nulls_first });
        }
        let mut rows = self.select(values)?;
        by.append(&mut rows.by);
        Ok(Self { by, is_numbered: false, ..rows })
    }

    /// Keeps the rows from `offset` on, at most `limit`.
    pub(crate) fn page(self, offset: usize, limit: Option<usize>) -> Result<Self> {
        let Self { by, is_numbered, .. } = self.clone();
        Ok(Self { frame: self.in_order()?.limit(offset, limit)?, by, is_numbered })
    }

    /// Keeps the last rows, at most `count`.
    pub(crate) fn last(self, count: usize) -> Result<Self> {
        let (rows, row) = self.numbered()?;
        let last = rows.into_frame().sort(vec![ident(&row).sort(false, false)])?;
        Ok(Self::by(last.limit(0, Some(count))?, [row]))
    }

    /// Returns the rows in the order of one hidden column, the number of the row, and its name.
    pub(crate) fn numbered(self) -> Result<(Self, String)> {
        if let Some(Key { column, .. }) = self.by.first().filter(|_| self.is_numbered) {
            let column = column.clone();
            return Ok((self, column));
        }
        let mut names = self.names();
        let keys = self.by.iter().map(Key::sort).collect();
        let (frame, row) = with_number(self.frame, keys)?;
        names.push(row.clone());
        let rows = Self::by(columns::only(frame, &names)?, [row.clone()]);
        Ok((Self { is_numbered: true, ..rows }, row))
    }

    /// Makes one row of each element of lists that have the same length; `places` lists the places of
    /// the elements.
    pub(crate) fn unnested(
        self,
        kept: Vec<Expr>,
        lists: Vec<(String, Expr)>,
        places: Expr,
        null_handling: NullHandling,
    ) -> Result<Self> {
        // A stream keeps the order of elements by itself. Otherwise the order is by the number of
        // the row: after keys that were unique, the query engine would leave the place out.
        let (rows, is_stream) = match self.by.is_empty() {
            true => (self, true),
            false => (self.numbered()?.0, false),
        };
        let place = columns::unused(&rows.frame, "place");
        let mut lists = lists;
        if !is_stream {
            lists.push((place.clone(), places));
        }
        let names: Vec<String> = lists.iter().map(|(name, _)| name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut values = kept;
        values.extend(lists.into_iter().map(|(name, list)| list.alias(name)));
        let mut rows = rows.select(values)?;
        let options = UnnestOptions { null_handling, ..UnnestOptions::default() };
        rows.frame = rows.frame.unnest_columns_with_options(&names, options)?;
        if !is_stream {
            rows.by.push(Key { column: place, ascending: true, nulls_first: false });
            rows.is_numbered = false;
        }
        Ok(rows)
    }

    /// Returns the table with its hidden columns.
    pub(crate) fn into_frame(self) -> DataFrame {
        self.frame
    }
}

/// Adds a column with the number of the row, and returns its name.
fn with_number(frame: DataFrame, keys: Vec<SortExpr>) -> Result<(DataFrame, String)> {
    let row = columns::unused(&frame, "row");
    let number = match keys.is_empty() {
        true => row_number(),
        false => row_number().order_by(keys).build()?,
    };
    let mut values: Vec<Expr> = columns::names(&frame).into_iter().map(ident).collect();
    values.push(number.alias(&row));
    Ok((frame.select(values)?, row))
}
