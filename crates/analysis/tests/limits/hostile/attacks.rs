//! Queries that take long, nest deeply or compute at the edges.

use super::{Attack, End, family};

pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = endless();
    all.extend(nested());
    all.extend(literals());
    all.extend(patterns());
    all.extend(windows());
    all.extend(numbers());
    all.extend(edges());
    all
}

/// Joins, series and sorts that never end.
fn endless() -> Vec<Attack> {
    let mut all = family(
        "joins of everything",
        End::Any,
        [
            "select sum(a.n * b.n) from big a, big b, big c, big d, big e",
            "select count(*) from big a join big b on a.x < b.n - 1000000",
            "select count(*) from big a join big b on a.k = b.k and a.x > b.x + 1e9",
            "select count(*) from big a left join big b on a.s < b.s and a.x > b.x + 1e9",
            "select count(*) from big a full join big b on a.n > b.n + 1000000",
            "select * from big a, big b where a.s || b.s = 'none'",
            "select * from big a where exists (select 1 from big b where b.n > a.n + 1000000)",
            "select * from big a where n not in (select n + 1000000 from big) order by s limit 1",
            "select distinct a.n * b.n from big a, big b",
            "select a.n from big a, big b order by a.s limit 3",
            "select a.n, count(*) over (partition by a.k order by b.n) from big a, big b",
            "select count(*) from big a natural join big b natural join big c",
            "select count(distinct a.s || b.s) from big a, big b",
            "select * from big a cross join big b cross join big c limit 5 offset 1000000000000",
            "select median(a.n + b.n) from big a, big b",
            "select count(*) from big a, lateral (select * from big b where b.n > a.n) c",
            "select count(*) from people a where (select count(*) from big b where b.n > a.id) = 5",
        ],
    );
    all.extend(family(
        "known counts",
        End::Number(10_000_000_000),
        ["select count(*) from big a, big b"],
    ));
    all.extend(family("series", End::Error, [
        "select count(*) from generate_series(1, 9223372036854775807)",
        "select count(*) from range(0, 100000000000)",
        "select * from generate_series(1, 10, 0)",
        "select * from generate_series(-9223372036854775808, 9223372036854775807)",
        "select * from generate_series(1, (select max(n) from big))",
        "select * from generate_series(1, length(repeat('x', 1000000000)))",
        "select * from generate_series('a', 'b')",
        "select * from generate_series(1)  , generate_series()",
        "select * from generate_series(1, 2, 3, 4)",
        "select * from range(null, null, null)",
        "select count(*) from generate_series(1, 10000000) a, generate_series(1, 10000000) b",
    ]).into_iter().map(|attack| Attack { end: End::Any, ..attack }));
    all.extend(family(
        "sorts",
        End::Any,
        [
            "select * from big order by random()",
            "select * from generate_series(1, 10000000) order by random() desc",
            "select value, row_number() over (order by random()) from generate_series(1, 5000000)",
            "select uuid() u from generate_series(1, 3000000) order by u",
            "select * from big order by repeat(s, 100), s limit 10",
            "select * from big order by x offset 99999999999",
            "select * from big limit 9223372036854775807",
            "select * from big limit -1",
            "select * from big limit 1 offset -1",
            "select * from big limit (select 1)",
        ],
    ));
    all
}

