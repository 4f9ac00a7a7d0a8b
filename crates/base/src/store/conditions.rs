//! The conditions of a list: the statement contains only those asked for, so that each combination has its own plan.

use std::fmt::Write;

use tokio_postgres::types::ToSql;

use super::Params;

/// A growing `WHERE`. `?` is the next parameter.
pub struct Conditions<'a> {
    text: String,
    params: Vec<&'a (dyn ToSql + Sync)>,
}

impl std::fmt::Debug for Conditions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'a> Conditions<'a> {
    /// The first condition selects all possible rows; `true` for all of the table.
    pub fn new(condition: &str, params: &[&'a (dyn ToSql + Sync)]) -> Self {
        let mut new = Self { text: String::new(), params: Vec::new() };
        new.push("WHERE ", condition, params);
        new
    }

    #[must_use]
    pub fn and(mut self, condition: &str, params: &[&'a (dyn ToSql + Sync)]) -> Self {
        self.push(" AND ", condition, params);
        self
    }

    /// Only if there is a value to compare with.
    #[must_use]
    pub fn and_if<T: ToSql + Sync>(self, condition: &str, param: Option<&'a T>) -> Self {
        match param {
            Some(param) => self.and(condition, &[param]),
            None => self,
        }
    }

    fn push(&mut self, before: &str, condition: &str, params: &[&'a (dyn ToSql + Sync)]) {
        self.text.push_str(before);
        let mut given = params.iter();
        for part in condition.split_inclusive('?') {
            match part.strip_suffix('?') {
                Some(part) => {
                    self.params.extend(given.next());
                    let _ = write!(self.text, "{part}${}", self.params.len());
                }
                None => self.text.push_str(part),
            }
        }
    }

    /// The statement and its parameters.
    pub fn finish(&self, select: &str, order: &str) -> (String, Params<'_>) {
        (format!("{select} {} {order}", self.text), &self.params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_in_order_and_what_is_not_asked_is_not_there() {
        let (one, two) = (1_i32, 2_i32);
        let conditions = Conditions::new("a = ?", &[&one])
            .and_if::<i32>("b = ?", None)
            .and_if("c = ?", Some(&two))
            .and("(d, e) > (?, ?)", &[&one, &two]);
        let (sql, params) = conditions.finish("SELECT 1 FROM t", "LIMIT 5");
        assert_eq!(sql, "SELECT 1 FROM t WHERE a = $1 AND c = $2 AND (d, e) > ($3, $4) LIMIT 5");
        assert_eq!(params.len(), 4);
    }
}
