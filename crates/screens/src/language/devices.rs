//! A readable name for the device of a `User-Agent`. A guess, for recognition only; nothing depends on it.

use super::Words;

impl Words {
    pub fn device(&self, user_agent: &str) -> String {
        describe(user_agent).map_or_else(
            || self.t("device-unknown"),
            |(browser, system)| self.t2("device", &("browser", browser), &("system", system)),
        )
    }
}

/// Browser and system, if they can be recognized.
fn describe(user_agent: &str) -> Option<(&'static str, &'static str)> {
    // The order matters: most browsers also claim to be the ones after them.
    const BROWSERS: &[(&str, &str)] = &[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS", "Firefox"),
        ("CriOS", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: &[(&str, &str)] = &[
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ];
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(sign, _)| user_agent.contains(sign)).map(|(_, name)| *name)
    };
    Some((find(BROWSERS)?, find(SYSTEMS)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_that_claim_to_be_others_are_told_apart() {
        let edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0";
        assert_eq!(describe(edge), Some(("Edge", "Windows")));
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Safari/604.1";
        assert_eq!(describe(phone), Some(("Safari", "iPhone")));
        assert_eq!(describe("curl/8.0"), None);
    }
}
