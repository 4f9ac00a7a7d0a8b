//! Whether a client may act for an organization.

use crate::{oauth::clients::Trust, organizations::ThirdParty, store::text_enum};

text_enum! {
    /// An organization's decision about a client.
    Decision { Allow = "allow", Block = "block" }
}

/// A client policy decides first; then first-party clients are allowed; then the organization's policy decides.
pub const fn allowed(named: Option<Decision>, trust: Trust, third_party: ThirdParty) -> bool {
    match (named, trust, third_party) {
        (Some(Decision::Allow), _, _)
        | (None, Trust::FirstParty, _)
        | (None, Trust::Verified, ThirdParty::All | ThirdParty::Verified)
        | (None, Trust::Unverified, ThirdParty::All) => true,
        (Some(Decision::Block), _, _)
        | (None, Trust::Unverified, ThirdParty::Verified | ThirdParty::Listed)
        | (None, Trust::Verified, ThirdParty::Listed) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_wins_over_trust_and_trust_over_the_policy() {
        let word = |named, trust, policy| if allowed(named, trust, policy) { 'y' } else { 'n' };
        let row = |named| {
            let policies = [ThirdParty::All, ThirdParty::Verified, ThirdParty::Listed];
            let of = |trust| policies.map(|policy| word(named, trust, policy)).iter().collect::<String>();
            [Trust::Unverified, Trust::Verified, Trust::FirstParty].map(of).join(" ")
        };
        assert_eq!(row(None), "ynn yyn yyy");
        assert_eq!(row(Some(Decision::Allow)), "yyy yyy yyy");
        assert_eq!(row(Some(Decision::Block)), "nnn nnn nnn");
    }
}
