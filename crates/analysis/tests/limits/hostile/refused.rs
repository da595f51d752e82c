//! Queries that want more than the tables they were given.

use std::path::Path;

use super::{Attack, End, family};

pub(crate) fn attacks(directory: &Path) -> Vec<Attack> {
    let mut all = files(directory);
    all.extend(functions(directory));
    all.extend(statements(directory));
    all.extend(settings());
    all.extend(catalogs());
    all.extend(several());
    all.extend(foreign());
    all
}

/// Files by their names, where a table could stand.
fn files(directory: &Path) -> Vec<Attack> {
    let secret = |name: &str| directory.join(name).display().to_string();
    let paths = [
        secret("secret.csv"),
        secret("secret.parquet"),
        secret("*.csv"),
        format!("file://{}", secret("secret.json")),
        "/etc/passwd".to_owned(),
        "../../secret.csv".to_owned(),
        "http://localhost/secret.csv".to_owned(),
        "s3://bucket/secret.parquet".to_owned(),
    ];
    let mut queries = Vec::new();
    for path in &paths {
        for name in [format!("'{path}'"), format!("\"{path}\""), format!("`{path}`")] {
            queries.extend([
                format!("select * from {name}"),
                format!("select a.* from people join {name} a on true"),
                format!("with t as (select * from {name}) select * from t"),
                format!("select id from people union all select 1 from {name}"),
                format!("select (select max(a) from {name}) from people"),
                format!("select * from people where id in (select a from {name})"),
            ]);
        }
        queries.push(format!("select * from {path}"));
    }
    family("a file as a table", End::Refused, queries)
}

/// Functions that read files, the network or the machine.
fn functions(directory: &Path) -> Vec<Attack> {
    let path = directory.join("secret.csv").display().to_string();
    let names = [
        "read_csv",
        "read_csv_auto",
        "read_parquet",
        "parquet_scan",
        "read_json",
        "read_json_auto",
        "read_text",
        "read_blob",
        "glob",
        "sniff_csv",
        "parquet_metadata",
        "csv_scan",
        "read_file",
        "pg_read_file",
        "pg_ls_dir",
        "load_file",
        "openrowset",
        "file",
        "url",
        "s3",
        "hdfs",
        "input_file_name",
        "listing",
        "postgres_scan",
        "sqlite_scan",
        "query",
        "query_table",
        "metadata_cache",
        "list_files_cache",
        "statistics_cache",
    ];
    let mut queries = Vec::new();
    for name in names {
        queries.push(format!("select * from {name}('{path}')"));
        queries.push(format!("select {name}('{path}')"));
        queries.push(format!("select * from people, lateral {name}('{path}') as f"));
    }
    let machine = [
        "version()",
        "current_setting('x')",
        "set_config('a', 'b', false)",
        "getenv('PATH')",
        "current_user",
        "current_database()",
        "current_schema()",
        "current_catalog()",
        "pg_sleep(10)",
        "sleep(10)",
        "benchmark(1000000000, 1)",
        "sys_exec('ls')",
        "system('ls')",
        "shell('ls')",
        "eval('1')",
        "load_extension('x')",
        "dblink('x', 'y')",
        "xp_cmdshell('ls')",
        "arrow_cast(1, 'Int8')",
        "arrow_metadata(1)",
        "with_metadata(1, 'a', 'b')",
        "file_row_index()",
        "input_file_name()",
        "make_map(1, 2)",
        "map(1, 2)",
        "named_struct('a', 1)",
        "row(1, 2)",
        "array_repeat(1, 1000000000)",
        "array_resize([1], 1000000000, 1)",
        "arrays_zip([1], [2])",
    ];
    queries.extend(machine.map(|call| format!("select {call}")));
    queries
        .extend(machine.map(|call| format!("select count(*) from big where {call} is not null")));
    family("a function that reads the machine", End::Refused, queries)
}

