//! Dates and times for people, in UTC.

use fluent_bundle::{FluentArgs, FluentValue};
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

use super::Words;

impl Words {
    /// From the RFC 3339 form of the API; any other text is returned unchanged.
    pub fn moment(&self, text: &str) -> String {
        let Ok(when) = OffsetDateTime::parse(text, &Rfc3339) else { return text.to_owned() };
        let when = when.to_offset(UtcOffset::UTC);
        let mut arguments = FluentArgs::new();
        arguments.set("day", FluentValue::from(i64::from(when.day())));
        arguments.set("month", FluentValue::from(i64::from(u8::from(when.month()))));
        arguments.set("year", FluentValue::from(when.year().to_string()));
        arguments.set("time", FluentValue::from(format!("{:02}:{:02}", when.hour(), when.minute())));
        self.say("moment", Some(&arguments))
    }
}
