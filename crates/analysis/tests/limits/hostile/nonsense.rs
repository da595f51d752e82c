//! Queries that nobody wrote: words in any order, and ordinary queries with mistakes in them.

use super::{Attack, End, family};

pub(crate) fn attacks() -> Vec<Attack> {
    let mut chance = Chance(20_240_229);
    let mut all = family(
        "words in any order",
        End::Any,
        (0..250).map(|_| soup(&mut chance)).collect::<Vec<_>>(),
    );
    all.extend(family(
        "mistakes",
        End::Any,
        (0..250).map(|_| mistake(&mut chance)).collect::<Vec<_>>(),
    ));
    all
}

/// The same choices each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const WORDS: &[&str] = &[
    "select",
    "from",
    "where",
    "group by",
    "order by",
    "having",
    "limit",
    "with",
    "as",
    "(",
    ")",
    ",",
    "people",
    "big",
    "id",
    "name",
    "n",
    "s",
    "x",
    "k",
    "*",
    "+",
    "-",
    "/",
    "%",
    "||",
    "=",
    "<",
    ">",
    "and",
    "or",
    "not",
    "in",
    "like",
    "between",
    "is null",
    "case",
    "when",
    "then",
    "else",
    "end",
    "count(*)",
    "sum(n)",
    "max(s)",
    "over",
    "partition by",
    "join",
    "left join",
    "on",
    "union all",
    "distinct",
    "null",
    "true",
    "1",
    "0",
    "-1",
    "1e308",
    "'a'",
    "''",
    "\"id\"",
    "now()",
    "interval '1 day'",
    "::int",
    "::text",
    "[",
    "]",
    "repeat(s, 9)",
    "unnest",
    "lateral",
    "exists",
    "cast",
    "row_number()",
    "generate_series(1, 3)",
    "filter",
    "qualify",
    "a",
    "b",
    ".",
];

fn soup(chance: &mut Chance) -> String {
    let length = 3 + chance.below(20);
    let words: Vec<&str> = (0..length).map(|_| chance.one(WORDS)).collect();
    format!("select {}", words.join(" "))
}

const ORDINARY: &[&str] = &[
    "select k, count(*) c, avg(x) from big where n > 10 group by k having count(*) > 5 order by c desc limit 3",
    "with t as (select k, sum(n) v from big group by k) select * from t join people on t.k = people.id where v > 5",
    "select name, case when age > 40 then 'old' else 'young' end, upper(name) || '!' from people order by age nulls last",
    "select n, sum(x) over (partition by k order by n rows between 3 preceding and current row) from big where s like 'row 1%'",
    "select date_trunc('month', day::date) m, count(distinct id) from people group by 1 union all select null, 5",
    "select p.id, (select max(n) from big b where b.k = p.id) from people p where p.id in (select n from big)",
    "select regexp_replace(s, '[0-9]+', '#', 'g'), length(s), n % 7, round(x, 2) from big order by random() limit 5",
];

/// An ordinary query of which a part is left out, doubled, or put elsewhere.
fn mistake(chance: &mut Chance) -> String {
    let query = chance.one(ORDINARY);
    let mut words: Vec<&str> = query.split(' ').collect();
    for _ in 0..1 + chance.below(3) {
        let (at, other) = (chance.below(words.len()), chance.below(words.len()));
        match chance.below(4) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[other]),
            2 => words.swap(at, other),
            _ => words.insert(at, chance.one(WORDS)),
        }
    }
    words.join(" ")
}