/// Deep and long queries, each in several depths.
fn nested() -> Vec<Attack> {
    let mut queries = Vec::new();
    for depth in [15, 60, 1000, 10_000] {
        let around = |before: &str, inner: &str, after: &str| {
            format!("{}{inner}{}", before.repeat(depth), after.repeat(depth))
        };
        let list = |item: &dyn Fn(usize) -> String, between: &str| {
            (0..depth).map(item).collect::<Vec<_>>().join(between)
        };
        queries.extend([
            format!("select {}", around("(", "1", ")")),
            format!("select {}", around("[", "1", "]")),
            format!("select {}", around("abs(", "1", ")")),
            format!("select {}", around("coalesce(1, ", "1", ")")),
            format!("select {} from people", around("case when id > 0 then ", "1", " end")),
            format!("select {}", around("not ", "true", "")),
            format!("select {}", around("- ", "1", "")),
            format!("select {}", around("cast(", "1", " as int)")),
            format!("select 1{}", around("", "", "::int")),
            format!("select {}", around("interval ", "'1 day'", "")),
            format!("select * from {}", around("(", "people", ")")),
            format!("select * from {}", around("(select * from ", "people", ")")),
            around("(", "select 1", ")"),
            format!("select {}", around("(select ", "1", ")")),
            format!("select 1 where {}", around("exists (select 1 where ", "true", ")")),
            format!("select 1 where 1 in {}", around("(select 1 where 1 in ", "(1)", ")")),
            around("with a as (", "select 1", ") select * from a"),
            format!("with {} select 1", list(&|at| format!("c{at} as (select {at})"), ", ")),
            format!(
                "with c0 as (select 1 v), {} select * from c{}",
                list(&|at| format!("c{} as (select * from c{at})", at + 1), ", "),
                depth
            ),
            format!("select {}", list(&|at| at.to_string(), " + ")),
            format!("select {}", list(&|_| "'a'".into(), " || ")),
            format!("select {} from people", list(&|at| format!("id = {at}"), " or ")),
            format!("select {} from people", list(&|at| format!("name like '{at}%'"), " and ")),
            format!("select * from people where id in ({})", list(&|at| at.to_string(), ", ")),
            format!(
                "select * from people where name not in ({})",
                list(&|at| format!("'{at}'"), ", ")
            ),
            format!(
                "select case {} end from people",
                list(&|at| format!("when id = {at} then {at}"), " ")
            ),
            format!("select coalesce({})", list(&|_| "null".into(), ", ")),
            format!("select concat({})", list(&|_| "'abc'".into(), ", ")),
            format!("select [{}]", list(&|at| at.to_string(), ", ")),
            list(&|at| format!("select {at}"), " union all "),
            list(&|at| format!("select {at}"), " union "),
            format!("values {}", list(&|at| format!("({at})"), ", ")),
            format!("select {} from people", list(&|at| format!("id i{at}"), ", ")),
            format!(
                "select count(*) from people group by {}",
                list(&|at| format!("id + {at}"), ", ")
            ),
            format!("select * from people order by {}", list(&|at| format!("id + {at}"), ", ")),
            format!(
                "select * from people p {}",
                list(&|at| format!("join people p{at} on p.id = p{at}.id"), " ")
            ),
            format!(
                "select * from people p {}",
                list(&|at| format!("left join people p{at} on p.id < p{at}.id"), " ")
            ),
            format!("select a{} from people", ".b".repeat(depth)),
            format!("select * from people{}", " ".repeat(depth)),
            format!("select 1 --{}", "x".repeat(depth)),
        ]);
    }
    let mut all = family("depth", End::Any, queries);
    // The types of these would take minutes to find, which nothing can interrupt.
    let chain = |item: &str, operator: &str| vec![item; 500].join(operator);
    let wide = |chain: String| format!("select {} from people", vec![chain; 16].join(", "));
    all.extend(family(
        "calculations without end",
        End::Refused,
        [
            wide(chain("id", " + ")),
            wide(chain("id", " * ")),
            wide(chain("name", " || ")),
            wide(format!("{}id{}", "abs(".repeat(500), ")".repeat(500))),
        ],
    ));
    all
}

