//! The answer of a provider's userinfo endpoint (OpenID Connect Core §5.3), which completes an ID token.

use serde_json::{Map, Value};

/// The answer is about somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the userinfo endpoint answered about another subject than that of the ID token")]
pub struct OtherSubject;

/// Adds the address and the named claims to those of an ID token, where it does not have them. What the provider signed
/// is never replaced.
///
/// # Errors
/// If the subjects are not equal: then the values "MUST NOT be used" (§5.3.2).
pub fn add_userinfo(claims: &mut Value, answer: &Value, names: &[&str]) -> Result<(), OtherSubject> {
    let (Some(claims), Some(answer)) = (claims.as_object_mut(), answer.as_object()) else {
        return Err(OtherSubject);
    };
    let subject = answer.get("sub").and_then(Value::as_str);
    if subject.is_none() || subject != claims.get("sub").and_then(Value::as_str) {
        return Err(OtherSubject);
    }
    add_address(claims, answer);
    for name in names.iter().filter(|name| !matches!(**name, "email" | "email_verified")) {
        if is_absent(claims, name) {
            copy(claims, answer, name);
        }
    }
    Ok(())
}

/// Whether an address is verified is said about that address: the answer's word does not count for another one.
fn add_address(claims: &mut Map<String, Value>, answer: &Map<String, Value>) {
    if is_absent(claims, "email") {
        claims.remove("email_verified");
        copy(claims, answer, "email");
        copy(claims, answer, "email_verified");
    } else if is_absent(claims, "email_verified") && claims.get("email") == answer.get("email") {
        copy(claims, answer, "email_verified");
    }
}

fn is_absent(claims: &Map<String, Value>, name: &str) -> bool {
    claims.get(name).is_none_or(Value::is_null)
}

fn copy(claims: &mut Map<String, Value>, answer: &Map<String, Value>, name: &str) {
    if let Some(value) = answer.get(name).filter(|value| !value.is_null()) {
        claims.insert(name.to_owned(), value.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn added(mut claims: Value, answer: &Value) -> Result<Value, OtherSubject> {
        add_userinfo(&mut claims, answer, &["name", "oid"])?;
        Ok(claims)
    }

    #[test]
    fn an_answer_about_another_subject_is_not_used() {
        for sub in [json!("other"), json!("ANA"), json!(""), json!(null), json!(1), json!(["ana"])] {
            let answer = json!({"sub": sub, "email": "a@b.test"});
            assert_eq!(added(json!({"sub": "ana"}), &answer), Err(OtherSubject), "{sub}");
        }
        for answer in [json!({}), json!([]), json!("ana"), json!(null)] {
            assert_eq!(added(json!({"sub": "ana"}), &answer), Err(OtherSubject), "{answer}");
        }
    }

    #[test]
    fn what_the_id_token_says_is_not_replaced_and_nothing_unasked_for_is_added() {
        let answer = json!({"sub": "ana", "email": "a@b.test", "email_verified": true, "name": "A", "oid": "1",
                            "amr": ["hwk"], "acr": "high", "auth_time": 9, "iss": "x"});
        let all = json!({"sub": "ana", "email": "a@b.test", "email_verified": true, "name": "A", "oid": "1"});
        assert_eq!(added(json!({"sub": "ana"}), &answer), Ok(all));
        let signed =
            json!({"sub": "ana", "email": "x@y.test", "email_verified": false, "name": "X", "oid": "2"});
        assert_eq!(added(signed.clone(), &answer), Ok(signed));
    }

    #[test]
    fn an_address_is_verified_only_by_what_is_said_about_it() {
        let answer = json!({"sub": "ana", "email": "a@b.test", "email_verified": true});
        let same = added(json!({"sub": "ana", "email": "a@b.test"}), &answer).unwrap();
        assert_eq!(same["email_verified"], true);
        let other = added(json!({"sub": "ana", "email": "boss@b.test"}), &answer).unwrap();
        assert_eq!(other, json!({"sub": "ana", "email": "boss@b.test"}));
        let unsaid = json!({"sub": "ana", "email": "a@b.test"});
        let odd = added(json!({"sub": "ana", "email_verified": true}), &unsaid).unwrap();
        assert_eq!(odd, unsaid);
    }
}
