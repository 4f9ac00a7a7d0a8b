//! Which jobs may run concurrently: pure, so that fairness can be tested without a database (docs/decisions/0070).
//!
//! Every kind has its own lane. Where clients choose the destination, there is a lane for every client on every host,
//! so that a host that does not answer delays only its own jobs, and a failing client only its own.

use std::{collections::HashMap, hash::Hash};

use url::Url;

/// Concurrent jobs of one kind on a node.
const PER_KIND: usize = 8;
/// Concurrent jobs of a node to one host. The fetcher allows no more either.
const PER_HOST: usize = 2;
/// Concurrent jobs of a node to client-chosen hosts: fewer than the fetcher's places for them, so that requests which
/// need a client's keys do not wait for deliveries.
const TO_HOSTS: usize = 16;
/// Hosts that a node examines in one round. The next round continues after the last one.
pub(super) const WINDOW: usize = 100;
/// A host with this many consecutive failures is paused; then one job at a time tests whether it works again.
pub(super) const TOLERATED: i32 = 3;
/// The longest pause. Pauses double up to this.
pub(super) const LONGEST_PAUSE_SECONDS: f64 = 900.0;

/// How the jobs of a kind are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// One lane: they have no destination, or one that the operator chose.
    One,
    /// One lane per host: clients choose the destination.
    PerHost,
}

/// The host of a URL, with its port unless it is the default one, and the client: one client's failures do not pause
/// another client on the same host. Empty if the URL has no host; the fetcher refuses that.
pub(super) fn destination(address: &str, whose: &str) -> String {
    let Some(url) = Url::parse(address).ok() else { return String::new() };
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port} {whose}"),
        (Some(host), None) => format!("{host} {whose}"),
        (None, _) => String::new(),
    }
}

/// The queue of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    pub kind: &'static str,
    /// Empty for the kind's own lane.
    pub destination: String,
}

impl Lane {
    /// The host alone: concurrent jobs to it are counted over all clients.
    fn host(&self) -> &str {
        self.destination.split(' ').next().unwrap_or_default()
    }

    pub(super) const fn of_kind(kind: &'static str) -> Self {
        Self { kind, destination: String::new() }
    }
}

/// A host with waiting jobs, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub destination: String,
    /// A job is due and the host is not paused.
    pub open: bool,
    /// Consecutive failures.
    pub failures: i32,
}

/// The running jobs of a node, by task.
#[derive(Debug)]
pub(super) struct UnderWay<T>(HashMap<T, Lane>);

impl<T: Hash + Eq> UnderWay<T> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    pub(super) fn started(&mut self, task: T, lane: Lane) {
        self.0.insert(task, lane);
    }

    pub(super) fn ended(&mut self, task: &T) {
        self.0.remove(task);
    }

    /// How many more jobs a lane may run.
    pub(super) fn room(&self, lane: &Lane, failures: i32) -> usize {
        let here = self.0.values().filter(|running| *running == lane).count();
        let there = || {
            let running = self.0.values().filter(|running| running.kind == lane.kind);
            PER_HOST.saturating_sub(running.filter(|running| running.host() == lane.host()).count())
        };
        match (lane.destination.is_empty(), failures >= TOLERATED) {
            (true, _) => PER_KIND.saturating_sub(here),
            (false, false) => there(),
            (false, true) => there().min(1_usize.saturating_sub(here)),
        }
    }

    /// How many more jobs may run to client-chosen hosts in total.
    pub(super) fn room_to_hosts(&self) -> usize {
        TO_HOSTS.saturating_sub(self.0.values().filter(|running| !running.destination.is_empty()).count())
    }
}

/// The host after which the next round starts: the last one served if there was no room for more, otherwise the last
/// one examined, otherwise the beginning. So every host has its turn, however many there are.
pub(super) fn next_after(seen: &[Host], served: &[&str], room: usize) -> String {
    let last_served = || seen.iter().rev().find(|host| served.contains(&host.destination.as_str()));
    let last =
        if served.len() >= room { last_served() } else { seen.last().filter(|_| seen.len() >= WINDOW) };
    last.map(|host| host.destination.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Host {
        Host { destination: name.into(), open: true, failures: 0 }
    }

    fn to(destination: &str) -> Lane {
        Lane { kind: "logout.tell", destination: destination.into() }
    }

    #[test]
    fn a_full_lane_leaves_the_others_their_room() {
        let mut under_way = UnderWay::new();
        for task in 0..TO_HOSTS {
            under_way.started(task, to(&format!("host-{}.example", task / PER_HOST)));
        }
        assert_eq!(under_way.room_to_hosts(), 0);
        assert_eq!(under_way.room(&to("host-0.example"), 0), 0);
        assert_eq!(under_way.room(&Lane::of_kind("mail.send"), 0), PER_KIND);
        assert_eq!(under_way.room(&Lane::of_kind("logout.tell"), 0), PER_KIND);
        under_way.ended(&0);
        assert_eq!(under_way.room_to_hosts(), 1);
        assert_eq!(under_way.room(&to("host-0.example"), 0), 1);
        assert_eq!(under_way.room(&to("host-0.example"), TOLERATED), 0, "one at a time finds out");
        assert_eq!(under_way.room(&to("new.example"), TOLERATED), 1);
    }

    #[test]
    fn clients_on_one_host_share_its_places_and_nothing_else() {
        let mut under_way = UnderWay::new();
        under_way.started(0, to("host.example one"));
        assert_eq!(under_way.room(&to("host.example two"), 0), PER_HOST - 1);
        assert_eq!(under_way.room(&to("host.example two"), TOLERATED), 1, "the other's failures are its own");
        assert_eq!(under_way.room(&to("host.example one"), TOLERATED), 0);
    }

    #[test]
    fn paths_cases_and_the_usual_port_make_no_new_lane() {
        for address in ["https://app.example/a", "https://APP.example:443/b?c", "https://app.example"] {
            assert_eq!(destination(address, "c"), "app.example c");
        }
        assert_eq!(destination("https://app.example:8443/", "c"), "app.example:8443 c");
        assert_eq!(destination("nonsense", "c"), "");
    }

    #[test]
    fn every_host_has_its_turn() {
        let few = [host("a"), host("b"), host("c")];
        assert_eq!(next_after(&few, &["a", "a"], 16), "", "all were seen");
        assert_eq!(next_after(&few, &["a", "b"], 2), "b", "no room for c");
        assert_eq!(next_after(&[], &[], 16), "");
        let many: Vec<Host> = (0..WINDOW).map(|number| host(&format!("{number:04}"))).collect();
        assert_eq!(next_after(&many, &[], 16), format!("{:04}", WINDOW - 1), "nothing due among them");
        assert_eq!(next_after(&many, &["0003"; 16], 16), "0003");
    }
}
