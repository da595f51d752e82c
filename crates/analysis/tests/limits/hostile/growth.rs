//! Queries that make much of little.

use super::{Attack, End, family};

pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = texts();
    all.extend(chains());
    all.extend(lists());
    all.extend(wide());
    all.extend(planning());
    all
}

/// Functions that make long texts, of constants and of columns.
fn texts() -> Vec<Attack> {
    let calls = [
        "repeat('x', {n})",
        "repeat(s, {n})",
        "lpad('x', {n}, 'ab')",
        "lpad(s, {n}, s)",
        "rpad(s, {n}, '😀')",
        "rpad('', {n}, 'y')",
        "replace(repeat(s, {n}), 'r', repeat('z', {n}))",
        "replace(repeat('x', {n}), '', repeat('z', {n}))",
        "regexp_replace(repeat(s, {n}), '.', repeat('z', {n}), 'g')",
        "regexp_replace(repeat(s, {n}), '(.*)', '\\1\\1\\1\\1\\1\\1\\1\\1', 'g')",
        "concat(repeat(s, {n}), repeat(s, {n}), repeat(s, {n}))",
        "concat_ws(repeat('x', {n}), s, s, s, s, s, s)",
        "repeat(s, {n}) || repeat(s, {n}) || s",
        "translate(repeat(s, {n}), 'row', 'xyz')",
        "overlay(repeat(s, {n}) placing repeat('x', {n}) from 1 for 1)",
        "to_char(now(), repeat('%c', {n}))",
        "array_to_string(range(0, {n}), repeat('x', {n}))",
        "string_to_array(repeat(s, {n}), ' ')",
        "upper(repeat(s, {n}))",
        "initcap(reverse(repeat(s, {n})))",
        "split_part(repeat(s, {n}), 'w', {n})",
        "regexp_match(repeat(s, {n}), '((((((.*))))))')",
        "levenshtein(repeat(s, {n}), repeat(s, {n}))",
        "strpos(repeat(s, {n}), repeat(s, {n}) || 'x')",
        "repeat(repeat(repeat(s, {n}), {n}), {n})",
    ];
    let mut queries = Vec::new();
    for call in calls {
        for n in ["1000000", "1000000000000", "9223372036854775807"] {
            let call = call.replace("{n}", n);
            queries.push(format!("select {call} from big"));
            queries.push(format!("select max(octet_length({call}::text)) from big"));
        }
        let call = call.replace("{n}", "k * 1000");
        queries.push(format!("select count({call}) from big"));
    }
    family("long texts", End::Error, queries)
        .into_iter()
        .map(|attack| Attack { end: End::Any, ..attack })
        .collect()
}

/// Each step doubles what the one before made.
fn chains() -> Vec<Attack> {
    let steps = [
        ("'x' s", "s || s s", "length(s)"),
        ("'x' s", "concat(s, s) s", "length(s)"),
        ("'x' s", "replace(s, 'x', 'xx') s", "length(s)"),
        ("'x' s", "regexp_replace(s, 'x', 'xx', 'g') s", "length(s)"),
        ("'x' s", "rpad(s, length(s) * 2, s)::text s", "length(s)"),
        ("'x' s", "repeat(s, 2) s", "length(s)"),
        ("'x' s", "concat_ws(s, s, s) s", "length(s)"),
        ("s", "s || s s", "max(length(s))"),
        ("s", "concat(s, s) s", "max(length(s))"),
        ("s", "repeat(s, 2) s", "max(length(s))"),
        ("[1] s", "s || s s", "array_length(s)"),
        ("[1] s", "array_concat(s, s) s", "array_length(s)"),
        ("[n] s", "[s, s] s", "count(s)"),
        ("[n] s", "array_append(s, n) s, n", "count(s)"),
        ("n s", "s + s s", "max(s)"),
        ("n s", "case when s > 0 then s else s end s", "max(s)"),
        ("n s", "coalesce(s, s, s) s", "max(s)"),
    ];
    let mut queries = Vec::new();
    for (first, next, last) in steps {
        for depth in [12, 25, 40] {
            let from = if first.contains('\'') || first == "[1] s" { "" } else { " from big" };
            let named: Vec<String> = std::iter::once(format!("a0 as (select {first}{from})"))
                .chain((1..=depth).map(|at| format!("a{at} as (select {next} from a{})", at - 1)))
                .collect();
            let named = named.join(", ");
            queries.push(format!("with {named} select {last} from a{depth}"));
            queries.push(format!("with {named} select count(*) from a{depth} where s is not null"));
        }
        let nested = (0..10).fold(format!("select {first} from big"), |inner, _| {
            format!("select {next} from ({inner})")
        });
        queries.push(format!("select {last} from ({nested})"));
    }
    family("doubling", End::Any, queries)
}

