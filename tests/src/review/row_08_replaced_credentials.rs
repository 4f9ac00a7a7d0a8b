//! A session that rests on a replaced credential ends.
