//! A request that waits until a person has signed in, and is then sent again as it came.

use url::form_urlencoded;

use super::{Prompt, RawRequest};

impl RawRequest {
    /// Whether the parameters ask for it; what a request object says is not known yet.
    #[must_use]
    pub fn prompts(&self, prompt: Prompt) -> bool {
        self.prompt_words().any(|word| word == prompt.as_str())
    }

    /// Hints, in order of preference.
    #[must_use]
    pub fn ui_locales(&self) -> String {
        self.get("ui_locales").unwrap_or_default().replace(' ', ",")
    }

    /// The same request as a query, for a person who has signed in meanwhile: `login` and `create` are done.
    #[must_use]
    pub fn query_after_sign_in(&self) -> String {
        let done = [Prompt::Login.as_str(), Prompt::Create.as_str()];
        let rest: Vec<&str> = self.prompt_words().filter(|word| !done.contains(word)).collect();
        let prompt = rest.join(" ");
        let value = |name: &str, value| if name == "prompt" { prompt.clone() } else { value };
        let pairs = self.values.iter().map(|(name, text)| (name, value(name, text.clone())));
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs.filter(|(_, value)| !value.is_empty()))
            .finish()
    }

    fn prompt_words(&self) -> impl Iterator<Item = &str> {
        self.get("prompt").unwrap_or_default().split_ascii_whitespace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Parameters;

    fn raw(query: &str) -> RawRequest {
        RawRequest::from_parameters(&Parameters::parse(query.as_bytes()).unwrap())
    }

    #[test]
    fn a_request_comes_back_as_it_was_without_what_is_done() {
        let before =
            raw("client_id=https%3A%2F%2Fa.example%2Fc&state=a%26b%2Bc&scope=openid+profile&unknown=1");
        assert_eq!(raw(&before.query_after_sign_in()), before);
        let asked = raw("client_id=c&prompt=login+consent+create&ui_locales=pt-BR+en");
        assert!(
            asked.prompts(Prompt::Login) && asked.prompts(Prompt::Consent) && !asked.prompts(Prompt::None)
        );
        assert_eq!(asked.ui_locales(), "pt-BR,en");
        assert_eq!(raw(&asked.query_after_sign_in()), raw("client_id=c&prompt=consent&ui_locales=pt-BR+en"));
        assert_eq!(raw("client_id=c&prompt=login").query_after_sign_in(), "client_id=c");
    }
}
