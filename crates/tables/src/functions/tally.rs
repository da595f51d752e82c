//! Counts how often each value occurs: the most frequent one, and how many different ones there are.

use std::{fmt, sync::Arc};

use datafusion::{
    arrow::{
        array::{
            Array, ArrayRef, AsArray, BooleanArray, LargeBinaryBuilder, LargeListArray,
            StructArray, UInt64Array, new_null_array,
        },
        buffer::{NullBuffer, OffsetBuffer, ScalarBuffer},
        datatypes::{DataType, Field, FieldRef, Fields, UInt64Type},
        row::{RowConverter, SortField},
    },
    common::HashMap,
    error::Result,
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, Expr, GroupsAccumulator, Signature,
        Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

use super::{Single, part};

/// A figure of a [`tally`]. All figures are null if there were too many values to count.
#[derive(Clone, Copy, Debug)]
pub enum TallyOutput {
    /// The number of different values.
    Distinct,
    /// The most frequent value; of several, the smallest.
    Value,
    /// The number of occurrences of that value.
    Count,
}

impl TallyOutput {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Distinct => "distinct",
            Self::Value => "value",
            Self::Count => "count",
        }
    }

    pub fn of(self, tally: Expr) -> Expr {
        part(tally, self.name())
    }
}

/// Returns an aggregate that counts the values of a column, and gives up if it would need more memory
/// than `max_bytes`.
pub fn tally(value: Expr, max_bytes: usize) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    AggregateUDF::from(Tally { signature, max_bytes }).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Tally {
    signature: Signature,
    max_bytes: usize,
}

fn result_fields(data_type: &DataType) -> Fields {
    Fields::from(vec![
        Field::new(TallyOutput::Distinct.name(), DataType::UInt64, true),
        Field::new(TallyOutput::Value.name(), data_type.clone(), true),
        Field::new(TallyOutput::Count.name(), DataType::UInt64, true),
    ])
}

fn values_field() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::LargeBinary, false))
}

fn counts_field() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::UInt64, false))
}

impl AggregateUDFImpl for Tally {
    fn name(&self) -> &str {
        "tally"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(result_fields(&types[0])))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let mut groups = TallyGroups::new(&args, self.max_bytes)?;
        groups.grow(1);
        Ok(Box::new(Single(groups)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |part, list| {
            let name = format_state_name(args.name, part);
            Arc::new(Field::new(name, DataType::LargeList(list), true))
        };
        Ok(vec![field("values", values_field()), field("counts", counts_field())])
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(TallyGroups::new(&args, self.max_bytes)?))
    }
}

/// The count of each value, by its encoded bytes, which sort like the values. None if there were too
/// many.
type Counts = Option<HashMap<Box<[u8]>, u64>>;

/// The memory of an entry beside the bytes of its value: its place in the table and on the heap.
const ENTRY_BYTES: usize = 56;

struct TallyGroups {
    data_type: DataType,
    converter: RowConverter,
    groups: Vec<Counts>,
    bytes: usize,
    max_bytes: usize,
}

impl fmt::Debug for TallyGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TallyGroups").field("data_type", &self.data_type).finish_non_exhaustive()
    }
}

impl TallyGroups {
    fn new(args: &AccumulatorArgs, max_bytes: usize) -> Result<Self> {
        let data_type = args.expr_fields[0].data_type().clone();
        let converter = RowConverter::new(vec![SortField::new(data_type.clone())])?;
        Ok(Self { data_type, converter, groups: Vec::new(), bytes: 0, max_bytes })
    }

    fn grow(&mut self, count: usize) {
        if self.groups.len() < count {
            self.groups.resize_with(count, || Some(HashMap::new()));
        }
    }

    fn add(&mut self, group: usize, value: &[u8], count: u64) {
        let Some(counts) = &mut self.groups[group] else { return };
        match counts.get_mut(value) {
            Some(known) => *known += count,
            None if self.bytes >= self.max_bytes => self.give_up(group),
            None => {
                self.bytes += value.len() + ENTRY_BYTES;
                counts.insert(value.into(), count);
            }
        }
    }

