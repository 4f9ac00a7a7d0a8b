//! Platform permissions. They are given by name, first on the command line; an administrator gives only what they hold.

mod store;

use porteiro_protocol::permission::Permission;

pub use store::{Authority, held, hold, list, lock_active, set};

use crate::permissions::{OWN, Reach};

/// The permissions of the first administrator: all of the platform but the reserved ones.
pub fn ordinary() -> Vec<Permission> {
    let platform = OWN.iter().filter(|own| own.reach == Reach::Platform);
    platform.filter_map(|own| Permission::parse(own.name).ok()).filter(|own| !own.is_reserved()).collect()
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::permission::Held;

    use super::*;

    #[test]
    fn the_first_administrator_gets_nothing_reserved() {
        let ordinary = Held::of(ordinary());
        assert!(ordinary.covers(&"platform.api-keys:write".parse().unwrap()));
        for reserved in porteiro_protocol::permission::RESERVED {
            assert!(!ordinary.covers(&reserved.parse().unwrap()), "{reserved}");
        }
    }
}