fn literals() -> Vec<Attack> {
    let long = |size: usize| "x".repeat(size);
    let queries = vec![
        format!("select '{}'", long(60_000)),
        format!("select length('{}') from big", long(60_000)),
        format!("select '{}' || s from big", long(60_000)),
        format!("select '{}', * from big", long(30_000)),
        format!("select '{}'", long(70_000)),
        format!("select '{}'", long(10_000_000)),
        format!("select \"{}\"", long(60_000)),
        format!("select 1 as \"{}\"", long(60_000)),
        format!("select * from {}", long(60_000)),
        format!("select {}(1)", long(60_000)),
        format!("select {}", "9".repeat(60_000)),
        format!("select 0.{}", "9".repeat(60_000)),
        format!("select 1e{}", "9".repeat(1000)),
        format!("select {}::int", "9".repeat(40)),
        format!("select cast('{}' as decimal(38, 10))", "9".repeat(200)),
        format!("select x'{}'", "ff".repeat(30_000)),
        format!("select x'{}'", "f".repeat(30_001)),
        "select x'zz'".to_owned(),
        format!("select date '{}'", long(1000)),
        format!("select interval '{}'", "1 day ".repeat(5000)),
        "select E'\\xff\\xfe', E'\\u0000', E'\\ud800', E'\\U0010ffff', E'\\777'".to_owned(),
        "select E'\\u'".to_owned(),
        "select E'\\x'".to_owned(),
        "select U&'\\+110000'".to_owned(),
        "select '\u{0}', 'a\u{0}b', '\u{ffff}', '\u{10ffff}', '\u{202e}abc'".to_owned(),
        "select N'a', B'01', B'2', $$a$$, $tag$a$tag$, $a$b".to_owned(),
        "select 'a' 'b' 'c'".to_owned(),
        "select chr(0), chr(55296), chr(1114112), chr(-1)".to_owned(),
        "select '\\xff'::bytea, '\\xff'::bytea::text".to_owned(),
        "select cast(x'fffe' as text)".to_owned(),
        "select upper('ŉ'), lower('İ'), length('🏳️‍🌈'), reverse('é'), substr('é😀', 2, 1)".to_owned(),
    ];
    family("literals", End::Any, queries)
}

