//! SQL as agents write it, and what they are told when it is wrong.

use std::sync::Arc;

use datafusion::arrow::{
    array::{ArrayRef, Float64Array, Int64Array, StringArray},
    util::display::{ArrayFormatter, FormatOptions},
};
use narrows_analysis::{AnalysisType, Answer, Input};
use serde_json::json;

use crate::support::{of_columns, run_with};

fn tables() -> Vec<(String, Input)> {
    let names = [Some("Alpha"), Some("Beta"), Some("Gamma"), None, Some("Ünï 😀")];
    let stocks = of_columns(vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5])) as ArrayRef),
        ("name", Arc::new(StringArray::from(names.to_vec()))),
        ("sector", Arc::new(StringArray::from(vec!["Tech", "Tech", "Energy", "Energy", "Health"]))),
        (
            "roi",
            Arc::new(Float64Array::from(vec![Some(12.5), Some(3.0), None, Some(-4.25), Some(0.0)])),
        ),
        ("Price", Arc::new(Int64Array::from(vec![10, 20, 30, 40, 50]))),
        (
            "day",
            Arc::new(StringArray::from(vec![
                "2024-01-05",
                "2024-01-20",
                "2024-02-01",
                "2024-02-28",
                "2024-03-03",
            ])),
        ),
        ("address.city", Arc::new(StringArray::from(vec!["Rio", "Bern", "Rio", "Oslo", "Bonn"]))),
        ("tags", Arc::new(StringArray::from(vec!["a,b", "b", "", "c,a", "a"]))),
    ]);
    let sectors = of_columns(vec![
        ("sector", Arc::new(StringArray::from(vec!["Tech", "Energy", "Food"])) as ArrayRef),
        ("weight", Arc::new(Int64Array::from(vec![3, 2, 1]))),
    ]);
    vec![("stocks".into(), stocks), ("sectors".into(), sectors)]
}

async fn ask(query: &str) -> Result<Answer, String> {
    let query = json!({ "query": query });
    run_with(2, AnalysisType::Sql, tables(), &query).await.map_err(|error| error.to_string())
}

/// `name,name | value,value | …`
async fn answer(query: &str) -> String {
    let answer = ask(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    let table = answer.table.expect("a table");
    let names: Vec<&str> =
        table.schema.fields().iter().map(|field| field.name().as_str()).collect();
    let mut lines = vec![names.join(",")];
    for batch in &table.batches {
        let options = FormatOptions::default().with_null("-");
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).expect("a formatter"))
            .collect();
        lines.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(",")
        }));
    }
    lines.join(" | ")
}

