//! Known devices keep a share of the hashing queue.