fn lists() -> Vec<Attack> {
    let queries = [
        "select range(0, 1000000000000)",
        "select generate_series(1, 9223372036854775807)",
        "select generate_series(-9223372036854775808, 9223372036854775807, 1)",
        "select range(0, n * 1000000) from big",
        "select generate_series(0, 10, 0)",
        "select range(9223372036854775807, -9223372036854775808, -1)",
        "select generate_series(timestamp '1900-01-01', timestamp '2100-01-01', interval '1 microsecond')",
        "select generate_series(date '0001-01-01', date '9999-12-31', interval '1 second')",
        "select unnest(range(0, 1000000000))",
        "select unnest(range(0, n)) from big",
        "select count(*) from (select s, unnest(range(0, 1000)) from big)",
        "select max(length(t)) from (select repeat(s, 1000) t, unnest(range(0, 1000)) from big)",
        "select unnest([range(0, 1000), range(0, 1000)]), s from big",
        "select array_agg(n) from big",
        "select array_agg(s) from big a, generate_series(1, 10000)",
        "select array_agg(range(0, 1000)) from big",
        "select array_agg(array_agg) from (select array_agg(n) from big group by k)",
        "select array_sort(array_agg(n)), array_distinct(array_agg(k)) from big",
        "select flatten(array_agg([n, n])) from big",
        "select string_agg(s, repeat('x', 1000)) from big",
        "select string_agg(s, ',') from big a, generate_series(1, 10000)",
        "select string_agg(repeat(s, 100), ',') from big",
        "select (select string_agg(s, ',') from big) || s from big",
        "select max(t || s) from big, (select string_agg(s, '') t from big)",
        "select a.t from (select string_agg(s, '') t from big) a join big on true",
        "select count(distinct t) from (select string_agg(s, '') t from big group by k) a, big",
        "select first_value(t) over () from (select repeat(s, 1000) t from big)",
        "select lag(t, 100) over (order by n) from (select n, repeat(s, 1000) t from big)",
        "select max(t) over (order by n) from (select n, repeat(s, 100) t from big)",
        "select array_to_string(array_agg(s), ',') from big",
        "select make_array(s, s, s, s)[2] from big",
        "select [[[[[[n]]]]]] from big",
        "select array_concat(array_agg(n), array_agg(n)) from big",
        "select array_slice(range(0, 1000000), 1, 10) from big",
        "select cardinality(range(0, 1000000)) from big",
    ];
    family("long lists", End::Any, queries)
}

/// Many columns of much, and many rows of wide ones.
fn wide() -> Vec<Attack> {
    let columns = |count: usize, column: &dyn Fn(usize) -> String| {
        (0..count).map(|at| format!("{} c{at}", column(at))).collect::<Vec<_>>().join(", ")
    };
    let long = "x".repeat(900);
    let queries = vec![
        format!("select {} from big", columns(500, &|_| "repeat(s, 1000)".into())),
        format!("select {} from big", columns(1000, &|at| format!("upper(s || '{at}')"))),
        format!(
            "select {} from (select repeat(s, 200) t, n from big)",
            columns(300, &|at| format!("case when n > {at} then t else '' end"))
        ),
        format!(
            "select {} from (select repeat(s, 200) t from big)",
            columns(800, &|at| format!("substr(t, {at})"))
        ),
        format!(
            "select {} from (select repeat(s, 200) t from big)",
            columns(800, &|at| format!("coalesce(t, '{at}')"))
        ),
        format!("select {} from big", columns(60, &|_| format!("'{long}'"))),
        format!("select {} from big", columns(500, &|_| "repeat('y', 2000)".into())),
        format!("select {} from big group by k", columns(300, &|at| format!("max(s || '{at}')"))),
        format!("select {} from big", columns(300, &|at| format!("string_agg(s, '{at}')"))),
        format!("select {} from big", columns(200, &|at| format!("count(distinct n + {at})"))),
        format!(
            "select {} from big",
            columns(100, &|at| format!("sum(n) over (order by x + {at})"))
        ),
        format!(
            "select {} from big",
            columns(100, &|at| format!("max(s) over (partition by k + {at})"))
        ),
        format!(
            "select * from {}",
            (0..60).map(|at| format!("people p{at}")).collect::<Vec<_>>().join(", ")
        ),
        format!(
            "select * from {}",
            (0..100).map(|at| format!("people p{at}")).collect::<Vec<_>>().join(", ")
        ),
        format!("select {} from people", columns(5000, &|at| at.to_string())),
        format!(
            "select * from big order by {}",
            columns(300, &|at| format!("s || '{at}'"))
                .replace(" c", " --\n ,c")
                .replace(" --\n ,c", "--")
        ),
    ];
    family("wide rows", End::Any, queries)
}

/// Few words that stand for a plan of any size.
fn planning() -> Vec<Attack> {
    let mut queries = Vec::new();
    for (first, next, depth) in [
        ("select n from big", "select x.n from {a} x, {a} y", 20),
        ("select n from big", "select x.n from {a} x join {a} y on x.n = y.n", 20),
        ("select n from big", "select * from {a} union all select * from {a}", 20),
        ("select n from big", "select n from {a} where n in (select n from {a})", 20),
        ("select n from big", "select (select max(n) from {a}) n", 20),
        ("select n from big", "select * from {a} except select * from {a}", 20),
        ("select n, n m from big", "select n + m n, n * m m from {a}", 40),
        ("select n from big", "select n + n n from {a} where n > 0", 40),
        ("select s n from big", "select n || n n from {a} where n > ''", 40),
    ] {
        for depth in [depth / 2, depth, depth * 3] {
            let named: Vec<String> = std::iter::once(format!("a0 as ({first})"))
                .chain((1..=depth).map(|at| {
                    format!("a{at} as ({})", next.replace("{a}", &format!("a{}", at - 1)))
                }))
                .collect();
            queries.push(format!("with {} select count(*) from a{depth}", named.join(", ")));
            queries.push(format!(
                "with {} select * from a{depth} where n is not null limit 1",
                named.join(", ")
            ));
        }
    }
    for columns in [2, 6, 12, 30, 60] {
        let all: Vec<String> = (0..columns).map(|at| format!("k + {at}")).collect();
        let all = all.join(", ");
        queries.push(format!("select count(*) from big group by cube({all})"));
        queries.push(format!("select count(*) from big group by rollup({all})"));
        queries.push(format!("select count(*) from big group by cube(k, n), cube({all})"));
        queries.push(format!("select count(*) from big group by grouping sets ({all})"));
        queries.push(format!(
            "select count(*) from big group by rollup({all}), rollup({all}), rollup({all})"
        ));
    }
    family("plans of any size", End::Any, queries)
}
