//! What the answers of several resolvers mean together.

/// Two resolvers are not deceived as easily as one.
const LEAST: usize = 2;

/// Of one resolver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Has,
    Lacks,
    /// An error code, such as for a signature that is wrong.
    Fails,
    Silent,
}

/// Of all resolvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// At least two resolvers see the record, and none contradicts them.
    Present,
    /// No resolver sees it.
    Absent,
    /// Some see it and some do not.
    Partly,
    /// A resolver answers with an error.
    Faulty,
    /// Fewer than two resolvers answer: nothing is known about the name.
    Unknown,
    /// Fewer than two resolvers are configured.
    Unconfigured,
}

impl Seen {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Present => "the record is there",
            Self::Absent => "the record was not found; a new record may take some minutes to be seen",
            Self::Partly => "some resolvers see the record and some do not yet; try again in some minutes",
            Self::Faulty => {
                "a resolver answers with an error for this name; check the name servers of the domain and its DNSSEC signatures"
            }
            Self::Unknown => "the resolvers of this service do not answer; try again later",
            Self::Unconfigured => {
                "this service has fewer than two resolvers; its operator must set dns_resolvers"
            }
        }
    }
}

pub(super) fn seen(answers: &[Answer]) -> Seen {
    let count = |wanted: Answer| answers.iter().filter(|answer| **answer == wanted).count();
    if answers.len() < LEAST {
        Seen::Unconfigured
    } else if answers.len() - count(Answer::Silent) < LEAST {
        Seen::Unknown
    } else if count(Answer::Fails) > 0 {
        Seen::Faulty
    } else if count(Answer::Lacks) == 0 {
        Seen::Present
    } else if count(Answer::Has) == 0 {
        Seen::Absent
    } else {
        Seen::Partly
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer::*, *};

    #[test]
    fn two_resolvers_must_see_it_and_none_may_contradict() {
        for (answers, expected) in [
            (&[][..], Seen::Unconfigured),
            (&[Has], Seen::Unconfigured),
            (&[Has, Has], Seen::Present),
            (&[Has, Has, Silent], Seen::Present),
            (&[Has, Silent], Seen::Unknown),
            (&[Has, Silent, Silent], Seen::Unknown),
            (&[Has, Lacks], Seen::Partly),
            (&[Has, Has, Lacks], Seen::Partly),
            (&[Lacks, Lacks], Seen::Absent),
            (&[Has, Has, Fails], Seen::Faulty),
            (&[Lacks, Fails], Seen::Faulty),
        ] {
            assert_eq!(seen(answers), expected, "{answers:?}");
        }
    }
}