    fn give_up(&mut self, group: usize) {
        let given_up = self.groups[group].take();
        self.forget(&[given_up]);
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Counts> {
        let taken = emit_to.take_needed(&mut self.groups);
        self.forget(&taken);
        taken
    }

    fn forget(&mut self, groups: &[Counts]) {
        let entries = groups.iter().flatten().flatten();
        self.bytes -= entries.map(|(value, _)| value.len() + ENTRY_BYTES).sum::<usize>();
    }

    /// Decodes values from their bytes; none becomes null.
    fn read(&self, values: &[Option<Box<[u8]>>]) -> Result<ArrayRef> {
        let null = self.converter.convert_columns(&[new_null_array(&self.data_type, 1)])?;
        let parser = self.converter.parser();
        let rows = values.iter().map(|value| match value {
            Some(bytes) => parser.parse(bytes),
            None => null.row(0),
        });
        let mut columns = self.converter.convert_rows(rows)?;
        Ok(columns.swap_remove(0))
    }
}

impl GroupsAccumulator for TallyGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let nulls = values[0].logical_nulls();
        let rows = self.converter.convert_columns(&values[..1])?;
        for (index, (row, group)) in rows.iter().zip(group_indices).enumerate() {
            let is_left_out =
                filter.is_some_and(|filter| filter.is_null(index) || !filter.value(index));
            if !is_left_out && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(index)) {
                self.add(*group, row.data(), 1);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut distinct = Vec::new();
        let mut values = Vec::new();
        let mut max = Vec::new();
        for counts in self.take(emit_to) {
            distinct.push(counts.as_ref().map(|counts| counts.len() as u64));
            let first = counts.into_iter().flatten().reduce(|best, next| {
                let is_better = next.1 > best.1 || next.1 == best.1 && next.0 < best.0;
                if is_better { next } else { best }
            });
            let (value, count) = first.unzip();
            values.push(value);
            max.push(count);
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(distinct)),
            self.read(&values)?,
            Arc::new(UInt64Array::from(max)),
        ];
        Ok(Arc::new(StructArray::try_new(result_fields(&self.data_type), columns, None)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut values = LargeBinaryBuilder::new();
        let mut all_counts = Vec::new();
        let mut ends = vec![0];
        let mut valid = Vec::new();
        for counts in self.take(emit_to) {
            valid.push(counts.is_some());
            for (value, count) in counts.into_iter().flatten() {
                values.append_value(&value);
                all_counts.push(count);
            }
            ends.push(all_counts.len() as i64);
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let nulls = Some(NullBuffer::from(valid));
        let values = Arc::new(values.finish());
        let values =
            LargeListArray::try_new(values_field(), offsets.clone(), values, nulls.clone())?;
        let counts = Arc::new(UInt64Array::from(all_counts));
        let counts = LargeListArray::try_new(counts_field(), offsets, counts, nulls)?;
        Ok(vec![Arc::new(values), Arc::new(counts)])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let (lists, counts) = (values[0].as_list::<i64>(), values[1].as_list::<i64>());
        for (index, group) in group_indices.iter().enumerate() {
            if lists.is_null(index) {
                self.give_up(*group);
                continue;
            }
            let (list, counts) = (lists.value(index), counts.value(index));
            let counts = counts.as_primitive::<UInt64Type>().values().iter();
            for (value, count) in list.as_binary::<i64>().iter().flatten().zip(counts) {
                self.add(*group, value, *count);
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut each = Self {
            data_type: self.data_type.clone(),
            converter: RowConverter::new(vec![SortField::new(self.data_type.clone())])?,
            groups: Vec::new(),
            bytes: 0,
            max_bytes: usize::MAX,
        };
        let count = values[0].len();
        each.update_batch(values, &(0..count).collect::<Vec<_>>(), filter, count)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Counts>()
    }
}
