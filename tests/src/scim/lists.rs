//! Pages, projections and the documents of discovery.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::driver::{Directory, directory, refusal};

async fn ids(directory: &Directory, path: &str) -> (Vec<String>, Value) {
    let told = directory.get(path).await.json();
    let list = told["Resources"].as_array().unwrap_or_else(|| panic!("{told}"));
    (list.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect(), told)
}

#[tokio::test]
async fn pages_by_index_and_by_cursor_show_everybody_once() {
    let directory = directory().await;
    for number in 0..7 {
        directory.user(&format!("user-{number}")).await;
    }
    let (all, told) = ids(&directory, "Users?count=200").await;
    assert_eq!((all.len(), &told["totalResults"]), (7, &json!(7)));
    let (first, _) = ids(&directory, "Users?startIndex=1&count=3").await;
    let (second, told) = ids(&directory, "Users?startIndex=4&count=3").await;
    assert_eq!((&told["startIndex"], &told["itemsPerPage"]), (&json!(4), &json!(3)));
    let (third, _) = ids(&directory, "Users?startIndex=7&count=3").await;
    assert_eq!([first, second, third].concat(), all);
    assert_eq!(ids(&directory, "Users?startIndex=-5&count=1").await.0, all[..1]);
    let (none, told) = ids(&directory, "Users?count=0").await;
    assert_eq!((none.len(), &told["totalResults"]), (0, &json!(7)));
    assert_eq!(ids(&directory, "Users?count=-1").await.0.len(), 0);
    assert_eq!(ids(&directory, "Users?count=100000").await.0.len(), 7);
    assert_eq!(refusal(&directory.get("Users?count=x").await), (400, "invalidValue".into()));

    let (mut seen, mut path) = (Vec::new(), "Users?cursor=&count=3".to_owned());
    loop {
        let (page, told) = ids(&directory, &path).await;
        seen.extend(page);
        let Some(next) = told["nextCursor"].as_str() else { break };
        path = format!("Users?cursor={next}&count=3");
        let elsewhere = directory.get(&format!("Groups?cursor={next}")).await;
        assert_eq!(refusal(&elsewhere), (400, "invalidCursor".into()));
    }
    assert_eq!(seen, all);
    assert_eq!(refusal(&directory.get("Users?cursor=x").await), (400, "invalidCursor".into()));
}

#[tokio::test]
async fn filters_without_an_index_page_too() {
    let directory = directory().await;
    for number in 0..6 {
        directory.user(&format!("user-{number}")).await;
    }
    directory.user("other").await;
    let filter = "filter=userName%20sw%20%22user-%22";
    let (found, told) = ids(&directory, &format!("Users?{filter}&startIndex=3&count=2")).await;
    assert_eq!((found.len(), &told["totalResults"]), (2, &json!(6)));
    let (first, told) = ids(&directory, &format!("Users?{filter}&cursor=&count=4")).await;
    let next = told["nextCursor"].as_str().unwrap();
    let (second, told) = ids(&directory, &format!("Users?{filter}&cursor={next}&count=4")).await;
    assert!(told.get("nextCursor").is_none());
    assert_eq!(first.iter().chain(&second).collect::<BTreeSet<_>>().len(), 6);
    let search = json!({"filter": "userName sw \"user-\"", "count": 1, "attributes": ["userName"]});
    let told = directory.post("Users/.search", &search).await.json();
    assert_eq!((&told["totalResults"], &told["Resources"][0]["userName"]), (&json!(6), &json!("user-0")));
    assert!(told["Resources"][0].get("emails").is_none());
    // Each reads everybody, so there are not many a minute.
    let mut last = 200;
    for _ in 0..70 {
        last = directory.find("Users", "userName co \"x\"").await.status.as_u16();
    }
    assert_eq!(last, 429);
    assert_eq!(directory.find("Users", "userName eq \"other\"").await.status, 200);
}

#[tokio::test]
async fn members_are_left_out_where_they_are_not_wanted() {
    let directory = directory().await;
    let ana = directory.user("ana").await;
    let group = directory.group("Sales", &[&ana]).await;
    for path in [
        format!("Groups/{group}?excludedAttributes=members"),
        format!("Groups/{group}?attributes=displayName"),
    ] {
        let told = directory.get(&path).await.json();
        assert!(told.get("members").is_none(), "{told}");
        assert_eq!((&told["id"], &told["displayName"]), (&json!(group), &json!("Sales")));
    }
    let told = directory.get("Groups?excludedAttributes=members").await.json();
    assert!(told["Resources"][0].get("members").is_none());
    let told = directory.get(&format!("Users/{ana}")).await.json();
    assert_eq!(told["groups"][0]["value"], json!(group));
    let both = directory.get("Users?attributes=userName&excludedAttributes=emails").await;
    assert_eq!(refusal(&both), (400, "invalidValue".into()));
}

#[tokio::test]
async fn the_server_says_what_it_can_do() {
    let directory = directory().await;
    let config = directory.get("ServiceProviderConfig").await.json();
    for (name, supported) in [
        ("patch", true),
        ("filter", true),
        ("etag", true),
        ("bulk", false),
        ("sort", false),
        ("changePassword", false),
    ] {
        assert_eq!(config[name]["supported"], json!(supported), "{name}");
    }
    assert_eq!(
        (&config["pagination"]["cursor"], &config["pagination"]["index"]),
        (&json!(true), &json!(true))
    );
    let types = directory.get("ResourceTypes").await.json();
    assert_eq!(types["totalResults"], 2);
    let schemas = directory.get("Schemas").await.json();
    assert_eq!(schemas["totalResults"], 3);
    for schema in schemas["Resources"].as_array().unwrap() {
        let one = directory.get(&format!("Schemas/{}", schema["id"].as_str().unwrap())).await;
        assert_eq!(&one.json(), schema);
    }
    assert_eq!(directory.get("ResourceTypes/User").await.json()["endpoint"], "/Users");
    assert_eq!(refusal(&directory.get("Schemas/urn:x").await).0, 404);
    assert_eq!(refusal(&directory.get("Schemas?filter=id%20pr").await).0, 403);
}

#[tokio::test]
async fn what_is_not_there_is_refused_in_the_format_of_scim() {
    let directory = directory().await;
    assert_eq!(refusal(&directory.get("Nothing").await).0, 404);
    assert_eq!(refusal(&directory.send(Method::DELETE, "Users", None, &[]).await).0, 405);
    assert_eq!(refusal(&directory.post(".search", &json!({})).await).0, 501);
}

#[tokio::test]
async fn a_reference_names_what_it_may_refer_to() {
    let directory = directory().await;
    let told = directory.get("Schemas/urn:ietf:params:scim:schemas:core:2.0:Group").await.json();
    let members = &told["attributes"][1];
    assert_eq!(members["name"], "members");
    let parts = members["subAttributes"].as_array().unwrap();
    let mutability: Vec<&str> = parts.iter().map(|part| part["mutability"].as_str().unwrap()).collect();
    assert_eq!(mutability, ["immutable", "immutable", "readOnly", "readOnly"]);
    assert_eq!((&parts[1]["name"], &parts[1]["referenceTypes"]), (&json!("$ref"), &json!(["User"])));
}