/// Statements that change something.
fn statements(directory: &Path) -> Vec<Attack> {
    let path = directory.join("out.csv").display().to_string();
    let secret = directory.join("secret.csv").display().to_string();
    let queries = vec![
        format!("copy people to '{path}'"),
        format!("copy (select * from people) to '{path}' stored as csv"),
        format!("copy people from '{secret}'"),
        format!("COPY people TO PROGRAM 'cat > {path}'"),
        format!("create external table t stored as csv location '{secret}'"),
        format!(
            "create external table t (a text) stored as csv location '{secret}' options ('has_header' 'true')"
        ),
        format!("CREATE UNBOUNDED EXTERNAL TABLE t (a text) STORED AS CSV LOCATION '{secret}'"),
        format!("create table t as select * from '{secret}'"),
        "create table t (a int)".into(),
        "create or replace table people (a int)".into(),
        "create temporary table t as select * from people".into(),
        "create view v as select * from people".into(),
        "create materialized view v as select * from people".into(),
        "create schema s".into(),
        "create database d".into(),
        "create function f() returns int return 1".into(),
        "create function f(int) returns int language wasm as 'x'".into(),
        "create index i on people (id)".into(),
        "create user u".into(),
        "create extension x".into(),
        "create secret s (type s3)".into(),
        "drop table people".into(),
        "drop view people".into(),
        "drop schema public cascade".into(),
        "alter table people add column z int".into(),
        "alter table people rename to nobody".into(),
        "truncate table people".into(),
        "insert into people values (9, 'x', 1, 'y')".into(),
        "insert into people select * from people".into(),
        format!("insert overwrite directory '{path}' select * from people"),
        "insert into people (id) values (1) returning *".into(),
        "update people set age = 1".into(),
        "delete from people".into(),
        "merge into people using big on id = n when matched then delete".into(),
        "replace into people values (1)".into(),
        "grant all on people to public".into(),
        "revoke all on people from public".into(),
        "begin".into(),
        "commit".into(),
        "rollback".into(),
        "savepoint a".into(),
        "lock table people".into(),
        "prepare p as select 1".into(),
        "execute p".into(),
        "execute immediate 'select 1'".into(),
        "deallocate p".into(),
        "declare c cursor for select 1".into(),
        "fetch all from c".into(),
        "call f()".into(),
        "do $$ begin end $$".into(),
        format!("attach '{secret}' as d"),
        "detach d".into(),
        "use information_schema".into(),
        format!("load '{path}'"),
        format!("install '{path}'"),
        format!("export database '{path}'"),
        format!("import database '{path}'"),
        format!("unload (select 1) to '{path}'"),
        "vacuum".into(),
        "analyze people".into(),
        "analyze table people compute statistics".into(),
        "explain select * from people".into(),
        "explain analyze select * from big a, big b".into(),
        "explain format json select 1".into(),
        "describe people".into(),
        "desc people".into(),
        "table people".into(),
        "kill 1".into(),
        "listen x".into(),
        "notify x".into(),
        "comment on table people is 'x'".into(),
        "msck repair table people".into(),
        "cache table people".into(),
        "refresh table people".into(),
        "select * into new_table from people".into(),
        format!("select * into outfile '{path}' from people"),
        "with t as (delete from people returning *) select * from t".into(),
        "with t as (insert into people values (1) returning *) select * from t".into(),
        "with t as (update people set age = 1 returning *) select * from t".into(),
        "with t as (select 1) delete from people".into(),
        "with t as (select 1) insert into people select * from t".into(),
        "select * from people for update".into(),
        "select * from people for share nowait".into(),
        "select * from people settings max_threads = 100".into(),
        "select * from people format json".into(),
        "from people |> where id = 1".into(),
    ];
    family("a statement that changes something", End::Refused, queries)
}

fn settings() -> Vec<Attack> {
    let queries = [
        "set datafusion.execution.batch_size = 1000000000",
        "set datafusion.runtime.memory_limit = '100G'",
        "set datafusion.catalog.information_schema = true",
        "SET SESSION x = 1",
        "set time zone 'UTC'",
        "set local x = 1",
        "set role admin",
        "set @x = 1",
        "reset all",
        "reset datafusion.runtime.memory_limit",
        "show all",
        "show tables",
        "show columns from people",
        "show functions",
        "show create table people",
        "show datafusion.execution.batch_size",
        "show databases",
        "show variables",
        "show server_version",
        "pragma table_info(people)",
        "pragma database_list",
        "select @@version",
        "select @x",
        "select @@datadir, @@global.x",
        "select $1",
        "select ?",
        "select :name",
        "select * from people where id = $1",
        "select * from people limit ?",
    ];
    family("settings and variables", End::Refused, queries)
}

