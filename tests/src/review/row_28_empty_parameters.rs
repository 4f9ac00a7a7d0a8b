//! An empty or unknown query value is refused.
