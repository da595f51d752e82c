use super::*;
use crate::analysis::rows_of;

fn read(arguments: Value) -> Result<AnalysisRequest, String> {
    AnalysisRequest::read(arguments.as_object().unwrap().clone())
}

#[test]
fn a_type_of_pandas_is_understood_and_parameters_may_stand_beside() {
    let rows = json!([{"a": 1}]);
    let request =
        read(json!({"analysis_type": "value_counts", "data": rows, "column": "a"})).unwrap();
    assert_eq!(request.kind, AnalysisType::Aggregate);
    assert_eq!(request.parameters["group_by"], "a");
    assert!(request.notes[0].starts_with("value_counts is aggregate with {"));
    let slip = json!({"analysis_type": "filter", "sorce": "a.csv", "conditions": []});
    let told = read(slip).unwrap_err();
    assert!(told.starts_with("sorce: no such argument; did you mean source?"), "{told}");
}

#[test]
fn data_may_be_the_name_of_a_file() {
    let of = |data: Value| read(json!({"analysis_type": "describe", "data": data})).unwrap();
    let request = of(json!("sales.csv"));
    assert!(
        matches!(&request.tables[0].1, TableSource::File { file, path: None, .. } if file == "sales.csv")
    );
    for data in [json!([{"a": 1}]), json!(r#"[{"file": "a.csv"}]"#), json!("a,b\n1,a.csv")] {
        assert!(matches!(&of(data).tables[0].1, TableSource::Given(_)));
    }
}

#[test]
fn the_rows_of_a_join_may_stand_in_its_parameters() {
    let rows = json!([{"a": 1}]);
    for parameters in
        [json!({"right": rows, "on": "a"}), json!({"join": {"with": rows, "on": "a"}})]
    {
        let name = if parameters.get("join").is_some() { "transform" } else { "merge" };
        let request =
            read(json!({"analysis_type": name, "data": rows, "parameters": parameters})).unwrap();
        let names: Vec<&str> = request.tables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["data", "joined"]);
        let join = request.parameters["join"].as_object().unwrap();
        assert!(join.values().any(|value| value == "joined"), "{join:?}");
    }
}

#[test]
fn what_is_not_understood_is_said_once_there_are_tables() {
    let request = read(json!({"analysis_type": "top_n", "data": [{"a": 1}], "n": 3})).unwrap();
    assert!(request.refusal.unwrap().to_string().starts_with("by: is missing"));
    assert_eq!(request.asked.0, "top_n");
}

#[test]
fn tables_may_be_columns() {
    let columns = json!({"a": [1, 2], "b": ["x", "y"]});
    let tables = json!({"heads": columns, "other": [{"n": 1}]});
    let request = read(json!({
        "analysis_type": "sql", "parameters": {"query": "select 1"}, "tables": tables,
    }));
    let request = request.unwrap();
    let (name, origin) = &request.tables[0];
    assert_eq!(name, "heads");
    assert!(matches!(origin, TableSource::Given(Input::Json(given)) if *given == columns));
    let reference = json!({"analysis_type": "describe", "source": {"tool": "a.b"}});
    let request = read(reference).unwrap();
    assert!(matches!(&request.tables[0].1, TableSource::Tool { .. }));
}

#[test]
fn the_only_list_of_an_answer_is_its_rows() {
    let rows = json!([{"n": 1}]);
    for answer in [
        json!([{"n": 1}]),
        json!({"items": [{"n": 1}], "next": null}),
        json!({"result": {"items": [{"n": 1}]}, "page": 1, "tags": ["a"]}),
        json!({"items": [{"n": 1}], "meta": {"links": [{"to": 2}]}}),
        json!("{\"items\": [{\"n\": 1}]}"),
        json!({"all": {"a.b/c": [{"n": 1}]}}),
    ] {
        assert_eq!(rows_of(answer.clone(), None).unwrap(), rows, "{answer}");
    }
    let plain = json!({"n": 1, "of": {"m": [1, 2]}});
    assert_eq!(rows_of(plain.clone(), None).unwrap(), plain);
    let two = json!({"all": {"a": [{"n": 1}], "b": [{"m": 1}]}});
    let told = rows_of(two.clone(), None).unwrap_err();
    assert!(told.ends_with("is meant: all.a, all.b"), "{told}");
    assert_eq!(rows_of(two, Some("all.a")).unwrap(), rows);
}