fn catalogs() -> Vec<Attack> {
    let mut queries = Vec::new();
    let tables = [
        "information_schema.tables",
        "information_schema.columns",
        "information_schema.df_settings",
        "information_schema.schemata",
        "information_schema.routines",
        "information_schema.views",
        "pg_catalog.pg_tables",
        "pg_catalog.pg_settings",
        "sqlite_master",
        "duckdb_settings",
        "sys.tables",
        "mysql.user",
        "datafusion.public.people",
        "public.people",
        "datafusion.information_schema.tables",
        "a.b.c.d.people",
        "\"information_schema\".\"tables\"",
        "`information_schema`.`tables`",
        "INFORMATION_SCHEMA.TABLES",
        "\"public\".people",
        "people.people",
        "\"\".people",
    ];
    for table in tables {
        queries.push(format!("select * from {table}"));
        queries.push(format!("select count(*) from people where exists (select 1 from {table})"));
    }
    family("catalogs", End::Refused, queries)
}

/// Several statements, and comments that hide them.
fn several() -> Vec<Attack> {
    let queries = [
        "select 1; select 2",
        "select 1;;drop table people",
        "select 1; --\n drop table people",
        "select 1 /* ; */ ; select 2",
        "/* select 1 */ drop table people",
        "-- select 1\ndrop table people",
        "/*! drop table people */ ; create table t (a int)",
        "select 1 /* unfinished",
        "select 'unfinished",
        "select \"unfinished",
        "",
        "   \n\t ",
        ";",
        ";;;",
        "-- nothing",
        "/* nothing */",
        "(",
        ")",
        "()",
        "select",
        "with",
        "values",
        "select from",
        "select 1 from people; \u{0} drop table people",
        "\u{feff}drop table people",
        "ＳＥＬＥＣＴ 1",
        "selec 1",
        "select 1 as a union",
        "(drop table people)",
        "((delete from people))",
        "select 1 union (delete from people)",
    ];
    family("several statements", End::Refused, queries)
}

/// What other databases have.
fn foreign() -> Vec<Attack> {
    let queries = [
        "select * from people tablesample bernoulli (10)",
        "select * from people as of timestamp '2020-01-01'",
        "select * from people for system_time as of timestamp '2020-01-01'",
        "select * from people with (nolock)",
        "select * from people partition (p0)",
        "select * from people pivot (sum(age) for name in ('Alpha'))",
        "select * from people unpivot (v for c in (id, age))",
        "select * from json_table('[1]', '$[*]' columns (a int path '$'))",
        "select * from xmltable('/a' passing '<a/>' columns b int)",
        "select * from table(people)",
        "select * from people lateral view explode([1]) t as x",
        "select * from people match_recognize (order by id measures id as m pattern (a) define a as true)",
        "select {a: 1, b: 2}",
        "select struct(1, 2)",
        "select map {'a': 1}",
        "select x -> x + 1 from people",
        "select array_transform([1], x -> x + 1)",
        "select array_filter([1], x -> x > 0)",
        "select match (name) against ('x') from people",
        "select name similar to 'A%' from people",
        "select name rlike 'A' from people",
        "select [1] @> [1]",
        "select name ~~ 'A%' from people",
        "select 2 ^ 3",
        "select id from people connect by prior id = age",
        "with recursive r as (select 1 n union all select n + 1 from r) select * from r",
        "with recursive r(n) as (select 1 union all select n * 2 from r) select max(n) from r",
        "with recursive r as (select 1 n union select n from r) select count(*) from r",
        "with recursive a as (select * from b), b as (select * from a) select * from a",
        "with a as (select * from b), b as (select * from a) select * from a",
        "with a as (select * from a) select * from a",
    ];
    family("what is not available", End::Refused, queries)
}
