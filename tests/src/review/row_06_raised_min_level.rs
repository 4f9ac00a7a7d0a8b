//! A raised `min_level` reaches grants that exist.