#[tokio::test]
async fn what_agents_write_is_understood() {
    for (query, expected) in [
        (
            "select sector, count(*) n from stocks group by 1 order by n desc, 1",
            "sector,n | Energy,2 | Tech,2 | Health,1",
        ),
        ("SELECT COUNT(*) FROM stocks", "COUNT(*) | 5"),
        ("select count(*) n from data", "n | 5"),
        (
            "select count(*) filter (where roi > 0) pos, Sum(Price) from stocks",
            "pos,Sum(Price) | 2,150",
        ),
        (
            "select sector, sum(Price) p from stocks group by all order by p",
            "sector,p | Tech,30 | Health,50 | Energy,70",
        ),
        (
            "select Price::text || '!' as p, Price::int / 3 as i from stocks limit 2",
            "p,i | 10!,3 | 20!,6",
        ),
        ("select id from stocks order by roi desc nulls last", "id | 1 | 2 | 5 | 4 | 3"),
        (
            "select id from stocks where name ilike '%a' or name is null order by id desc",
            "id | 4 | 3 | 2 | 1",
        ),
        (
            "select id, row_number() over (partition by sector order by Price desc) rn from stocks order by id",
            "id,rn | 1,2 | 2,1 | 3,2 | 4,1 | 5,1",
        ),
        ("select Price - lag(Price) over (order by id) d from stocks", "d | - | 10 | 10 | 10 | 10"),
        (
            "with t as (select sector, max(Price) m from stocks group by sector) select m from t where m > 20 union all select 1 order by 1",
            "m | 1 | 40 | 50",
        ),
        (
            "select case when roi > 5 then 'high' when roi is null then 'none' else 'low' end c, count(*) n from stocks group by c order by c",
            "c,n | high,1 | low,3 | none,1",
        ),
        (
            "select date_trunc('month', day) m, count(*) n from stocks group by 1 order by 1",
            "m,n | 2024-01-01T00:00:00,2 | 2024-02-01T00:00:00,2 | 2024-03-01T00:00:00,1",
        ),
        (
            "select extract(year from day) y, date_part('month', day) m from stocks limit 1",
            "y,m | 2024,1",
        ),
        (
            "select day::date + interval '1 day' d, to_char(day::date, '%d.%m.%Y') t, day::date - date '2024-01-01' n from stocks limit 1",
            "d,t,n | 2024-01-06,05.01.2024,4",
        ),
        ("select count(*) n from stocks where day between '2024-01-01' and '2024-01-31'", "n | 2"),
        ("select count(*) n from stocks where day > date '2024-02-01'", "n | 2"),
        ("select \"address.city\" from stocks limit 1", "address.city | Rio"),
        (
            "select address.city, count(*) n from stocks s group by s.address.city order by n desc limit 1",
            "address.city,n | Rio,2",
        ),
        (
            "select s.name, weight from stocks s join sectors x on s.sector = x.sector and weight > 2 order by id",
            "name,weight | Alpha,3 | Beta,3",
        ),
        ("select a.id, b.id from stocks a join stocks b on a.id = b.id + 3", "id,id_2 | 4,1 | 5,2"),
        (
            "select x.sector, count(id) n from sectors x left join stocks using (sector) group by 1 order by 1",
            "sector,n | Energy,2 | Food,0 | Tech,2",
        ),
        (
            "select unnest(string_to_array(tags, ',')) tag, count(*) n from stocks group by 1 order by 2 desc, 1 limit 2",
            "tag,n | a,3 | b,2",
        ),
        (
            "select sector, string_agg(name, '+' order by name desc) names from stocks group by 1 having count(*) > 1 order by 1",
            "sector,names | Energy,Gamma | Tech,Beta+Alpha",
        ),
        (
            "select median(Price) m, percentile_cont(0.5) within group (order by roi) p, round(stddev(Price), 2) s from stocks",
            "m,p,s | 30.0,1.5,15.81",
        ),
        (
            "select * exclude (roi, day, tags, \"address.city\", name) from stocks where Price > (select avg(Price) from stocks) order by 1",
            "id,sector,Price | 4,Energy,40 | 5,Health,50",
        ),
        (
            "select id from stocks s where exists (select 1 from sectors x where x.sector = s.sector) and id not in (select 2)",
            "id | 1 | 3 | 4",
        ),
        (
            "select regexp_replace(name, '[aeiou]', '*', 'g') r, name ~ '^A' a, upper(name) u, length(name) l from stocks where id in (1, 5) order by id",
            "r,a,u,l | Alph*,true,ALPHA,5 | Ünï 😀,false,ÜNÏ 😀,5",
        ),
        (
            "select sector, rank() over (order by Price desc) r from stocks qualify r = 1",
            "sector,r | Health,1",
        ),
        ("select * from (values (1, 'a'), (2, 'b')) as v(x, y) where x = 2", "x,y | 2,b"),
        ("select * from generate_series(2, 4) as g(x)", "x | 2 | 3 | 4"),
        ("from sectors select weight limit 1", "weight | 3"),
        ("from sectors limit 1", "sector,weight | Tech,3"),
        (
            "select name || ' ' || sector x, concat(name, '-') y from stocks where id in (1, 4) order by id",
            "x,y | Alpha Tech,Alpha- | -,-",
        ),
        (
            "select sum(Price) / count(*) a, 7 / 2 b, 7 % 4 c, 7 / 2.0 d, power(2, 3) e from stocks",
            "a,b,c,d,e | 30,3,3,3.5,8.0",
        ),
        (
            "select sector, sum(Price) p from stocks group by rollup(sector) order by sector nulls first",
            "sector,p | -,150 | Energy,70 | Health,50 | Tech,30",
        ),
        (
            "select coalesce(roi, 0) r, nullif(sector, 'Tech') s, greatest(Price, 25) g from stocks order by id limit 2",
            "r,s,g | 12.5,-,25 | 3.0,-,25",
        ),
        ("/* a comment */ select 1 -- and another\n;", "1 | 1"),
        (
            "select [1, 2, 3][2] x, array_agg(id order by id desc) a from stocks",
            "x,a | 2,[5, 4, 3, 2, 1]",
        ),
        ("select id from stocks where name == 'Alpha'", "id | 1"),
        (
            "select sum(id) over (partition by sector) s from stocks where sector = 'Tech'",
            "s | 3 | 3",
        ),
        ("select id from stocks where Price <> 20 and 100 / (Price - 20) > 4", "id | 3 | 4"),
        ("select var_samp(Price) v, var_pop(Price) p from stocks", "v,p | 250.0,200.0"),
    ] {
        assert_eq!(answer(query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_said_plainly() {
    for (query, expected) in [
        (
            "select setor from stocks",
            "sql: no column \"setor\"; did you mean sector?; there are id, name, sector, roi, Price, day, address.city, tags",
        ),
        (
            "select price from stocks",
            "sql: no column \"price\"; did you mean Price?; there are id, name, sector, roi, Price, day, address.city, tags",
        ),
        ("select x.name from stocks s", "sql: no table \"x\" here for x.name; there are s"),
        (
            "select id from stocks where sector = \"Tech\"",
            "sql: no column \"Tech\"; there are id, name, sector, roi, Price, day, address.city, tags; if it is a text, write it in single quotes: 'Tech'",
        ),
        (
            "select * from stock",
            "sql: no table \"stock\"; did you mean stocks?; there are stocks, sectors",
        ),
        (
            "select * from 'stocks.csv'",
            "sql: no table \"stocks.csv\"; did you mean stocks?; there are stocks, sectors",
        ),
        ("select summ(Price) from stocks", "sql: no function \"summ\"; did you mean sum?"),
        ("select year(day) from stocks", "sql: no function \"year\"; use date_part('year', x)"),
        (
            "select sum(name) from stocks",
            "sql: sum does not take text; change its type first, as in x::double",
        ),
        (
            "select sector, Price from stocks group by sector",
            "sql: the column stocks.Price has to be in GROUP BY or in an aggregate like max",
        ),
        (
            "select id, id from stocks",
            "sql: two columns are called stocks.id; give one another name with AS",
        ),
        (
            "select sector from stocks, sectors",
            "sql: the column \"sector\" is in several tables; write table.sector",
        ),
        ("select lag(Price) from stocks", "sql: lag needs a window: lag(…) OVER (ORDER BY …)"),
        ("select 1 / 0", "sql: Divide by zero error"),
        (
            "select max(Price) + 9223372036854775807 from stocks",
            "sql: a + b: the result is too large for a whole number",
        ),
        (
            "drop table stocks",
            "sql: only queries that read are allowed: SELECT, WITH or VALUES, not drop",
        ),
        ("select 1; select 2", "sql: one query at a time; there are several statements"),
        ("select 1 +", "sql: Expected: an expression, found: EOF"),
        ("", "sql: there is no query"),
    ] {
        assert_eq!(ask(query).await.expect_err(query), expected, "{query}");
    }
}

/// What PostgreSQL 16 says to the same.
#[tokio::test]
async fn times_are_moved_between_zones_as_postgresql_moves_them() {
    let berlin = "at time zone 'Europe/Berlin'";
    for (time, expected) in [
        (
            format!("timestamp '2024-07-01 12:00:00' {berlin} at time zone 'UTC'"),
            "2024-07-01T10:00:00",
        ),
        (
            format!("timestamp '2024-07-01 12:00:00' at time zone 'UTC' {berlin}"),
            "2024-07-01T14:00:00",
        ),
        // Twice there, and never there.
        (
            format!("timestamp '2024-10-27 02:30:00' {berlin} at time zone 'UTC'"),
            "2024-10-27T01:30:00",
        ),
        (
            format!("timestamp '2024-03-31 02:30:00' {berlin} at time zone 'UTC'"),
            "2024-03-31T01:30:00",
        ),
        (
            "timestamp '2024-11-03 01:30:00' at time zone 'America/New_York' at time zone 'utc'"
                .into(),
            "2024-11-03T06:30:00",
        ),
        (
            "timestamp '2011-12-30 12:00:00' at time zone 'Pacific/Apia' at time zone 'UTC'".into(),
            "2011-12-30T22:00:00",
        ),
        (
            "timestamp '2024-01-01 00:15:30.25' at time zone 'Asia/Kolkata' \
             at time zone 'America/New_York'"
                .into(),
            "2023-12-31T13:45:30.250",
        ),
        (format!("timestamp '2024-07-01 12:00:00' {berlin}"), "2024-07-01T12:00:00+02:00"),
        (format!("timestamp '2024-07-01 12:00:00' {berlin} {berlin}"), "2024-07-01T12:00:00"),
        (
            format!("timestamp '2024-07-01 12:00:00' {berlin} {berlin} at time zone 'UTC'"),
            "2024-07-01T12:00:00Z",
        ),
        (
            format!("timezone('UTC', timestamp '2024-07-01 12:00:00' {berlin})"),
            "2024-07-01T10:00:00",
        ),
        // Texts are local times, unless they say where.
        (format!("'2024-07-01 12:00' {berlin} at time zone 'UTC'"), "2024-07-01T10:00:00"),
        (format!("'2024-07-01T12:00:00Z' {berlin}"), "2024-07-01T14:00:00+02:00"),
        (format!("date '2024-07-01' {berlin} at time zone 'UTC'"), "2024-06-30T22:00:00"),
        (format!("day::timestamp {berlin} at time zone 'UTC'"), "2024-01-04T23:00:00"),
        (format!("day {berlin} at time zone 'UTC'"), "2024-01-04T23:00:00"),
        (
            format!(
                "date_part('hour', timestamp '2024-07-01 12:00:00' at time zone 'UTC' {berlin})"
            ),
            "14",
        ),
        (format!("null::timestamp {berlin}"), "-"),
        // Times with a zone are times of the world.
        (format!("'2024-07-01T12:00:00Z'::timestamptz {berlin}"), "2024-07-01T14:00:00"),
        (format!("timestamptz '2024-07-01 12:00:00+02' {berlin}"), "2024-07-01T12:00:00"),
        (format!("to_timestamp(1719835200) {berlin}"), "2024-07-01T14:00:00"),
        (
            format!(
                "date_part('minute', now() {berlin}) - date_part('minute', now() at time zone 'UTC')"
            ),
            "0",
        ),
        (format!("(now() {berlin}) > (now() at time zone 'America/New_York')"), "true"),
        // Without seconds, and zones in any case.
        (
            format!("timestamp '2024-07-01 12:00' {berlin} at time zone 'UTC'"),
            "2024-07-01T10:00:00",
        ),
        ("'2024-07-01 12:00'::timestamp".into(), "2024-07-01T12:00:00"),
        (
            "timestamp '2024-07-01 12:00' at time zone 'america/new_york' at time zone 'utc'"
                .into(),
            "2024-07-01T16:00:00",
        ),
        (
            "timestamp '2024-07-01 12:00' at time zone 'UTC' at time zone 'america/port_of_spain'"
                .into(),
            "2024-07-01T08:00:00",
        ),
    ] {
        let found = answer(&format!("select {time} as x from stocks where id = 1")).await;
        assert_eq!(found, format!("x | {expected}"), "{time}");
    }
    for (time, expected) in [
        ("'2024-07-01' at time zone 'Europe/Berln'", "no time zone 'Europe/Berln'"),
        ("'soon' at time zone 'UTC'", "\"soon\" is no time"),
        ("Price at time zone 'UTC'", "AT TIME ZONE is for times, not for bigint"),
        ("day::timestamp at time zone name", "a time zone is a text in quotes"),
    ] {
        let said = ask(&format!("select {time} as x from stocks")).await.expect_err(time);
        assert!(said.contains(expected), "{said}");
    }
}

#[tokio::test]
async fn groups_of_infinite_numbers_have_them_as_their_ends() {
    let rows = of_columns(vec![
        ("g", Arc::new(StringArray::from(vec!["a", "a", "b", "b", "c"])) as ArrayRef),
        (
            "v",
            Arc::new(Float64Array::from(vec![
                Some(f64::INFINITY),
                Some(f64::INFINITY),
                Some(f64::NEG_INFINITY),
                Some(1.5),
                None,
            ])),
        ),
    ]);
    let query = json!({"query": "select g, min(v) lo, max(v) hi from t group by g order by g"});
    let answer =
        run_with(4, AnalysisType::Sql, vec![("t".into(), rows)], &query).await.expect("an answer");
    let batches = answer.table.expect("a table").batches;
    let text = datafusion::arrow::util::pretty::pretty_format_batches(&batches).expect("text");
    let lines: Vec<String> = text
        .to_string()
        .lines()
        .skip(3)
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(lines[..3], [",a,inf,inf,", ",b,-inf,1.5,", ",c,,,"]);
}

#[tokio::test]
async fn aggregates_may_differ_by_a_cast_only() {
    for (query, expected) in [
        ("select max(id) x, max(id::double) y from stocks", "x,y | 5,5.0"),
        ("select min(day) x, min(day::date) y from stocks", "x,y | 2024-01-05,2024-01-05"),
        ("select sum(Price) x, sum(Price::double) y from stocks", "x,y | 150,150.0"),
        (
            "select sector, max(id::double) + max(id) z from stocks group by sector \
             having max(id::double) > 2 order by max(id::double)",
            "sector,z | Energy,8.0 | Health,10.0",
        ),
    ] {
        assert_eq!(answer(query).await, expected, "{query}");
    }
}
