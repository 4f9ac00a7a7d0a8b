//! The installation itself: who may do what to it. Given by name, on the command line first; nobody gives what they do
//! not hold.

mod store;

use porteiro_protocol::permission::Permission;

pub use store::{Authority, held, hold, list, lock_active, set};

use crate::permissions::{OWN, Reach};

/// What the first administrator begins with: everything that can be done to the installation but what is reserved.
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