fn patterns() -> Vec<Attack> {
    let patterns = [
        "(a+)+$",
        "(a|a)*b",
        "(a|aa)+$",
        "(.*a){20}",
        "(a?){200}a{200}",
        "((((a*)*)*)*)*",
        "(x+x+)+y",
        "[a-z]{1000}",
        "(\\w{1,100}){100}",
        "(?:(?:(?:a{50}){50}){50})",
        ".{100000}",
        "(.|\\n)*\\d{500}",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(",
        "[",
        "a{2,1}",
        "\\",
        "(?<=a)b",
        "\\1",
        "(?P<n>a)(?P<n>b)",
        "\\p{Foo}",
        "",
    ];
    let mut queries = Vec::new();
    for pattern in patterns {
        queries.extend([
            format!(
                "select count(*) from big where regexp_like(repeat('a', 10000) || s, '{pattern}')"
            ),
            format!("select regexp_replace(repeat(s, 20), '{pattern}', '$0$0', 'g') from big"),
            format!("select count(*) from big where s ~ '{pattern}'"),
            format!("select regexp_match(s, '{pattern}'), regexp_count(s, '{pattern}') from big"),
        ]);
    }
    queries.extend([
        "select regexp_like(s, s) from big".to_owned(),
        "select s ~ s from big".to_owned(),
        "select regexp_replace(s, s, s, s) from big".to_owned(),
        "select regexp_like('a', repeat('a?', 100000))".to_owned(),
        "select regexp_like('a', repeat('(a', 1000) || repeat(')*', 1000))".to_owned(),
        "select regexp_like('aaa', 'a', 'zzz')".to_owned(),
        format!("select count(*) from big where s like '{}'", "%a".repeat(10_000)),
        format!("select count(*) from big where s ilike '{}'", "%_".repeat(500)),
        format!("select count(*) from big where s like '{}'", "_".repeat(60_000)),
        "select count(*) from big where repeat(s, 100) like '%a%b%c%d%e%f%g%h%i%j%k%l%m%n%o%p%'"
            .to_owned(),
        "select count(*) from big where s like repeat('%_', 10000)".to_owned(),
        "select count(*) from big a join big b on a.s like '%' || b.s || '%'".to_owned(),
        "select count(*) from big where s like s || '%' escape '!'".to_owned(),
        "select s like '\\' from big".to_owned(),
        "select split_part(s, '', 1), split_part(s, 'w', -1), split_part(s, 'w', 0) from big"
            .to_owned(),
        "select strpos(repeat('a', 10000), repeat('a', 5000) || 'b') from big".to_owned(),
    ]);
    family("patterns", End::Any, queries)
}

fn windows() -> Vec<Attack> {
    let functions = [
        "sum(x)",
        "max(s)",
        "count(*)",
        "min(x)",
        "stddev(x)",
        "first_value(s)",
        "nth_value(s, 50000)",
        "lag(s, 99999)",
        "lead(x, -5)",
        "ntile(0)",
        "ntile(1000000000)",
        "corr(x, n)",
    ];
    let frames = [
        "order by n rows between 50000 preceding and 50000 following",
        "order by x range between 1000 preceding and 1000 following",
        "order by k",
        "partition by s order by n desc",
        "order by n groups between 100 preceding and 100 following",
        "",
    ];
    let mut queries = Vec::new();
    for function in functions {
        queries.extend(frames.map(|frame| format!("select {function} over ({frame}) from big")));
    }
    for function in [
        "median(x)",
        "array_agg(n)",
        "string_agg(s, ',')",
        "approx_distinct(n)",
        "count(distinct k)",
        "percentile_cont(0.5) within group (order by x)",
    ] {
        queries.push(format!("select {function} over (order by n) from big"));
        queries.push(format!("select {function} over () from big"));
    }
    queries.extend([
        "select sum(n) over (order by n rows between 9223372036854775807 preceding and current row) from big".to_owned(),
        "select sum(n) over (order by n rows between 18446744073709551616 preceding and current row) from big".to_owned(),
        "select sum(n) over (order by n rows between current row and 5 preceding) from big".to_owned(),
        "select sum(n) over (order by s range between 1 preceding and 1 following) from big".to_owned(),
        "select sum(n) over (rows between -1 preceding and 1 following) from big".to_owned(),
        "select sum(sum(n)) over (order by k) from big group by k".to_owned(),
        "select sum(n) over w, avg(n) over w from big window w as (order by n)".to_owned(),
        "select sum(n) over nowhere from big".to_owned(),
        "select sum(value) over () from generate_series(1, 10000000)".to_owned(),
        "select sum(value) over (order by value % 7) from generate_series(1, 10000000)".to_owned(),
        "select max(value) over (partition by value) from generate_series(1, 3000000)".to_owned(),
    ]);
    family("windows", End::Any, queries)
}

/// Results that have no room: an error, never a wrong number.
fn numbers() -> Vec<Attack> {
    let mut all = family(
        "overflow",
        End::Error,
        [
            "select 9223372036854775807 + 1",
            "select -9223372036854775807 - 2",
            "select 9223372036854775807 * 2",
            "select max(i) + 1 from extremes",
            "select min(i) - 1 from extremes",
            "select i * i from extremes",
            "select i + i from extremes",
            "select i - 1 from extremes",
            "select sum(i) from (values (9223372036854775807), (9223372036854775807)) v(i)",
            "select k, sum(n + 9223372036854775000) from big group by k",
            "select 1 / 0",
            "select 1 % 0",
            "select id / 0 from people",
            "select id % (id - id) from people",
            "select cast(1e300 as bigint)",
            "select cast('NaN'::double as int)",
            "select cast(3000000000 as int)",
            "select '99999999999999999999'::bigint",
            "select 'abc'::int",
            "select cast(1000 as tinyint)",
            "select factorial(100)",
        ],
    );
    all.extend(family("edges of numbers", End::Any, [
        "select abs(i) from extremes",
        "select -i from extremes",
        "select i / -1 from extremes",
        "select i % -1 from extremes",
        "select lcm(i, i - 1) from extremes where i > 5",
        "select gcd(i, 0), lcm(i, 0), gcd(9223372036854775807, i) from extremes",
        "select power(10, 1000), power(0, -1), power(-1, 0.5), power(2::bigint, 64)",
        "select sqrt(-1), ln(0), ln(-1), log(0, 10), log(1, 1), acos(2), atanh(1)",
        "select round(f, 1000), round(f, -1000), round(1.5, 9223372036854775807) from extremes",
        "select trunc(f, 400), trunc(f, -400) from extremes",
        "select 1.0 / 0, 0.0 / 0, -1.0 / 0, f / 0, f % 0 from extremes",
        "select sum(f), avg(f), max(f), min(f), stddev(f), median(f), corr(f, f) from extremes",
        "select avg(i), stddev(i), var_pop(i), corr(i, i), regr_slope(i, i) from extremes",
        "select percentile_cont(2) within group (order by x) from big",
        "select percentile_cont(-0.1) within group (order by x), approx_percentile_cont(1.5) within group (order by x) from big",
        "select approx_percentile_cont(0.5, 1000000000) within group (order by x) from big",
        "select approx_percentile_cont(0.5, 0) within group (order by x) from big",
        "select nth_value(x, 0), nth_value(x, -9223372036854775808) from big",
        "select to_hex(i), chr(i) from extremes",
        "select i << 100, i >> -1, i & 1, i | 1 from extremes",
        "select left('abc', i), right('abc', i) from extremes",
        "select substr('abc', i), substr('abc', i, i) from extremes",
        "select substr('abc', 1, -1)",
        "select repeat('a', i) from extremes",
        "select lpad('a', i) from extremes",
        "select rpad('a', -5, 'b'), lpad('a', 5, '')",
        "select split_part('a,b', ',', i) from extremes",
        "select substr_index('a.b.c', '.', i) from extremes",
        "select overlay('abc' placing 'x' from i) from extremes",
        "select overlay('abc' placing 'x' from 1 for i) from extremes",
        "select [1, 2, 3][i], array_slice([1, 2, 3], i, i) from extremes",
        "select array_element([1], i), array_slice([1, 2], i, 1, i) from extremes",
        "select cast(i as double), cast(f as text), cast(f as decimal(38, 0)) from extremes",
        "select cast(f as decimal(10, 2)) from extremes",
        "select cast(1 as decimal(1000, 5))",
        "select cast(1 as decimal(5, 50))",
        "select cast(1 as decimal(76, 76))",
        "select 12345678901234567890123456789012345678.9 * 12345678901234567890123456789012345678.9",
        "select cast(99999999999999999999999999999999999999 as decimal(38, 0)) * cast(99999999999999999999999999999999999999 as decimal(38, 0))",
        "select round(0.5), round(1.5), round(-0.5), 0.1 + 0.2 = 0.3",
        "select nanvl(f, 0), isnan(f), iszero(f) from extremes",
        "select greatest(f, i), least(f, i), coalesce(t, i) from extremes",
        "select random() + random(), uuid() from big",
        "select bit_and(i), bit_or(i), bit_xor(i), bool_and(i > 0) from extremes",
        "select t::double, t::int from extremes",
        "select length(t), upper(t), reverse(t), ascii(t), initcap(t), md5(t) from extremes",
        "select length(t), upper(t), reverse(t), ascii(t), initcap(t), btrim(t) from extremes",
        "select factorial(i) from extremes",
        "select factorial(20), factorial(21)",
    ]));
    all
}

/// Dates far away, types that do not fit.
fn edges() -> Vec<Attack> {
    let queries = [
        "select date '9999-12-31' + interval '1 day', date '0001-01-01' - interval '1 day'",
        "select date '2024-02-29' + interval '1000000 years'",
        "select date '2024-02-29' + interval '9223372036854775807 days'",
        "select timestamp '2262-04-11T23:47:16' + interval '1 day'",
        "select timestamp '1677-01-01'",
        "select timestamp '9999-12-31 23:59:59'",
        "select now() + interval '999999999 months'",
        "select to_timestamp(9223372036854775807), to_timestamp(-9223372036854775808)",
        "select to_timestamp_nanos(i), to_timestamp_millis(i), to_timestamp_seconds(i) from extremes",
        "select to_timestamp(f) from extremes",
        "select to_timestamp('nonsense'), to_date('2024-13-45')",
        "select to_timestamp(day, '%Q%Q%Q') from people",
        "select to_date(i) from extremes",
        "select from_unixtime(i) from extremes",
        "select from_unixtime(0, 'Mars/Olympus')",
        "select to_unixtime(day), to_unixtime('x') from people",
        "select make_date(i, 1, 1) from extremes",
        "select make_date(2024, 13, 45)",
        "select make_time(25, 61, 61)",
        "select date_trunc('fortnight', now())",
        "select date_trunc(name, now()) from people",
        "select date_part('eon', now())",
        "select date_part('epoch', timestamp '9999-12-31')",
        "select date_bin(interval '0 days', now(), now())",
        "select date_bin(interval '1 month', now(), now())",
        "select date_bin(interval '-1 day', timestamp '2024-01-01', now())",
        "select date_bin(interval '1 nanosecond', timestamp '0001-01-01', timestamp '2024-01-01')",
        "select to_char(now(), '%'), to_char(now(), '%Z%Z%+%%'), to_char(now(), '%9999d')",
        "select to_char(day::date, name) from people",
        "select extract(nonsense from now())",
        "select now() at time zone 'nowhere'",
        "select now() at time zone 'America/Sao_Paulo' at time zone 'UTC'",
        "select interval '1' year, interval '1 fortnight', interval 'x'",
        "select interval '1 month' * 5, interval '1 day' / 0",
        "select day::date - day::date, day::date - interval '1 day' from people",
        "select current_date - date '0001-01-01'",
        "select cast(now() as int), cast(1 as timestamp), cast(true as date)",
        "select cast([1] as text), cast('[1]' as int[]), cast([1] as text[])",
        "select cast(1 as nonsense)",
        "select cast(1 as struct<a int>)",
        "select cast(name as bytea), cast(name as boolean) from people",
        "select name + 1, name * 2, - name from people",
        "select sum(name), avg(name) from people",
        "select name and true from people",
        "select * from people where name",
        "select * from people where 1",
        "select * from people where null",
        "select * from people having true",
        "select id from people group by name",
        "select *, count(*) from people",
        "select count(*) + id from people",
        "select sum(count(*)) from people",
        "select max(max(id)) from people",
        "select id from people where sum(id) > 1",
        "select id from people order by sum(id)",
        "select id, id from people",
        "select * from people p, people p",
        "select id from people a, people b",
        "select nobody from people",
        "select people.nobody, nobody.id from people",
        "select *.* from people",
        "select people.* exclude (nobody) from people",
        "select * exclude (id, name, age, day) from people",
        "select * replace (1 as nobody) from people",
        "select id from people union select id, name from people",
        "select id from people union select day::date from people",
        "select id from people intersect select name from people",
        "select * from people a join people b",
        "select * from people a join people b using (nobody)",
        "select * from people a join people b on a.name",
        "select * from people a join big on a.id = big.s",
        "select * from people where id in (1, 'a', null, 2.5)",
        "select * from people where (id, name) in ((1, 'Alpha'))",
        "select * from people where id = (select n from big)",
        "select (select id, name from people)",
        "select * from people where id > all (select n from big)",
        "select * from people where id = any ([1, 2])",
        "select unnest(id) from people",
        "select unnest(null)",
        "select unnest([1]), unnest([1, 2, 3]), unnest([[1]])",
        "select grouping(id) from people",
        "select count(*) filter (where id) from people",
        "select first_value(id order by nobody) from people",
        "select string_agg(name, id) from people",
        "select string_agg(name) from people",
        "select approx_distinct() from people",
        "select coalesce()",
        "select concat()",
        "select abs()",
        "select abs(1, 2)",
        "select abs(distinct 1)",
        "select abs(*)",
        "select count(all id), count(people.*) from people",
        "select distinct on (nobody) * from people",
        "select top 5 * from people",
        "select * from people fetch first 2 rows with ties",
        "select * from people limit 'a'",
        "select * from people limit id",
        "select 1 where exists (select nobody)",
        "select id from people qualify row_number() over () = 1",
        "select * from (values (1, 2), (3)) v",
        "select * from (values (1), ('a')) v",
        "values (1), (null), ('x')",
        "select a.b.c.d.e.f.g from people",
        "select name[1], name['a'], age[1:2] from people",
        "select 1 as select, 2 as from",
        "select \"\" from people",
        "select '' as \"\" from people",
        "select 1 as \"a\nb\", 2 as \"a\u{0}b\"",
    ];
    family("edges", End::Any, queries)
}
